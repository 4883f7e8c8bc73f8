"""What calibration samples lack is said, and nothing of those that lack nothing."""

import numpy as np
import pytest

from edgekit.toolkit.quantize import Calibration, KeptSample, calibrate
from edgekit.toolkit.quantize.ranges.diagnostics import calibration_warnings, separate


def calibration(inputs, answers=None):
    kept = [KeptSample({"x": np.asarray(x, np.float32)}) for x in inputs]
    for k, answer in zip(kept, answers or [], strict=False):
        k.at_points["y"] = np.asarray(answer, np.float32)
    return Calibration({}, kept, [], len(kept))


MANY = [[i, 1] for i in range(10)]


def test_good_samples_are_not_remarked_on():
    assert calibration_warnings(calibration(MANY)) == []
    assert calibration_warnings(calibration(MANY, [[i] for i in range(10)])) == []


def test_samples_of_a_batch_are_counted_each():
    assert calibration_warnings(calibration(MANY[:2]), batch=5) == []
    assert calibration_warnings(calibration(MANY[:3]), batch=2)[0].startswith(
        "only 6 calibration samples"
    )
    assert calibration_warnings(calibration(MANY[:1]))[0].startswith("only 1 calibration sample:")


def test_an_input_that_varies_within_a_sample_is_not_constant():
    assert "identical" in calibration_warnings(calibration([[0, 1]] * 10))[0]
    assert "input 'x' is 3 everywhere" in calibration_warnings(calibration([[3, 3]] * 10))[0]
    assert calibration_warnings(calibration([[i, i] for i in range(10)])) == []


def test_answers_that_never_change():
    assert "the same answer" in calibration_warnings(calibration(MANY, [[5]] * 10))[0]


def windows(stream, length, hop, count, axis=0):
    """`count` windows of a stream, cut every `hop` steps."""
    return [
        {"x": np.take(stream, np.arange(i * hop, i * hop + length), axis)} for i in range(count)
    ]


@pytest.mark.parametrize(
    ("hop", "count", "worth"),
    [(8, 4, 1), (8, 16, 2), (8, 40, 40), (38, 5, 3), (57, 4, 3), (58, 5, 5)],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_windows_that_overlap_count_by_what_is_new(hop, count, worth, axis):
    """76 frames of 32 bands: 16 windows every 8 frames are 2.6 long."""
    stream = np.random.default_rng(0).normal(size=(1700, 32) if axis == 0 else (1, 1700, 32))
    found = windows(stream, 76, hop, count, axis)
    assert separate(found, 4) == worth
    told = calibration_warnings(calibration([w["x"] for w in found]))
    assert any("overlapping windows, worth" in line for line in told) == (hop < 58)


def test_windows_of_sound_that_begin_with_silence_overlap():
    sound = np.random.default_rng(0).normal(size=16_000)
    sound[:3000] = 0.0
    assert separate(windows(sound, 8000, 100, 30), 4) == 1


def test_what_is_alike_by_chance_does_not_overlap():
    """Ones where another has only zeros, and the same numbers again and again."""
    first, second = np.zeros((2, 16))
    first[:8] = np.arange(8)
    second[8:] = np.arange(8)
    assert separate([{"x": first}, {"x": second}], 4) == 2
    assert separate([{"x": np.full(16, i % 2)} for i in range(3)], 4) == 3


def test_kept_samples_are_copies_that_another_calibration_shares(g):
    net = g.output(g.emit("Softmax", g.input("x", 1, 3), axis=1))
    given = np.ones((1, 3), np.float32)
    (first,) = calibrate(net, [{"x": given}]).kept
    given[:] = 0.0
    (second,) = calibrate(net, [first.inputs]).kept
    assert first.inputs["x"].all() and second.inputs["x"] is first.inputs["x"]
