"""Elements of one tensor that are taken apart, added up and put together again, at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...ir import Graph, Node, Value
from ...numerics import FLOAT
from ...ops.move.movement import index_map
from .._links import Links
from ..affine import clamps
from ..cleanup.fold_constants import MOVEMENT

MOST_ELEMENTS = 1024
MOST_TERMS = 1 << 14
LEAST_NODES = 8
"""To replace: what comes in their place are six at most."""

Terms = tuple[int, ...]
"""What an element is the sum of, in order: the source's elements, ~i where the sign changes."""


@dataclass(frozen=True, eq=False)
class _Sums:
    """A tensor whose elements are sums of a source's elements and a constant."""

    source: Value
    terms: Sequence[Terms]
    constant: NDArray[np.float32]

    def moved(self, index: NDArray[np.int64]) -> _Sums:
        return _Sums(self.source, [self.terms[i] for i in index], self.constant[index])

    def negated(self) -> _Sums:
        return _Sums(self.source, [tuple(~t for t in row) for row in self.terms], -self.constant)

    def plus(self, other: _Sums) -> _Sums:
        terms = [a + b for a, b in zip(self.terms, other.terms, strict=True)]
        return _Sums(self.source, terms, self.constant + other.constant)


class SumsOfElements:
    """Concat of sums of single elements of one tensor: Gather, Reshape, ReduceSum, and a Neg in
    front where signs change.

    So exporters of one-against-one classifiers count votes: hundreds of Slice, Neg and Add. Sums
    must be of equally many elements. They are added in the same order, constants last.
    """

    name = "sums of elements"

    def run(self, graph: Graph) -> bool:
        links, found = Links(graph), dict[Value, _Sums]()
        changed = False
        for node in list(graph.nodes):
            sums = _sums_of(node, found) if len(node.outputs) == 1 else None
            if sums is None or sum(map(len, sums.terms)) > MOST_TERMS:
                continue
            found[node.output] = sums
            if node.op == "Concat" and _is_worth_it(links, node, sums, found):
                links.replace(node, _emit(links, node, sums))
                changed = True
        if changed:
            graph.sort()
        return changed


def _sums_of(node: Node, found: dict[Value, _Sums]) -> _Sums | None:
    if node.output.dtype != FLOAT or node.output.type.size > MOST_ELEMENTS or clamps(node):
        return None
    if node.op in MOVEMENT:
        return _elements(node.input(0), found, index_map(node))
    if node.op == "Neg":
        sums = _elements(node.input(0), found)
        return sums and sums.negated()
    if node.op in ("Add", "Sub"):
        return _added(node, found)
    return _joined(node, found) if node.op == "Concat" else None


def _elements(
    v: Value, found: dict[Value, _Sums], index: NDArray[np.int64] | None = None
) -> _Sums | None:
    """The tensor `v`, or the elements `index` of it, as sums."""
    if v.const is not None or v.type.size > MOST_ELEMENTS:
        return None
    size = v.type.size
    sums = found.get(v) or _Sums(v, [(i,) for i in range(size)], np.zeros(size, np.float32))
    return sums if index is None else sums.moved(index)


def _added(node: Node, found: dict[Value, _Sums]) -> _Sums | None:
    a, b = node.input(0), node.input(1)
    if a.shape == node.output.shape and b.const is not None:
        sums, constant = _elements(a, found), np.broadcast_to(b.const, a.shape).ravel()
        if sums is None:
            return None
        total = sums.constant - constant if node.op == "Sub" else sums.constant + constant
        return _Sums(sums.source, sums.terms, total.astype(np.float32))
    one, other = _elements(a, found), _elements(b, found)
    if one is None or other is None or one.source is not other.source or a.shape != b.shape:
        return None
    return one.plus(other.negated() if node.op == "Sub" else other)


def _joined(node: Node, found: dict[Value, _Sums]) -> _Sums | None:
    known = [p for p in (_elements(v, found) for v in node.dynamic_inputs) if p is not None]
    if len(known) < len(node.inputs) or any(p.source is not known[0].source for p in known):
        return None
    starts = np.cumsum([0, *(len(p.terms) for p in known)])
    places = [
        start + np.arange(v.type.size).reshape(v.shape)
        for start, v in zip(starts, node.dynamic_inputs, strict=False)
    ]
    every = _Sums(
        known[0].source,
        [row for p in known for row in p.terms],
        np.concatenate([p.constant for p in known]),
    )
    return every.moved(np.concatenate(places, axis=node.attrs["axis"]).ravel())


def _is_worth_it(links: Links, node: Node, sums: _Sums, found: dict[Value, _Sums]) -> bool:
    """Whether equally many elements are added, and many nodes are read by nobody else."""
    counts = {len(row) for row in sums.terms}
    if len(counts) != 1 or counts <= {0, 1}:
        return False
    return sum(1 for _ in _only_for(links, node, found)) >= LEAST_NODES


def _only_for(links: Links, node: Node, found: dict[Value, _Sums]) -> Iterator[Node]:
    """The nodes that compute nothing but what `node` reads."""
    inside, stack = {node}, [node]
    while stack:
        for v in stack.pop().dynamic_inputs:
            made = links.producer(v) if v in found else None
            if made is None or made in inside or links.is_output(v):
                continue
            if all(user in inside for user in links.users(v)):
                inside.add(made)
                stack.append(made)
                yield made


def _emit(links: Links, node: Node, sums: _Sums) -> Value:
    def emit(op: str, inputs: Sequence[Value | None], **attrs: object) -> Value:
        return links.emit(node, op, inputs, dict(attrs), node.output.name)

    x, size, count = sums.source, sums.source.type.size, len(sums.terms[0])
    places = np.array(sums.terms, np.int64).ravel()
    if x.shape != (1, size):
        x = emit("Reshape", [x], shape=(1, size))
    if np.any(places < 0):
        x = emit("Concat", [x, emit("Neg", [x])], axis=1)
        places = np.where(places < 0, size + ~places, places)
    x = emit("Gather", [x, links.constant(places.astype(np.int32), "places")], axis=1)
    x = emit("Reshape", [x], shape=(len(sums.terms), count))
    x = emit("ReduceSum", [x], axes=(1,), keepdims=False)
    if x.shape != node.output.shape:
        x = emit("Reshape", [x], shape=node.output.shape)
    if np.any(sums.constant):
        constant = sums.constant.reshape(node.output.shape)
        x = emit("Add", [x, links.constant(constant, "constant")])
    return x
