"""MatMul: the product of two computed tensors."""

from __future__ import annotations

from math import prod

import numpy as np

from ... import fixed_point
from ...format.schema import OpKind
from ...ir import Array, Node, TensorType, Value
from ...numerics import INTEGERS, integer_precisions
from .._opdef import Activation, Blob, Builder, Lowered, OnnxNode, OpDef
from .._views import as_float32
from ._einsum import einsum
from ._matmul import matmul

MAX_K = ((1 << 30) - 1) // (255 * 255)
"""Products of int8 whose sum surely stays below 2^30."""

MAX_K16 = (fixed_point.ACC_LIMIT16 - 1) >> 30
"""Products of int16 whose sum surely stays below the limit."""


class MatMul(OpDef):
    """ONNX MatMul-1..13 (FullyConnected if B is a constant matrix or vector), Einsum-12.

    a [..., M, K], b [..., K, N] or, with transpose_b, [..., N, K]; float32, int8 or
    int16. Leading dimensions are equal on both sides, or all 1 on one (from_onnx expands what is
    not).
    """

    name = "MatMul"
    heavy = True
    onnx = ("MatMul", "Einsum")
    precisions = integer_precisions(*INTEGERS)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        if node.op == "Einsum":
            return [einsum(b, node)]
        x, w = as_float32(node), node.inputs[1]
        assert w is not None
        return [matmul(b, x, w, node.outputs[0])]

    def infer(self, node: Node) -> list[TensorType]:
        a, b = node.input(0), node.input(1)
        if len(a.shape) < 2 or len(b.shape) < 2 or a.shape[-1] != _k_n(node)[0]:
            raise ValueError(f"{node.op}: {a} and {b} do not match")
        lead_a, lead_b = a.shape[:-2], b.shape[:-2]
        if lead_a != lead_b and 1 not in (prod(lead_a), prod(lead_b)):
            raise ValueError(f"{node.op}: the leading dimensions of {a} and {b} differ")
        lead = np.broadcast_shapes(lead_a, lead_b)
        return [TensorType(a.dtype, (*lead, a.shape[-2], _k_n(node)[1]))]

    def sizes(self, node: Node) -> tuple[OpKind, dict[str, int | float]]:
        a, b = node.input(0), node.input(1)
        k, n = _k_n(node)
        rows, batch_a, batch_b = a.shape[-2], prod(a.shape[:-2]), prod(b.shape[:-2])
        if batch_b == 1:  # one b for all: their rows are one matrix
            rows, batch_a = rows * batch_a, 1
        return OpKind.MatMul, {
            "batch": max(batch_a, batch_b),
            "rows": rows,
            "k": k,
            "n": n,
            "a_step": rows * k if batch_a > 1 else 0,
            "b_step": k * n if batch_b > 1 else 0,
        }

    def integer_problem(self, node: Node) -> str | None:
        k = node.input(0).shape[-1]
        return f"it sums {k} products; int8 has room for {MAX_K}" if k > MAX_K else None

    def accumulator_problem(self, node: Node) -> str | None:
        """As WeightedOp.accumulator_problem, for any integers in both inputs."""
        a, b = node.input(0).quant, node.input(1).quant
        assert a is not None and b is not None
        k = node.input(0).shape[-1]
        try:
            _, shift = _multiplier(node)
        except ValueError as why:
            return str(why)
        if node.input(0).dtype == np.int16:
            return f"it sums {k} products; int16 has room for {MAX_K16}" if k > MAX_K16 else None
        if problem := self.integer_problem(node):
            return problem
        reach_a, reach_b = (max(127 - q.zero_point, 128 + q.zero_point) for q in (a, b))
        largest = k * reach_a * reach_b
        if largest << max(shift, 0) < 1 << 30:
            return None
        return f"it sums up to {largest} and is scaled by {_ratio(node):.3g}, which leaves 32 bits"

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        a, b = inputs
        qa, qb, qy = node.input(0).quant, node.input(1).quant, node.output.quant
        assert a is not None and b is not None
        assert qa is not None and qb is not None and qy is not None
        if node.attrs.get("transpose_b", False):
            b = np.swapaxes(b, -1, -2)
        # Float64 is exact here, below 2^53, and uses BLAS.
        left, right = (v.astype(np.float64) - q.zero_point for v, q in ((a, qa), (b, qb)))
        m, shift = _multiplier(node)
        qmin, qmax = Activation.of(node).q_range(qy)
        acc = (left @ right).astype(np.int64)
        if node.input(0).dtype == np.int16:
            return [fixed_point.requantize16(acc, m, shift, qmin, qmax)]
        return [fixed_point.requantize(acc, m, shift, qy.zero_point, qmin, qmax)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        a, b, (kind, params) = node.input(0), node.input(1), self.sizes(node)
        params["transpose_b"] = int(node.attrs.get("transpose_b", False))
        act = Activation.of(node)
        if a.dtype == np.float32:
            return Lowered(kind, params | act.limits(None), [a, b])
        if problem := self.accumulator_problem(node):
            raise ValueError(f"{self.name} '{node.name}': {problem}")
        y = node.output.quant
        assert a.quant is not None and b.quant is not None and y is not None
        params["multiplier"], params["shift"] = _multiplier(node)
        params |= act.limits(y)
        if a.dtype == np.int8:
            zeros = (a.quant.zero_point, b.quant.zero_point, y.zero_point)
            params["a_zero"], params["b_zero"], params["output_zero"] = zeros
        return Lowered(kind, params, [a, b])


def _k_n(node: Node) -> tuple[int, int]:
    *_, k, n = node.input(1).shape
    return (n, k) if node.attrs.get("transpose_b", False) else (k, n)


def _ratio(node: Node) -> float:
    a, b, y = node.input(0).quant, node.input(1).quant, node.output.quant
    assert a is not None and b is not None and y is not None
    return a.scalar * b.scalar / y.scalar


def _multiplier(node: Node) -> tuple[int, int]:
    """(m, shift) in the arithmetic of the inputs' element type."""
    if node.input(0).dtype == np.int16:
        return fixed_point.multiplier16(_ratio(node))
    return fixed_point.multiplier(_ratio(node))


OPS = (MatMul(),)
