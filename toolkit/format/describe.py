"""What people want to know of an operator in a file: its type, element type and work."""

from __future__ import annotations

from collections.abc import Mapping

from .model import NUMPY_OF, EdgeModel, OpRecord
from .schema import OpKind, Place

_SUFFIX = {"W4S16": "int16x4", "S8": "int8", "S16": "int16", "W4": "int4", "F32": "float32"}


def holds_nibbles(kind: OpKind) -> bool:
    """Whether the operator's weights lie in the file in 4 bits each."""
    return kind.name.endswith(("W4", "W4S16"))


def op_type(kind: OpKind) -> str:
    """The operator's name without its element type: "Conv2d" of Conv2dS8, "Lut" of ChannelLutS8."""
    for suffix in _SUFFIX:
        if kind.name.endswith(suffix):
            return kind.name.removesuffix(suffix).removeprefix("Channel")
    return kind.name


def op_dtype(model: EdgeModel, op: OpRecord) -> str:
    """The element type the operator works in; of its output for those that only move bytes.

    "int4": weights of 4 bits, all else int8. "int16x4": weights of 4 bits, activations int16.
    """
    return dtype_of(op.kind, NUMPY_OF[model.tensors[op.outputs[0]].dtype])


def dtype_of(kind: OpKind, output: object) -> str:
    """As `op_dtype`, of an operator whose first output has the element type `output`."""
    for suffix, name in _SUFFIX.items():
        if kind.name.endswith(suffix):
            return name
    return str(output)


def op_counts(model: EdgeModel) -> dict[str, dict[str, int]]:
    """How many operators of each type and element type: {"Conv2d": {"int8": 9}}."""
    counts: dict[str, dict[str, int]] = {}
    for op in model.ops:
        by_dtype = counts.setdefault(op_type(op.kind), {})
        dtype = op_dtype(model, op)
        by_dtype[dtype] = by_dtype.get(dtype, 0) + 1
    return {t: dict(sorted(counts[t].items())) for t in sorted(counts)}


def macs(kind: OpKind, params: Mapping[str, int | float]) -> int:
    """Multiply-accumulates of one run of an operator, padding counted."""
    p = {k.removeprefix("geometry."): int(v) for k, v in params.items() if isinstance(v, int)}
    name = op_type(kind)
    if name in ("Conv2d", "DepthwiseConv2d"):
        window = p["kernel_h"] * p["kernel_w"] * (p["in_c"] // p["groups"])
        return p["batch"] * p["out_h"] * p["out_w"] * p["out_c"] * window
    if name == "ConvTranspose2d":
        window = p["kernel_h"] * p["kernel_w"] * (p["out_c"] // p["groups"])
        return p["batch"] * p["in_h"] * p["in_w"] * p["in_c"] * window
    if name == "FullyConnected":
        return p["rows"] * p["k"] * p["n"]
    if name == "MatMul":
        return p["batch"] * p["rows"] * p["k"] * p["n"]
    return 0


def weight_bytes(model: EdgeModel) -> int:
    """Bytes of all constants a kernel reads: weights, biases, multipliers, tables."""
    return len(model.blob)


def arena_tensors(model: EdgeModel) -> list[int]:
    """Indices of the tensors that live in the arena."""
    return [i for i, t in enumerate(model.tensors) if t.place == Place.Arena]
