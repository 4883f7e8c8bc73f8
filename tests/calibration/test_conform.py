"""Every fault of a sample has its message."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.calibration import CalibrationError, InputSpec, open_samples

_IMAGE = InputSpec("image", (1, 8, 8, 3), np.float32)
_IDS = InputSpec("ids", (1, 4), np.int32)


def _feed(value, spec):
    (feed,) = open_samples([{spec.name: value}], [spec])
    return feed[spec.name]


def _message(value, spec):
    with pytest.raises(CalibrationError) as caught:
        _feed(value, spec)
    assert "sample 0" in str(caught.value)
    assert f"'{spec.name}'" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u2", "f2", "f8", ">f4", "?"])
def test_types_that_lose_nothing_that_matters_become_float(dtype):
    result = _feed(np.ones((8, 8, 3), dtype), _IMAGE)
    assert result.dtype == np.float32 and result.dtype.isnative
    assert result.shape == (1, 8, 8, 3) and (result == 1).all()


@pytest.mark.parametrize("dtype", ["i4", "i8", "u8", "c8", "U3", "M8[s]"])
def test_other_types_are_refused_for_a_float(dtype):
    message = _message(np.zeros((8, 8, 3), dtype), _IMAGE)
    assert "wrong dtype" in message and ".astype(np.float32)" in message


def test_objects_are_refused():
    assert "pickled" in _message(np.full((8, 8, 3), None), _IMAGE)
    assert "lists of equal lengths" in _message([[1, 2], [3]], _IMAGE)


def test_python_numbers_take_the_input_type():
    assert _feed([1, 2], InputSpec("x", (1, 2), np.float32)).dtype == np.float32
    assert _feed(16000, InputSpec("rate", (), np.int64)) == 16000


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "u1"])
def test_whole_numbers_become_integers(dtype):
    result = _feed(np.array([0, 1, 2, 100], dtype), _IDS)
    assert result.dtype == np.int32 and result.tolist() == [[0, 1, 2, 100]]


@pytest.mark.parametrize("value", [0.5, 2.0**31, -(2.0**31) - 256, 1e30])
def test_numbers_an_integer_does_not_hold_are_refused(value):
    message = _message(np.array([0, value, 1, 2], np.float64), _IDS)
    assert "wrong dtype float64; the model takes int32 and 1 of 4 values" in message
    assert str(value) in message


@given(st.integers(-(2**63), 2**64 - 1), st.sampled_from(["i1", "u1", "i4", "i8", "u8", "?"]))
def test_integers_are_kept_or_refused_never_wrapped(value, dtype):
    array = np.array([value], np.int64 if value < 2**63 else np.uint64)
    info = (0, 1) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    spec = InputSpec("x", (1,), np.dtype(dtype))
    if info[0] <= value <= info[1]:
        assert int(_feed(array, spec)[0]) == value
    else:
        assert "1 of 1 values" in _message(array, spec)


def test_floats_beyond_64_bit_integers_are_refused():
    for dtype, value in (("i8", 2.0**63), ("u8", 2.0**64), ("u8", -1.0)):
        for kind in (np.float32, np.float64):
            _message(np.array([value], kind), InputSpec("x", (1,), np.dtype(dtype)))


def test_a_double_too_large_for_float_is_refused():
    x = np.zeros((8, 8, 3))
    x[1, 1, 1] = 1e300
    assert "1 of 192 values are too large for it, first 1e+300" in _message(x, _IMAGE)


@pytest.mark.parametrize("spec", [_IMAGE, InputSpec("image", (1, 8, 8, 3), np.int8)])
def test_nan_and_infinity_are_counted(spec):
    x = np.zeros((8, 8, 3), np.float32)
    x[0, 0], x[1, 1, 0] = np.nan, -np.inf
    assert "3 NaN and 1 infinite values among 192; remove the sample" in _message(x, spec)


def test_missing_values_are_taken_where_the_model_does():
    spec, x = InputSpec("x", (1, 3), np.float32, missing=True), np.array([1, np.nan, 3])
    assert np.array_equal(_feed(x, spec)[0], [1, np.nan, 3], equal_nan=True)
    assert "0 NaN and 1 infinite" in _message(np.array([1, np.inf, 3]), spec)
    assert "too large for it" in _message(np.array([1, 1e300, 3]), spec)


@pytest.mark.parametrize(
    ("shape", "spec", "hint"),
    [
        ((3, 8, 8), _IMAGE, "look NCHW and the model NHWC; transpose each: x.transpose(1, 2, 0)"),
        ((1, 3, 8, 8), _IMAGE, "NCHW and the model NHWC; transpose each: x.transpose(0, 2, 3, 1)"),
        ((8, 9, 3), InputSpec("i", (1, 3, 8, 9), np.float32), "x.transpose(2, 0, 1)"),
        ((10, 49), InputSpec("m", (1, 49, 10), np.float32), "x.transpose(1, 0)"),
        ((49, 10), InputSpec("m", (1, 49, 10, 1), np.float32), "reshape each to (49, 10, 1)"),
        ((192,), _IMAGE, "number of values is right: reshape each to (8, 8, 3) if"),
        ((9, 9, 3), _IMAGE, "resize or crop"),
        ((7,), _IMAGE, "prepare the samples as at inference"),
    ],
)
def test_a_wrong_shape_says_what_to_do(shape, spec, hint):
    message = _message(np.zeros(shape, np.float32), spec)
    assert f"wrong shape {shape}; expected {spec.shape}, or {spec.sample} for one" in message
    assert hint in message


def test_a_transpose_that_is_told_is_right():
    x = np.arange(8 * 9 * 3, dtype=np.float32).reshape(8, 9, 3)
    spec = InputSpec("image", (1, 3, 8, 9), np.float32)
    axes = re.search(r"x\.transpose\((.*?)\)", _message(x, spec))[1]
    assert _feed(x.transpose([int(i) for i in axes.split(",")]), spec).shape == spec.shape


def test_the_sample_axis_of_arrays_is_named():
    with pytest.raises(CalibrationError) as caught:
        open_samples({"image": np.zeros((50, 3, 8, 8), np.float32)}, [_IMAGE])
    assert "is 50 samples along the first axis, each of wrong shape (3, 8, 8)" in str(caught.value)


def test_unknown_names_suggest_the_closest():
    source = [{"imgae": np.zeros((8, 8, 3), np.float32)}]
    with pytest.raises(CalibrationError, match=r"'image' is missing; .* Rename 'imgae'\?"):
        list(open_samples(source, [_IMAGE]))


def test_a_missing_input_is_named():
    with pytest.raises(CalibrationError, match="'ids' is missing; the model has 'image', 'ids'"):
        list(open_samples([{"image": np.zeros((8, 8, 3), np.float32)}], [_IMAGE, _IDS]))


def test_all_missing_inputs_are_named_with_what_may_stand_for_them():
    low = InputSpec("low", (1,), np.float32, option="--constant low=VALUE")
    with pytest.raises(CalibrationError) as caught:
        list(open_samples([{"image": np.zeros((8, 8, 3), np.float32)}], [_IMAGE, _IDS, low]))
    said = "inputs 'ids', 'low' are missing; the model has 'image', 'ids', 'low', found: 'image'. "
    assert f"{said}Add them under these names, or use --constant low=VALUE." in str(caught.value)


def test_the_faulty_sample_is_named():
    good, bad = np.zeros((8, 8, 3), np.float32), np.full((8, 8, 3), np.nan, np.float32)
    samples = iter(open_samples([{"image": good}, {"image": bad}], [_IMAGE]))
    next(samples)
    with pytest.raises(CalibrationError, match="sample 1, input 'image': 192 NaN"):
        next(samples)


def test_bytes_taken_as_numbers_are_noted():
    samples = open_samples({"image": np.zeros((2, 8, 8, 3), np.uint8)}, [_IMAGE])
    list(samples)
    assert len(samples.notes) == 1 and "0 to 255" in samples.notes[0]


@pytest.mark.parametrize("source", [np.zeros((2, 8, 8, 3)), 5, None])
def test_what_is_no_source_is_refused(source):
    with pytest.raises(CalibrationError, match=r"samples cannot be taken from a .* \{'image': arr"):
        open_samples(source, [_IMAGE])


def test_items_must_be_dicts():
    with pytest.raises(CalibrationError, match="sample 0: is a ndarray; every sample must be"):
        list(open_samples([np.zeros((8, 8, 3))], [_IMAGE]))


def test_no_samples_is_an_error():
    for source in ([], iter([]), {"image": np.zeros((0, 8, 8, 3))}):
        with pytest.raises(CalibrationError, match="0 samples"):
            list(open_samples(source, [_IMAGE]))


def test_arrays_of_different_lengths_are_an_error():
    source = {"image": np.zeros((3, 8, 8, 3), np.float32), "ids": np.zeros((4, 4), np.int32)}
    with pytest.raises(CalibrationError, match=r"different numbers .*: 'image' 3, 'ids' 4"):
        open_samples(source, [_IMAGE, _IDS])


def test_a_model_without_inputs_takes_no_samples():
    with pytest.raises(CalibrationError, match="no inputs"):
        open_samples([], [])


def test_a_symbolic_shape_is_refused():
    with pytest.raises(ValueError, match="must be static"):
        InputSpec("x", (0, 3), np.dtype(np.float32))
