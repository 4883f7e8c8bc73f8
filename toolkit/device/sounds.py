"""A front end as C sees it: the tables and numbers that NAME_input.c is written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..format.model import IoRecord
from ..ir import Array
from ..preprocessing import SoundPreprocessing
from ..preprocessing.sound import FRACTION, tables_of

_LIMITS = {"int8_t": (-128, 127), "uint8_t": (0, 255), "int16_t": (-32767, 32767)}
_PCM_FRACTION = 15


@dataclass(frozen=True)
class SoundOfC:
    """An input that is made of sound. `mantissa` and `exponent` are its scale in units of the
    features' last bit; `first`: each feature has a row of frames. `tables`: (type of C, name,
    numbers); none of "pcm". `streams`: frames follow from one another. `index`: of the input."""

    function: str
    type: str
    made: SoundPreprocessing
    first: bool
    mantissa: int
    exponent: int
    zero_point: int
    tables: list[tuple[str, str, list[str]]]
    numbers: dict[str, int]
    index: int = 0

    @property
    def low(self) -> int:
        return _LIMITS[self.type][0]

    @property
    def high(self) -> int:
        return _LIMITS[self.type][1]

    @property
    def words(self) -> str:
        return self.made.words

    @property
    def streams(self) -> bool:
        front = self.made.front
        follows = front.kind != "pcm" and front.centre == "none" and not front.peak
        return follows and front.stride <= front.window


def sound_of(
    io: IoRecord, made: SoundPreprocessing, function: str, kind: str, scale: float, zero_point: int
) -> SoundOfC | None:
    """None for an input of a type that no features become."""
    if kind not in (*_LIMITS, "float"):
        return None
    fraction = _PCM_FRACTION if made.front.kind == "pcm" else FRACTION
    mantissa, exponent = np.frexp(np.float32(scale if kind != "float" else 1.0))
    tables, numbers = ([], {}) if made.front.kind == "pcm" else _constants(made)
    return SoundOfC(
        function, kind, made, made.first != _swapped(io), int(mantissa * 2**24),
        int(exponent) - 24 + fraction, zero_point, tables, numbers,
    )  # fmt: skip


def _swapped(io: IoRecord) -> bool:
    """Whether the device's layout has the two axes of features in the other order."""
    places = [a for a in io.axes or () if io.shape[a] > 1]
    return places != sorted(places)


def _constants(made: SoundPreprocessing) -> tuple[list[tuple[str, str, list[str]]], dict[str, int]]:
    front = made.front
    t = tables_of(front)

    def listed(ctype: str, name: str, values: Array) -> tuple[str, str, list[str]]:
        end = "u" if ctype.startswith("u") else ""
        return ctype, name, [f"{v}{end}" for v in values.ravel().tolist()]

    tables = [
        listed("uint16_t", "window", t.window),
        listed("int16_t", "sine", t.sine),
        listed("uint16_t", "filters", np.stack([t.filters.first, t.filters.counts], axis=1)),
        listed("uint16_t", "weights", t.filters.weights),
        listed("uint16_t", "log", t.log),
        listed("int32_t", "base", t.base),
        listed("uint32_t", "least", t.least),
        listed("int32_t", "places", t.places),
    ]
    if front.kind == "mfcc":
        tables.append(listed("int16_t", "dct", t.dct))
    numbers: dict[str, Any] = {
        "window": front.window,
        "stride": front.stride,
        "fft": front.fft,
        "lead": 0 if front.centre == "none" else front.window // 2,
        "beyond": "EK_SOUND_REFLECTED" if front.centre == "reflect" else "EK_SOUND_ZEROS",
        "mels": front.mels,
        "features": front.features,
        "power": 2 if front.spectrum == "power" else 1,
        "is_floor": int(front.floor > 0),
        "peaks": int(front.peak),
        "factor": t.factor,
        "shift": t.shift,
        "constant": int(t.constants[0]),
    }
    return tables, numbers
