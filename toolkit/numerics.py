"""Every numeric type: the element types of tensors, and the precisions that a network runs in.

A new one is an entry here. The runtime's side of an element type is a DType of edge.fbs, of weights
a codec there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

try:
    import ml_dtypes
except ImportError:  # edgekit-runtime does without, and has no inputs and outputs of these types
    ml_dtypes = None  # type: ignore[assignment]

DType = np.dtype[Any]

STRING = 8
"""TensorProto.STRING: numbers of labels."""
FLOAT16 = 10
BFLOAT16 = 16

FLOAT, INT8, INT16, INT32, UINT8 = (
    np.dtype(t) for t in (np.float32, np.int8, np.int16, np.int32, np.uint8)
)
BOOL, HALF = np.dtype(np.bool_), np.dtype(np.float16)
DOUBLE, INT64, UINT64 = (np.dtype(t) for t in (np.float64, np.int64, np.uint64))
WIDE = (INT64, UINT64, DOUBLE)
"""Of 64 bits: what two of them are computed to, nothing else."""


@dataclass(frozen=True)
class Element:
    """An element type of ONNX.

    onnx   TensorProto.DataType
    name   what ONNX calls it
    numpy  what users give and get
    held   what the runtime has for it; None: it cannot be served
    in_file  its DType in edge.fbs; "": the file has none
    """

    onnx: int
    name: str
    numpy: DType
    held: DType | None = None
    in_file: str = ""


def _narrow(onnx: int, name: str, theirs: str, held: DType) -> tuple[Element, ...]:
    """A type that numpy lacks, if ml_dtypes is there, whose `theirs` it is."""
    if ml_dtypes is None:
        return ()
    return (Element(onnx, name, np.dtype(getattr(ml_dtypes, theirs)), held),)


ELEMENTS: tuple[Element, ...] = (
    Element(1, "float32", FLOAT, FLOAT, "Float32"),
    Element(2, "uint8", UINT8, UINT8, "UInt8"),
    Element(3, "int8", INT8, INT32, "Int8"),
    Element(4, "uint16", np.dtype(np.uint16), INT32),
    Element(5, "int16", INT16, INT32, "Int16"),
    Element(6, "int32", INT32, INT32, "Int32"),
    Element(7, "int64", INT64, INT32, "Int64"),
    Element(9, "bool", BOOL, UINT8),
    Element(FLOAT16, "float16", HALF, FLOAT, "Float16"),
    Element(11, "float64", DOUBLE, FLOAT, "Float64"),
    Element(12, "uint32", np.dtype(np.uint32), INT64),
    Element(13, "uint64", UINT64, UINT64, "UInt64"),
    *_narrow(BFLOAT16, "bfloat16", "bfloat16", FLOAT),
    *_narrow(17, "float8e4m3fn", "float8_e4m3fn", FLOAT),
    *_narrow(18, "float8e4m3fnuz", "float8_e4m3fnuz", FLOAT),
    *_narrow(19, "float8e5m2", "float8_e5m2", FLOAT),
    *_narrow(20, "float8e5m2fnuz", "float8_e5m2fnuz", FLOAT),
    *_narrow(21, "uint4", "uint4", INT32),
    *_narrow(22, "int4", "int4", INT32),
    *_narrow(23, "float4e2m1", "float4_e2m1fn", FLOAT),
    *_narrow(25, "uint2", "uint2", INT32),
    *_narrow(26, "int2", "int2", INT32),
)
TEXT = Element(STRING, "string", np.dtype(np.int64), INT32)
"""Strings, which tensors hold as numbers of labels."""

HAS_NARROW = ml_dtypes is not None
"""Whether the types that numpy lacks are among them."""

BY_ONNX: Mapping[int, Element] = {e.onnx: e for e in (*ELEMENTS, TEXT)}
"""The element types by TensorProto.DataType."""


OF_NUMPY: Mapping[DType, Element] = {e.numpy: e for e in ELEMENTS}
"""The element types by what users have."""


def is_real(dtype: DType) -> bool:
    """Whether it is a kind of float, one of those included that numpy lacks."""
    return dtype.kind == "f" or (dtype in OF_NUMPY and OF_NUMPY[dtype].held == FLOAT)


def is_whole(dtype: DType) -> bool:
    """Whether it is a kind of integer, those of 4 and 2 bits included."""
    return dtype.kind in "iu" or (dtype in OF_NUMPY and OF_NUMPY[dtype].held == INT32)


def held(dtype: DType) -> DType:
    """What the runtime has for what users have."""
    return OF_NUMPY[dtype].held or dtype if dtype in OF_NUMPY else dtype


def numpy_dtype(onnx_dtype: int) -> DType:
    """The element type users see; float32 for those that are not known."""
    return BY_ONNX[onnx_dtype].numpy if onnx_dtype in BY_ONNX else FLOAT


ACTIVATIONS: tuple[DType, ...] = (INT8, INT16, FLOAT)
"""What activations are computed in, the coarsest first."""
INTEGERS: tuple[DType, ...] = tuple(t for t in ACTIVATIONS if t.kind == "i")
"""What quantized tensors are held in."""


@dataclass(frozen=True)
class WeightType:
    """How the integers of weights are stored.

    limit   the largest; the range is symmetric
    groups  so many in a row may share a multiplier, the coarsest first
    codec   its WeightCodec in edge.fbs
    """

    bits: int
    limit: int
    groups: tuple[int, ...] = ()
    codec: str = "Plain"


WEIGHT_TYPES: Mapping[int, WeightType] = {
    w.bits: w
    for w in (
        WeightType(8, 127),
        WeightType(4, 7, (32, 16), "Nibbles"),
        WeightType(2, 1, (32, 16), "Crumbs"),
    )
}
"""By bits."""


class Precision(str):
    """What a node runs on: its activations, and the bits of its weights, 0 for real ones.

    As text it is its name: "int16" has int16 activations and 8-bit weights, "int4" int8 activations
    and 4-bit weights, "int16x4" both.
    """

    activations: DType
    weight_bits: int

    def __new__(cls, activations: DType, weight_bits: int = 8) -> Precision:
        name = str(activations)
        if weight_bits in WEIGHT_TYPES and weight_bits != 8:
            name = f"int{weight_bits}" if activations == INT8 else f"{name}x{weight_bits}"
        made = super().__new__(cls, name)
        made.activations, made.weight_bits = activations, weight_bits
        return made

    def __getnewargs__(self) -> tuple[DType, int]:  # type: ignore[override]
        return self.activations, self.weight_bits

    @property
    def label(self) -> str:
        """The name shown to users, after "made"."""
        if self.activations == FLOAT:
            return f"in {self}"
        if self.activations != INT8:
            return f"{self.activations.itemsize * 8}x{self.weight_bits}"
        return str(self) if self.weight_bits == 8 else f"with {self.weight_bits}-bit weights"

    @property
    def after_count(self) -> str:
        """The name shown to users, after a number of operators."""
        return f"in {self.label}" if self.label[0].isdigit() else self.label

    @property
    def next(self) -> tuple[Precision, ...]:
        """The precisions to try before float32 if a group does not support this one: first more
        bits for its weights, then fewer for its activations."""
        of_activations = dict.fromkeys((self.activations, INT8))
        of_weights = dict.fromkeys((self.weight_bits, 8))
        return tuple(PRECISIONS[Precision(*p)] for p in product(of_activations, of_weights))[1:]

    def has(self, part: Precision) -> bool:
        """Whether it includes every deviation of `part` from int8: int16x4 has int16 and int4."""
        if part == W8A8:
            return self == part
        return part.activations in (INT8, self.activations) and part.weight_bits in (
            8,
            self.weight_bits,
        )


PRECISIONS: Mapping[str, Precision] = {
    p: p
    for p in (
        *(Precision(a, w) for a, w in product(reversed(INTEGERS), WEIGHT_TYPES)),
        Precision(FLOAT, 0),
    )
}
"""By name: the integer ones with the widest activations first, then float32."""

IN_INTEGERS = tuple(p for p in PRECISIONS.values() if p.activations in INTEGERS)
"""Those with integer activations."""
NARROW = frozenset(p for p in PRECISIONS.values() if 0 < p.weight_bits < 8)
"""Those with weights of fewer than 8 bits."""

FLOAT32 = PRECISIONS["float32"]
W8A8, W8A16, W4A8, W4A16 = (PRECISIONS[p] for p in ("int8", "int16", "int4", "int16x4"))


def integer_precisions(
    *activations: DType, weight_bits: tuple[int, ...] = (8,)
) -> frozenset[Precision]:
    """Those with one of these activations and of these weights."""
    return frozenset(Precision(a, w) for a, w in product(activations, weight_bits))
