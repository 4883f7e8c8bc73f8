"""Runs a graph on samples node by node, continuing from stored tensors instead of the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter

import numpy as np

from ....calibration import FiledRows
from ...build import open_once
from ...ir import Array, Graph, Node, Port, Value
from ...numerics import ELEMENTS
from ...runtime import Session
from ...runtime.cores import on_cores
from ...runtime.many_runs import FEW_COPIES_BYTES, can_run_many, copies_of, run_raw_many
from ..outputs.kept_samples import Sample
from ..scheme.macs import work_of

HELD = 3 << 24
"""Bytes that are stored, large arrays in temporary files. If the tensors needed later exceed it (as
after the first layers of a model for large images), the layers before may be run again."""
WORK_PER_BYTE = 16
MOST_HELD = 1 << 30
"""More bytes, up to MOST_HELD, are stored if these layers take so much work (scheme/macs.py) per
byte: to write and read it takes less time."""

TOGETHER = 1 << 20
"""Bytes of samples processed at once."""

_FLOAT = 1
_ONNX = {e.numpy: e.onnx for e in reversed(ELEMENTS)}


class LayerExecutor:
    """Runs a graph on `samples` up to a node, then from there on up to a later one.

    For each sample it stores the tensors that later nodes read, in the runtime's representation.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.samples = samples
        self._before: list[object] = []
        self._held: dict[tuple[int, int], FiledRows] = {}

    def run_to(self, graph: Graph, node: Node, values: Sequence[Value]) -> Iterator[list[Array]]:
        """The `values`, inputs or outputs of `node`, of some samples after the other, stacked on a
        first axis, in the runtime's representation.

        Calls must follow execution order. `graph` may differ from call to call if all nodes before
        the last requested one compute the same values; nodes whose types differ are run again.
        """
        place = graph.nodes.index(node)
        before = [_type_of(n) for n in graph.nodes[:place]]
        if self._before != before[: len(self._before)]:
            self._before, self._held = [], {}
        at = {v: (i, j) for i, n in enumerate(graph.nodes[:place]) for j, v in enumerate(n.outputs)}
        read = {v: None for n in graph.nodes[place:] for v in n.dynamic_inputs if v in at}
        known = {graph.nodes[i].outputs[j]: held for (i, j), held in self._held.items()}
        further: dict[Value, FiledRows] = {}
        if self._is_worth_holding(graph, set(read), set(known)):
            further = {v: known.get(v) or FiledRows(len(self.samples)) for v in read}
        new = {v: rows for v, rows in further.items() if v not in known}
        run = _Run(graph, [*values, *further], known)
        for some, made in run.each(self.samples):
            for v, rows in new.items():
                rows.write(some.start, made[v])
            yield [made[v] for v in values]
        if further:
            self._before, self._held = before, {at[v]: rows for v, rows in further.items()}

    def _is_worth_holding(self, graph: Graph, read: set[Value], known: set[Value]) -> bool:
        """Whether values are stored, and not computed again from the known ones."""
        size = sum(v.type.nbytes for v in read)
        if size * len(self.samples) <= HELD:
            return True
        nodes, _ = _needed(graph, read, known | {p.value for p in graph.inputs})
        new = sum(v.type.nbytes for v in read - known)
        worth = work_of(Graph(nodes)) >= WORK_PER_BYTE * new
        return worth and size * len(self.samples) <= MOST_HELD

    def run_on(self, graph: Graph, values: Sequence[Value]) -> Iterator[list[Array]]:
        """For each sample the `values`, outputs of the last requested node or of later ones.

        The nodes of `graph` before that node must be unchanged. The stored tensors are kept.
        """
        known = {graph.nodes[i].outputs[j]: held for (i, j), held in self._held.items()}
        for some, made in _Run(graph, values, known).each(self.samples):
            yield from ([made[v][i] for v in values] for i in range(len(some)))


class _Run:
    """The part of a graph that computes `wanted` from its inputs and the `known` values."""

    def __init__(
        self, graph: Graph, wanted: Sequence[Value], known: Mapping[Value, FiledRows]
    ) -> None:
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

    def each(self, samples: Sequence[Sample]) -> Iterator[tuple[range, dict[Value, Array]]]:
        """The wanted values of one batch of samples after another, stacked on a first axis, in the
        runtime's representation."""
        read = {v: rows for v, rows in self.known.items() if v in {*self.inputs, *self.wanted}}
        if (many := self._together()) == 1:
            yield from self._each_alone(samples, read)
            return
        for first in range(0, len(samples), many):
            some = range(first, min(first + many, len(samples)))
            found = {v: rows.read(some.start, some.stop) for v, rows in read.items()}
            if self.session is not None:
                made = run_raw_many(self.session, [found[v] for v in self.inputs])
                found |= zip(self.made, made, strict=True)
            yield some, found

    def _together(self) -> int:
        """The number of samples per batch."""
        wanted = {*self.inputs, *self.made, *self.wanted}
        if wanted & self.ports.keys() or (self.session and not can_run_many(self.session)):
            return 1
        return max(1, TOGETHER // max(1, sum(v.type.nbytes for v in wanted)))

    def _each_alone(
        self, samples: Sequence[Sample], read: Mapping[Value, FiledRows]
    ) -> Iterator[tuple[range, dict[Value, Array]]]:
        """As `each`, one sample at a time, but as many run at the same time as there are cores, if
        the first one took long enough."""

        def run(some: tuple[int, Session | None]) -> dict[Value, Array]:
            i, session = some
            held = {v: rows.read(i, i + 1) for v, rows in read.items()}
            return held | self._alone(session, samples[i], held)

        sessions, first = [self.session], 0
        while first < len(samples):
            some = range(first, min(first + len(sessions), len(samples)))
            started = perf_counter()
            found = on_cores(run, list(zip(some, sessions, strict=False)))
            seconds = perf_counter() - started
            if first == 0 and self.session is not None:
                sessions += copies_of(self.session, seconds, within=FEW_COPIES_BYTES)
            for i in some:
                yield range(i, i + 1), found[i - first]
            first = some.stop

    def _alone(
        self, session: Session | None, sample: Sample, held: Mapping[Value, Array]
    ) -> dict[Value, Array]:
        """The wanted values of one sample but those `held`, of which the session has its inputs."""
        found: dict[Value, Array] = {}
        if session is not None:
            given = [sample[self.ports[v].name] if v in self.ports else held[v][0]
                     for v in self.inputs]  # fmt: skip
            made = session.run_raw({f"in{i}": np.asarray(x) for i, x in enumerate(given)})
            found |= {v: made[f"out{i}"][None] for i, v in enumerate(self.made)}
        for v in self.wanted:
            if v in self.ports:
                x = np.asarray(sample[self.ports[v].name]).reshape(v.shape)
                found[v] = (x if v.quant is None else v.quant.quantize(x))[None]
        return found


def _needed(graph: Graph, wanted: set[Value], given: set[Value]) -> tuple[list[Node], set[Value]]:
    """The nodes that compute `wanted` from `given`, and the given values that they read."""
    open_values, nodes, read = wanted - given, list[Node](), set[Value]()
    for node in reversed(graph.nodes):
        if any(v in open_values for v in node.outputs):
            nodes.append(node)
            read.update(v for v in node.dynamic_inputs if v in given)
            open_values.update(v for v in node.dynamic_inputs if v not in given)
    return nodes[::-1], read


def _type_of(node: Node) -> object:
    return node.op, [(v.name, v.type, v.quant) for v in node.outputs]
