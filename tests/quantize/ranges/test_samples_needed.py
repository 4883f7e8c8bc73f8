"""How many calibration samples a model needs, by what its weights meet more than once."""

import numpy as np
import pytest

from edgekit.toolkit.quantize.ranges.samples_needed import (
    FEW,
    FEW_REBUILT,
    FEW_ROWS,
    samples_needed,
)


def dense(g, x, channels, name=""):
    weights, bias = np.ones((channels, x.shape[-1])), np.zeros(channels)
    clamp = {"act_min": -np.inf, "act_max": np.inf}
    return g.emit("FullyConnected", x, g.const(weights), g.const(bias), name=name, **clamp)


def test_features_are_seen_once_in_a_sample(g):
    scaled = g.emit("Mul", g.input("x", 1, 12), g.const(np.full(12, 0.1)))
    assert samples_needed(g.output(dense(g, scaled, 3)), ()) == FEW_ROWS


def test_weights_meet_the_numbers_of_series_and_images_in_many_places(g):
    series = dense(g, g.input("x", 1, 5, 12), 3)
    flat = g.emit("Reshape", g.input("image", 1, 4, 4, 3), shape=(1, 48))
    assert samples_needed(g.output(series, dense(g, flat, 3)), ()) == FEW


@pytest.mark.parametrize("rebuilt", [(), ("y",)])
def test_a_window_that_slides_over_a_sound_makes_it_a_series(g, rebuilt):
    sound = g.emit("Reshape", g.input("x", 1, 64), shape=(1, 8, 8, 1))
    y = g.emit("Reshape", g.conv(sound, 1), shape=(1, 64), name="y")
    assert samples_needed(g.output(y), rebuilt) == FEW


@pytest.mark.parametrize("rebuilt, needed", [((), FEW_ROWS), (("y",), FEW_REBUILT)])
def test_a_vector_that_is_rebuilt_needs_more(g, rebuilt, needed):
    y = dense(g, dense(g, g.input("x", 1, 12), 3), 12, "y")
    assert samples_needed(g.output(y), rebuilt) == needed
