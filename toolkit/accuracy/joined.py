"""Which tensors of a file are joined with which, so that one is not mended without the others."""

from __future__ import annotations

from .twin import Twin, base_of


def shared_ranges(twin: Twin) -> dict[str, str]:
    """Tensors that an operator of several inputs joins with others, and its output's name."""
    found: dict[str, str] = {}
    for node in twin.graph.nodes:
        name = node.output.name
        if len(node.dynamic_inputs) > 1 and name in twin.quant and twin.moves(node):
            for v in node.dynamic_inputs:
                source = twin.source(v).name
                inserted = f"{source}.for.{name}"
                found[inserted if inserted in twin.quant else source] = name
    return found


class Sums:
    """Tensors that are terms or sums of one another, by Add and Sub, however many lie between."""

    def __init__(self, twin: Twin) -> None:
        self._leader: dict[str, str] = {}
        for node in twin.graph.nodes:
            if node.op in ("Add", "Sub") and len(node.dynamic_inputs) > 1:
                for v in node.dynamic_inputs:
                    self._leader[self._of(twin.source(v).name)] = self._of(node.output.name)

    def joins(self, name: str, other: str) -> bool:
        """Whether two tensors of the file are of one sum."""
        return self._of(base_of(name)) == self._of(base_of(other))

    def _of(self, name: str) -> str:
        while (leader := self._leader.get(name, name)) != name:
            name = leader
        return name
