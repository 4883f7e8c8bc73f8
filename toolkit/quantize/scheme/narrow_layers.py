"""Selection of the nodes with 4-bit or 2-bit weights.

Every layer adds about the same noise, whatever its size: layers that save little keep 8 bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...compress import remove_constant_channels
from ...ir import Graph, Node
from ...ops import definition
from ...ops.conv.conv2d import is_depthwise
from .options import Ranges
from .plan import Plan
from .quantizable_groups import can_be_narrow

SMALLEST = 0.1
"""Maximum fraction of the weights that belongs to the smallest nodes, which keep 8 bits."""
GROUPS_FROM = 0.8
"""Minimum fraction of varying channels of a tensor for its readers' weights to have groups."""


def choose_narrow_layers(plan: Plan, ranges: Ranges, bits: int) -> tuple[list[str], frozenset[str]]:
    """Outputs of the nodes that should have weights of `bits`, and of those without groups.

    Constant channels, and the weights that read them, are removed, except from weights with groups.
    """
    graph, _ = plan.emit(ranges)
    kept = {v.name: mask.mean() for v, mask in remove_constant_channels(graph).items()}
    sparse = {name for name, part in kept.items() if part < GROUPS_FROM}
    reading = [n for n in graph.nodes if n.inputs and n.inputs[0] is not None]
    able = {u.node for u in plan.groups if can_be_narrow(u, bits, plan.refused)}
    able -= _first_or_depthwise(plan.graph)
    whole, left = _weights(plan.graph), _weights(graph)
    names = [n.output.name for n in plan.graph.nodes if n in able]
    return (
        _without_the_smallest(names, whole, left),
        frozenset(n.output.name for n in reading if n.input(0).name in sparse),
    )


def _without_the_smallest(
    names: list[str], whole: Mapping[str, int], left: Mapping[str, int]
) -> list[str]:
    """The chosen nodes, by their number of weights in `whole` and `left` in the file."""
    found, spare = list(names), SMALLEST * sum(left.values())
    for name in sorted(names, key=lambda n: whole[n]):
        spare -= left[name]
        if spare < 0:
            break
        found.remove(name)
    return found


def _weights(graph: Graph) -> dict[str, int]:
    """The number of weights of each node, by its output."""
    at = ((n, definition(n.op).any_weight) for n in graph.nodes)
    return {n.output.name: n.input(i).type.size for n, i in at if i is not None}


def _first_or_depthwise(graph: Graph) -> set[Node]:
    """The first and depthwise layers, where fewer bits lose the most and save the least."""
    before = {p.value for p in graph.inputs}  # and tensors computed from them without weights
    found: set[Node] = set()
    for node in graph.nodes:
        raw = all(v in before for v in node.dynamic_inputs)
        if definition(node.op).any_weight is None:
            before.update(node.outputs if raw else ())
        elif raw or is_depthwise(node):
            found.add(node)
    return found
