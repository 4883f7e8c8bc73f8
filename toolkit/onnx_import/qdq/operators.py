"""Operators of quantized models: QuantizeLinear, DequantizeLinear, and what moves integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from ...ir import Array, TensorType, Value
from ...ops import FROM_ONNX
from ...ops._opdef import Builder, OnnxNode, Unsupported
from ...ops.convert.cast import cast_to
from ..attributes import python_attributes, qualified, type_name
from ..upgrade import upgrade
from .grids import (
    LIMITS,
    Grid,
    Quantized,
    dequantized_array,
    element_of,
    quant_params,
    quantized_array,
    spread,
)

_TP = onnx.TensorProto

Operand = Value | Quantized | None
Result = Value | Quantized | list[Operand]
Reader = Callable[["QuantizedOperators", list[Operand], dict[str, Any]], Result]
"""What reads a node: its inputs and attributes to its outputs; None for one that is not there."""

SMALL_FLOATS = (
    _TP.FLOAT8E4M3FN, _TP.FLOAT8E4M3FNUZ, _TP.FLOAT8E5M2, _TP.FLOAT8E5M2FNUZ, _TP.FLOAT4E2M1,
)  # fmt: skip
"""Element types of 8 and 4 bits that are floats: they have no zero point."""

MOVING = frozenset((
    "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "MaxPool", "ReduceMax",
    "ReduceMin", "Reshape", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose",
    "Unsqueeze",
))  # fmt: skip
"""Operators that give numbers that their first input holds: integers stay on its grid."""


def in_float32(array: Array) -> Array:
    """The array as the runtime computes with it: float32, or the integers that it holds."""
    return array if array.dtype.kind in "iub" else array.astype(np.float32)


class QuantizedOperators:
    """Reads the operators of a table, and those of MOVING on quantized tensors.

    `elements` says the ONNX types of integers that the runtime holds in another one.
    """

    def __init__(self, build: Builder, table: Mapping[str, Reader]) -> None:
        self.build, self.table = build, table
        self.elements: dict[Value, int] = {}

    def visit(
        self,
        node: onnx.NodeProto,
        inputs: Sequence[Operand],
        convert: Callable[[list[Value | None]], list[Value]],
    ) -> dict[str, Value | Quantized] | None:
        """The outputs of a node that is about quantized tensors; None if it is not.

        `convert` reads the node on real numbers.
        """
        name = qualified(node)
        found: list[Operand] | None = None
        if name in self.table:
            made = self.table[name](self, list(inputs), python_attributes(node))
            found = made if isinstance(made, list) else [made]
        elif name == "Cast" and isinstance(inputs[0], Quantized):
            to_float = python_attributes(node)["to"] in (_TP.FLOAT, _TP.FLOAT16)
            found = [inputs[0].floats] if to_float else None
        elif name in MOVING:
            found = self._moved(node, inputs, convert)
        if found is None:
            return None
        named = {n: v for n, v in zip(node.output, found, strict=False) if n}
        if lacking := [n for n, v in named.items() if v is None]:
            raise Unsupported(f"its output '{lacking[0]}' is not computed")
        return {n: v for n, v in named.items() if v is not None}

    def _moved(
        self,
        node: onnx.NodeProto,
        inputs: Sequence[Operand],
        convert: Callable[[list[Value | None]], list[Value]],
    ) -> list[Operand] | None:
        data = list(inputs) if node.op_type == "Concat" else list(inputs[:1])
        first = next((v for v in data if isinstance(v, Quantized)), None)
        if first is None or not first.grid.is_per_tensor:
            return None
        if any(not isinstance(v, Quantized) or not v.grid.equals(first.grid) for v in data):
            return None
        reals = [v.real if isinstance(v, Quantized) else v for v in inputs]
        values = convert(reals)[: len(node.output)]
        if any(v.dtype != np.float32 for v in values):
            return None
        return [Quantized(first.grid, self.apply, real=v) for v in values]

    def apply(self, op: str, *inputs: Value | None, **attrs: Any) -> Value:
        """The first output of an ONNX operator of the default domain."""
        version = int(attrs.pop("opset", 21))
        scope = getattr(self.build, "scope", "")
        node = OnnxNode(op, "", version, scope, list(inputs), [scope], attrs)
        node, finish = upgrade(self.build, node)
        return finish(FROM_ONNX[op].from_onnx(self.build, node))[0]

    def constant(self, array: Array | float) -> Value:
        return self.build.constant(np.asarray(array, np.float32))

    def grid(
        self,
        scale: Operand,
        zero: Operand,
        element: int,
        shape: tuple[int, ...],
        axis: int = 1,
        block: int = 0,
    ) -> Grid:
        """Of a tensor of this shape; element is the type of the integers."""
        s, z = self._real(scale, "scale"), self.floats(zero)
        if s.const is None or (z is not None and z.const is None):
            wide = [None if v is None else self._spread(v, shape, axis, block) for v in (s, z)]
            assert wide[0] is not None
            return Grid(wide[0], wide[1], element)
        quant = quant_params(s.const, None if z is None else z.const, element) if (
            element in LIMITS
        ) else None  # fmt: skip
        s = self.constant(spread(s.const, shape, axis, block))
        if z is not None and z.const is not None:
            z = self.constant(spread(z.const, shape, axis, block)) if z.const.any() else None
        return Grid(s, z, element, quant)

    def _spread(self, v: Value, shape: tuple[int, ...], axis: int, block: int) -> Value:
        """Scales or zero points computed at run time, as `grids.spread` does."""
        if v.const is not None or v.type.size == 1 or not block:
            like = np.zeros(v.shape, np.float32) if v.const is None else v.const
            wide = spread(like, shape, axis, block)
            return self.build.reshape(v, wide.shape) if v.const is None else self.constant(wide)
        axis += len(shape) if axis < 0 else 0
        before, after = v.shape[: axis + 1], v.shape[axis + 1 :]
        wide_v = self.build.reshape(v, (*before, 1, *after))
        whole = self.build.constant(np.array((*before, block, *after), np.int64))
        wide_v = self.build.reshape(
            self.apply("Expand", wide_v, whole), (*v.shape[:axis], v.shape[axis] * block, *after)
        )
        ends = [self.build.constant(np.array([n], np.int64)) for n in (0, shape[axis], axis)]
        return self.apply("Slice", wide_v, *ends)

    def _real(self, v: Operand, what: str) -> Value:
        if not isinstance(v, Value):
            raise Unsupported(f"it has no {what}")
        if v.const is None:
            return v
        array = v.const.astype(np.float32)
        return Value(v.name, TensorType(array.dtype, array.shape), array)

    def floats(self, v: Operand) -> Value | None:
        """The numbers of an integer tensor, in float32."""
        if v is None:
            return None
        if isinstance(v, Quantized):
            return v.floats
        if v.const is not None:
            array = v.const.astype(np.float32)
            return Value(v.name, TensorType(array.dtype, array.shape), array)
        return v if v.dtype == np.float32 else self.apply("Cast", v, to=_TP.FLOAT)

    def quantize(self, x: Value, grid: Grid) -> Quantized:
        """`x` on the grid: as FakeQuantize where the runtime has it, in float arithmetic else.

        Channels of scales of their own are brought to one scale and back, by factors that fold into
        the weights of what makes them and of a depthwise convolution that reads them.
        """
        low, high = LIMITS[grid.element]
        if (step := grid.common_step) is not None and grid.scale.const is not None:
            zero = None if grid.zero is None else _array(grid.zero)
            least = None if zero is None else self.constant(zero.min())
            one = self.grid(self.constant(step), least, grid.element, x.shape)
            x = self.apply("Mul", x, self.constant(step / grid.scale.const))
            back = self.constant(grid.scale.const / step)
            return Quantized(
                grid, self.apply, real=self.apply("Mul", self.quantize(x, one).real, back)
            )
        if grid.quant is not None:
            z = 0 if grid.zero is None or grid.zero.const is None else int(grid.zero.const)
            if high - low < 255:
                ends = [(end - z) * grid.quant.scalar for end in (low, high)]
                x = self.apply("Clip", x, *map(self.constant, ends))
            real = self.build.emit("FakeQuantize", [x], quant=grid.quant)
            return Quantized(grid, self.apply, real=real)
        q = self.apply("Round", self.apply("Div", x, grid.scale))
        if grid.zero is None:
            centered = self.apply("Clip", q, self.constant(low), self.constant(high))
        else:
            whole = self.apply("Add", q, grid.zero)
            whole = self.apply("Clip", whole, self.constant(low), self.constant(high))
            centered = self.apply("Sub", whole, grid.zero)
        return Quantized(grid, self.apply, centered=centered)

    def dequantize(
        self, q: Operand, scale: Operand, zero: Operand, axis: int = 1, block: int = 0
    ) -> Value:
        """The real numbers of an integer tensor; a constant's are a constant."""
        if q is None:
            raise Unsupported("it has no input")
        if isinstance(q, Value) and q.const is not None and _known(scale) and _known(zero):
            s, z = _array(scale), _array(zero)
            assert s is not None
            shape = q.shape
            wide = None if z is None else spread(z, shape, axis, block)
            return self.build.constant(
                in_float32(dequantized_array(q.const, spread(s, shape, axis, block), wide)), q.name
            )
        if isinstance(q, Quantized):
            grid = self.grid(scale, zero, q.grid.element, q.shape, axis, block)
            if grid.equals(q.grid):
                return q.real
        else:
            grid = self.grid(scale, zero, _TP.INT32, q.shape, axis, block)
        whole = self.floats(q)
        centered = whole if grid.zero is None else self.apply("Sub", whole, grid.zero)
        return self.apply("Mul", centered, grid.scale)

    def quantize_linear(self, inputs: list[Operand], attrs: dict[str, Any]) -> Value | Quantized:
        x, scale, zero = [*inputs, None][:3]
        element = int(attrs.get("output_dtype", 0)) or self.element(zero)
        axis, block = int(attrs.get("axis", 1)), int(attrs.get("block_size", 0))
        if element in SMALL_FLOATS and (x_real := self.floats(x)) is not None:
            step = self.grid(scale, None, element, x_real.shape, axis, block).scale
            return cast_to(
                self.build, self.apply("Div", x_real, step), element, int(attrs.get("saturate", 1))
            )
        if element not in LIMITS:
            raise Unsupported(
                f"it quantizes to {type_name(element)}", "int4 to uint16 are supported"
            )
        if isinstance(x, Value) and x.const is not None and _known(scale) and _known(zero):
            s, z = _array(scale), _array(zero)
            assert s is not None
            wide = None if z is None else spread(z, x.shape, axis, block)
            array = quantized_array(x.const, spread(s, x.shape, axis, block), wide, element)
            return Value(x.name, TensorType(array.dtype, array.shape), array)
        real = self.floats(x)
        if real is None:
            raise Unsupported("it has no input")
        return self.quantize(real, self.grid(scale, zero, element, real.shape, axis, block))

    def element(self, zero: Operand) -> int:
        """The type of a zero point, which is that of the integers; uint8 without."""
        if zero is None:
            return int(_TP.UINT8)
        if isinstance(zero, Quantized):
            return zero.grid.element
        return self.elements.get(zero) or element_of(zero.dtype)

    def dequantize_linear(self, inputs: list[Operand], attrs: dict[str, Any]) -> Value:
        q, scale, zero = [*inputs, None][:3]
        axis, block = int(attrs.get("axis", 1)), int(attrs.get("block_size", 0))
        return self.dequantize(q, scale, zero, axis, block)


def _known(v: Operand) -> bool:
    return v is None or (isinstance(v, Value) and v.const is not None)


def _array(v: Operand) -> Array | None:
    return v.const if isinstance(v, Value) else None
