"""What operators with constant weights share: the requantization table, and proof of its sums."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import fixed_point
from ..ir import Array, Node
from ._opdef import Activation, Blob, OpDef

Ints = NDArray[np.int64]

NO_BIAS = 0xFFFFFFFF
"""Blob offset of a bias that is not there."""

LIMIT = 1 << 30


@dataclass(frozen=True)
class Requantization:
    """Of n output channels; `bias` [..., n] has the input zero point folded in."""

    bias: Ints
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int8]
    output_zero: int
    qmin: int
    qmax: int

    def apply(self, acc: Ints) -> NDArray[np.int8]:
        """int8 of accumulators [..., n] that hold the bias already."""
        return fixed_point.requantize(
            acc, self.multiplier, self.shift, self.output_zero, self.qmin, self.qmax
        )


def ratios(node: Node) -> NDArray[np.float64]:
    """input scale * weight scale / output scale of each output channel."""
    x, w, y = node.input(0).quant, node.input(1).quant, node.output.quant
    assert x is not None and w is not None and y is not None
    channels = node.input(1).shape[0]
    return np.broadcast_to(np.array(w.scale) * x.scalar / y.scalar, channels)


class WeightedOp(OpDef):
    """Inputs x, w [n, ...] constant, bias [n] constant or absent; attrs act_min, act_max.

    Int8: x and the output per tensor, w symmetric per channel, bias int32 of scale x * w.
    """

    weight = 1
    bias = 2

    @abstractmethod
    def accumulate(self, node: Node, x: Array) -> Ints:
        """sum(w * (x - input zero)) for the whole output [..., n], nothing where no tap is."""

    def folding_sums(self, node: Node) -> tuple[Ints, Ints]:
        """(sum(w), sum(|w|)) of each accumulator's weights; the last axis is n."""
        w = weights_of(node).astype(np.int64).reshape(node.input(1).shape[0], -1)
        return w.sum(1), np.abs(w).sum(1)

    def requantization(self, node: Node) -> Requantization:
        x, y = node.input(0).quant, node.output.quant
        assert x is not None and y is not None
        multiplier, shift = fixed_point.multipliers(ratios(node))
        qmin, qmax = Activation.of(node).q_range(y)
        folded = _bias(node) - x.zero_point * self.folding_sums(node)[0]
        return Requantization(folded, multiplier, shift, y.zero_point, qmin, qmax)

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        acc = self.accumulate(node, inputs[0]) + _bias(node)
        return [self.requantization(node).apply(acc)]

    def accumulator_problem(self, node: Node) -> str | None:
        """Why this int8 node's numbers leave the arithmetic; None if no input can make them.

        The largest accumulator, times 2^left, must stay below 2^30 for requantization. A left
        shift is needed only where one step of the accumulator is one of the output or more. Beyond
        the bound the true result would be a saturated one, but a kernel's shifted accumulator
        wraps and may give the opposite: so the node is refused.
        """
        try:
            table = self.requantization(node)
        except ValueError as why:
            return str(why)
        largest = np.abs(table.bias) + 128 * self.folding_sums(node)[1]
        largest = largest.reshape(-1, len(table.shift)).max(axis=0)
        left = np.maximum(table.shift.astype(np.int64), 0)
        beyond = np.flatnonzero(largest >= LIMIT >> left)
        if not len(beyond):
            return None
        n = int(beyond[0])
        return (
            f"output channel {n} sums up to {largest[n]} and is scaled by {ratios(node)[n]:.3g},"
            f" which leaves 32 bits ({len(beyond)} of {len(left)} channels do)"
        )

    def add_requantization(self, node: Node, blob: Blob) -> dict[str, int | float]:
        """The fields of the struct Requant, its table put into the blob."""
        x = node.input(0).quant
        assert x is not None
        if problem := self.accumulator_problem(node):
            raise ValueError(f"{self.name} '{node.name}': {problem}")
        table = self.requantization(node)
        return {
            "requant.table": blob.add(
                table.bias.astype("<i4"), table.multiplier.astype("<i4"), table.shift
            ),
            "requant.input_zero": x.zero_point,
            "requant.output_zero": table.output_zero,
            "requant.qmin": table.qmin,
            "requant.qmax": table.qmax,
        }


def add_float_tail(node: Node, blob: Blob) -> dict[str, int | float]:
    """The fields bias, min and max of a float operator."""
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    act = Activation.of(node)
    offset = NO_BIAS
    if bias is not None:
        assert bias.const is not None
        offset = blob.add(bias.const.astype("<f4"))
    return {"bias": offset, "min": float(act.low), "max": float(act.high)}


def weights_of(node: Node) -> Array:
    """The constant at input 1. Raises ValueError if it is computed."""
    weights = node.input(1).const
    if weights is None:
        raise ValueError(f"{node.op} '{node.name}': its weights are not constant")
    return weights


def check_bias(node: Node, channels: int) -> None:
    """Raises ValueError unless the bias is absent or a constant [channels]."""
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if bias is not None and (bias.const is None or bias.shape != (channels,)):
        raise ValueError(f"{node.op}: the bias {bias} is not a constant [{channels}]")


def exact_product(a: NDArray[Any], b: NDArray[Any]) -> Ints:
    """a [..., k] times b [n, k] in integers. Float64 is exact here, below 2^53, and uses BLAS."""
    product: Ints = (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.int64)
    return product


def _bias(node: Node) -> Ints | int:
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    return 0 if bias is None or bias.const is None else bias.const.astype(np.int64)
