"""What calibration samples lack is said, and nothing of those that lack nothing."""

import numpy as np

from edgekit.toolkit.quantize import Calibration, KeptSample, calibrate
from edgekit.toolkit.quantize.ranges.diagnostics import calibration_warnings


def calibration(inputs, answers=None):
    kept = [KeptSample({"x": np.asarray(x, np.float32)}) for x in inputs]
    for k, answer in zip(kept, answers or [], strict=False):
        k.at_points["y"] = np.asarray(answer, np.float32)
    return Calibration({}, kept, [], len(kept))


MANY = [[i, 1] for i in range(8)]


def test_good_samples_are_not_remarked_on():
    assert calibration_warnings(calibration(MANY)) == []
    assert calibration_warnings(calibration(MANY, [[i] for i in range(8)])) == []


def test_samples_of_a_batch_are_counted_each():
    assert calibration_warnings(calibration(MANY[:2]), batch=4) == []
    assert calibration_warnings(calibration(MANY[:3]), batch=2)[0].startswith(
        "only 6 calibration samples"
    )
    assert calibration_warnings(calibration(MANY[:1]))[0].startswith("only 1 calibration sample:")


def test_an_input_that_varies_within_a_sample_is_not_constant():
    assert "identical" in calibration_warnings(calibration([[0, 1]] * 8))[0]
    assert "input 'x' is 3 everywhere" in calibration_warnings(calibration([[3, 3]] * 8))[0]
    assert calibration_warnings(calibration([[i, i] for i in range(8)])) == []


def test_answers_that_never_change():
    assert "the same answer" in calibration_warnings(calibration(MANY, [[5]] * 8))[0]


def test_kept_samples_are_copies_that_another_calibration_shares(g):
    net = g.output(g.emit("Softmax", g.input("x", 1, 3), axis=1))
    given = np.ones((1, 3), np.float32)
    (first,) = calibrate(net, [{"x": given}]).kept
    given[:] = 0.0
    (second,) = calibrate(net, [first.inputs]).kept
    assert first.inputs["x"].all() and second.inputs["x"] is first.inputs["x"]
