"""A model as C sees it: what its header and the sources beside it are written from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...calibration import InputSpec, scale_pixels
from ..format.model import NUMPY_OF, EdgeModel, IoRecord
from ..ir import Array
from ..numerics import ACTIVATIONS, UINT8
from ..preprocessing import (
    FORMATS,
    Preprocessing,
    SoundPreprocessing,
    class_names,
    described,
    preprocessing_of,
)
from ..runtime import IoInfo
from ..runtime.convert import write_input
from ..runtime.kernels import table
from .sounds import SoundOfC, sound_of

_C_OF = {
    np.dtype(np.int8): "int8_t",
    np.dtype(np.int16): "int16_t",
    np.dtype(np.int32): "int32_t",
    np.dtype(np.uint8): "uint8_t",
    np.dtype(np.float32): "float",
    np.dtype(np.bool_): "uint8_t",
}
_WIDE_LABEL = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True)
class PortOfC:
    """An input or output: macros of the header."""

    name: str
    type: str
    shape: tuple[int, ...]
    scale: str
    zero_point: int

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape))


@dataclass(frozen=True)
class PixelsOfC:
    """An input that is made of pixels: `levels` [1 or channels][256] are what its channels take for
    each value of a pixel; none where that is the value, of int8 less 128. `first`: the channels are
    the axis before height and width. `index`: of the input."""

    function: str
    type: str
    made: Preprocessing
    first: bool
    levels: list[list[str]]
    index: int = 0

    @property
    def formats(self) -> dict[str, int]:
        """How many pixels of each share their colours: of these, a row has a multiple."""
        return {f.name: f.share for f in FORMATS.values()}

    @property
    def words(self) -> str:
        return described(self.made)


@dataclass(frozen=True)
class Described:
    """Everything that a model's header says beside its memory."""

    inputs: list[PortOfC]
    outputs: list[PortOfC]
    op_names: list[str]
    classes: list[str]
    pixels: list[PixelsOfC]
    sounds: list[SoundOfC]


def describe_for_c(model: EdgeModel, prefix: str, source: str) -> Described:
    """What C is told of `model`, which has its provenance and names. Raises UserError."""
    made = preprocessing_of(model.provenance, source)
    inputs = [_port(model, io) for io in model.inputs]
    outputs = [_port(model, io) for io in model.outputs]
    names = [c_string(name) for name in model.op_names]
    classes = [c_string(name) for name in class_names(model.provenance.settings)]
    if not classes and len(model.outputs) == 1:
        classes = [c_string(name) for name in model.outputs[0].labels]
    pixels, sounds = [], []
    for index, io in enumerate(model.inputs):
        record, function = made.get(io.name), _function(model.inputs, io, prefix)
        if isinstance(record, Preprocessing):
            pixels.append(_pixels(model, io, record, function, index))
        elif isinstance(record, SoundPreprocessing):
            heard = _sound(model, io, record, function)
            sounds.append(heard and replace(heard, index=index))
    return Described(
        inputs,
        outputs,
        names,
        classes,
        [p for p in pixels if p is not None],
        [s for s in sounds if s is not None],
    )


def _sound(
    model: EdgeModel, io: IoRecord, made: SoundPreprocessing, function: str
) -> SoundOfC | None:
    t = model.tensors[io.tensor]
    kind = _C_OF.get(NUMPY_OF[t.dtype], "")
    return sound_of(io, made, function, kind, t.scale, t.zero_point)


def c_string(text: str) -> str:
    """The text as a string literal of C, with what is not plain ASCII as escapes of its UTF-8."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return '"' + _WIDE_LABEL.sub(_octal, plain) + '"'


def _octal(found: re.Match[str]) -> str:
    return "".join(f"\\{byte:03o}" for byte in found[0].encode())


def _function(inputs: Sequence[IoRecord], io: IoRecord, prefix: str) -> str:
    word = re.sub(r"\W", "_", io.name, flags=re.ASCII) if len(inputs) > 1 else "input"
    return f"{prefix}_{word}"


def _port(model: EdgeModel, io: IoRecord) -> PortOfC:
    t = model.tensors[io.tensor]
    kind = _C_OF.get(NUMPY_OF[t.dtype], "uint8_t")
    return PortOfC(c_string(io.name), kind, io.held_shape, c_float(t.scale), t.zero_point)


def c_float(value: float) -> str:
    """The number as a float literal of C, to the bit."""
    text = f"{np.float32(value):.9g}"
    return f"{text}f" if re.search(r"[.e]", text) else f"{text}.0f"


def _pixels(
    model: EdgeModel, io: IoRecord, made: Preprocessing, function: str, index: int
) -> PixelsOfC | None:
    """None for an input that holds no numbers of pixels, or is of a batch."""
    t = model.tensors[io.tensor]
    kind = NUMPY_OF[t.dtype]
    if kind not in (*ACTIVATIONS, UINT8) or io.shape[0] != 1:
        return None
    rows = list(levels_of(made, t.scale, t.zero_point, kind))
    if all((row == rows[0]).all() for row in rows):
        rows = rows[:1]
    plain = {np.dtype(np.int8): np.arange(-128, 128), np.dtype(np.uint8): np.arange(256)}.get(kind)
    if plain is not None and len(rows) == 1 and (rows[0] == plain).all():
        rows = []
    text = [[c_float(v) if kind == np.float32 else str(v) for v in row] for row in rows]
    return PixelsOfC(function, _C_OF[kind], made, made.first != bool(io.axes), text, index)


def levels_of(made: Preprocessing, scale: float, zero_point: int, kind: Any) -> Array:
    """[channels, 256]: what an input holds for each value of a pixel, by the runtime's rounding."""
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], made.channels, axis=2)
    spec = InputSpec("input", (1, 256, 1, made.channels), np.dtype(np.float32))
    real = scale_pixels(ramp, spec, made.image).astype(np.float32)[:, 0].T.copy()
    held = np.empty(real.shape, kind)
    io = IoInfo("input", real.shape, held.dtype, np.dtype(np.float32), scale, zero_point)
    write_input(io, held, real, table("ref"))
    return held
