"""One raw array -> exactly what an input takes, or an error that says what to do."""

import difflib
import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import CalibrationError
from .specs import InputSpec


def conform(value: Any, spec: InputSpec, where: str) -> NDArray[Any]:
    """The value in the input's dtype, finite, of shape spec.shape or, in a larger batch, a part.

    A part is of shape spec.sample and comes only where spec.batch > 1. `where` names the sample
    in messages. Raises CalibrationError on a wrong shape or type and on values that are infinite,
    NaN where none may be missing, or not exactly representable.
    """
    where = f"{where}, input '{spec.name}'"
    array = as_array(value, spec, where)
    if spec.texts and array.dtype.kind in "US":
        array = numbers_of(array, spec.texts)
    if spec.takes_sample(array.shape) and spec.batch == 1 and spec.shape:
        array = array[None]
    if not (spec.takes(array.shape) or spec.takes_sample(array.shape)):
        raise CalibrationError(f"{where}: {shape_message(array.shape, spec)}")
    check_dtype(array.dtype, spec, where)
    _check_finite(array, where, spec.missing)
    return _cast(array, spec, where)


def as_array(value: Any, spec: InputSpec, where: str) -> NDArray[Any]:
    """An array of the value; Python numbers and lists, which name no type, get the input's."""
    if hasattr(value, "dtype") or hasattr(value, "__array__"):
        array = np.asarray(value)
        if spec.texts and array.dtype.kind == "O" and all(isinstance(v, str) for v in array.flat):
            return array.astype(str)
        return array
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise CalibrationError(
            f"{where}: {type(value).__name__} is not an array ({error}); "
            "give a numpy array, or lists of equal lengths"
        ) from error
    if array.dtype.kind in "iub" and spec.dtype.kind == "f":
        return array.astype(spec.dtype)
    return array


def numbers_of(texts: NDArray[Any], known: Sequence[str]) -> NDArray[np.int32]:
    """The place of each text [any shape, str or bytes] in `known`; len(known) for any other."""
    places = {text: i for i, text in enumerate(known)}
    words = (t.decode() if isinstance(t, bytes) else str(t) for t in texts.ravel())
    found = np.array([places.get(word, len(places)) for word in words], np.int32)
    return found.reshape(texts.shape)


def check_dtype(dtype: np.dtype[Any], spec: InputSpec, where: str) -> None:
    """Raise CalibrationError where values of a type cannot be taken for the input's.

    Taken are types that it holds exactly, any float for a float, and for an integer any number,
    since `conform` looks at the values; for strings, strings and integers.
    """
    want = spec.dtype
    if dtype.kind == "O":
        raise CalibrationError(
            f"{where}: wrong dtype object (pickled Python objects are not read, because that is "
            f"unsafe); save a plain array, as .astype({'str' if spec.texts else f'np.{want}'})"
        )
    if spec.texts and dtype.kind in "US":
        return
    if dtype.kind in "biuf" and (
        want.kind in "biu" or dtype.kind == "f" or np.can_cast(dtype, want, "safe")
    ):
        return
    raise CalibrationError(
        f"{where}: wrong dtype {dtype}; the model takes {want}, which cannot represent every "
        f"{dtype} value; convert the samples as at inference, then save .astype(np.{want})"
    )


def shape_message(got: tuple[int, ...], spec: InputSpec) -> str:
    """What is wrong with a sample's shape and, where a known mistake explains it, the remedy."""
    text = f"wrong shape {got}; expected {spec.text}"
    if spec.shape:
        text += f", or {spec.sample} for one sample"
    target = spec.shape if len(got) == len(spec.shape) else spec.sample
    if _squeezed(got) == _squeezed(target):
        return f"{text}; only axes of length 1 differ: reshape each to {target}"
    if sorted(got) == sorted(target) and len(got) <= 6:
        axes = next(
            p for p in itertools.permutations(range(len(got)))
            if tuple(got[i] for i in p) == target
        )  # fmt: skip
        known: dict[tuple[int, ...], str] = {(2, 0, 1): "NHWC", (1, 2, 0): "NCHW"}
        layout = known.get(tuple(i - 1 for i in axes[1:]) if len(axes) == 4 else axes)
        other = {"NHWC": "NCHW", "NCHW": "NHWC"}
        hint = f"; the samples look {layout} and the model {other[layout]}" if layout else ""
        return f"{text}{hint}; transpose each: x.transpose{axes}"
    if math.prod(got) == math.prod(target):
        return f"{text}; the number of values is right: reshape each to {target} if their order is"
    if len(got) > 2 and len(got) == len(target):
        return f"{text}; resize or crop the samples, or give the model this shape with --shape"
    return f"{text}; prepare the samples as at inference, or give the model's shape with --shape"


def check_names(names: Collection[str], specs: Iterable[InputSpec], where: str) -> list[str]:
    """The names that are no inputs. Raises CalibrationError for inputs that are missing."""
    specs = list(specs)
    inputs = [spec.name for spec in specs]
    missing = [spec for spec in specs if spec.name not in names]
    if missing:
        several = len(missing) > 1
        raise CalibrationError(
            f"{where}: {'inputs' if several else 'input'} {_listed(s.name for s in missing)} "
            f"{'are' if several else 'is'} missing; the model has {_listed(inputs)}, found: "
            f"{_listed(names) or 'none'}. {_remedy(missing, names)}"
        )
    return [name for name in names if name not in inputs]


def _remedy(missing: Sequence[InputSpec], names: Collection[str]) -> str:
    if close := difflib.get_close_matches(missing[0].name, list(names), 1, cutoff=0.5):
        return f"Rename '{close[0]}'?"
    add = "Add them under these names" if len(missing) > 1 else "Add it under that name"
    options = " ".join(spec.option for spec in missing if spec.option)
    return f"{add}, or use {options}." if options else f"{add}."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _check_finite(array: NDArray[Any], where: str, missing: bool) -> None:
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return
    if missing and not np.isinf(array).any():
        return
    nan, infinite = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    raise CalibrationError(
        f"{where}: {nan} NaN and {infinite} infinite values among {array.size}; remove the "
        "sample, or fix the program that wrote it"
    )


def _cast(array: NDArray[Any], spec: InputSpec, where: str) -> NDArray[Any]:
    if array.dtype == spec.dtype:
        return np.ascontiguousarray(array).reshape(array.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        result = array.astype(spec.dtype, order="C")
    if spec.dtype.kind == "f":
        bad = np.isinf(result)
        reason = "too large for it"
    else:
        bad = (result != array) | _beyond(array, spec.dtype)
        reason = "no whole numbers in its range"
    if bad.any():
        raise CalibrationError(
            f"{where}: wrong dtype {array.dtype}; the model takes {spec.dtype} and "
            f"{int(bad.sum())} of {array.size} values are {reason}, first {array[bad].flat[0]}; "
            "scale or round the samples as at inference"
        )
    return result


def _beyond(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Where floats leave an integer type; some machines saturate, to what compares as equal.

    The upper limit plus one is a power of two, so a float64, even for 64 bits. Integers that
    leave it wrap round, which a comparison shows.
    """
    if dtype.kind == "b" or array.dtype.kind != "f":
        return np.zeros(array.shape, np.bool_)
    limits = np.iinfo(dtype)
    values = array.astype(np.float64)
    return np.asarray((values < float(limits.min)) | (values >= float(limits.max + 1)))
