"""Limits of LSTM cell states, so that int16 has steps as fine as the states that count need.

The hidden state is a Tanh of the cell state, which hardly changes beyond 8. A cell that adds up
over hundreds of steps reaches much more, and the steps of int16 become so coarse that slow changes
of all cells are lost. Where the float model answers alike with a limit, the limit is the range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...calibration import Samples
from ..build import open_once
from ..decibels import ratio_db
from ..format.schema import RecurrentCell, RecurrentFn
from ..ir import Array, Graph, Node, Port
from ..numerics import FLOAT
from ..ops import definition
from ..ops.recurrent.layers import Recurrent
from ..quantize import Budget
from ..quantize.quality import Quality
from .state_samples import (
    InSequence,
    constant_states,
    follows_of,
    interface_of,
    with_plain_states,
    with_states,
)

LIMIT = "cell_limit"
"""The attribute of a layer, and the key of provenance."""
PEEPHOLES = 6
"""The operand of a layer that reads the cell state, too."""
FLOAT_ONNX = 1

LIMITS = (16.0, 32.0, 64.0)
WORTH = 2.0
"""Cell states that reach less than this times a limit gain less than one bit by it."""
ALIKE_DB = 40.0
"""Least SQNR of every output with a limit, over sequences."""
SPARE_DB = 10.0
"""By how much the limit's error is below what a budget allows."""
MOST = 64
"""Maximum number of samples of a model without state, each of which is a sequence."""


def with_cell_limit(
    graph: Graph, samples: Samples, frames: int | None = None, budget: Budget | None = None
) -> Graph:
    """The float graph, or the same with the smallest limit of its cell states at which every output
    keeps ALIKE_DB on the samples, sequences of so many `frames`; a note says so. A `budget` may ask
    for more.

    Samples that can be read only once leave it as it is.
    """
    if not any(map(_is_limitable, graph.nodes)) or not samples.reiterable:
        return graph
    sequences = with_states(graph, samples, frames)
    some = sequences if follows_of(graph) else list(islice(sequences, MOST))
    reach = _reach(graph, some)
    limits = [limit for limit in LIMITS if reach > WORTH * limit]
    graphs = [limited(graph, limit) for limit in limits]
    alike = _alike(graph, graphs, some, frames) if graphs else []
    asked = 0.0 if budget is None or budget.min_sqnr is None else budget.min_sqnr
    for limit, found, db in zip(limits, graphs, alike, strict=True):
        if db >= max(ALIKE_DB, asked + SPARE_DB):
            note = (
                f"LSTM cell states saturate at {limit:g} (they reach {reach:.0f}), so that int16 "
                f"has finer steps; the float model's outputs keep an SQNR of {db:.0f} dB"
            )
            return replace(found, notes=[*graph.notes, note])
    return graph


def reasons_to_keep_states(
    graph: Graph, samples: Samples, kept: Sequence[Mapping[str, Array]], quality: Quality
) -> list[str]:
    """What is wrong with states that a caller feeds back, and that --state would mend: all `kept`
    samples have the same, or LSTM cell states are too large, and can be limited only in a file that
    keeps them."""
    found = constant_states(graph, kept)
    stepped = with_plain_states(graph, kept)
    follows = follows_of(stepped)
    if found or stepped is graph or quality.level == "good":
        return found
    limit = limit_of(with_cell_limit(stepped, samples))
    options = " ".join(f"--state {x}={y}" for x, y in follows.items())
    return [
        f"LSTM cell states are too large for the steps of int16; with {options} they saturate at "
        f"{at:g}, and the float model's outputs hardly change"
        for at in limit.values()
    ]


def limited(graph: Graph, limit: float) -> Graph:
    """The graph with the limit in all LSTM layers that can have it."""

    def node_of(node: Node) -> Node:
        if not _is_limitable(node):
            return node
        attrs = {**node.attrs, LIMIT: limit}
        return Node(node.op, node.inputs, node.outputs, attrs, node.name)

    return replace(graph, nodes=[node_of(node) for node in graph.nodes])


def limit_of(graph: Graph) -> dict[str, float]:
    """The provenance entry of the limit; empty without one."""
    limits = {node.attrs[LIMIT] for node in graph.nodes if node.attrs.get(LIMIT)}
    return {LIMIT: max(limits)} if limits else {}


def _is_limitable(node: Node) -> bool:
    """Whether its hidden states depend on its cell states by a Tanh alone."""
    return (
        node.op == Recurrent.name
        and node.attrs["cell"] == RecurrentCell.Lstm
        and node.attrs["functions"][2].fn == RecurrentFn.Tanh
        and node.inputs[PEEPHOLES] is None
    )


def _reach(graph: Graph, samples: Iterable[Mapping[str, Array]]) -> float:
    """The largest magnitude of a cell state in any step."""
    limitable = [node for node in graph.nodes if _is_limitable(node)]
    cells = [definition(n.op).inside(n)["cell_quant"] for n in limitable]
    ports = [Port(c.output.name, c.output, FLOAT_ONNX, c.output.shape) for c in cells]
    session = open_once(replace(graph, nodes=[*graph.nodes, *cells], outputs=ports))
    found = (session.run(sample) for sample in samples)
    return max(float(np.abs(x).max()) for made in found for x in made.values())


def _alike(
    graph: Graph,
    graphs: Sequence[Graph],
    samples: Iterable[Mapping[str, Array]],
    frames: int | None,
) -> list[float]:
    """The least SQNR of a float output of each of the `graphs`, each with its own state; 0 dB if
    there is none, or one whose size varies."""
    follows = follows_of(graph)
    names = [p.name for p in interface_of(graph).outputs if p.value.dtype == FLOAT]
    truth, *others = (
        InSequence(open_once(g), follows, frames, None, follows) for g in (graph, *graphs)
    )
    sums: dict[str, NDArray[np.float64]] = {}
    squares, noise = np.zeros(len(names)), np.zeros((len(graphs), len(names)))
    count = 0
    for sample in samples:
        count += 1
        wanted = truth.run(sample)
        if any(wanted[name].shape != sums.get(name, wanted[name]).shape for name in names):
            return [0.0] * len(graphs)
        for name in names:
            sums[name] = np.add(wanted[name], sums.get(name, 0.0), dtype=np.float64)
        squares += [_energy(wanted[name]) for name in names]
        for other, energies in zip(others, noise, strict=True):
            found = other.run(sample)
            energies += [
                _energy(found[name], wanted[name])
                if found[name].shape == wanted[name].shape
                else np.inf
                for name in names
            ]
    spread = squares - [_energy(sums[name]) / count for name in names]
    return [min(map(ratio_db, spread, energies), default=0.0) for energies in noise]


def _energy(x: Array, y: Array | float = 0.0) -> float:
    """The sum of the squares of a difference; not a number where infinity masks outputs."""
    with np.errstate(invalid="ignore"):
        return float(np.square(np.subtract(x, y, dtype=np.float64)).sum())
