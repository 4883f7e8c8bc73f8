"""Channels that hold one value whatever the input are removed, with what they feed: lossless.

Interval arithmetic on the integers of a quantized graph proves it: an accumulator lies between the
sums of its extreme products, requantization is monotone, and where both ends come out the same,
the channel is a constant. Trained networks with ReLU6 hold many (dead ones, and ones that
BatchNorm reduced to their bias). What a constant adds to a later sum goes into the bias there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..ir import Array, Graph, Node, QuantParams, TensorType, Value, constant
from ..numerics import INTEGERS
from ..ops import definition, is_a, is_view
from ..ops._weighted import WeightedOp
from ..ops.conv.conv2d import Conv2d, is_depthwise
from ..weight_codecs import Storage

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Interval:
    """Smallest and largest q of each channel (the last axis)."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


def remove_constant_channels(graph: Graph) -> dict[Value, Mask]:
    """Shrink `graph` in place; outputs stay the same to the bit.

    Returns, for every value that lost channels, which of them it kept.
    """
    intervals = _intervals(graph)
    readers, outputs = graph.consumers(), graph.output_values()  # which stay as they are
    kept: dict[Value, Mask] = {}
    for node in list(graph.nodes):
        if is_a(node, Conv2d) and _sums_channels(node) and node.output.dtype in INTEGERS:
            chain = _chain(node, readers, outputs)
            if chain is not None:
                kept |= _prune(chain, intervals)
    return kept


@dataclass(frozen=True)
class _Chain:
    """A convolution, the channel-wise operators behind it in an order of execution, and those that
    sum over its channels."""

    head: Node
    links: list[Node]
    sinks: list[Node]


def _chain(
    head: Node, readers: Mapping[Value, Sequence[Node]], outputs: Set[Value]
) -> _Chain | None:
    """The chain of `head`; None where a channel is needed by anything else."""
    links: list[Node] = []
    sinks: list[Node] = []
    todo = [head.output]
    while todo:
        value = todo.pop()
        if value in outputs or not readers.get(value):
            return None
        for node in readers[value]:
            if node.output.dtype not in INTEGERS:
                return None
            if _keeps_channels(node):
                if node not in links:
                    links.append(node)
                    todo.append(node.output)
            elif _sums_channels(node) and not _has_groups(node):
                sinks.append(node)
            else:
                return None
    return _Chain(head, links, sinks)


def _keeps_channels(node: Node) -> bool:
    if is_view(node):
        return node.input(0).shape[-1] == node.output.shape[-1]
    return is_depthwise(node) or "order" in definition(node.op).channelwise


def _sums_channels(node: Node) -> bool:
    return definition(node.op).sums_channels(node)


def _has_groups(node: Node) -> bool:
    """Whether multipliers belong to runs of its weights, which a channel less would shift."""
    storage: Storage | None = node.attrs.get("storage")
    return storage is not None and storage.multipliers is not None


def _prune(chain: _Chain, intervals: dict[Value, Interval]) -> dict[Value, Mask]:
    useless = np.ones(chain.head.output.shape[-1], np.bool_)
    for sink in chain.sinks:
        useless &= _absorbable(sink, intervals[sink.input(0)])
    keep = ~useless
    if not keep.any():
        keep[0] = True
    if keep.all():
        return {}
    values = {sink: intervals[sink.input(0)].low for sink in chain.sinks}
    if any(np.abs(_moved(s, v, keep)).max() >= 1 << 31 for s, v in values.items()):
        return {}
    for sink, low in values.items():
        _absorb(sink, low, keep)
    _drop_outputs(chain.head, keep)
    kept = {chain.head.output: keep}
    for link in chain.links:
        if is_a(link, Conv2d):
            _drop_outputs(link, keep)
            link.attrs["groups"] = int(keep.sum())
        if is_view(link):
            link.attrs["shape"] = (*link.output.shape[:-1], int(keep.sum()))
        _set_channels(link.output, int(keep.sum()))
        kept[link.output] = keep
    for value in kept:
        i = intervals[value]
        intervals[value] = Interval(i.low[keep], i.high[keep])
    return kept


def _absorbable(sink: Node, interval: Interval) -> Mask:
    """Channels of the sink's input that are constant, and whose part of each sum is one number.

    Beyond the border stands the zero point: there a constant that differs from it would not.
    """
    fixed: Mask = interval.low == interval.high
    if any(sink.attrs.get("pads", ())):
        quant = sink.input(0).quant
        assert quant is not None
        fixed = fixed & (interval.low == quant.zero_point)
    return fixed


def _moved(sink: Node, value: NDArray[np.int64], keep: Mask) -> NDArray[np.int64]:
    """The sink's bias with what the constant channels add to it."""
    w, x = sink.input(1).const, sink.input(0).quant
    assert w is not None and x is not None
    gone = w[..., ~keep].astype(np.int64)
    added: NDArray[np.int64] = (gone * (value[~keep] - x.zero_point)).reshape(len(gone), -1).sum(1)
    old = sink.inputs[2] if len(sink.inputs) > 2 else None
    return added if old is None or old.const is None else added + old.const


def _absorb(sink: Node, value: NDArray[np.int64], keep: Mask) -> None:
    """Take the constant channels out of the weights and into the bias."""
    bias = _moved(sink, value, keep)
    w, x = sink.input(1), sink.input(0).quant
    assert w.const is not None and w.quant is not None and x is not None
    old = sink.inputs[2] if len(sink.inputs) > 2 else None
    scale = tuple(s * x.scalar for s in w.quant.scale)
    quant = old.quant if old is not None else QuantParams(scale, axis=0)
    name = old.name if old is not None else f"{w.name}/bias"
    sink.inputs = [
        sink.input(0),
        constant(w.const[..., keep], w.name, w.quant),
        constant(bias.astype(np.int32), name, quant),
    ]


def _drop_outputs(node: Node, keep: Mask) -> None:
    for i, v in enumerate(node.inputs):
        if i and v is not None and v.const is not None:
            node.inputs[i] = constant(v.const[keep], v.name, _kept_params(v.quant, keep))
    if "storage" in node.attrs:
        node.attrs["storage"] = node.attrs["storage"].of_channels(keep)
    _set_channels(node.output, int(keep.sum()))


def _kept_params(quant: QuantParams | None, keep: Mask) -> QuantParams | None:
    if quant is None or quant.axis is None or len(quant.scale) == 1:
        return quant
    return replace(quant, scale=tuple(s for s, k in zip(quant.scale, keep, strict=True) if k))


def _set_channels(value: Value, channels: int) -> None:
    value.type = TensorType(value.dtype, (*value.shape[:-1], channels))


def _intervals(graph: Graph) -> dict[Value, Interval]:
    """What each int8 and int16 value can hold, by channel."""
    found: dict[Value, Interval] = {}
    for v in graph.values():
        if v.dtype in INTEGERS and v.const is None and v.shape:
            channels, limits = v.shape[-1], np.iinfo(v.dtype)
            found[v] = Interval(np.full(channels, limits.min), np.full(channels, limits.max))
    for node in graph.nodes:
        x = node.inputs[0]
        if x in found and node.output in found and x is not None:
            interval = _through(node, found[x])
            if interval is not None:
                found[node.output] = interval
    return found


def _through(node: Node, x: Interval) -> Interval | None:
    """The output's interval, where it follows from the first input's; None where it does not."""
    op = definition(node.op)
    if isinstance(op, WeightedOp) and (_sums_channels(node) or _keeps_channels(node)):
        return _weighted(node, op, x)
    if is_view(node) and _keeps_channels(node):
        return x
    if "order" in op.channelwise:
        ends = [_filled(node, end) for end in (x.low, x.high)]
        axes = tuple(range(ends[0].ndim - 1))
        return Interval(ends[0].min(axes), ends[1].max(axes))
    return None


def _filled(node: Node, value: NDArray[np.int64]) -> NDArray[np.int64]:
    """The output for an input that is `value` everywhere: pools and new scales are monotone."""
    x = node.input(0)
    array: Array = np.broadcast_to(value.astype(x.dtype), x.shape)
    return definition(node.op).integer(node, [array])[0].astype(np.int64)


def _weighted(node: Node, op: WeightedOp, x: Interval) -> Interval:
    quant, w = node.input(0).quant, node.input(1).const
    assert quant is not None and w is not None
    low, high = x.low - quant.zero_point, x.high - quant.zero_point
    if any(node.attrs.get("pads", ())):
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    # A sum is least where positive weights meet the lowest inputs, negative ones the highest.
    positive, every = _of_kernel(np.maximum(w, 0)), _of_kernel(w)
    ends = np.stack([low, high], axis=1).astype(np.float64)  # sums are below 2^53, and exact
    times = np.multiply if _keeps_channels(node) else np.matmul
    above = times(positive, ends)
    below = times(every - positive, ends)
    least, most = (above + below[:, ::-1]).T.astype(np.int64)
    table = op.requantization(node)
    sums = every.sum(axis=1).astype(np.int64)
    bias = table.bias + quant.zero_point * sums  # unfolded again
    return Interval(
        table.apply(least + bias).astype(np.int64), table.apply(most + bias).astype(np.int64)
    )


def _of_kernel(w: Array) -> NDArray[np.float64]:
    """The sums of weights [n, ..., channels] over a kernel [n, channels]."""
    rows = w.reshape(len(w), -1, w.shape[-1])
    summed = rows[:, 0] if rows.shape[1] == 1 else rows.sum(axis=1, dtype=np.int32)
    return summed.astype(np.float64)
