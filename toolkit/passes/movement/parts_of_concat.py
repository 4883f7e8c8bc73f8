"""Tensors that are joined, and taken apart again where they were joined."""

from __future__ import annotations

from itertools import accumulate
from math import prod

from ...ir import Node, Value
from .._links import Links
from .._pass import NodePass


class PartsOfConcat(NodePass):
    """Slices of a Concat, at the places where it joins: each reads its part alone. Other Concats
    and Reshapes may lie between: YOLO's heads join boxes and classes at each scale, then the
    scales, and then take boxes and classes apart, so that both would share one quantization. All
    readers must be such Slices.
    """

    name = "parts of a concat"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Slice":
            return False
        v = node.input(0)
        users = list(dict.fromkeys(links.users(v)))
        cuts = [_cut(user) for user in users]
        if links.is_output(v) or any(c is None or not _is_joined(links, v, *c) for c in cuts):
            return False
        for user, cut in zip(users, cuts, strict=True):
            assert cut is not None
            links.replace(user, _part(links, user, v, *cut))
        return True


def _cut(node: Node) -> tuple[int, int, int] | None:
    """The only axis that a Slice cuts, and what it leaves of that: from, to."""
    if node.op != "Slice" or any(step != 1 for step in node.attrs["steps"]):
        return None
    sizes, shape = node.attrs["sizes"], node.input(0).shape
    axes = [i for i, (n, d) in enumerate(zip(sizes, shape, strict=True)) if n != d]
    if len(axes) != 1:
        return None
    start = node.attrs["starts"][axes[0]]
    return axes[0], start, start + sizes[axes[0]]


def _is_joined(
    links: Links, v: Value, axis: int, start: int, stop: int, inside: bool = False
) -> bool:
    """Whether that part of `v` is made of whole tensors; nothing else reads what is `inside`."""
    node = links.producer(v)
    if node is None or (inside and links.only_user(v) is None):
        return False
    if node.op == "Reshape":
        before = _axis_before(node, axis)
        return before is not None and _is_joined(links, node.input(0), before, start, stop, True)
    if node.op != "Concat" or len(node.dynamic_inputs) < len(node.inputs):
        return False
    if node.attrs["axis"] != axis:
        return all(_is_joined(links, x, axis, start, stop, True) for x in node.dynamic_inputs)
    return {start, stop} <= {0, *_ends(node)}


def _part(links: Links, before: Node, v: Value, axis: int, start: int, stop: int) -> Value:
    """That part of `v`, computed in front of a node."""
    node = links.producer(v)
    assert node is not None
    if node.op == "Reshape":
        axis_before = _axis_before(node, axis)
        assert axis_before is not None
        x = _part(links, before, node.input(0), axis_before, start, stop)
        shape = (*v.shape[:axis], stop - start, *v.shape[axis + 1 :])
        return links.emit(before, "Reshape", [x], {"shape": shape}, v.name)
    if node.attrs["axis"] != axis:
        parts = [_part(links, before, x, axis, start, stop) for x in node.dynamic_inputs]
    else:
        ends = zip(node.dynamic_inputs, _ends(node), strict=True)
        parts = [x for x, end in ends if start < end <= stop]
    if len(parts) == 1:
        return parts[0]
    return links.emit(before, "Concat", parts, {"axis": node.attrs["axis"]}, v.name)


def _ends(node: Node) -> list[int]:
    """Where the inputs of a Concat end along its axis."""
    return list(accumulate(x.shape[node.attrs["axis"]] for x in node.dynamic_inputs))


def _axis_before(node: Node, axis: int) -> int | None:
    """The axis of a Reshape's input that is the `axis` of its output, with the same elements before
    and behind it; None if there is none."""
    x, y = node.input(0).shape, node.output.shape
    for i, d in enumerate(x):
        if d == y[axis] and prod(x[:i]) == prod(y[:axis]):
            return i
    return None
