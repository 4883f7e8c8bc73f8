"""Outputs of a few values that int8 would cut off become int16, which has room."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize import quantize_model
from edgekit.toolkit.quantize.mixed_precision.accuracy_floor import keep_floor
from edgekit.toolkit.runtime import Session

NONE = {"act_min": -np.inf, "act_max": np.inf}


def rows(count, reach):
    """Features that add up to values of up to 8 * `reach`."""
    rng = np.random.default_rng(3)
    level = rng.uniform(-reach, reach, (count, 1, 1))
    return [{"x": x.astype(np.float32)} for x in level + rng.normal(0, 0.05, (count, 1, 8))]


def regressor(g, values):
    w = np.ones((values, 8)) * np.linspace(1, 0.5, values)[:, None]
    x = g.input("x", 1, 8)
    return g.output(g.emit("FullyConnected", x, g.const(w), None, name="y", **NONE))


def kept(graph, feeds):
    done = quantize_model(graph, feeds)
    return keep_floor(done, build_file, silent)


@pytest.mark.parametrize(
    ("values", "count", "promoted"),
    [
        (1, 40, True),
        (1, 200, False),  # many samples show how far others reach
        (40, 40, False),
    ],
)
def test_few_samples_leave_room_for_others(g, values, count, promoted):
    found, promotion, quality = kept(regressor(g, values), rows(count, 1.0))
    assert quality.level == "good"
    assert (promotion is not None) == promoted
    y = found.graph.outputs[0].value
    assert (y.dtype == np.int16) == promoted
    if promoted:
        assert promotion.nodes == {"int16": 1}
        unseen = rows(50, 1.5)
        session = Session(build_file(found.graph))
        off = [session.run(s)["y"].item() - s["x"].sum() for s in unseen]
        assert np.abs(off).max() < 0.05 * 8


def test_classes_need_no_room(g):
    x = g.input("x", 1, 8)
    w = 2 * g.rng.normal(size=(5, 8))
    logits = g.output(g.emit("FullyConnected", x, g.const(w), None, name="y", **NONE))
    feeds = [{"x": x.astype(np.float32)} for x in g.rng.normal(size=(40, 1, 8))]
    _, promotion, quality = kept(logits, feeds)
    assert promotion is None and quality.answers is not None
