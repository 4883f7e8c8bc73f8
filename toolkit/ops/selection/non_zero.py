"""NonZero: places and how many there are, up to a maximum."""

from __future__ import annotations

import numpy as np

from ...format.schema import OpKind
from ...ir import Node, TensorType, Value
from ...numerics import BOOL, INT32, UINT8
from .._formula import Term, stacked
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from ..move.movement import row_major


class NonZero(OpDef):
    """ONNX NonZero-9..13 of any element type: positions in memory order, at most the declared
    number or the number of elements, and their count.

    In the IR: attrs most; of uint8, int32 indices into all of it and int32[1], their number. Behind
    them is 0; more than `most` stop the run.
    """

    name = "NonZero"
    onnx = ("NonZero",)
    exactness = "exact"
    float_only = "it makes indices"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.input(0)
        if not x.shape:
            raise Unsupported("its input is a scalar", "reshape it")
        declared = node.declared(0)
        most = declared[1] if declared is not None else x.type.size
        if most == 0:
            return [b.constant(np.zeros((len(x.shape), 0), np.int64))]
        mask = x if node.element(0) == 9 else b.emit("Cast", [x], to=BOOL)
        places, count = where_true(b, mask, most)
        rows = [
            (places / step).modulo(d).reshape(1, most)
            for d, step in zip(x.shape, row_major(x.shape), strict=True)
        ]
        return [b.bounded(stacked(rows, 0).value, count, 1)]

    def infer(self, node: Node) -> list[TensorType]:
        if node.input(0).dtype != UINT8:
            raise ValueError(f"places of {node.input(0).dtype}; it takes bool")
        return [TensorType(INT32, (node.attrs["most"],)), TensorType(INT32, (1,))]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x = node.input(0)
        params = {"count": x.type.size, "most": node.attrs["most"]}
        return Lowered(OpKind.NonZero, params, [x])


def where_true(b: Builder, mask: Value, most: int) -> tuple[Term, Value]:
    """The first `most` places of a tensor of bools, flattened, and int32[1], how many there are."""
    places, count = b.emit_all("NonZero", [mask], most=most)
    return Term(b, places), count


OPS: tuple[OpDef, ...] = (NonZero(),)
