"""Tensors of a graph on samples, node after node, without running all that is before them anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ....calibration import FiledArrays
from ...build import open_once
from ...ir import Array, Graph, Node, Port, Value
from ...numerics import ELEMENTS
from ...runtime.many_runs import run_raw_many, together
from ..ranges.calibration import Sample

HELD = 3 << 24
"""Bytes that are held at most, large arrays in temporary files. Where more is read later on, as
behind the first layers of a model for large images, what lies before is run again."""

_FLOAT = 1
_ONNX = {e.numpy: e.onnx for e in reversed(ELEMENTS)}


class LayerExecutor:
    """Runs a graph on `samples` up to a node, then from there on up to a later one.

    For every sample it holds what is read from that node on, as the runtime holds it.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.samples = samples
        self._before: list[object] = []
        self._held: dict[tuple[int, int], FiledArrays[int]] = {}

    def run_to(self, graph: Graph, node: Node, values: Sequence[Value]) -> Iterator[list[Array]]:
        """For each sample the `values`, which `node` reads or makes, as the runtime holds them.

        Nodes come in order of execution. `graph` may be another one each time, if all nodes before
        the last one asked for compute the same; where they have other types, they are run again.
        """
        place = graph.nodes.index(node)
        before = [_type_of(n) for n in graph.nodes[:place]]
        if self._before != before[: len(self._before)]:
            self._before, self._held = [], {}
        at = {v: (i, j) for i, n in enumerate(graph.nodes[:place]) for j, v in enumerate(n.outputs)}
        read = {v: None for n in graph.nodes[place:] for v in n.dynamic_inputs if v in at}
        size = sum(v.type.nbytes for v in read) * len(self.samples)
        known = {graph.nodes[i].outputs[j]: held for (i, j), held in self._held.items()}
        # a file for each tensor, which goes with it
        further = {v: known.get(v, FiledArrays[int]()) for v in read} if size <= HELD else {}
        run = _Run(graph, [*values, *further], list(known))
        if further:
            self._before, self._held = [], {}  # each sample's are let go as they are used
        made_of = run.each(self.samples, list(known.values()))
        for i, made in enumerate(made_of):
            for v in further.keys() - known.keys():
                further[v][i] = made[v]
            for v in known.keys() - further.keys() if further else ():
                del known[v][i]
            yield [made[v] for v in values]
        if further:
            self._before, self._held = before, {at[v]: arrays for v, arrays in further.items()}

    def run_on(self, graph: Graph, values: Sequence[Value]) -> Iterator[list[Array]]:
        """For each sample the `values`, which nodes from the last one asked for on make.

        `graph` has that one's nodes before it. What is held stays so.
        """
        known = {graph.nodes[i].outputs[j]: held for (i, j), held in self._held.items()}
        for made in _Run(graph, values, list(known)).each(self.samples, list(known.values())):
            yield [made[v] for v in values]


class _Run:
    """The part of a graph that makes `wanted` of its inputs and of values that are `known`."""

    def __init__(self, graph: Graph, wanted: Sequence[Value], known: Sequence[Value]) -> None:
        self.ports = {p.value: p for p in graph.inputs}
        self.wanted, self.known = wanted, known
        nodes, given = _needed(graph, set(wanted), {*known, *self.ports})
        self.inputs = [v for v in (*self.ports, *known) if v in given]
        self.made = list(dict.fromkeys(v for v in wanted if v not in {*known, *self.ports}))
        self.session = None
        if nodes:
            inputs = [self._port(v, f"in{i}") for i, v in enumerate(self.inputs)]
            outputs = [self._port(v, f"out{i}") for i, v in enumerate(self.made)]
            self.session = open_once(Graph(nodes, inputs, outputs), lasting=True)

    def _port(self, v: Value, name: str) -> Port:
        if v in self.ports:
            return Port(name, v, self.ports[v].onnx_dtype, self.ports[v].shape)
        return Port(name, v, _FLOAT if v.quant else _ONNX[v.dtype], v.shape)

    def each(
        self, samples: Sequence[Sample], known: Sequence[Mapping[int, Array]]
    ) -> Iterator[dict[Value, Array]]:
        """Of each sample those wanted, as the runtime holds them; `known` are of all samples."""
        alone = self.session is None or any(v in self.ports for v in self.inputs)
        many = 1 if self.session is None or alone else together(self.session)
        for first in range(0, len(samples), many):
            some = range(first, min(first + many, len(samples)))
            founds = [dict(zip(self.known, (held[i] for held in known), strict=True)) for i in some]
            if many > 1:
                self._run_many(founds)
            for i, found in zip(some, founds, strict=True):
                yield self._wanted(samples[i], found, many == 1)

    def _run_many(self, founds: Sequence[dict[Value, Array]]) -> None:
        assert self.session is not None
        given = [np.stack([found[v] for found in founds]) for v in self.inputs]
        for v, held in zip(self.made, run_raw_many(self.session, given), strict=True):
            for found, array in zip(founds, held, strict=True):
                found[v] = array

    def _wanted(self, sample: Sample, found: dict[Value, Array], alone: bool) -> dict[Value, Array]:
        """Those wanted, of a sample that runs `alone` if it has not run."""
        if self.session is not None and alone:
            given = [sample[self.ports[v].name] if v in self.ports else found[v]
                     for v in self.inputs]  # fmt: skip
            made = self.session.run_raw({f"in{i}": np.asarray(x) for i, x in enumerate(given)})
            found |= {v: made[f"out{i}"] for i, v in enumerate(self.made)}
        for v in self.wanted:
            if v in self.ports:
                x = np.asarray(sample[self.ports[v].name]).reshape(v.shape)
                found[v] = x if v.quant is None else v.quant.quantize(x)
        return found


def _needed(graph: Graph, wanted: set[Value], given: set[Value]) -> tuple[list[Node], set[Value]]:
    """The nodes that make what is wanted of what is `given`, and which of that they read."""
    open_values, nodes, read = wanted - given, list[Node](), set[Value]()
    for node in reversed(graph.nodes):
        if any(v in open_values for v in node.outputs):
            nodes.append(node)
            read.update(v for v in node.dynamic_inputs if v in given)
            open_values.update(v for v in node.dynamic_inputs if v not in given)
    return nodes[::-1], read


def _type_of(node: Node) -> object:
    return node.op, [(v.name, v.type, v.quant) for v in node.outputs]
