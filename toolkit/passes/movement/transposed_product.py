"""A Transpose in front of a MatMul becomes the order in which the product reads its matrix."""

from __future__ import annotations

from ...ir import Node
from .._links import Links
from .._pass import NodePass
from ..axes import Perm, is_identity


class TransposedProduct(NodePass):
    """a @ swapped(b), as attention multiplies queries by keys: MatMul reads b as it lies. Of a
    Transpose that moves other axes too, what is left keeps rows of b together.
    """

    name = "transposed product"

    def rewrite(self, links: Links, node: Node) -> bool:
        turn = links.producer(node.input(1), "Transpose") if node.op == "MatMul" else None
        if turn is None:
            return False
        perm = tuple(turn.attrs["perm"])
        rest = swapped(perm)
        if rest[-1] != len(perm) - 1:
            return False
        b = turn.input(0)
        if not is_identity(rest):
            if len(links.users(turn.output)) > 1 or links.is_output(turn.output):
                return False
            b = links.emit(node, "Transpose", [b], {"perm": rest}, turn.output.name)
        attrs = {"transpose_b": not node.attrs["transpose_b"]}
        links.rewire(node, [node.input(0), b, *node.inputs[2:]], **attrs)
        return True


def swapped(perm: Perm) -> Perm:
    """`perm`, and the last two axes swapped."""
    return (*perm[:-2], perm[-1], perm[-2])
