"""`check` and `run` of files that keep state, against the float model with its own state."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import helper

import edgekit
from edgekit.toolkit.cli.main import cli
from edgekit.toolkit.decibels import ratio_db
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.runtime import Session

from .conftest import PAIRS, frames, saved


@pytest.fixture(params=PAIRS)
def made(request, tmp_path):
    """(the ONNX model, its quantized file, its pairs)"""
    path, pairs = request.getfixturevalue(request.param), PAIRS[request.param]
    edgekit.quantize(path, frames(path, 200), tmp_path / "m.edge", states=pairs)
    return path, tmp_path / "m.edge", pairs


def answers_of_onnxruntime(path, pairs, samples, every):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    zeros = {
        i.name: np.zeros(i.shape, np.float32) for i in session.get_inputs() if i.name in dict(pairs)
    }
    state = zeros
    for i, sample in enumerate(samples):
        state = zeros if i % every == 0 else state
        found = dict(zip(names, session.run(names, {**sample, **state}), strict=True))
        state = {x: found[y] for x, y in pairs}
        yield found["y"]


@pytest.mark.parametrize("every", [None, 7])
def test_check_runs_sequences_of_the_file_and_of_the_float_model(made, every):
    path, edge, pairs = made
    samples = frames(path, 40, seed=3)
    wanted = list(answers_of_onnxruntime(path, pairs, samples, every or 40))
    session, noise, signal, mean = Session(edge), 0.0, 0.0, np.mean(wanted, axis=0)
    spread = float(np.sum(np.square(np.array(wanted, np.float64) - mean)))
    for i, (sample, y) in enumerate(zip(samples, wanted, strict=True)):
        if every and i % every == 0:
            session.reset()
        noise += float(((session.run(sample)["y"] - y).astype(np.float64) ** 2).sum())
        signal += float((y.astype(np.float64) ** 2).sum())
    report = edgekit.check(edge, path, samples, sequence=every)
    assert [o.name for o in report.outputs] == ["y"]
    assert report.outputs[0].sqnr_db == pytest.approx(ratio_db(signal, noise), abs=0.01)
    assert any("state kept in the session: " in note for note in report.notes)
    assert report.quality.sqnr_db == {"y": pytest.approx(ratio_db(spread, noise), abs=0.01)}


def test_layers_are_told_with_the_state_of_the_float_model(made):
    path, edge, pairs = made
    report = edgekit.check(edge, path, frames(path, 40, seed=3), layers=True)
    assert report.layers and report.explanation is not None
    assert min(n.sqnr_db for n in report.layers if n.sqnr_db is not None) > 20
    whole = edgekit.quantize(path, frames(path, 200), edge.with_name("n.edge"), states=pairs)
    assert abs(report.explanation.sqnr_db - whole.explanation.sqnr_db) < 12
    assert max(report.explanation.sqnr_db, whole.explanation.sqnr_db) < 80


def test_a_float_file_is_exact_over_sequences(lstm, tmp_path):
    edgekit.convert(lstm, tmp_path / "f.edge", states="auto")
    report = edgekit.check(tmp_path / "f.edge", lstm, frames(lstm, 200))
    assert report.outputs[0].sqnr_db > 100


def test_a_stripped_file_is_checked_where_names_are_plain(lstm, tmp_path):
    samples = frames(lstm, 64)
    for strip in (False, True):
        edgekit.quantize(lstm, samples, tmp_path / f"{strip}.edge", states="auto", strip=strip)
    whole, stripped = (
        edgekit.check(tmp_path / f"{strip}.edge", lstm, samples) for strip in (False, True)
    )
    assert stripped.outputs == whole.outputs


def test_a_file_of_another_model_is_refused(lstm, cache, tmp_path):
    edgekit.convert(lstm, tmp_path / "f.edge", states="auto")
    with pytest.raises(UserError, match="pass the model that the file was made from"):
        edgekit.check(tmp_path / "f.edge", cache, frames(cache, 4))


def test_sequences_of_a_model_without_state_are_refused(lstm, tmp_path):
    edgekit.convert(lstm, tmp_path / "open.edge")
    state = {"h0": np.zeros((1, 1, 12), np.float32), "c0": np.zeros((1, 1, 12), np.float32)}
    samples = [{**s, **state} for s in frames(lstm, 2)]
    with pytest.raises(UserError, match="requires a model with state"):
        edgekit.check(tmp_path / "open.edge", lstm, samples, sequence=2)


def test_quantizing_with_a_metric_and_a_report_of_a_model_with_state(lstm, tmp_path):
    done = edgekit.quantize(
        lstm, frames(lstm, 64), tmp_path / "m.edge", states="auto", sequence=16,
        evaluation=frames(lstm, 32, seed=4), metric="mae", report=tmp_path / "r.html",
        budget=edgekit.Budget(max_drop=0.5),
    )  # fmt: skip
    assert done.mixed is not None and done.mixed.met
    assert "<html" in (tmp_path / "r.html").read_text()


def test_run_starts_sequences_anew(lstm, tmp_path):
    edgekit.quantize(lstm, frames(lstm, 64), tmp_path / "m.edge", states="auto")
    three = frames(lstm, 3, seed=8)
    np.savez(tmp_path / "x.npz", x=np.concatenate([s["x"] for s in three * 2]))
    words = ["run", str(tmp_path / "m.edge"), "--input", str(tmp_path / "x.npz")]
    for more, same in (([], False), (["--sequence", "3"], True)):
        out = tmp_path / "y.npz"
        done = CliRunner().invoke(cli, [*words, "-o", str(out), *more])
        assert done.exit_code == 0, done.output
        y = np.load(out)["y"]
        assert np.array_equal(y[:3], y[3:]) == same


def test_layers_of_a_file_that_lost_constant_channels(tmp_path):
    """Which channels are left is told of the file that keeps its state, too."""
    rng = np.random.default_rng(4)
    bias = np.array([0.1, -90, 0.2, 0.3, -90, 0.1])  # two channels that Relu makes 0
    constants = {
        "w": rng.normal(0, 0.5, (6, 4, 2)), "b": bias, "w2": rng.normal(0, 0.5, (3, 6, 1)),
    }  # fmt: skip
    nodes = [
        helper.make_node("Concat", ["last", "x"], ["whole"], axis=2),
        helper.make_node("Conv", ["whole", "w", "b"], ["conv"]),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("Conv", ["relu", "w2"], ["y"]),
        helper.make_node("Identity", ["x"], ["last_out"]),
    ]
    path = saved(
        tmp_path / "m.onnx", nodes, {"x": (1, 4, 1), "last": (1, 4, 1)},
        {"y": (1, 3, 1), "last_out": (1, 4, 1)}, constants,
    )  # fmt: skip
    samples = frames(path, 64)
    edgekit.quantize(path, samples, tmp_path / "m.edge", states=[("last", "last_out")])
    assert read_file(tmp_path / "m.edge").pruned
    report = edgekit.check(tmp_path / "m.edge", path, samples, layers=True)
    assert report.outputs[0].sqnr_db > 25 and report.explanation is not None
