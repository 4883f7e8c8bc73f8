"""Lut: any unary function by a table, and requantization on int8.

int8: q_out = table[q_in + 128]. int16: 513 values, every 128 steps, and straight lines between.
Channels may have tables of their own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind
from ...ir import Array, Node, QuantParams, TensorType, Value
from ...numerics import INTEGERS, integer_precisions
from .._opdef import ANY_LAYOUT, Blob, Lowered, OpDef

Real = NDArray[np.float64]

SIZES = {np.dtype(np.int8): 256, np.dtype(np.int16): 513}
STEP = 128
"""Of the int16 table, in q of the input."""

MOST_TABLES = 256

_INT16 = -32768, 32767


def make_table(fn: Callable[[Real], Real], x: QuantParams, y: QuantParams) -> Array:
    """`fn` from quantization `x` to `y`, both int8 or both int16; half to even.

    int8: the 256 results. int16: 513 points for lines that are as far below the function as above
    it where it bends, so that they need not go through it. Where the function is not a number the
    result is y's zero point.
    """
    if x.dtype != np.int16:
        return _rounded(_steps(fn, np.arange(-128, 128), x, y), y)
    at = np.clip(_steps(fn, np.arange(-32768, 32768 + 1, STEP), x, y), y.qmin, y.qmax)
    between = _steps(fn, np.arange(-32768, 32768, STEP) + STEP // 2, x, y)
    bend = (at[1:] + at[:-1]) / 2 - np.clip(between, y.qmin, y.qmax)
    return _rounded(at - (np.pad(bend, (0, 1), "edge") + np.pad(bend, (1, 0), "edge")) / 4, y)


def table_errors(
    fn: Callable[[Real], Real],
    table: Array,
    x: QuantParams,
    y: QuantParams,
    low: float,
    high: float,
) -> tuple[Array, Real]:
    """The int16 inputs for real values of low..high, and by how many steps of `y` the int16 `table`
    is then off what `fn` gives, as far as `y` can hold it."""
    first, last = np.clip(np.ceil(low / x.scalar), *_INT16), np.clip(high // x.scalar, *_INT16)
    q = np.arange(int(first), int(last) + 1)
    wanted = np.clip(_steps(fn, q, x, y), y.qmin, y.qmax)
    return q, np.abs(interpolated(q, table) - wanted)


def interpolated(q: Array, tables: Array, k: Array | int = 0) -> Array:
    """Of the table, or of int16[K, 513] the `k`-th, which broadcasts to int16 `q`; int64."""
    u, t = q.astype(np.int64) + 32768, np.atleast_2d(tables).astype(np.int64)
    i, f = u // STEP, u % STEP
    values: Array = t[k, i] + (((t[k, i + 1] - t[k, i]) * f + STEP // 2) >> 7)
    return values


def _steps(fn: Callable[[Real], Real], q: Array, x: QuantParams, y: QuantParams) -> Real:
    """What `fn` gives for the real values of `q`, in steps of `y` from its zero point."""
    with np.errstate(all="ignore"):
        real = fn((q.astype(np.float64) - x.zero_point) * x.scalar)
        steps = np.clip(real / y.scalar, -1e6, 1e6)
    return np.where(np.isnan(steps), 0.0, steps)


def _rounded(steps: Real, y: QuantParams) -> Array:
    table: Array = np.clip(np.rint(steps) + y.zero_point, y.qmin, y.qmax).astype(y.dtype)
    return table


class Lut(OpDef):
    """Inputs: x, table: int8 and int8[256], or int16 and int16[513]; the table is constant.

    With a third input, index: constant uint8[C] for the C channels (last axis) of x, there are K
    tables, 1 to 256, of these sizes: [K, 256] or [K, 513]. The c-th channel's is the index[c]-th.

    Not in ONNX: the quantizer makes it.
    """

    name = "Lut"
    layout = ANY_LAYOUT
    exactness = "exact"
    precisions = integer_precisions(*INTEGERS)
    inplace = (0,)

    def infer(self, node: Node) -> list[TensorType]:
        x, table, index = node.input(0), node.input(1), _index(node)
        if x.dtype not in SIZES:
            raise ValueError(f"a table is looked up by int8 or int16, not {x.dtype}")
        size = SIZES[x.dtype]
        if index is not None:
            _check_tables(x, table, index)
        elif table.const is None or table.type != TensorType(x.dtype, (size,)):
            raise ValueError(f"the table must be {size} constant {x.dtype}, not {table}")
        return [x.type]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        x, tables = inputs[0], inputs[1]
        assert x is not None and tables is not None
        k: Array | int = 0
        if len(inputs) > 2 and inputs[2] is not None:
            k = inputs[2].astype(np.int64)
        if x.dtype == np.int8:
            return [np.atleast_2d(tables)[k, x.astype(np.int64) + 128]]
        return [interpolated(x, tables, k).astype(np.int16)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, table, index = node.input(0), node.input(1), _index(node)
        assert table.const is not None
        params = {"count": x.type.size, "table": blob.add(table.const)}
        kind = OpKind.Lut
        if index is not None:
            assert index.const is not None
            channels, tables = index.type.size, len(table.const)
            params = {
                "rows": x.type.size // channels, "channels": channels, "tables": tables,
                "index": blob.add(index.const), "table": params["table"],
            }  # fmt: skip
            kind = OpKind.ChannelLut
        return Lowered(kind, params, [x])


def _index(node: Node) -> Value | None:
    """Which table each channel has; None where there is but one."""
    return node.inputs[2] if len(node.inputs) > 2 else None


def _check_tables(x: Value, table: Value, index: Value) -> None:
    """ValueError unless the constants are tables, and an index into them for each channel of x."""
    size = SIZES[x.dtype]
    if not x.shape:
        raise ValueError("a scalar has no channels to index tables by")
    if index.const is None or index.type != TensorType(np.dtype(np.uint8), x.shape[-1:]):
        raise ValueError(f"the index must be {x.shape[-1]} constant uint8, not {index}")
    tables = table.shape[0] if len(table.shape) == 2 else 0
    if table.const is None or table.type != TensorType(x.dtype, (tables, size)):
        raise ValueError(f"the tables must be constant {x.dtype}[K, {size}], not {table}")
    if not int(index.const.max(initial=0)) < tables <= MOST_TABLES:
        raise ValueError(
            f"the index goes up to {index.const.max(initial=0)}; there are {tables} tables, "
            f"of at most {MOST_TABLES}"
        )


OPS: tuple[OpDef, ...] = (Lut(),)
