"""Layout: Transposes are pushed through what works in any layout, where that removes them.

Nodes that work in any layout and pass values to each other form a region; at its borders stand
Transposes, operators with a layout of their own (convolutions are NHWC), and ports. A region has
one layout. Each layout that a Transpose at the border suggests is priced by the elements that the
border would then move, and the cheapest is taken. Regions are as large as they can be, so a
residual net or one with many Concats is decided as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ...ir import Graph, Node, Shape, Value
from .._links import Links
from ..axes import (
    Perm,
    allows,
    compose,
    data_inputs,
    inverse,
    is_identity,
    permuted,
    works_in_any_layout,
)
from ..cleanup.fold_constants import MOVEMENT
from .transposed_product import swapped
from .unit_axes import moves_only_units


@dataclass(frozen=True, order=True)
class _Price:
    """What a layout of a region costs; smaller is better, in this order."""

    elements: int = 0  # moved by Transposes at the border, and OPERATOR for each
    inside: int = 0  # Transposes between operators, which keep these from being fused
    count: int = 0  # Transposes of any kind

    def __add__(self, other: _Price) -> _Price:
        return _Price(
            self.elements + other.elements, self.inside + other.inside, self.count + other.count
        )


OPERATOR = 1024
"""What running one more operator costs, in elements moved."""

_AT_PORT, _BEHIND, _IN_FRONT = 0, 1, 2
"""Of equally large Transposes, the one at a port is best, then one behind the region."""


class Layout:
    """One round of choosing the layout of every region. A region beside one that changed waits for
    the next round, when the Transposes between them are merged: before, both would change to meet
    the other, again and again."""

    name = "layout"

    def run(self, graph: Graph) -> bool:
        links = Links(graph)
        fresh: set[Node] = set()
        for nodes in _regions(links):
            region = _Region(links, nodes)
            if not fresh.isdisjoint(region.border()):
                continue
            perm = region.best()
            if not is_identity(perm):
                region.apply(perm)
                fresh.update(region.border())
        if fresh:
            graph.sort()
        return bool(fresh)


def _regions(links: Links) -> list[list[Node]]:
    """Connected sets of nodes that work in any layout, by rank, in order of execution."""
    free = [n for n in links.graph.nodes if works_in_any_layout(n)]
    group: dict[Node, list[Node]] = {n: [n] for n in free}
    for node in free:
        for v in data_inputs(node):
            other = links.producer(v)
            if other is None or other not in group or len(v.shape) != len(node.output.shape):
                continue
            a, b = group[other], group[node]
            if a is not b:
                a, b = (a, b) if len(a) >= len(b) else (b, a)
                a += b
                group.update(dict.fromkeys(b, a))
    place = {n: i for i, n in enumerate(links.graph.nodes)}
    unique = {id(g): g for g in group.values()}
    return [sorted(g, key=lambda n: place[n]) for g in unique.values()]


class _Region:
    def __init__(self, links: Links, nodes: list[Node]) -> None:
        self.links, self.nodes = links, nodes
        self.rank = len(nodes[0].output.shape)
        self.members = set(nodes)
        self.inner = {n.output for n in nodes}
        read = [v for n in nodes for v in data_inputs(n)]
        self.entering = [v for v in dict.fromkeys(read) if v not in self.inner and v.const is None]
        self.leaving = [v for n in nodes if (v := n.output) and self._readers(v)]

    def border(self) -> Iterator[Node]:
        """The Transposes in front of its nodes and behind them, one after another."""
        for node in self.nodes:
            for v in data_inputs(node):
                before = self.links.producer(v, "Transpose")
                while before is not None:
                    yield before
                    before = self.links.producer(before.input(0), "Transpose")
            behind = list(self.links.users(node.output))
            while behind:
                after = behind.pop()
                if after.op == "Transpose":
                    yield after
                    behind += self.links.users(after.output)

    def _outside(self, v: Value) -> list[Node]:
        """Users that are not in the region."""
        return [u for u in self.links.users(v) if u not in self.members]

    def _readers(self, v: Value) -> list[Node | None]:
        """As _outside; None stands for a port."""
        return [*self._outside(v), *[None] * self.links.is_output(v)]

    def best(self) -> Perm:
        """The cheapest layout of all that border Transposes suggest; identity to leave it."""
        stay = tuple(range(self.rank))
        candidates = {stay}
        for v in self.entering:
            t = self.links.producer(v, "Transpose")
            if t and len(v.shape) == self.rank and t.input(0) not in self.inner:
                candidates.add(inverse(t.attrs["perm"]))
        for v in self.leaving:
            for user in self._outside(v):
                if user.op == "Transpose" and not self._returns(user):
                    candidates.add(tuple(user.attrs["perm"]))
                elif _multiplies_by(user, v):
                    candidates.add(swapped(stay))
        candidates = {p for p in candidates if all(allows(n, p) for n in self.nodes)} | {stay}
        if len(candidates) == 1:
            return stay
        return min(sorted(candidates), key=lambda p: (self._price(p), p != stay))

    def _price(self, perm: Perm) -> _Price:
        entering = (self._price_in(v, perm) for v in self.entering)
        leaving = (self._price_out(v, perm) for v in self.leaving)
        return sum([*entering, *leaving], _Price())

    def _price_in(self, v: Value, perm: Perm) -> _Price:
        source, shape, total = v, _full(v.shape, self.rank), perm
        if (t := self.links.producer(v, "Transpose")) and len(v.shape) == self.rank:
            source, total = t.input(0), compose(t.attrs["perm"], perm)
            shape = source.shape
            if source in self.inner:  # the region's own, x - x^T: it stays
                total = compose(inverse(perm), total)
        made_by = self.links.producer(source)
        where = _AT_PORT if made_by is None else _IN_FRONT
        return _price(total, shape, where, _moves_anyway(self.links, source))

    def _price_out(self, v: Value, perm: Perm) -> _Price:
        back = inverse(perm)
        wanted: dict[Perm, list[Node | None]] = {}
        for user in self._readers(v):
            if user is not None and self._returns(user):
                continue
            transposed = user is not None and user.op == "Transpose"
            to = compose(back, user.attrs["perm"]) if user and transposed else back
            wanted.setdefault(to, []).append(user)
        shape = tuple(v.shape[p] for p in perm)
        total = _Price()
        for to, users in wanted.items():
            rows = v.shape[0] if back[0] == 0 else 1
            turned = to == swapped(tuple(range(self.rank)))
            absorbed = all(
                u is not None
                and (_absorbs(self.links, u, rows) or (turned and _multiplies_by(u, v)))
                for u in users
            )
            port = any(u is None or self._is_port(u) for u in users)
            total += _price(to, shape, _AT_PORT if port else _BEHIND, absorbed)
        return total

    def _returns(self, user: Node) -> bool:
        """Whether it transposes a value of the region for the region alone: `_price_in` has it."""
        if user.op != "Transpose" or self.links.is_output(user.output):
            return False
        return self.members.issuperset(self.links.users(user.output))

    def _is_port(self, user: Node) -> bool:
        return user.op == "Transpose" and self.links.is_output(user.output)

    def apply(self, perm: Perm) -> None:
        """Compute the region in the layout `perm`, with Transposes at all its borders."""
        outside = {v: self._outside(v) for v in self.leaving}
        ports = {v: [p for p in self.links.graph.outputs if p.value is v] for v in self.leaving}
        moved = {v: self._enter(v, perm) for v in self.entering}
        for node in self.nodes:
            data = set(data_inputs(node))
            inputs = [
                moved.get(v, self._constant(v, perm)) if v in data and v is not None else v
                for v in node.inputs
            ]
            self.links.rewire(node, inputs, **permuted(node, perm))
        for v in self.leaving:
            back = self.links.emit(None, "Transpose", [v], {"perm": inverse(perm)}, v.name)
            back.name, v.name = v.name, self.links.in_other_layout(v.name)
            self.links.redirect(v, back, outside[v])
            for port in ports[v]:
                self.links.let_out(port, back)

    def _enter(self, v: Value, perm: Perm) -> Value:
        if len(v.shape) < self.rank:
            shape = _full(v.shape, self.rank)
            v = self.links.emit(self.nodes[0], "Reshape", [v], {"shape": shape}, v.name)
        name = self.links.in_other_layout(v.name)
        return self.links.emit(self.nodes[0], "Transpose", [v], {"perm": perm}, name)

    def _constant(self, v: Value, perm: Perm) -> Value:
        if v.const is None or v.type.size == 1:
            return v
        array = v.const.reshape(_full(v.shape, self.rank)).transpose(perm)
        moved = self.links.constant(array, v.name)
        moved.quant = v.quant
        return moved


def _full(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + shape


def _price(perm: Perm, shape: Shape, where: int, free: bool) -> _Price:
    if is_identity(perm):
        return _Price()
    if free or moves_only_units(shape, perm):
        return _Price(count=1)
    return _Price(OPERATOR + prod(shape), where, 1)


def _moves_anyway(links: Links, v: Value) -> bool:
    """Whether `v` comes out of a chain of movement that copies, which one more joins for free."""
    node = links.producer(v)
    while node is not None and node.op in MOVEMENT:
        x = node.input(0)
        if node.op != "Reshape" and not (
            node.op == "Transpose" and moves_only_units(x.shape, node.attrs["perm"])
        ):
            return True
        node = links.producer(x)
    return False


def _multiplies_by(user: Node, v: Value) -> bool:
    """Whether `user` can read the matrix `v` by columns: TransposedProduct lets it."""
    return user.op == "MatMul" and user.input(1) is v and user.input(0) is not v


def _absorbs(links: Links, user: Node, rows: int) -> bool:
    """Whether a Transpose in front of `user` would cost nothing: it moves data itself, or is a
    FullyConnected of one row, or of `rows`, whose weights can be permuted.
    """
    if user.op == "FullyConnected":
        return prod(user.input(0).shape[:-1]) in (1, rows)
    if user.op not in ("Reshape", "Transpose"):
        return user.op in MOVEMENT
    if links.is_output(user.output):
        return False
    return all(
        (u.op == "Transpose" and not moves_only_units(user.output.shape, u.attrs["perm"]))
        or _absorbs(links, u, rows)
        for u in links.users(user.output)
    )
