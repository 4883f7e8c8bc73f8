"""Samples of a model with state: sequences, of which each sample has the state before it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...calibration import Samples
from ..accuracy.compare import Runner
from ..build import open_once
from ..errors import UserError
from ..format.model import EdgeModel, IoRecord
from ..format.schema import Place
from ..format.writer import write
from ..ir import Array, Graph
from ..numerics import numpy_dtype
from ..ops.recurrent.layers import Recurrent
from ..plan import ARENA_ALIGN
from ..runtime import IoInfo
from ..state import mark_states, plain_pairs

ALIKE = 1e-3
"""Maximum relative difference of a state from the one before: samples may be rounded."""


def follows_of(graph: Graph) -> dict[str, str]:
    """The output that each input follows that is state."""
    return {p.name: p.follows for p in graph.inputs if p.follows}


def with_plain_states(graph: Graph, samples: Sequence[Mapping[str, Array]]) -> Graph:
    """The float graph whose inputs say which outputs they follow: as the user says, or else as is
    plain, for a caller who feeds them back.

    That is nobody where layers take several steps and begin all `samples` with the same states:
    these are whole sequences.
    """
    pairs = plain_pairs(graph)
    if follows_of(graph) or not 0 < len(pairs) < len(graph.inputs):
        return graph
    if _takes_several_steps(graph) and all(_is_constant(x, samples) for x in pairs):
        return graph
    return mark_states(graph, list(pairs.items()))


def _takes_several_steps(graph: Graph) -> bool:
    return any(n.op == Recurrent.name and n.input(0).shape[0] > 1 for n in graph.nodes)


def constant_states(graph: Graph, samples: Sequence[Mapping[str, Array]]) -> list[str]:
    """A line for each plain state that is an input, if all are constant in all `samples`."""
    states = {} if follows_of(graph) else follows_of(with_plain_states(graph, samples))
    if len(samples) < 2 or not all(_is_constant(x, samples) for x in states):
        return []
    return [
        f"state input '{x}' is constant in all samples; use --state {x}={y} to let the float "
        "model compute it"
        for x, y in states.items()
    ]


def _is_constant(name: str, samples: Sequence[Mapping[str, Array]]) -> bool:
    """Whether an input is one number everywhere in all samples."""
    return len({float(end) for s in samples for end in (s[name].min(), s[name].max())}) == 1


Starts = int | frozenset[int] | None
"""Where sequences begin: after so many samples each, at these, or None: all samples are one."""


def starts_of(graph: Graph, samples: Samples, passed_over: Collection[int] = ()) -> Starts:
    """Where the states that the samples have are not those after the sample before, which is not
    known of those `passed_over`; an empty set if each sample is a sequence of several steps. Where
    no state goes on, single steps were picked from sequences: they count as one."""
    follows, session = follows_of(graph), open_once(graph)
    before: Mapping[str, Array] = {}
    found = set[int]()
    count = 0
    for sample in samples:
        goes_on = before and all(_goes_on(sample[x], before[y]) for x, y in follows.items())
        if not goes_on and count - 1 not in passed_over:
            found.add(count)
        before = session.run(sample)
        count += 1
    if len(found) < count:
        return frozenset(found)
    return frozenset() if _takes_several_steps(graph) else None


def _goes_on(state: Array, before: Array) -> bool:
    """Whether a state is the one before, and not one that begins anew."""
    spread = float(np.abs(before).max(initial=0))
    return bool(spread > 0 and np.abs(state - before).max(initial=0) <= ALIKE * spread)


class _Sequence:
    """`samples` with the inputs that are state, by the float model; all else is theirs, and so are
    the states that a sequence begins with, if they have some. Samples `passed_over` leave the state
    as it is."""

    def __init__(
        self,
        graph: Graph,
        samples: Samples,
        frames: Starts,
        passed_over: Collection[int] = (),
    ) -> None:
        self._graph, self._samples, self._frames = graph, samples, frames
        self._passed_over = passed_over
        self._session = open_once(graph)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)

    def passing_over(self, indices: Collection[int]) -> _Sequence:
        return _Sequence(self._graph, self._samples, self._frames, indices)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        follows = follows_of(self._graph)
        zeros: dict[str, Array] = {
            p.name: np.zeros(p.shape, numpy_dtype(p.onnx_dtype))
            for p in self._graph.inputs
            if p.follows
        }
        state = zeros
        for i, sample in enumerate(self._samples):
            if begins(i, self._frames):
                state = {name: sample.get(name, zero) for name, zero in zeros.items()}
            whole = {**sample, **state}
            yield whole
            if i in self._passed_over:
                continue
            found = self._session.run(whole)
            state = {name: found[output] for name, output in follows.items()}


def begins(i: int, frames: Starts) -> bool:
    """Whether sample `i` begins a sequence."""
    if isinstance(frames, frozenset):
        return i in frames
    return i == 0 if frames is None else i % frames == 0


def with_states(
    graph: Graph, samples: Samples, frames: Starts = None, passed_over: Collection[int] = ()
) -> Samples:
    """The samples, each with the state that the float model has before it; real zeros at first.
    Those that have it keep it. Samples `passed_over` leave the state as it is.

    A sequence has so many `frames`; None: all samples are one. Raises UserError for `frames` of a
    model without state.
    """
    if isinstance(samples, _Sequence):
        return samples.passing_over(passed_over)  # type: ignore[return-value]
    if any(port.follows for port in graph.inputs):
        return _Sequence(graph, samples, frames, passed_over)  # type: ignore[return-value]
    if frames is not None:
        raise UserError("--sequence requires a model with state (--state)")
    return samples


class InSequence:
    """A file with state, run on samples in order: `reset` where a sequence begins.

    `states` are inputs of which the samples have the values of the float model. The file keeps
    them, but for those that are `fed_back` from an output: these have no reset and begin with the
    values of the sample.
    """

    def __init__(
        self,
        runner: Runner,
        states: Collection[str],
        frames: Starts,
        reset: Callable[[], None] | None,
        fed_back: Mapping[str, str] | None = None,
    ) -> None:
        self.kernels, self._runner, self._states = runner.kernels, runner, states
        self._frames, self._reset, self._count = frames, reset, 0
        self._fed_back, self._next = fed_back or {}, dict[str, Array]()

    @property
    def outputs(self) -> tuple[IoInfo, ...]:
        return self._runner.outputs

    def pass_over(self, feed: Mapping[str, Array]) -> None:
        """Leave the state as it is, unless a sequence begins with this sample."""
        if begins(self._count, self._frames):
            if self._reset is not None:
                self._reset()
            self._next = {x: feed[x] for x in self._fed_back}
        self._count += 1

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs of the next sample."""
        self.pass_over(feed)
        given = {k: v for k, v in feed.items() if k not in self._states}
        found = self._runner.run(given | self._next)
        self._next = {x: found[y] for x, y in self._fed_back.items()}
        return found


def mark_kept(graph: Graph, file: EdgeModel, source: str) -> Graph:
    """The float graph with the states that the `file` made of it keeps; `source` names the file.

    A stripped file does not say which: then names and shapes must. Raises UserError otherwise.
    """
    pairs = {s.input: s.output for s in file.states}
    if not pairs and file.memory.persistent_bytes:
        missing = {p.name for p in graph.inputs} - {io.name for io in file.inputs}
        pairs = {i: o for i, o in plain_pairs(graph).items() if i in missing}
        if missing != set(pairs):
            unknown = ", ".join(sorted(missing - set(pairs)))
            raise UserError(
                f"{source}: it keeps state but has no names (--strip), and the output that "
                f"updates {unknown} is ambiguous; use the file without --strip"
            )
    return mark_states(graph, list(pairs.items()))


def interface_of(graph: Graph) -> Graph:
    """The graph with the ports that a file has which keeps its states."""
    follows = follows_of(graph)
    inputs = [p for p in graph.inputs if p.name not in follows]
    outputs = [p for p in graph.outputs if p.name not in follows.values()]
    return replace(graph, inputs=inputs, outputs=outputs)


def opened(file: EdgeModel, graph: Graph) -> bytes:
    """The file with its states as inputs and outputs, those of the float `graph`, so that each run
    can be given the state before it. It stores a state where it has read it."""
    ports = {p.name: p for p in (*graph.inputs, *graph.outputs)}
    top = -(-file.memory.arena_bytes // ARENA_ALIGN) * ARENA_ALIGN
    tensors = [
        replace(t, place=Place.Arena, offset=top + t.offset) if t.place == Place.Persistent else t
        for t in file.tensors
    ]
    stored = {file.tensors[op.outputs[0]]: op.outputs[0] for op in file.ops}
    inputs, outputs = list(file.inputs), list(file.outputs)
    for state in file.states:
        x, y = ports[state.input], ports[state.output]
        stores = stored[file.tensors[state.tensor]]
        inputs.append(IoRecord(x.name, state.tensor, x.onnx_dtype, x.shape))
        outputs.append(IoRecord(y.name, stores, y.onnx_dtype, y.shape))
    memory = replace(
        file.memory, arena_bytes=top + file.memory.persistent_bytes, persistent_bytes=0
    )
    return write(
        replace(
            file, tensors=tensors, inputs=inputs, outputs=outputs, memory=memory, starts={},
            states=[],
        )
    )  # fmt: skip
