""".wav: one sample a file, as a front end says: resampled, mixed down, cut or padded with zeros.

Without a front end it must be mono and of exactly the input's length; the rate is not looked at.
"""

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
    rate, sound = _wave(path)
    if request.sound is not None:
        pcm = _prepared(sound, rate, request.sound.rate, request.sound.samples(spec), path)
        yield str(path), {spec.name: request.sound.values(pcm, spec)}
        return
    length = math.prod(spec.sample)
    if sum(n > 1 for n in spec.sample) > 1:
        raise CalibrationError(
            f"{path}: input '{spec.name}' has the shape {spec.shape}, which is not a waveform; "
            "select a front end (--preprocess mfcc:... or log-mel:...), or compute the features "
            "(e.g. a spectrogram) as for inference and save them as .npy"
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


def _prepared(
    sound: NDArray[Any], rate: int, wanted: int, samples: int, path: Path
) -> NDArray[np.int16]:
    """int16 [samples] at the rate `wanted`: the mean of all channels, resampled by scipy."""
    if rate < 1 or not sound.size:
        raise CalibrationError(f"{path}: has no samples, or no sample rate; remove it")
    if sound.dtype != np.int16 or sound.ndim > 1 or rate != wanted:
        real = _real(sound) * 32768.0
        real = real.mean(axis=1) if real.ndim > 1 else real
        if rate != wanted:
            signal = optional_module("scipy.signal", "scipy", str(path))
            shared = math.gcd(rate, wanted)
            real = signal.resample_poly(real, wanted // shared, rate // shared)
        if not np.isfinite(real).all():
            raise CalibrationError(f"{path}: has values that are not finite; remove it")
        sound = np.clip(np.rint(real), -32768, 32767).astype(np.int16)
    made = np.zeros(samples, np.int16)
    made[: len(sound)] = sound[:samples]
    return made


def _wave(path: Path) -> tuple[int, NDArray[Any]]:
    wavfile = optional_module("scipy.io.wavfile", "scipy", str(path))
    check_file(path, "a .wav file")
    with readable(str(path), "a .wav file"), warnings.catch_warnings():
        # Unknown chunks do not matter; an early end does.
        warnings.simplefilter("ignore", wavfile.WavFileWarning)
        warnings.filterwarnings("error", "Reached EOF", wavfile.WavFileWarning)
        rate, values = wavfile.read(path)
        return int(rate), np.asarray(values)


def _in_units_of(spec: InputSpec, sound: NDArray[Any]) -> NDArray[Any]:
    """Integers in [-1, 1) for a float input (24 bits come as the upper ones of int32)."""
    if spec.dtype.kind != "f" or sound.dtype.kind == "f":
        return sound
    return _real(sound).astype(np.float32)


def _real(sound: NDArray[Any]) -> NDArray[np.float64]:
    """In [-1, 1), as far as integers go."""
    if sound.dtype.kind == "f":
        return sound.astype(np.float64)
    half = 1 << (8 * sound.dtype.itemsize - 1)
    middle = half if sound.dtype.kind == "u" else 0
    real: NDArray[np.float64] = (sound.astype(np.float64) - middle) / half
    return real


def _count(path: Path, request: Request) -> int:
    return 1


WAV = Kind("wav", (".wav",), _read, _count)
