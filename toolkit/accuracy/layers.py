"""What is known of a layer whose loss is to be explained: its constants, readers, calibration."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from ..format.describe import TABLES
from ..ir import Array, Node, Value
from ..ops import definition
from ..ops.norm.softmax import makes_shares
from .activation_statistics import ActivationStatistics
from .causes import Layer
from .shared_scale_groups import shared_ranges


class Layers:
    """The layers of one file; `unseen` says whether the samples are others than calibration's."""

    def __init__(self, activations: ActivationStatistics, unseen: bool) -> None:
        self._activations, self._model = activations, activations.simulated_model
        self._unseen = unseen
        self._options: dict[str, Any] = self._model.model.provenance.settings
        self._shared = shared_ranges(self._model)

    def layer(self, name: str) -> Layer:
        """What is known of the layer that makes the tensor `name`."""
        samples = self._options.get("samples")
        return Layer(
            name,
            self._activations.statistics[name],
            self._model.constants.get(name, {}),
            self._weights_that_read(name),
            self._shared.get(name),
            name in self._read_by_softmaxes,
            name in self._read_by_tables,
            self._unseen,
            str(self._options.get("observer", "auto")),
            samples if isinstance(samples, int) else None,
            str(self._options.get("rounding", "auto")),
        )

    def _weights_that_read(self, name: str) -> dict[str, Array]:
        """Float weights of the nodes that sum over the tensor's channels."""
        channels = len(self._activations.statistics[name].channel_low)
        found: dict[str, Array] = {}
        for node in self._weighted_readers.get(name, []):
            weight = node.input(1).const
            if weight is not None and weight.shape[-1] == channels > 1:
                found[node.output.name] = weight
        return found

    @cached_property
    def _read_by_softmaxes(self) -> set[str]:
        return self._read_by(makes_shares)

    @cached_property
    def _read_by_tables(self) -> set[str]:
        kinds = {name: op.kind for name, op in self._model.runs_as.items()}
        return self._read_by(lambda node: kinds.get(node.output.name) in TABLES)

    def _read_by(self, such: Callable[[Node], bool]) -> set[str]:
        """Tensors that nothing else reads, whatever moves and joins them first."""
        graph = self._model.graph
        readers, outputs = graph.consumers(), graph.output_values()
        found = set[Value]()

        def reads(node: Node) -> bool:
            return such(node) or (definition(node.op).shared and found.issuperset(node.outputs))

        made = [v for node in reversed(graph.nodes) for v in node.outputs]
        for v in [*made, *(port.value for port in graph.inputs)]:
            if v in readers and v not in outputs and all(map(reads, readers[v])):
                found.add(v)
        return {v.name for v in found}

    @cached_property
    def _weighted_readers(self) -> dict[str, list[Node]]:
        """Nodes with weights, by the tensor that they read."""
        found: dict[str, list[Node]] = {}
        for node in self._model.graph.nodes:
            if 1 in self._model.constants.get(node.output.name, {}):
                found.setdefault(self._model.source(node.input(0)).name, []).append(node)
        return found
