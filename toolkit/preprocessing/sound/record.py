"""A front end and the input that its features go to: recorded in the file, and applied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....calibration import CalibrationError, InputSpec
from ...errors import UserError
from ...ir import Array
from .arithmetic import frames_in, real_features, samples_for
from .front_end import FrontEnd

_MOST_SAMPLES = 1 << 24
_TYPES: dict[str, Any] = {f.name: type(f.default) for f in fields(FrontEnd)}


@dataclass(frozen=True)
class SoundPreprocessing:
    """How an input of this shape (batch 1) is made of `samples` int16 samples.

    `frames` rows of features lie one after the other; with `first` each feature has a row of
    frames.
    """

    front: FrontEnd
    shape: tuple[int, ...]
    frames: int
    first: bool
    samples: int

    @classmethod
    def of(cls, front: FrontEnd, spec: InputSpec) -> SoundPreprocessing:
        """Raises CalibrationError if the features do not fit the input."""
        axes = [n for n in spec.sample if n > 1] or [1]
        size, each = math.prod(axes), front.features
        fits = len(axes) <= 2 and size % each == 0 and (len(axes) == 1 or each in axes)
        if not fits or spec.batch != 1 or (front.kind == "pcm" and len(axes) > 1):
            raise CalibrationError(
                f"input '{spec.name}' has the shape {spec.shape}, which does not fit "
                f"{front.words}; it needs frames of {each} features: change the parameters of "
                "--preprocess"
            )
        frames, first = size // each, len(axes) == 2 and axes[1] != each
        least = frames if front.kind == "pcm" else samples_for(front, frames)
        samples = least if front.kind == "pcm" else front.clip or least
        if samples > _MOST_SAMPLES or (front.kind != "pcm" and frames_in(front, samples) < frames):
            raise CalibrationError(
                f"input '{spec.name}' takes {frames} frames, which are {least} samples, and clip "
                f"is {samples}"
            )
        return cls(front, tuple(spec.shape), frames, first, samples)

    @classmethod
    def from_json(cls, found: Any) -> SoundPreprocessing:
        """Raises ValueError for what `to_json` does not give."""
        try:
            told = found["sound"]
            made = {name: kind(told[name]) for name, kind in _TYPES.items()}
            shape = tuple(int(n) for n in found["shape"])
            return cls.of(FrontEnd(**made), InputSpec("input", shape, np.dtype(np.float32)))
        except (LookupError, TypeError, ValueError, OverflowError, CalibrationError) as why:
            raise ValueError(f"the record of preprocessing is damaged ({why})") from why

    def to_json(self) -> dict[str, Any]:
        return {"sound": asdict(self.front), "shape": list(self.shape)}

    @property
    def words(self) -> str:
        return self.front.words

    def takes(self, array: Array, held: Any) -> bool:
        """Whether these are samples: int16, and no features that are quantized to int16 already."""
        features = np.dtype(held) == np.int16 and array.shape in (self.shape, self.shape[1:])
        return array.dtype == np.int16 and (self.front.kind == "pcm" or not features)

    def values(self, pcm: NDArray[np.int16]) -> NDArray[np.float32]:
        """float32 of the input's shape of int16 [samples]."""
        rows = real_features(self.front, pcm, self.frames)
        return np.ascontiguousarray(rows.T if self.first else rows).reshape(self.shape)

    def of_raw(self, array: Array, name: str) -> Array:
        """What the input takes for int16 [samples], or N of them. Raises UserError for others."""
        if array.size == self.samples and array.shape[-1:] != (self.samples,):
            array = array.reshape(-1)
        if array.ndim not in (1, 2) or array.shape[-1] != self.samples or not array.size:
            raise UserError(
                f"input '{name}': sound of shape {list(array.shape)}; give int16 [{self.samples}], "
                f"mono at {self.front.rate} Hz, or many of them"
            )
        return np.concatenate([self.values(one) for one in array.reshape(-1, self.samples)])


@dataclass(frozen=True)
class SoundReader:
    """How .wav files become inputs: what calibration.Sound asks."""

    front: FrontEnd

    @property
    def rate(self) -> int:
        return self.front.rate

    def samples(self, spec: InputSpec) -> int:
        """How many the input is made of. Raises CalibrationError if it is no sound's."""
        return SoundPreprocessing.of(self.front, spec).samples

    def values(self, pcm: NDArray[np.int16], spec: InputSpec) -> NDArray[np.float32]:
        """float32 of the spec's sample shape, of int16 [samples]."""
        return SoundPreprocessing.of(self.front, spec).values(pcm).reshape(spec.sample)


def fitting(front: FrontEnd, specs: Sequence[InputSpec]) -> dict[str, SoundPreprocessing]:
    """By name, the inputs that take it. Raises CalibrationError if none does."""
    found, refused = {}, None
    for spec in specs:
        try:
            found[spec.name] = SoundPreprocessing.of(front, spec)
        except CalibrationError as why:
            refused = why
    if refused is not None and not found:
        raise refused
    return found
