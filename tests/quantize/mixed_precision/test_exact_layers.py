"""Layers of which 8-bit weights are too coarse become float32, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.accuracy import sqnr_db
from edgekit.toolkit.build import build_file
from edgekit.toolkit.compress import remove_constant_channels
from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize import quantize_model
from edgekit.toolkit.quantize.budget import Budget
from edgekit.toolkit.quantize.mixed_precision.accuracy_floor import keep_floor
from edgekit.toolkit.quantize.mixed_precision.fit import fit_budget
from edgekit.toolkit.quantize.mixed_precision.floor_criteria import Growth
from edgekit.toolkit.quantize.mixed_precision.search import PrecisionSearch
from edgekit.toolkit.runtime import Session

FLOOR = "edgekit.toolkit.quantize.mixed_precision.accuracy_floor"
NONE = {"act_min": -np.inf, "act_max": np.inf}


def pack(graph):
    return build_file(graph, None, remove_constant_channels(graph))


def samples(count=40, seed=5):
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(size=(1, 8, 8, 3)).astype(np.float32)} for _ in range(count)]


def detector(g, outputs=12):
    """Scores that one channel rules out in places, by a weight that is much larger than the others,
    beside boxes of several channels."""
    x = g.input("x", 1, 8, 8, 3)
    deep = g.conv(g.conv(x, 16, act_min=0.0, name="first"), 16, act_min=0.0, name="deep")
    g.graph.nodes[-1].inputs[2].const[0] -= 8.0
    scores = g.conv(deep, 1, 1, name="scores")
    g.graph.nodes[-1].inputs[1].const[..., 0] = -200.0
    return g.output(g.emit("Sigmoid", scores, name="p"), g.conv(deep, outputs, name="boxes"))


@pytest.fixture
def no_search(monkeypatch):
    monkeypatch.setattr(PrecisionSearch, "run", None)


@pytest.mark.parametrize("outputs", [1, 12])
def test_the_layer_that_breaks_the_worst_output_is_float32(g, no_search, outputs):
    """However many points measure another output."""
    done = quantize_model(detector(g, outputs), samples(), "minmax", rounding="nearest")
    found, promotion, quality = keep_floor(done, pack, silent, rounding="nearest")
    assert promotion.before.level == "broken" and promotion.before.worst[0] == "p"
    assert quality.level == "good" and promotion.nodes == {"float32": 2}
    made = {n.output.name: n.output.dtype.name for n in found.graph.nodes}
    assert made["p"] == "float32" and made["deep"] == made["boxes"] == "int8"
    assert not promotion.weights_alone


def test_other_weights_are_rounded_for_it(g, no_search):
    done = quantize_model(detector(g), samples(), "minmax", promotes=True)
    never = replace(done, finish=lambda: pytest.fail("rounded for int8"))
    found, promotion, quality = keep_floor(never, pack, silent)
    assert quality.level == "good" and promotion.nodes == {"float32": 2}
    assert promotion.weights_alone and found.finish is None
    rounded = {name for name, _ in found.options.rounded}
    assert rounded and "scores" not in rounded


def test_activations_are_promoted_beside_it(g, no_search):
    """Where int8 tensors alone are too coarse, too."""
    graph = detector(g)
    boxes = graph.outputs.pop().value
    large = g.emit("Mul", boxes, g.const([30.0]), name="large", **NONE)
    both = g.emit("Add", g.conv(graph.inputs[0].value, 12, name="small"), large, **NONE)
    g.output(g.emit("Sub", both, large, name="left", **NONE))
    done = quantize_model(graph, samples(), "minmax", promotes=True)
    _, promotion, quality = keep_floor(done, pack, silent)
    assert quality.level == "good" and {"int16", "float32"} == set(promotion.nodes)
    assert promotion.nodes["float32"] == 2


@pytest.mark.parametrize("rounding", ["nearest", "auto"])
def test_a_budget_holds_for_every_output(g, rounding):
    done = quantize_model(detector(g), samples(), "minmax", rounding="nearest")
    found = fit_budget(done, Budget(min_sqnr=25.0), pack, rounding=rounding)
    floats, edge = Session(build_file(found.floats)), Session(pack(found.graph))
    unseen, db = samples(seed=6), {}
    for name in ("p", "boxes"):
        truth, got = (np.array([s.run(f)[name] for f in unseen]) for s in (floats, edge))
        db[name] = sqnr_db(got, truth)
    assert found.mixed.met and min(db.values()) >= 24.5
    assert found.mixed.int8.sqnr_db < 15 < 25 <= found.mixed.chosen.sqnr_db
    assert found.sqnr_db > found.mixed.chosen.sqnr_db  # of all outputs


def test_a_layer_beyond_the_limits_stays(g, monkeypatch):
    monkeypatch.setattr(f"{FLOOR}.REPAIR", Growth(0.0, 0.0, 0.0, 0, 0, 0))
    done = quantize_model(detector(g), samples(), "minmax", rounding="nearest")
    found, promotion, quality = keep_floor(done, pack, silent, rounding="nearest")
    assert found is done and promotion is None and quality.level == "broken"
