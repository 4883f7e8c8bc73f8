""".wav: one sample a file, mono, of exactly the input's length; the rate is not looked at."""

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrationError
from ..specs import InputSpec
from .reader import Kind, Raw, Request, check_file, optional_module, readable


def _read(path: Path, request: Request) -> Iterator[Raw]:
    spec = request.only
    sound = _wave(path)
    length = math.prod(spec.sample)
    if sum(n > 1 for n in spec.sample) > 1:
        raise CalibrationError(
            f"{path}: input '{spec.name}' has the shape {spec.shape}, which is not a waveform; "
            "compute the features (a spectrogram, say) as at inference and save them as .npy"
        )
    if sound.ndim != 1:
        raise CalibrationError(
            f"{path}: has {sound.shape[1]} channels, input '{spec.name}' takes one; "
            "mix it down to mono"
        )
    if len(sound) != length:
        verb = "cut" if len(sound) > length else "pad"
        raise CalibrationError(
            f"{path}: has {len(sound)} values, input '{spec.name}' takes {length}; "
            f"{verb} the file (and check its sample rate), or give the shape with --shape"
        )
    yield str(path), {spec.name: _in_units_of(spec, sound).reshape(spec.sample)}


def _wave(path: Path) -> NDArray[Any]:
    wavfile = optional_module("scipy.io.wavfile", "scipy", str(path))
    check_file(path, "a .wav file")
    with readable(str(path), "a .wav file"), warnings.catch_warnings():
        # Unknown chunks do not matter; an early end does.
        warnings.simplefilter("ignore", wavfile.WavFileWarning)
        warnings.filterwarnings("error", "Reached EOF", wavfile.WavFileWarning)
        return np.asarray(wavfile.read(path)[1])


def _in_units_of(spec: InputSpec, sound: NDArray[Any]) -> NDArray[Any]:
    """Integers in [-1, 1) for a float input (24 bits come as the upper ones of int32)."""
    if spec.dtype.kind != "f" or sound.dtype.kind == "f":
        return sound
    half = 1 << (8 * sound.dtype.itemsize - 1)
    middle = half if sound.dtype.kind == "u" else 0
    return ((sound.astype(np.float64) - middle) / half).astype(np.float32)


def _count(path: Path, request: Request) -> int:
    return 1


WAV = Kind("wav", (".wav",), _read, _count)
