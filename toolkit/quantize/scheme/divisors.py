"""Divisors that differ by more than int8 shows, as the levels of series that a network normalizes.

What is too coarse for a divisor is too coarse for what computes it: the root of a variance on int8
is no finer than that. Nor is it fine enough for the input that is divided, or for an output that is
multiplied by the divisor again (RevIN, Kim et al. 2022): small series would have no steps there.
Probabilities that their own sum divides may all be small, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...format.schema import BinaryFn, ReduceFn, UnaryFn
from ...ir import Graph, Node, Value
from ...numerics import IN_INTEGERS, Precision
from ...ops import computes, definition
from .detection_head import behind_weights
from .moves import maker_of, since_weights
from .options import Range, Ranges
from .quantizable_groups import QuantizableGroup

MANY_NUMBERS, MANY_OF_SEVERAL = 1024, 16384
"""An output of more, with one scale or several, that has more numbers than a quarter of the largest
tensor, is not restored in float32: it would cost as much as the layers before."""
MAX_RATIO = 4
"""Of the largest scale to the smallest, for it to be fine enough on int8."""
_SUMS = (BinaryFn.Add, BinaryFn.Sub)
_POSITIVE = (UnaryFn.Sigmoid, UnaryFn.Exp)
_TOTALS = (ReduceFn.Sum, ReduceFn.Mean, ReduceFn.L1)

Refused = dict[tuple[Node, Precision], str]


@dataclass(frozen=True)
class Restored:
    """An output that is multiplied by a `scale` of the input, or by constants of different sizes,
    after which only what restores a mean may follow: the `nodes` from what is `normalized` to the
    output."""

    normalized: Value
    scale: Value
    nodes: tuple[Node, ...]


def restored(graph: Graph) -> dict[Value, Restored]:
    """The outputs that are multiplied by a scale that no weights make, common to many numbers, or
    by constants that differ by more than MAX_RATIO, as those of numbers in different units."""
    made_by, weighed = graph.producers(), behind_weights(graph)
    found = {v: _restored(v, made_by, weighed) for v in graph.output_values()}
    return {v: f for v, f in found.items() if f is not None}


def _restored(v: Value, made_by: Mapping[Value, Node], weighed: set[Value]) -> Restored | None:
    node = made_by.get(v)
    if node is None or v not in weighed:
        return None
    read = node.dynamic_inputs
    if len(read) == 2 and computes(node, BinaryFn.Mul):
        x, scale = sorted(read, key=lambda v: v not in weighed)
        if x in weighed and scale not in weighed and scale.type.size < x.type.size:
            return Restored(x, scale, (node,))
    constant = next((x for x in node.inputs if x is not None and x.const is not None), None)
    if constant is not None and computes(node, BinaryFn.Mul) and _differs(constant, {}):
        return Restored(read[0], constant, (node,))
    made = [x for x in read if x in weighed]
    moves = definition(node.op).shared and len(read) == 1
    if len(made) != 1 or not (moves or computes(node, *_SUMS, BinaryFn.Mul)):
        return None
    before = _restored(made[0], made_by, weighed)
    return before and replace(before, nodes=(*before.nodes, node))


def restored_outputs(graph: Graph, ranges: Ranges) -> Refused:
    """The integers that restored outputs do not have, and what is computed of the input for them,
    if the scales in `ranges` differ by more than MAX_RATIO; and why."""
    found: Refused = {}
    largest = max((v.type.size for n in graph.nodes for v in n.outputs), default=0)
    for v, output in restored(graph).items():
        most = MANY_NUMBERS if output.scale.type.size == 1 else MANY_OF_SEVERAL
        if v.type.size > max(most, largest // 4) or not _differs(output.scale, ranges):
            continue
        low, high = _sizes(output.scale, ranges)
        by = "constants" if output.scale.const is not None else f"'{output.scale.name}'"
        why = f"an output is multiplied by {by} of {low:.4g} to {high:.4g}"
        for node in (*_beside(output.scale, graph), *output.nodes):
            found.update({(node, p): why for p in IN_INTEGERS})
    return found


def shares_of_sums(graph: Graph) -> Refused:
    """The integers that do not make an output of up to MANY_NUMBERS numbers which a sigmoid or an
    exponential computes and their own sum divides, as of classifiers of one class against the
    others; and why."""
    made_by, found = graph.producers(), dict[tuple[Node, Precision], str]()
    why = "its numbers are divided by their sum, and all of them may be smaller than a step"
    for v in graph.output_values():
        node = maker_of(v, made_by)
        if node is None or v.type.size > MANY_NUMBERS or not computes(node, BinaryFn.Div):
            continue
        divided, divisor = (since_weights([node.input(i)], made_by, *_POSITIVE) for i in range(2))
        sums = any(computes(n, *_TOTALS) for n in divisor)
        if sums and any(computes(n, *_POSITIVE) and n in divisor for n in divided):
            found.update({(n, p): why for n in (node, *divided, *divisor) for p in IN_INTEGERS})
    return found


def _sizes(scale: Value, ranges: Ranges) -> Range:
    if scale.const is None:
        return ranges.get(scale.name, (1.0, 1.0))
    sizes = np.abs(scale.const[scale.const != 0])  # a 0 masks
    return float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0))


def _differs(scale: Value, ranges: Ranges) -> bool:
    low, high = _sizes(scale, ranges)
    return low <= 0 or high > MAX_RATIO * low


def _beside(scale: Value, graph: Graph) -> list[Node]:
    """The nodes before all weights that read what `scale` is computed of."""
    made_by, weighed = graph.producers(), behind_weights(graph)
    behind = {scale}
    for node in reversed(graph.nodes):
        if not behind.isdisjoint(node.outputs):
            behind.update(node.dynamic_inputs)
    sources = {v for v in behind if v not in made_by}
    found: list[Node] = []
    for node in graph.nodes:
        read = node.dynamic_inputs
        if definition(node.op).heavy or sources.isdisjoint(read) or not weighed.isdisjoint(read):
            continue
        sources.update(node.outputs)
        found.append(node)
    return found


def with_divisors(
    refused: Refused,
    graph: Graph,
    groups: Iterable[QuantizableGroup],
    readers: Mapping[Value, list[QuantizableGroup]],
) -> Refused:
    """`refused`, and with a division in it what computes the divisor, at the same precision, and
    what brings an input of the network to it, on integers."""
    divisions = [(n, p) for n, p in refused if computes(n, BinaryFn.Div)]
    if not divisions:
        return refused
    made_by = {v: u for u in groups for v in u.outputs}
    weighed = behind_weights(graph)
    found = dict(refused)
    for node, precision in divisions:
        whose = f"the divisor of '{node.name or node.output.name}'"
        divisor = [made_by[v] for v in [node.input(1)] if v in made_by]
        for u in _alone(divisor, made_by, readers):
            found.setdefault((u.nodes[-1], precision), f"it computes {whose}")
        division = [] if node.input(0) in weighed else [made_by[node.output]]
        for u in _alone(division, made_by, readers, weighed):
            found.update({(u.nodes[-1], p): f"it precedes {whose}" for p in IN_INTEGERS})
    return found


def _alone(
    start: Iterable[QuantizableGroup],
    made_by: Mapping[Value, QuantizableGroup],
    readers: Mapping[Value, list[QuantizableGroup]],
    weighed: Iterable[Value] = (),
) -> Iterator[QuantizableGroup]:
    """`start`, and the groups without weights that nothing but these needs; none that makes what is
    `weighed`."""
    found = [u for u in start if u.light]
    for group in found:
        yield group
        for v in group.inputs:
            maker = made_by.get(v)
            if maker is None or maker in found or v in weighed or not maker.light:
                continue
            if all(r in found for r in readers[v]):
                found.append(maker)
