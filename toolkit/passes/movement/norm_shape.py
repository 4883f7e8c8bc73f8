"""A normalization in a shape of its own gets that of the tensor it normalizes."""

from __future__ import annotations

from math import prod

from ...ir import Node, Shape, Value
from .._links import Links
from .._pass import NodePass


class NormShape(NodePass):
    """Reshape, LayerNorm whose scale and bias are those of whole lines, and Reshape to the first
    shape: the norm runs over the axes that were joined. So exporters write a GroupNormalization of
    one group, or of as many as there are channels; layouts can then be changed around it.
    """

    name = "normalization's shape"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "LayerNorm":
            return False
        before, behind = links.producer(node.input(0), "Reshape"), links.only_user(node.output)
        if before is None or behind is None or behind.op != "Reshape":
            return False
        view, x, axes = node.input(0), before.input(0), node.attrs["axes"]
        lead = view.shape[: axes[0]]
        first = _first(x.shape, prod(lead))
        if behind.output.shape != x.shape or axes[-1] != len(view.shape) - 1 or first is None:
            return False
        numbers = list[Value | None]()
        for v in node.inputs[1:]:
            if v is not None and v.type.size > 1:
                if v.const is None or lead != x.shape[:first] or prod(v.shape[-len(axes) :]) > 1:
                    return False
                shape = (*v.shape[: -len(axes)], *(1 for _ in x.shape[first:]))
                v = links.constant(v.const.reshape(shape), v.name)
            numbers.append(v)
        links.rewire(node, [x, *numbers], axes=tuple(range(first, len(x.shape))))
        return True


def _first(shape: Shape, lines: int) -> int | None:
    """The last axis with `lines` lines in front of it; None if they end inside of one."""
    found = [i for i in range(len(shape)) if prod(shape[:i]) == lines]
    return found[-1] if found else None
