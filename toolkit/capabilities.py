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
    """The first paragraph of the operator's docstring up to "attrs:", if it begins with "ONNX"."""
    text = " ".join((type(op).__doc__ or "").strip().partition("\n\n")[0].split())
    return text.split(" attrs:")[0].rstrip(".") if text.startswith("ONNX ") else ""


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

Printed by `edgekit ops --markdown`; do not edit. {count} ONNX operators are supported, in opset 7
and newer, and in older opsets if the operator did not change. Operators that ONNX defines as
functions of these are expanded. Nodes that depend on constants only are evaluated, whatever the
operator. docs/quantized-models.md lists the operators of quantized models.

- **int8**: `yes`: an integer kernel. `table`: a table of 256 entries if the operator depends on one
  tensor (a chain of such operators becomes one table). Empty: the operator is folded into its
  neighbours or stays float32, which is reported.
- **int16**: the same for int16 activations with int8 weights; a table has 513 points with linear
  interpolation.
- **float32**: `exact`: the same result as onnxruntime. `rounding`: agreement to 1e-4 of the
  tensor's largest magnitude.

| ONNX | runs as | int8 | int16 | float32 | supported |
|---|---|---|---|---|---|
"""
