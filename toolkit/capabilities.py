"""The capability table, printed from the registries: what is read, and what it runs in."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .ops import ALL
from .ops._opdef import OpDef


@dataclass(frozen=True)
class Capability:
    """An ONNX operator, the IR operator it becomes, and the element types that has."""

    onnx: str
    op: str
    int8: bool
    float32: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def capabilities() -> list[Capability]:
    """One row per ONNX operator, by name."""
    rows = []
    for op in ALL.values():
        integer = type(op).integer is not OpDef.integer
        table = type(op).table is not OpDef.table
        rows += [Capability(name, op.name, integer or table, True) for name in op.onnx]
    return sorted(rows, key=lambda r: r.onnx)
