"""What every operator of a model must give on the device: checksums of one run on this machine."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from ..format.model import ABSENT, NUMPY_OF, EdgeModel
from ..format.reader import read
from ..format.schema import DType
from ..ir import Array
from ..runtime import Session

_SEED, _FACTOR, _STEP = 1, 1664525, 1013904223
_FLOATS = (DType.Float32, DType.Float16)


@dataclass(frozen=True)
class SelfTest:
    """`checksums`: the CRC-32 of each operator's first output after one run on the inputs that
    `pseudo_random` gives; 0 where targets may differ, for floats are in it. `widths` as below."""

    checksums: list[int]
    widths: list[int]


def _words(n: int, state: int) -> tuple[NDArray[np.uint32], int]:
    """The next `n` numbers of the generator, and its state then."""
    found = np.empty(n, np.uint32)
    for i in range(n):
        state = (state * _FACTOR + _STEP) & 0xFFFFFFFF
        found[i] = state
    return found, state


def pseudo_random(model: EdgeModel) -> list[Array]:
    """The inputs of the self-test as the device holds them: those of the C code, to the bit.

    Quantized inputs take all of their range, floats multiples of 1/64 from -2 to 2; what holds
    numbers of labels or indices is 0.
    """
    arrays: list[Array] = []
    state = _SEED
    for io, width in zip(model.inputs, widths(model), strict=True):
        if not width:
            arrays.append(np.zeros(io.held_shape, NUMPY_OF[model.tensors[io.tensor].dtype]))
            continue
        words, state = _words(int(np.prod(io.shape)), state)
        if width == 2:
            made: Array = (words >> 16).astype(np.uint16).view(np.int16)
        else:
            made = (words >> 24).astype(np.uint8)
            if model.tensors[io.tensor].dtype != DType.UInt8:
                made = made.view(np.int8)
        if width == 4:
            made = made.astype(np.float32) / 64
        arrays.append(made.reshape(io.held_shape))
    return arrays


def widths(model: EdgeModel) -> list[int]:
    """Bytes of a pseudo-random element of each input; 0 where it is 0."""
    tensors = [model.tensors[io.tensor] for io in model.inputs]
    known = {DType.Float32: 4, DType.Int8: 1, DType.UInt8: 1, DType.Int16: 2}
    real = [t.dtype == DType.Float32 or t.scale > 0 for t in tensors]
    return [known.get(t.dtype, 0) if r else 0 for t, r in zip(tensors, real, strict=True)]


def self_test(data: bytes) -> SelfTest | None:
    """The checksums of the file `data`; None of one that is packed for a target."""
    model = read(data)
    if model.target != "generic":
        return None
    exact = exact_operators(model)
    found = [0] * len(model.ops)

    def keep(op: int, _: str, output: Array) -> None:
        if exact[op]:
            found[op] = zlib.crc32(output.tobytes())

    try:
        Session(data, max_memory=None, numbers=True).run_raw_layers(pseudo_random(model), keep)
    except UserError:
        return None
    return SelfTest(found, widths(model))


def exact_operators(model: EdgeModel) -> list[bool]:
    """Whether each operator gives the same bytes everywhere: no float result is in them."""
    inexact: set[int] = set()
    found = []
    for op in model.ops:
        outputs = [i for i in op.outputs if i != ABSENT]
        real = any(model.tensors[i].dtype in _FLOATS for i in outputs)
        exact = not real and not inexact & set(op.inputs)
        found.append(exact)
        inexact = inexact - set(outputs) if exact else inexact | set(outputs)
    return found
