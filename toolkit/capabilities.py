"""The capability table, printed from the registries: what is read, and what it runs in."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from .numerics import W8A16
from .ops import ALL
from .ops._opdef import OpDef
from .ops.composites import COMPOSITES
from .ops.elementwise.lut import Lut


@dataclass(frozen=True)
class Capability:
    """An ONNX operator, the IR operator it becomes, and the element types that has.

    `int8` is False for what only folds into others or stays float32, `int16` (activations, with
    int8 weights) also where int8 alone is served. `table`: on integers it is a table. `exactness`
    is that of float32 results, as OpDef has it.
    """

    onnx: str
    op: str
    int8: bool
    int16: bool
    float32: bool
    table: bool
    exactness: str
    note: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def capabilities() -> list[Capability]:
    """One row per ONNX operator, by name."""
    rows = []
    for op in ALL.values():
        integer = type(op).integer is not OpDef.integer and op.float_only is None
        table = type(op).table is not OpDef.table
        rows += [
            Capability(
                name,
                op.name,
                integer or table,
                _wide(op) or (table and not integer and _wide(ALL[Lut.name])),
                True,
                table and not integer,
                op.exactness,
                _note(op),
            )
            for name in op.onnx
        ]
    by_op = {row.op: row for row in rows}
    rows += [replace(by_op[c.of], onnx=c.onnx, note=c.note) for c in COMPOSITES.values()]
    return sorted(rows, key=lambda r: r.onnx)


def _wide(op: OpDef) -> bool:
    return op.float_only is None and W8A16 in op.precisions


def _note(op: OpDef) -> str:
    """The sentence of the operator's docstring that says what is read, if it has one."""
    lines = (type(op).__doc__ or "").strip().splitlines()
    if not lines or not lines[0].startswith("ONNX "):
        return ""
    return lines[0].split(" attrs:")[0].rstrip(".")


def _served(integer: bool, table: bool) -> str:
    return "" if not integer else "table" if table else "yes"


def markdown() -> str:
    """docs/supported-ops.md."""
    rows = capabilities()
    table = [
        f"| {r.onnx} | {r.op} | {_served(r.int8, r.table)} | "
        f"{_served(r.int16, r.table)} | {r.exactness} | {r.note} |"
        for r in rows
    ]
    return "\n".join([*_HEAD.format(count=len(rows)).splitlines(), *table, ""])


_HEAD = """\
# Supported operators

Printed by `edgekit ops --markdown`; do not edit. {count} ONNX operators are read, of every opset
from 7 on, and of older ones unless the operator changed. Others that ONNX defines as functions of
these are expanded, and what depends on constants alone is computed, whatever the operator.
Operators of quantized models are in docs/quantized-models.md.

- **int8**: `yes` has an integer kernel; `table` is a table of 256 entries, where one tensor goes in
  (a chain of such operators is one table); what is left empty folds into its neighbours or stays
  float32, and the result says so.
- **int16**: the same for int16 activations with int8 weights; a table has 513 points, and lines
  between them.
- **float32**: `exact` gives what onnxruntime gives, `rounding` agrees to 1e-4 of the tensor's
  largest magnitude.

| ONNX | runs as | int8 | int16 | float32 | what is read |
|---|---|---|---|---|---|
"""
