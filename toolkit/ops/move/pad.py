"""Pad: a border around a tensor, of one value, mirrored, or the edge repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind, PadMode
from ...ir import Array, Node, TensorType, Value
from ...numerics import FLOAT, HALF, INTEGERS, integer_precisions
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported, of_each_axis
from .movement import axis_of, ints, take

PAD_DIMS = 4
MODES = {"constant": PadMode.Constant, "reflect": PadMode.Reflect, "edge": PadMode.Edge}


class Pad(OpDef):
    """ONNX Pad-2..25, known widths only; negative ones are a Slice, mode wrap is a Concat.

    attrs: before, after (per axis, >= 0), mode ("constant", "reflect", "edge"), value (real).
    Any element type.
    """

    name = "Pad"
    layout = of_each_axis("before", "after")
    onnx = ("Pad",)
    exactness = "exact"
    shared = True
    precisions = integer_precisions(*INTEGERS)
    reals = (FLOAT, HALF)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.inputs[0]
        assert x is not None
        rank = len(x.shape)
        mode = str(node.attrs.get("mode", "constant"))
        if mode not in (*MODES, "wrap"):
            raise Unsupported(f"mode '{mode}' is not one of {', '.join(MODES)}, wrap")
        widths = ints(node, "pads", 1)
        if widths is None:
            raise Unsupported("it has no pads")
        axes = ints(node, "axes", 3) or list(range(rank))
        before, after = [0] * rank, [0] * rank
        for i, axis in enumerate(axes):
            a = axis_of(axis, rank)
            before[a], after[a] = widths[i], widths[i + len(axes)]
        value = node.attrs["value"] if "value" in node.attrs else node.const(2)
        value = 0.0 if value is None or np.size(value) == 0 else float(np.ravel(value)[0])

        crop = [
            range(max(-lo, 0), d - max(-hi, 0))
            for d, lo, hi in zip(x.shape, before, after, strict=True)
        ]
        if any(len(r) == 0 for r in crop):
            raise Unsupported(f"pads {widths} leave nothing of a shape of {list(x.shape)}")
        x = take(b, x, crop)
        lo, hi = ([max(w, 0) for w in side] for side in (before, after))
        if not any(lo) and not any(hi):
            return [x]
        if mode == "wrap":
            return [_wrapped(b, x, lo, hi)]
        if mode == "reflect" and any(max(p) >= d for d, *p in zip(x.shape, lo, hi, strict=True)):
            raise Unsupported(f"it reflects {widths}, more than a shape of {list(x.shape)} has")
        y = b.emit("Pad", [x], before=tuple(lo), after=tuple(hi), mode=mode, value=value)
        return [y]

    def infer(self, node: Node) -> list[TensorType]:
        x, before, after = node.input(0), node.attrs["before"], node.attrs["after"]
        if min((*before, *after), default=0) < 0 or node.attrs["mode"] not in MODES:
            raise ValueError(f"cannot pad by {before}, {after} in mode {node.attrs['mode']}")
        shape = tuple(d + lo + hi for d, lo, hi in zip(x.shape, before, after, strict=True))
        return [TensorType(x.dtype, shape)]

    def integer_problem(self, node: Node) -> str | None:
        dims = len(_merged(node))
        return f"it pads across {dims} axes; {PAD_DIMS} are supported" if dims > PAD_DIMS else None

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        widths = list(zip(node.attrs["before"], node.attrs["after"], strict=True))
        mode = node.attrs["mode"]
        options: dict[str, Any] = {"constant_values": _element(node)} if mode == "constant" else {}
        return [np.pad(inputs[0], widths, mode, **options)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        merged = _merged(node)
        if len(merged) > PAD_DIMS:
            raise ValueError(f"Pad '{node.name}': {self.integer_problem(node)}")
        merged = [(1, 0, 0)] * (PAD_DIMS - len(merged)) + merged
        element = np.atleast_1d(_element(node))
        params: dict[str, int | float] = {
            "element_bytes": element.itemsize,
            "mode": int(MODES[node.attrs["mode"]]),
            "value": int.from_bytes(element.tobytes(), "little"),
        }
        for i, (d, lo, hi) in enumerate(merged):
            params[f"in_dims.{i}"], params[f"before.{i}"] = d, lo
            params[f"out_dims.{i}"] = d + lo + hi
        return Lowered(OpKind.Pad, params, [node.input(0)])


def _wrapped(b: Builder, x: Value, before: list[int], after: list[int]) -> Value:
    """`x` repeated on all sides, as far as the widths say."""
    for axis, (lo, hi) in enumerate(zip(before, after, strict=True)):
        d = x.shape[axis]
        starts = range(-lo - (-lo % d), d + hi, d)
        parts = [range(max(-lo - s, 0), min(d + hi - s, d)) for s in starts]
        shown = [range(n) for n in x.shape]
        pieces = [
            take(b, x, [part if i == axis else r for i, r in enumerate(shown)])
            for part in parts if len(part)
        ]  # fmt: skip
        x = pieces[0] if len(pieces) == 1 else b.emit("Concat", pieces, axis=axis)
    return x


def _element(node: Node) -> NDArray[Any]:
    """The border's value as an element of the output."""
    out, value = node.output, float(node.attrs.get("value", 0.0))
    if out.quant is not None:
        return out.quant.quantize(np.array(value))
    return np.array(value).astype(out.dtype)


def _merged(node: Node) -> list[tuple[int, int, int]]:
    """(size, before, after) per axis, an axis that is not padded merged with the one in front.

    Only a constant border lets the axis in front be padded: mirrors and edges count elements.
    """
    result: list[tuple[int, int, int]] = []
    constant = node.attrs["mode"] == "constant"
    widths = zip(node.input(0).shape, node.attrs["before"], node.attrs["after"], strict=True)
    for d, lo, hi in widths:
        front = result[-1] if result else None
        if front and not (lo or hi) and (constant or not any(front[1:])):
            result[-1] = (front[0] * d, front[1] * d, front[2] * d)
        else:
            result.append((d, lo, hi))
    return result


OPS: tuple[OpDef, ...] = (Pad(),)
