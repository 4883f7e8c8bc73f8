"""Axes of size 1 move for free: such Transposes are Reshapes, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Node, Shape
from .._links import Links
from .._pass import NodePass


def moves_only_units(shape: Shape, perm: Sequence[int]) -> bool:
    """Whether a Transpose leaves the elements in their order."""
    real = [p for p in perm if shape[p] != 1]
    return real == sorted(real)


class UnitTransposes(NodePass):
    """A Transpose that moves only axes of size 1 becomes a Reshape, which costs nothing."""

    name = "unit transposes"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Transpose" or not moves_only_units(node.input(0).shape, node.attrs["perm"]):
            return False
        node.op, node.attrs = "Reshape", {"shape": node.output.shape}
        return True


class UnitReshapes(NodePass):
    """A Reshape that only moves axes of size 1 becomes a Transpose, for Layout to cancel."""

    name = "unit reshapes"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Reshape":
            return False
        x, y = node.input(0).shape, node.output.shape
        if len(x) != len(y) or x == y or [d for d in x if d != 1] != [d for d in y if d != 1]:
            return False
        real = iter([i for i, d in enumerate(x) if d != 1])
        units = iter([i for i, d in enumerate(x) if d == 1])
        perm = tuple(next(units) if d == 1 else next(real) for d in y)
        node.op, node.attrs = "Transpose", {"perm": perm}
        return True
