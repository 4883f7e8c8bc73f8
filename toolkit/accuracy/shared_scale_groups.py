"""Which tensors of a file are joined with which, so that one is not mended without the others."""

from __future__ import annotations

from ..format.schema import BinaryFn
from ..ops import computes
from .simulated_model import SimulatedModel, base_of


def shared_ranges(simulated_model: SimulatedModel) -> dict[str, str]:
    """Tensors that an operator of several inputs joins with others, and its output's name."""
    found: dict[str, str] = {}
    for node in simulated_model.graph.nodes:
        name = node.output.name
        if (
            len(node.dynamic_inputs) > 1
            and name in simulated_model.quant
            and simulated_model.moves(node)
        ):
            for v in node.dynamic_inputs:
                source = simulated_model.source(v).name
                inserted = f"{source}.for.{name}"
                found[inserted if inserted in simulated_model.quant else source] = name
    return found


class SumGroups:
    """Tensors that are terms or sums of one another, by Add and Sub, however many lie between."""

    def __init__(self, simulated_model: SimulatedModel) -> None:
        self._leader: dict[str, str] = {}
        for node in simulated_model.graph.nodes:
            if computes(node, BinaryFn.Add, BinaryFn.Sub) and len(node.dynamic_inputs) > 1:
                for v in node.dynamic_inputs:
                    self._leader[self._of(simulated_model.source(v).name)] = self._of(
                        node.output.name
                    )

    def joins(self, name: str, other: str) -> bool:
        """Whether two tensors of the file are of one sum."""
        return self._of(base_of(name)) == self._of(base_of(other))

    def _of(self, name: str) -> str:
        while (leader := self._leader.get(name, name)) != name:
            name = leader
        return name
