"""What operators with constant weights share: the requantization table, and proof of its sums."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .. import fixed_point
from ..format.schema import DType, OpKind, WeightCodec
from ..format.structs import NO_BLOB
from ..format.tables import WIDE, Table, table_of
from ..ir import Array, Node, QuantParams, constant
from ..numerics import FLOAT, HALF, INTEGERS, integer_precisions
from ..weight_codecs import CODECS, Storage, encode, stored_int8
from ._opdef import Activation, Blob, OpDef

Ints = NDArray[np.int64]

LIMIT = 1 << 30

Params = Mapping[str, int | float]


@dataclass(frozen=True)
class Stored:
    """Weights [n, ...] and bias [n] as a file holds them, in real numbers."""

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]


@dataclass(frozen=True)
class Requantization:
    """Of n output channels; `bias` [..., n] has the input zero point folded in."""

    bias: Ints
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int8]
    output_zero: int
    qmin: int
    qmax: int

    def apply(self, acc: Ints) -> Array:
        """int8 of accumulators [..., n] that hold the bias already."""
        return fixed_point.requantize(
            acc, self.multiplier, self.shift, self.output_zero, self.qmin, self.qmax
        )

    @property
    def limits(self) -> Ints:
        """What |accumulator| stays below, per channel, for any int8: 2^30 before a left shift."""
        return LIMIT >> np.maximum(self.shift.astype(np.int64), 0)

    def fields(self, blob: Blob, input_zero: int) -> dict[str, int | float]:
        """The struct Requant, its table put into the blob."""
        return {
            **_add_table(blob, self, DType.Int8),
            "requant.input_zero": input_zero,
            "requant.output_zero": self.output_zero,
            "requant.qmin": self.qmin,
            "requant.qmax": self.qmax,
        }


@dataclass(frozen=True)
class Requantization16:
    """As Requantization, of int16: zero points are 0 and nothing is folded in."""

    bias: Ints  # [n]
    multiplier: NDArray[np.int32]
    shift: NDArray[np.uint8]
    qmin: int
    qmax: int

    def apply(self, acc: Ints) -> Array:
        """int16 of accumulators [..., n] that hold the bias already."""
        return fixed_point.requantize16(acc, self.multiplier, self.shift, self.qmin, self.qmax)

    @property
    def limits(self) -> Ints:
        """What |accumulator| stays below, for any int16."""
        return np.full(len(self.shift), fixed_point.ACC_LIMIT16)

    def fields(self, blob: Blob, input_zero: int) -> dict[str, int | float]:
        """The struct Requant, its table put into the blob."""
        return {
            **_add_table(blob, self, DType.Int16),
            "requant.input_zero": input_zero,
            "requant.output_zero": 0,
            "requant.qmin": self.qmin,
            "requant.qmax": self.qmax,
        }


def _add_table(
    blob: Blob, r: Requantization | Requantization16, element: DType
) -> dict[str, int | float]:
    """The fields that say where the table is, and how it is stored."""
    table = Table(r.bias.ravel(), r.multiplier.astype(np.int64), r.shift.astype(np.int64))
    if not blob.tight:
        return {"requant.table": blob.add(table.wide()), **WIDE}
    bits, fields = table.tight(element)
    return {"requant.table": blob.add(bits, align=1), **fields}


Proof = tuple[list[object], Requantization | Requantization16]

_proofs: WeakKeyDictionary[Node, Proof] = WeakKeyDictionary()
"""Tables of nodes whose accumulators are proved, until they are lowered: most nodes are proved and
lowered once. With each what it was made from."""


def _proved_from(node: Node) -> list[object]:
    """What `WeightedOp._proved` reads of a node and its operands, which passes may replace."""
    operands = [v for v in (*node.inputs, node.output) if v is not None]
    parts = [part for v in operands for part in (v.type, v.quant, v.const)]
    return [node.op, *node.attrs.values(), *parts]


def ratios(node: Node) -> NDArray[np.float64]:
    """input scale * weight scale / output scale of each output channel."""
    x, w, y = node.input(0).quant, node.input(1).quant, node.output.quant
    assert x is not None and w is not None and y is not None
    channels = node.input(1).shape[0]
    return np.broadcast_to(np.array(w.scale) * x.scalar / y.scalar, channels)


class WeightedOp(OpDef):
    """Inputs x, w [n, ...] constant, bias [n] constant or absent; attrs act_min, act_max.

    Integers: x and the output int8 or int16 per tensor, w int8 symmetric per channel, bias int32 of
    scale x * w.
    """

    weight = 1
    heavy = True
    bias = 2
    precisions = integer_precisions(*INTEGERS)
    reals = (FLOAT, HALF)

    @abstractmethod
    def accumulate(self, node: Node, x: Array) -> Ints:
        """sum(w * (x - input zero)) for the whole output [..., n], nothing where no tap is."""

    @abstractmethod
    def stored_weights(self, node: Node, params: Params, flat: NDArray[np.int8]) -> Array:
        """`lower` backwards: weights [n, ...] of `flat`, the int8 of the blob from theirs on.

        Their sizes are those of `params`: the file may hold fewer channels than the float `node`.
        """

    def stored(
        self, node: Node, kind: OpKind, params: Params, blob: bytes, x: QuantParams, y: QuantParams
    ) -> Stored | None:
        """The constants of the file's operator for the float `node`, which reads `x`, makes `y`.

        None for weights behind an unknown codec.
        """
        codec = WeightCodec(int(params.get("codec.id", 0)))
        if codec and codec.name not in CODECS:
            return None
        flat = np.frombuffer(blob, np.int8, offset=int(params["weights"]))
        if codec:
            flat = stored_int8(kind, params, blob)
        w = self.stored_weights(node, params, flat)
        n = len(w)
        made = Node(node.op, [node.input(0), constant(w, "w")], [], node.attrs)
        folded = self.folding_sums(made)[0].reshape(-1, n) * x.zero_point
        wide = x.dtype == np.int16
        table = table_of(kind, DType.Int16 if wide else DType.Int8, params, blob)
        ratio = fixed_point.real_ratio16 if wide else fixed_point.real_ratio
        unit = ratio(table.multiplier, table.shift) * y.scalar  # input scale * weight scale
        bias = (table.bias[:n] + folded[0]) * unit
        return Stored(w * (unit / x.scalar).reshape(-1, *[1] * (w.ndim - 1)), bias)

    def folding_sums(self, node: Node) -> tuple[Ints, Ints]:
        """(sum(w), sum(|w|)) of each accumulator's weights; the last axis is n."""
        w = weights_of(node).reshape(node.input(1).shape[0], -1)
        total = w.sum(1, dtype=np.int64)
        return total, 2 * np.maximum(w, 0).sum(1, dtype=np.int64) - total

    def requantization(self, node: Node) -> Requantization | Requantization16:
        return self._requantization(node, None)

    def _requantization(self, node: Node, sums: Ints | None) -> Requantization | Requantization16:
        """`sums` are the first of `folding_sums`, if they are known."""
        x, y = node.input(0).quant, node.output.quant
        assert x is not None and y is not None
        qmin, qmax = Activation.of(node).q_range(y)
        if node.input(0).dtype == np.int16:
            m16, shift16 = fixed_point.multipliers16(ratios(node))
            bias = np.broadcast_to(np.asarray(_bias(node), np.int64), m16.shape)
            return Requantization16(bias, m16, shift16, qmin, qmax)
        multiplier, shift = fixed_point.multipliers(ratios(node))
        sums = self.folding_sums(node)[0] if sums is None else sums
        folded = _bias(node) - x.zero_point * sums
        return Requantization(folded, multiplier, shift, y.zero_point, qmin, qmax)

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        acc = self.accumulate(node, inputs[0]) + _bias(node)
        return [self.requantization(node).apply(acc)]

    def accumulator_problem(self, node: Node) -> str | None:
        """Why this integer node's numbers leave the arithmetic; None if no input can make them."""
        try:
            _proofs[node] = _proved_from(node), self._proved(node)
        except ValueError as why:
            return str(why)
        return None

    def _proved(self, node: Node) -> Requantization | Requantization16:
        """The requantization. Raises ValueError if any input makes numbers that leave it.

        In int8 the largest accumulator, times 2^left, must stay below 2^30 for requantization. A
        left shift is needed only where one step of the accumulator is one of the output or more.
        Beyond the bound the true result would be a saturated one, but a kernel's shifted
        accumulator wraps and may give the opposite: so the node is refused. In int16 it must stay
        below 2^39, so that its product with the multiplier fits 64 bits.
        """
        if known := _proofs.pop(node, None):
            now = _proved_from(node)
            if len(now) == len(known[0]) and all(map(is_, now, known[0])):
                return known[1]
        sums, sizes = self.folding_sums(node)
        table = self._requantization(node, sums)
        reach = -int(np.iinfo(node.input(0).dtype).min)
        largest = np.abs(table.bias) + reach * sizes
        largest = largest.reshape(-1, len(table.shift)).max(axis=0)
        beyond = np.flatnonzero(largest >= table.limits)
        if not len(beyond):
            return table
        n = int(beyond[0])
        bits = 32 if isinstance(table, Requantization) else 64
        raise ValueError(
            f"output channel {n} sums up to {largest[n]} and is scaled by {ratios(node)[n]:.3g},"
            f" which leaves {bits} bits ({len(beyond)} of {len(largest)} channels do)"
        )

    def add_tail(self, node: Node, blob: Blob) -> dict[str, int | float]:
        """The fields behind the weights: of the struct Requant."""
        x = node.input(0)
        if x.dtype.kind == "f":
            return _float_tail(node, blob)
        assert x.quant is not None
        try:
            table = self._proved(node)
        except ValueError as why:
            raise ValueError(f"{self.name} '{node.name}': {why}") from None
        return table.fields(blob, x.quant.zero_point)


def add_weights(
    node: Node, blob: Blob, w: Array, *, depthwise: bool = False
) -> dict[str, int | float]:
    """The fields weights and codec of an operator, put into the blob.

    w [n, k] in the file's order of a channel's weights, in the element type that the file holds.
    Raises ValueError for weights that their codec does not hold.
    """
    storage: Storage | None = node.attrs.get("storage")
    if storage is None:
        return {"weights": blob.add(w.T if depthwise else w)}
    if node.input(0).dtype.kind == "f":
        raise ValueError(f"{node.op} has no weights behind a codec in {node.input(0).dtype}")
    try:
        found = encode(w, storage, depthwise=depthwise)
    except ValueError as why:
        raise ValueError(f"{node.op} '{node.name}': {why}") from None
    return {
        "weights": blob.add(found.weights),
        "codec.id": WeightCodec[storage.codec],
        "codec.group": found.group,
        "codec.auxiliary": NO_BLOB
        if found.auxiliary is None
        else blob.add(found.auxiliary, align=1),
    }


def file_weights(node: Node) -> Array:
    """The weights in the element type that the file holds: int8, or that of float nodes."""
    dtype = node.input(0).dtype
    return weights_of(node).astype(dtype if dtype.kind == "f" else "i1", copy=False)


def _float_tail(node: Node, blob: Blob) -> dict[str, int | float]:
    """The struct Requant of a float operator: its bias and clamp."""
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    offset = NO_BLOB
    if bias is not None:
        assert bias.const is not None
        offset = blob.add(bias.const.astype("<f4"))
    fields = {"table": offset, "input_zero": 0, "output_zero": 0}
    fields |= Activation.of(node).limits(None)
    return {f"requant.{name}": value for name, value in fields.items()} | WIDE


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
