"""Samples of a model with state: one sequence, of which each sample has the state before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..calibration import Samples
from .build import open_once
from .ir import Array, Graph
from .numerics import numpy_dtype


class _Sequence:
    """`samples` with the inputs that are state, by the float model; all else is theirs."""

    def __init__(self, graph: Graph, samples: Samples) -> None:
        self._graph, self._samples = graph, samples
        self._session = open_once(graph)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        follows = {p.name: p.follows for p in self._graph.inputs if p.follows}
        state: dict[str, Array] = {
            p.name: np.zeros(p.shape, numpy_dtype(p.onnx_dtype))
            for p in self._graph.inputs
            if p.follows
        }
        for sample in self._samples:
            whole = {**sample, **state}
            yield whole
            found = self._session.run(whole)
            state = {name: found[output] for name, output in follows.items()}


def with_states(graph: Graph, samples: Samples) -> Samples:
    """The samples, each with the state that the float model has before it; real zeros at first."""
    if not any(port.follows for port in graph.inputs):
        return samples
    return _Sequence(graph, samples)  # type: ignore[return-value]
