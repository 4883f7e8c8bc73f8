"""The verdict of `quantize` counts the errors that a state carries on from step to step."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

import edgekit
from edgekit.toolkit.decibels import ratio_db
from edgekit.toolkit.runtime import Session

from .conftest import saved

UNITS, INPUTS = 12, 6


def remembering(path):
    """A layer of tanh units that keep nearly all of what they have, and see little that is new: an
    error in one step is an error in hundreds."""
    rng = np.random.default_rng(0)
    mix, _ = np.linalg.qr(rng.normal(size=(UNITS, UNITS)))
    constants = {
        "w": rng.normal(0, 0.008, (INPUTS, UNITS)),
        "u": np.eye(UNITS) + 0.003 * mix,
        "last": rng.normal(0, 0.5, (UNITS, 3)),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["new"]),
        helper.make_node("MatMul", ["h", "u"], ["old"]),
        helper.make_node("Add", ["old", "new"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["hn"]),
        helper.make_node("MatMul", ["hn", "last"], ["y"]),
    ]
    shapes = {"x": (1, INPUTS), "h": (1, UNITS)}
    return saved(path, nodes, shapes, {"y": (1, 3), "hn": (1, UNITS)}, constants)


def steps(count=400):
    rows = np.random.default_rng(1).normal(size=(count, 1, INPUTS)).astype(np.float32)
    return [{"x": row} for row in rows]


def quantized(tmp_path, samples, **options):
    path = remembering(tmp_path / "m.onnx")
    return edgekit.quantize(path, samples, tmp_path / "m.edge", states="auto", **options)


def test_errors_that_the_state_carries_on_lower_the_verdict(tmp_path):
    samples = steps()
    done = quantized(tmp_path, samples, on_low_accuracy="warn")
    quality = done.quality
    assert quality.level == "usable" and quality.sequences
    assert "over sequences on 200 of the 400 calibration samples" in done.verdict[0]
    onnxruntime = pytest.importorskip("onnxruntime")
    floats = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    session, state, rows = Session(tmp_path / "m.edge"), np.zeros((1, UNITS), np.float32), []
    for sample in samples:
        y, state = floats.run(["y", "hn"], {**sample, "h": state})
        rows.append([y, session.run(sample)["y"]])
    truth, got = np.array(rows[::2], np.float64).swapaxes(0, 1)
    spread, noise = np.sum((truth - truth.mean(axis=0)) ** 2), np.sum((got - truth) ** 2)
    assert quality.sqnr_db["y"] == pytest.approx(ratio_db(spread, noise), abs=0.01)


def test_what_the_state_carries_on_is_promoted(tmp_path):
    samples = steps()
    done = quantized(tmp_path, samples)
    assert done.quality.level == "good" and done.promotion.before.sequences
    report = edgekit.check(tmp_path / "m.edge", tmp_path / "m.onnx", samples)
    assert report.level == "good" and report.outputs[0].sqnr_db > 20


def test_short_sequences_need_no_more(tmp_path):
    done = quantized(tmp_path, steps(), on_low_accuracy="warn", sequence=4)
    assert done.quality.level == "good" and not done.quality.sequences


def test_samples_that_are_read_once_are_judged_step_by_step(tmp_path):
    done = quantized(tmp_path, iter(steps()), on_low_accuracy="warn")
    assert done.quality.level == "good" and not done.quality.sequences
