"""Models whose state the caller feeds back: errors that it carries on count for the verdict."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

import edgekit
from edgekit.calibration import CalibrationError, open_samples
from edgekit.toolkit.decibels import ratio_db
from edgekit.toolkit.evaluation.judging import input_specs
from edgekit.toolkit.evaluation.sequences import over_sequences
from edgekit.toolkit.evaluation.state_samples import (
    follows_of,
    starts_of,
    with_plain_states,
    with_states,
)
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.state import likely_pairs, mark_states, plain_pairs

from .conftest import HIDDEN, INPUTS, saved

SIZE = 64
KEEPS = 0.999


@pytest.fixture
def mean(tmp_path):
    """A slow running mean: what rounding adds in one step stays for a thousand."""
    nodes = [
        helper.make_node("MatMul", ["h", "keeps"], ["old"]),
        helper.make_node("MatMul", ["x", "takes"], ["new"]),
        helper.make_node("Add", ["old", "new"], ["h_out"]),
        helper.make_node("Neg", ["h_out"], ["y"]),
    ]
    shapes, made = {"x": (1, SIZE), "h": (1, SIZE)}, {"y": (1, SIZE), "h_out": (1, SIZE)}
    constants = {"keeps": KEEPS * np.eye(SIZE), "takes": (1 - KEEPS) * np.eye(SIZE)}
    return saved(tmp_path / "mean.onnx", nodes, shapes, made, constants)


def steps(count, seed=0, carried=True):
    """Samples with the state before them, or with zeros."""
    rng = np.random.default_rng(seed)
    h = np.zeros((1, SIZE), np.float32)
    for _ in range(count):
        x = rng.uniform(-1, 1, (1, SIZE)).astype(np.float32)
        yield {"x": x, "h": h if carried else 0 * h}
        h = (KEEPS * h + (1 - KEEPS) * x).astype(np.float32)


def over_sequence_db(path, edge, samples):
    """SQNR of y where file and onnxruntime each have their own state."""
    onnxruntime = pytest.importorskip("onnxruntime")
    floats = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    session, signal, noise = Session(edge), 0.0, 0.0
    h = g = np.zeros((1, SIZE), np.float32)
    for sample in samples:
        y, h = floats.run(["y", "h_out"], {"x": sample["x"], "h": h})
        found = session.run({"x": sample["x"], "h": g})
        g = found["h_out"]
        signal += float(np.square(y, dtype=np.float64).sum())
        noise += float(np.square(found["y"] - y, dtype=np.float64).sum())
    return ratio_db(signal, noise)


def test_a_state_that_collapses_over_time_is_seen_and_mended(mean, tmp_path):
    samples = list(steps(600))
    warned = edgekit.quantize(mean, samples, tmp_path / "w.edge", on_low_accuracy="warn")
    alone = over_sequence_db(mean, tmp_path / "w.edge", samples)
    assert alone < 20
    assert warned.quality.sequences and warned.quality.level != "good"
    assert "over sequences" in warned.verdict[0]
    mended = edgekit.quantize(mean, samples, tmp_path / "m.edge")
    assert mended.promotion is not None and mended.quality.level == "good"
    assert over_sequence_db(mean, tmp_path / "m.edge", list(steps(600, seed=5))) > alone + 10


def test_check_says_the_same_of_states_that_are_fed_back(mean, tmp_path):
    samples = list(steps(600))
    told = edgekit.quantize(mean, samples, tmp_path / "w.edge", on_low_accuracy="warn").quality
    seen = edgekit.check(tmp_path / "w.edge", mean, samples).quality
    assert seen.sequences and seen.sqnr_db == pytest.approx(told.sqnr_db, abs=0.01)


def test_samples_without_the_state_that_they_would_have_are_the_cause(mean, tmp_path):
    zeros = list(steps(64, carried=False))
    done = edgekit.quantize(mean, zeros, tmp_path / "z.edge")
    assert done.quality.level == "broken"
    assert "state input 'h' is constant in all samples" in done.verdict[1]
    assert "--state h=h_out" in done.verdict[1]


def layer(tmp_path, stacked):
    """An LSTM step whose names say nothing; `stacked`: h and c are one input and one output."""
    rng = np.random.default_rng(2)
    constants = {
        "w": rng.normal(0, 0.5, (1, 4 * HIDDEN, INPUTS)),
        "r": rng.normal(0, 0.3, (1, 4 * HIDDEN, HIDDEN)),
    }
    starts, ends = (["a", "b"], ["u", "v"]) if stacked else (["p", "q"], ["s", "t"])
    of = ["x", "w", "r", "", "", *starts]
    nodes = [
        helper.make_node("LSTM", of, ["y", *ends], hidden_size=HIDDEN),
        helper.make_node("Neg", ["y"], ["out"]),
    ]
    inputs, outputs = {"x": (1, 1, INPUTS)}, {"out": (1, 1, 1, HIDDEN)}
    one = (1, 1, HIDDEN)
    if stacked:
        split = helper.make_node("Split", ["p"], starts, axis=0, num_outputs=2)
        nodes = [split, *nodes, helper.make_node("Concat", ends, ["s"], axis=0)]
        inputs["p"] = outputs["s"] = (2, 1, HIDDEN)
    else:
        inputs |= {"p": one, "q": one}
        outputs |= {"t": one, "s": one}
    return saved(tmp_path / "layer.onnx", nodes, inputs, outputs, constants)


@pytest.mark.parametrize("stacked", [False, True])
def test_what_a_layer_starts_and_ends_with_is_state(tmp_path, stacked):
    path = layer(tmp_path, stacked)
    assert plain_pairs(load(path)) == ({"p": "s"} if stacked else {"p": "s", "q": "t"})


def test_a_missing_input_of_an_outputs_type_may_be_state(tmp_path):
    nodes = [
        helper.make_node("Concat", ["x", "a"], ["whole"], axis=1),
        helper.make_node("Tanh", ["a"], ["b"]),
    ]
    shapes = {"whole": (1, 5), "b": (1, 3)}
    path = saved(tmp_path / "m.onnx", nodes, {"x": (1, 2), "a": (1, 3)}, shapes)
    assert plain_pairs(load(path)) == {} and likely_pairs(load(path)) == {"a": "b"}
    with pytest.raises(CalibrationError, match="or use --state a=b"):
        edgekit.quantize(path, [{"x": np.ones((1, 2), np.float32)}], tmp_path / "m.edge")


def test_whole_sequences_that_begin_alike_are_not_joined(tmp_path):
    """Each sample has all steps, and zeros for the states that the layer begins with."""
    rng, steps_of_one = np.random.default_rng(5), 12
    constants = {
        "w": rng.normal(0, 0.5, (1, 4 * HIDDEN, INPUTS)),
        "r": rng.normal(0, 0.3, (1, 4 * HIDDEN, HIDDEN)),
        "last": rng.normal(0, 0.4, (HIDDEN, 3)),
    }
    of = ["x", "w", "r", "", "", "h0", "c0"]
    nodes = [
        helper.make_node("LSTM", of, ["", "hn", "cn"], hidden_size=HIDDEN),
        helper.make_node("MatMul", ["hn", "last"], ["y"]),
    ]
    state = (1, 1, HIDDEN)
    shapes = {"x": (steps_of_one, 1, INPUTS), "h0": state, "c0": state}
    outputs = {"y": (1, 1, 3), "hn": state, "cn": state}
    path = saved(tmp_path / "m.onnx", nodes, shapes, outputs, constants)
    zeros = np.zeros(state, np.float32)
    x = rng.normal(0, 1, (64, steps_of_one, 1, INPUTS)).astype(np.float32)
    samples = [{"x": row, "h0": zeros, "c0": zeros} for row in x]
    done = edgekit.quantize(path, samples, tmp_path / "m.edge")
    assert done.quality.level == "good" and not done.quality.sequences and not done.suspects
    carried = [s | {"h0": rng.normal(0, 0.3, state).astype(np.float32)} for s in samples]
    graph = load(path)
    assert follows_of(with_plain_states(graph, samples)) == {}
    assert follows_of(with_plain_states(graph, carried)) == {"h0": "hn", "c0": "cn"}


def test_sequences_begin_where_the_states_of_the_samples_do(mean, tmp_path):
    """What rounding adds in 20 steps is little; in all steps as one sequence it would be much."""
    parts = [list(steps(20, seed=i)) for i in range(30)]
    samples = [sample for part in parts for sample in part]
    how = {"on_low_accuracy": "warn"}
    apart = edgekit.quantize(mean, samples, tmp_path / "a.edge", **how).quality
    graph = with_plain_states(load(mean), samples)
    opened = open_samples(samples, input_specs(load(mean)))
    assert starts_of(graph, opened) == frozenset(range(0, 600, 20))
    picked = open_samples(samples[::7], input_specs(load(mean)))
    assert starts_of(graph, picked) is None  # single steps
    joined = over_sequences(graph, (tmp_path / "a.edge").read_bytes(), opened, None)
    wanted = loop_db(mean, tmp_path / "a.edge", parts)  # of other samples than the 256 of these
    assert joined.sqnr_db["y"] == pytest.approx(wanted, abs=0.5)
    assert apart.level == joined.level == "good"


def loop_db(path, edge, parts):
    """SQNR of y relative to its variation, over sequences that begin anew."""
    onnxruntime = pytest.importorskip("onnxruntime")
    floats = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    session, wanted, got = Session(edge), [], []
    for part in parts:
        h = g = part[0]["h"]
        for sample in part:
            y, h = floats.run(["y", "h_out"], {"x": sample["x"], "h": h})
            found = session.run({"x": sample["x"], "h": g})
            g = found["h_out"]
            wanted.append(y)
            got.append(found["y"])
    truth = np.array(wanted, np.float64)
    noise = np.square(np.array(got) - truth).sum()
    return ratio_db(float(np.square(truth - truth.mean(axis=0)).sum()), float(noise))


def test_a_state_that_is_the_only_output_counts_itself(mean, tmp_path):
    model = onnx.load(mean)
    del model.graph.node[-1:], model.graph.output[:1]
    assert [o.name for o in model.graph.output] == ["h_out"]
    onnx.save(model, tmp_path / "alone.onnx")
    samples = list(steps(600))
    how = {"on_low_accuracy": "warn"}
    told = edgekit.quantize(tmp_path / "alone.onnx", samples, tmp_path / "m.edge", **how).quality
    assert told.sequences and told.level != "good" and list(told.sqnr_db) == ["h_out"]


def test_check_reads_a_generator_once(mean, tmp_path):
    edgekit.quantize(mean, list(steps(100)), tmp_path / "m.edge")
    quality = edgekit.check(tmp_path / "m.edge", mean, steps(50)).quality
    assert not quality.sequences and quality.samples == 50


def test_check_runs_sequences_on_the_kernels_that_it_was_given(mean, tmp_path):
    samples = list(steps(600))
    edgekit.quantize(mean, samples, tmp_path / "m.edge", on_low_accuracy="warn")
    seen = [edgekit.check(tmp_path / "m.edge", mean, samples, kernels=k) for k in ("ref", None)]
    assert seen[0].quality == seen[1].quality and seen[0].quality.sequences


@pytest.mark.parametrize("kept", [False, True])
def test_outliers_are_passed_over(mean, tmp_path, kept):
    pairs = [("h", "h_out")]
    how = {"on_low_accuracy": "warn", "states": pairs if kept else ()}
    samples = [{"x": s["x"]} if kept else s for s in steps(200)]
    edgekit.quantize(mean, samples, tmp_path / "m.edge", **how)
    file, graph = (tmp_path / "m.edge").read_bytes(), mark_states(load(mean), pairs)
    loud = [dict(s) for s in samples]
    loud[90]["x"] = 1000 * loud[90]["x"]
    specs = input_specs(graph if kept else load(mean))

    def quality(samples, outliers=()):
        opened = open_samples(samples, specs)
        if kept:
            opened = with_states(graph, opened)
        return over_sequences(graph, file, opened, None, outliers=outliers)

    without = [s for i, s in enumerate(samples) if i != 90]
    wanted = quality(without if kept else samples, () if kept else [90])
    assert quality(loud, [90]).sqnr_db == wanted.sqnr_db
    assert quality(loud).sqnr_db["y"] < wanted.sqnr_db["y"] - 3
