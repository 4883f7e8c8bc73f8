"""What people want to know of an operator in a file: its type, element type and work."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ..numerics import WEIGHT_TYPES, Precision
from .blob import blob_fields, region_ends
from .model import ABSENT, NUMPY_OF, EdgeModel, OpRecord
from .schema import NAMES, OpKind, Place, RecurrentCell

TABLES = (OpKind.Lut, OpKind.ChannelLut)
"""Kinds that look functions up."""


def op_type(model: EdgeModel, op: OpRecord) -> str:
    """The operator's name for people: "Lut" of ChannelLut too, "Cast" of Convert."""
    if op.kind == OpKind.Convert:
        return "Cast"
    return NAMES[op.kind, op.is_variant(model.tensors)].removeprefix("Channel")


def op_dtype(model: EdgeModel, op: OpRecord) -> str:
    """The element type the operator works in; of its output for those that only move bytes.

    "int4": weights of 4 bits, all else int8. "int16x4": weights of 4 bits, activations int16.
    """
    element = model.element(op)
    if element is None:
        return str(NUMPY_OF[model.tensors[op.outputs[0]].dtype])
    bits = next((w.bits for w in WEIGHT_TYPES.values() if w.codec == op.codec.name), 8)
    return str(Precision(NUMPY_OF[element], bits) if op.is_coded else NUMPY_OF[element])


def op_counts(model: EdgeModel) -> dict[str, dict[str, int]]:
    """How many operators of each type and element type: {"Conv2d": {"int8": 9}}."""
    counts: dict[str, dict[str, int]] = {}
    for op in model.ops:
        by_dtype = counts.setdefault(op_type(model, op), {})
        dtype = op_dtype(model, op)
        by_dtype[dtype] = by_dtype.get(dtype, 0) + 1
    return {t: dict(sorted(counts[t].items())) for t in sorted(counts)}


def macs(kind: OpKind, params: Mapping[str, int | float]) -> int:
    """Multiply-accumulates of one run of an operator, padding counted."""

    def product(*fields: str) -> int:
        return prod(int(params[name]) for name in fields)

    if kind == OpKind.Conv2d:
        window = product("geometry.kernel_h", "geometry.kernel_w")
        window *= int(params["geometry.in_c"]) // int(params["geometry.groups"])
        outputs = product("geometry.batch", "geometry.out_h", "geometry.out_w", "geometry.out_c")
        return outputs * window
    if kind == OpKind.ConvTranspose2d:
        window = product("geometry.kernel_h", "geometry.kernel_w")
        window *= int(params["geometry.out_c"]) // int(params["geometry.groups"])
        inputs = product("geometry.batch", "geometry.in_h", "geometry.in_w", "geometry.in_c")
        return inputs * window
    if kind == OpKind.FullyConnected:
        return product("rows", "k", "n")
    if kind == OpKind.MatMul:
        return product("batch", "rows", "k", "n")
    if kind == OpKind.Recurrent:
        gates = {RecurrentCell.Rnn: 1, RecurrentCell.Gru: 3, RecurrentCell.Lstm: 4}
        cell = gates[RecurrentCell(int(params["cell"]))]
        return cell * product("steps", "batch", "hidden", "hidden")
    return 0


def bytes_moved(model: EdgeModel) -> list[int]:
    """Bytes that a run of each operator reads and writes: all of its tensors, and its weights and
    tables as the file holds them. What goes through scratch is not counted."""
    ends = region_ends(model)
    found = []
    for op in model.ops:
        tensors = {i for i in (*op.inputs, *op.outputs) if i != ABSENT}
        regions = {int(op.params[f]) for f in blob_fields(op)}
        found.append(
            sum(model.tensors[i].nbytes for i in tensors) + sum(ends[at] - at for at in regions)
        )
    return found


def weight_bytes(model: EdgeModel) -> int:
    """Bytes of all constants a kernel reads: weights, biases, multipliers, tables."""
    return len(model.blob)


def arena_tensors(model: EdgeModel) -> list[int]:
    """Indices of the tensors that live in the arena."""
    return [i for i, t in enumerate(model.tensors) if t.place == Place.Arena]
