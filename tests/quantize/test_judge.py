"""Judging by samples: what a metric gets of them, thinned out where they are too many."""

from __future__ import annotations

import json

import numpy as np
import pytest

import edgekit
from edgekit.toolkit.accuracy import Judge, make_meter, open_metric
from edgekit.toolkit.accuracy.evaluation_set import batch_of
from edgekit.toolkit.errors import UserError

RNG = np.random.default_rng(3)


def test_a_function_gets_all_that_is_known(g):
    graph = g.output(g.conv(g.input("x", 1, 4, 4, 2), 3, name="y"))
    samples = [{"x": RNG.normal(size=(1, 4, 4, 2)).astype(np.float32)} for _ in range(5)]
    seen = {}

    def mine(outputs, references, data):
        seen.update(data)
        assert outputs["y"].shape == references["y"].shape == (5, 4, 4, 3)
        with pytest.raises(ValueError, match="read-only"):
            references["y"][0] = 0
        return 1

    others = {"boxes": np.zeros((17, 4)), "name": np.array(list("abcde")), "n": np.array(5)}
    judge = Judge(graph, samples, open_metric(mine), others=others)
    assert judge.real == 1.0 and judge.metric.name.endswith("mine")
    assert set(seen) == {"x", "boxes", "name", "n", "sample_index"}
    np.testing.assert_array_equal(seen["x"], np.concatenate([s["x"] for s in samples]))
    assert others["boxes"].flags.writeable and not seen["boxes"].flags.writeable
    assert seen["boxes"].shape == (17, 4) and list(seen["sample_index"]) == [0, 1, 2, 3, 4]


def test_too_many_samples_are_thinned_out_and_that_is_said(g, monkeypatch):
    graph = g.output(g.conv(g.input("x", 1, 4, 4, 2), 3, name="y"))
    samples = [{"x": np.full((1, 4, 4, 2), i, np.float32)} for i in range(10)]
    bytes_a_sample = 4 * (32 + 2 * 48)
    monkeypatch.setattr("edgekit.toolkit.accuracy.evaluation_set.KEPT_BYTES", 5 * bytes_a_sample)

    def mine(outputs, references, data):
        assert list(data["x"][:, 0, 0, 0]) == list(data["i"]) == list(data["sample_index"])
        return len(outputs["y"])

    others = {"i": np.arange(10)}
    judged = Judge(graph, samples, open_metric(mine), others=others).judged(0.0)
    assert (judged.samples, judged.of) == (5, 10) and "on 5 of 10 samples, spread evenly" in str(
        judged
    )
    meter = make_meter(graph, open_metric(mine), others, 10)
    for sample in samples:
        y = {"y": np.zeros((1, 4, 4, 3), np.float32)}
        meter.add(sample, y, y)
    assert meter.judged().samples == 5


def test_batches_are_taken_apart(g):
    graph = g.output(g.conv(g.input("x", 2, 4, 4, 2), 3, name="y"))
    samples = [{"x": RNG.normal(size=(2, 4, 4, 2)).astype(np.float32)} for _ in range(3)]

    def mine(outputs, references, data):
        assert len(outputs["y"]) == len(data["x"]) == len(data["i"]) == 6
        return 1.0

    judge = Judge(graph, samples, open_metric(mine), others={"i": np.arange(7)}, total=7)
    assert judge.judged(0.0).samples == 6


def test_top1_is_counted_of_all_samples(g, monkeypatch):
    """However few of them a metric of arrays could be given."""
    monkeypatch.setattr("edgekit.toolkit.accuracy.evaluation_set.KEPT_SAMPLES", 3)
    graph = g.output(g.emit("FullyConnected", g.input("x", 1, 6), g.const(RNG.normal(size=(3, 6)))))
    labels, found = RNG.integers(0, 3, 50), RNG.integers(0, 3, (2, 50))
    for given in (labels, None):
        metric = open_metric("top1", None if given is None else "c")
        meter = make_meter(graph, metric, {} if given is None else {"c": given}, 50)
        for truth, got in zip(*found, strict=True):
            sides = ({graph.outputs[0].name: np.eye(3)[[c]]} for c in (truth, got))
            meter.add({"x": np.zeros((1, 6), np.float32)}, *sides)
        told, right = meter.judged(), found[0] if given is None else given
        assert (told.samples, told.of, told.unit) == (50, 50, "points")
        assert (told.real, told.edge) == pytest.approx(100 * (found == right).mean(axis=1))


def test_top1_of_batches(g):
    graph = g.output(g.emit("FullyConnected", g.input("x", 4, 6), g.const(RNG.normal(size=(3, 6)))))
    samples = [{"x": RNG.normal(size=(4, 6)).astype(np.float32)} for _ in range(3)]
    judge = Judge(graph, samples)
    assert judge.real == 100.0 and judge.judged(0.0).samples == 12


def test_a_model_without_a_batch_axis_takes_one_sample(g):
    graph = g.output(g.emit("FullyConnected", g.input("x", 5, 6), g.const(RNG.normal(size=(3, 6)))))
    graph.outputs[0].shape = (15,)
    samples = [{"x": RNG.normal(size=(5, 6)).astype(np.float32)} for _ in range(4)]
    judge = Judge(graph, samples, others={"y": np.arange(4)}, metric=open_metric("top1", "y"))
    assert judge.judged(0.0).samples == 4
    assert judge.references[graph.outputs[0].name].shape == (4, 15)


def test_a_hidden_state_has_no_samples_on_its_first_axis(g):
    x, h = g.input("x", 1, 6), g.input("h", 2, 1, 3)
    net = g.output(g.emit("FullyConnected", x, g.const(RNG.normal(size=(3, 6)))), h)
    assert batch_of(net) == 1


def test_top1_of_a_map_is_refused_when_judging_and_when_comparing(g):
    graph = g.output(g.conv(g.input("x", 1, 4, 4, 2), 3, name="y"))
    for judge in (
        lambda: Judge(graph, [{}]),
        lambda: make_meter(graph, open_metric("top1"), {}, 1),
    ):
        with pytest.raises(UserError, match="does not give one class per sample"):
            judge()


def test_a_percentage_of_nothing_is_refused(g):
    graph = g.output(g.conv(g.input("x", 1, 4, 4, 2), 3, name="y"))
    samples = [{"x": np.ones((1, 4, 4, 2), np.float32)}]
    with pytest.raises(UserError, match=r"value is 0.*--max-drop 0.5"):
        Judge(graph, samples, open_metric("mae"), percent=True)
    assert Judge(graph, samples, open_metric("mae")).real == 0.0


@pytest.mark.parametrize("drop", [[1], 1j, "0x1", "nan%", "101%", -1, float("inf")])
def test_what_is_no_drop(drop):
    with pytest.raises(UserError, match="max_drop is"):
        edgekit.Budget(max_drop=drop)


def test_limits_are_numbers_and_may_be_those_of_numpy():
    budget = edgekit.Budget(np.float32(0.5), np.float64(30), np.int64(9000), np.uint8(7))
    assert json.loads(json.dumps(budget.given())) == budget.given()
    assert list(budget.given().values()) == [0.5, 30.0, 9000, 7]
    for given in ({"min_sqnr": "30dB"}, {"max_bytes": "64K"}, {"max_arena": [1]}, {"max_bytes": 0}):
        with pytest.raises(UserError, match=f"{next(iter(given))} is "):
            edgekit.Budget(**given)


def test_labels_of_samples_that_go_by_are_refused_at_once(digits, tmp_path):
    samples = ({"image": np.zeros((1, 1, 8, 8), np.float32)} for _ in range(4))
    with pytest.raises(UserError, match=r"labels are read from the \.npz of the samples"):
        edgekit.quantize(
            digits / "digits.onnx",
            samples,
            tmp_path / "d.edge",
            budget=edgekit.Budget(max_drop="1%"),
            labels="label",
        )


def test_a_callable_judges_from_python(digits, tmp_path):
    def agreement(outputs, references, data):
        classes = (x["probabilities"].argmax(1) for x in (outputs, references))
        return float(np.mean(np.equal(*classes)))

    calib = dict(np.load(digits / "calib.npz"))
    done = edgekit.quantize(
        digits / "digits.onnx",
        {"image": calib["image"], "label": calib["label"]} if "label" in calib else calib,
        tmp_path / "d.edge",
        observer="minmax",
        budget=edgekit.Budget(max_drop=0.05),
        metric=agreement,
    )
    assert done.mixed.met and done.mixed.judged.real == 1.0
    assert done.mixed.judged.metric.endswith("agreement")
    report = edgekit.check(
        tmp_path / "d.edge", digits / "digits.onnx", digits / "eval.npz", metric=agreement
    )
    assert report.metric.samples == 900 and report.metric.edge > 0.98
