"""Lut: q_out = table[q_in + 128], any unary function on int8, and requantization."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..format.schema import OpKind
from ..ir import Array, Node, QuantParams, TensorType
from ._opdef import Blob, Lowered, OpDef


def make_table(
    fn: Callable[[NDArray[np.float64]], NDArray[np.float64]], x: QuantParams, y: QuantParams
) -> NDArray[np.int8]:
    """The 256 results of `fn`, from quantization `x` to `y`: double precision, half to even.

    Where the function is not a number the entry is y's zero point.
    """
    q = np.arange(-128, 128, dtype=np.float64)
    with np.errstate(all="ignore"):
        real = fn((q - x.zero_point) * x.scalar)
        out = np.rint(np.clip(real / y.scalar, -1e6, 1e6)) + y.zero_point
    out = np.where(np.isnan(out), y.zero_point, out)
    table: NDArray[np.int8] = np.clip(out, y.qmin, y.qmax).astype(np.int8)
    return table


class Lut(OpDef):
    """Inputs: x int8, table int8[256] constant. Not in ONNX: the quantizer makes it."""

    name = "Lut"
    exactness = "exact"
    inplace = (0,)

    def infer(self, node: Node) -> list[TensorType]:
        x, table = node.input(0), node.input(1)
        if x.dtype != np.int8:
            raise ValueError(f"a table is looked up by int8, not {x.dtype}")
        if table.const is None or table.type != TensorType(np.dtype(np.int8), (256,)):
            raise ValueError(f"the table must be 256 constant int8, not {table}")
        return [x.type]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        x, table = inputs[0], inputs[1]
        assert x is not None and table is not None
        return [table[x.astype(np.int64) + 128]]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, table = node.input(0), node.input(1)
        assert table.const is not None
        params = {"count": x.type.size, "table": blob.add(table.const)}
        return Lowered(OpKind.LutS8, params, [x])


OPS: tuple[OpDef, ...] = (Lut(),)
