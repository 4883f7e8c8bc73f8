"""Resizing of H and W of an NHWC image: nearest, linear or cubic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind
from ...ir import Array, Node, Shape, TensorType, Value
from ...numerics import INTEGERS, integer_precisions
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported, computes_in
from .._views import float_input, from_nhwc, to_nhwc
from ._filters import RADIUS, Reals, cubic, matrix, resized, triangle
from .movement import axis_of

WEIGHT_BITS = {np.dtype(np.int8): 11, np.dtype(np.int16): 15}
"""Weights on integers are in 1/2^bits: an element times that fits 32 bits."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
F32 = np.float32


@dataclass(frozen=True)
class Axis:
    """How one axis changes: `scale` need not be exactly out / size. `crop`: from where to where, in
    parts of the axis."""

    size: int
    out: int
    scale: np.float32
    crop: tuple[float, float] = (0.0, 1.0)

    @property
    def changes(self) -> bool:
        return self.out != self.size or bool(self.scale != 1) or self.crop != (0.0, 1.0)


def _half_pixel(i: Floats, a: Axis) -> Floats:
    return (i + F32(0.5)) / a.scale - F32(0.5)


def _pytorch_half_pixel(i: Floats, a: Axis) -> Floats:
    return _half_pixel(i, a) if a.out > 1 else np.zeros_like(i)


def _half_pixel_symmetric(i: Floats, a: Axis) -> Floats:
    adjustment = F32(a.out) / (a.scale * F32(a.size))
    offset = F32(a.size) / F32(2) * (F32(1) - adjustment)
    x = float(offset) + (i.astype(np.float64) + 0.5) / float(a.scale) - 0.5
    return x.astype(F32)


def _asymmetric(i: Floats, a: Axis) -> Floats:
    return i / a.scale


def _align_corners(i: Floats, a: Axis) -> Floats:
    return i * F32(a.size - 1) / F32(a.out - 1) if a.out > 1 else np.zeros_like(i)


def _cropped(i: Floats, a: Axis) -> Floats:
    start, end = (F32(part * (a.size - 1)) for part in a.crop)
    if a.out == 1:
        return np.full_like(i, (start + end) / 2)
    return start + i * ((end - start) / F32(a.out - 1))


# In the precision that onnxruntime computes them in: what nearest picks depends on it.
COORDINATES: dict[str, Callable[[Floats, Axis], Floats]] = {
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "asymmetric": _asymmetric,
    "align_corners": _align_corners,
    "tf_crop_and_resize": _cropped,
}

KEPT: dict[str, Callable[[list[float]], float]] = {"not_larger": min, "not_smaller": max}
"""What policies that keep the aspect ratio make of the ratios along the axes."""

ROUNDINGS: dict[str, Callable[[Floats], Floats]] = {
    "round_prefer_floor": lambda x: np.ceil(x - F32(0.5)),
    "round_prefer_ceil": lambda x: np.floor(x + F32(0.5)),
    "floor": np.floor,
    "ceil": np.ceil,
}


def sources(a: Axis, coordinates: str, rounding: str, linear: bool) -> tuple[Ints, Ints, Floats]:
    """(lo, hi, weight of hi) of every output index along an axis."""
    x = _places(a, coordinates)
    if not linear:
        lo = np.clip(ROUNDINGS[rounding](x), 0, a.size - 1).astype(np.int32)
        return lo, lo, np.zeros(a.out, F32)
    x = np.clip(x, F32(0), F32(a.size - 1))
    lo = np.floor(x).astype(np.int32)
    return lo, np.minimum(lo + 1, a.size - 1).astype(np.int32), x - lo.astype(F32)


def _places(a: Axis, coordinates: str) -> Floats:
    """Where every output index along an axis is in the input."""
    i = np.arange(a.out, dtype=F32)
    return COORDINATES[coordinates](i, a) if a.changes else i


class Resize(OpDef):
    """ONNX Resize-10..19, Upsample-7..10: nearest, linear and cubic, antialias. float32.

    Cubic resizing, and that with antialias, is a MatMul for each axis. Two neighbouring axes, or
    one, are resized at a time.

    attrs: out_hw, mode, and for rows and columns of the output the sources h_lo, h_hi, w_lo, w_hi
    (int32) and the weights h_w, w_w of the higher source (float32).
    """

    name = "Resize"
    onnx = ("Resize", "Upsample")
    shared = True
    channelwise = frozenset({"scale"})
    precisions = integer_precisions(*INTEGERS)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = float_input(node)
        mode, coordinates, rounding = modes(node)
        axes = _read_axes(node, x.shape, coordinates)
        outside = _outside(axes, coordinates)
        changed = [i for i, a in enumerate(axes) if a.changes]
        for pair in _neighbours(changed):
            x = _resized(b, node, x, axes, pair, (mode, coordinates, rounding))
        if outside is None:
            return [x]
        value = float(node.attrs.get("extrapolation_value", 0.0))
        beyond = b.constant(np.array(value, np.float32))
        return [b.emit("Where", [b.constant(outside.astype(np.uint8)), beyond, x])]

    def infer(self, node: Node) -> list[TensorType]:
        x, (out_h, out_w) = node.input(0), node.attrs["out_hw"]
        if len(x.shape) != 4 or not computes_in(OpKind.Resize, x.dtype):
            raise ValueError(f"Resize of {x.dtype}{list(x.shape)}; it takes NHWC float32")
        for side, out, size in (("h", out_h, x.shape[1]), ("w", out_w, x.shape[2])):
            for end in ("lo", "hi"):
                at = node.attrs[f"{side}_{end}"]
                if at.shape != (out,) or at.min() < 0 or at.max() >= size:
                    raise ValueError(f"Resize with {side}_{end} {at} for {size} to {out}")
        return [TensorType(x.dtype, (x.shape[0], out_h, out_w, x.shape[3]))]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        a = node.attrs
        q = inputs[0].astype(np.int64)
        if a["mode"] == "nearest":
            return [inputs[0][:, a["h_lo"]][:, :, a["w_lo"]]]
        bits = WEIGHT_BITS[inputs[0].dtype]
        one, half = 1 << bits, 1 << (2 * bits - 1)
        wy = _fixed(a["h_w"], bits).astype(np.int64)[:, None, None]
        wx = _fixed(a["w_w"], bits).astype(np.int64)[:, None]

        def line(rows: Array) -> Array:
            result: Array = (one - wx) * rows[:, :, a["w_lo"]] + wx * rows[:, :, a["w_hi"]]
            return result

        top, bottom = line(q[:, a["h_lo"]]), line(q[:, a["h_hi"]])
        q = ((one - wy) * top + wy * bottom + half) >> (2 * bits)
        return [q.astype(inputs[0].dtype)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, a = node.input(0), node.attrs

        def weights(w: Floats) -> Ints:
            bits = WEIGHT_BITS.get(x.dtype)
            return np.asarray(w, F32).view(np.int32) if bits is None else _fixed(w, bits)

        n, in_h, in_w, c = x.shape
        out_h, out_w = a["out_hw"]
        rows = (a["h_lo"], a["h_hi"], weights(a["h_w"]))
        columns = (a["w_lo"], a["w_hi"], weights(a["w_w"]))
        params = {
            "batch": n, "in_h": in_h, "in_w": in_w, "out_h": out_h, "out_w": out_w, "channels": c,
            "table": blob.add(*(np.asarray(t, np.int32) for t in rows + columns)),
            "linear": int(a["mode"] == "linear"),
        }  # fmt: skip
        return Lowered(OpKind.Resize, params, [x])


def _fixed(weight: Floats, bits: int) -> Ints:
    return np.floor(weight.astype(np.float64) * (1 << bits) + 0.5).astype(np.int32)


def _resized(
    b: Builder, node: OnnxNode, x: Value, axes: list[Axis], changed: list[int],
    how: tuple[str, str, str],
) -> Value:  # fmt: skip
    """`x`, one axis or two neighbouring ones changed."""
    mode, coordinates, rounding = how
    image, (h, w), restore = _as_image(b, x, changed)
    still = Axis(1, 1, F32(1))
    rows, columns = (axes[i] if i is not None else still for i in (h, w))
    if mode == "cubic" or node.attrs.get("antialias", 0):
        return restore(
            resized(b, image, *(_matrix(node, a, mode, coordinates) for a in (rows, columns)))
        )
    linear = mode == "linear"
    h_lo, h_hi, h_w = sources(rows, coordinates, rounding, linear)
    w_lo, w_hi, w_w = sources(columns, coordinates, rounding, linear)
    exact = not (h_w.any() or w_w.any())
    tables: dict[str, Any] = {"h_lo": h_lo, "h_hi": h_lo if exact else h_hi, "h_w": h_w}
    tables |= {"w_lo": w_lo, "w_hi": w_lo if exact else w_hi, "w_w": w_w}
    y = b.emit(
        "Resize",
        [image],
        out_hw=(rows.out, columns.out),
        mode="nearest" if exact else "linear",
        **tables,
    )
    return restore(y)


def _matrix(node: OnnxNode, a: Axis, mode: str, coordinates: str) -> Reals:
    kernel = cubic(float(node.attrs.get("cubic_coeff_a", -0.75))) if mode == "cubic" else triangle
    scale = min(float(a.scale), 1.0) if node.attrs.get("antialias", 0) else 1.0
    outside = bool(node.attrs.get("exclude_outside", 0))
    return matrix(_places(a, coordinates), a.size, kernel, RADIUS[mode], scale, outside)


def _outside(axes: list[Axis], coordinates: str) -> NDArray[np.bool_] | None:
    """Which outputs lie outside of the input; None if none does, or the mode does not ask."""
    found = np.zeros((1,) * len(axes), np.bool_)
    if coordinates != "tf_crop_and_resize":
        return None
    for i, a in enumerate(axes):
        at = _places(a, coordinates)
        beyond = (at < 0) | (at > a.size - 1)
        found = found | beyond.reshape([a.out if k == i else 1 for k in range(len(axes))])
    return found if found.any() else None


def _neighbours(changed: list[int]) -> list[list[int]]:
    """The axes in groups of two neighbours, the last ones first, or one."""
    groups: list[list[int]] = []
    for i in reversed(changed):
        if groups and len(groups[-1]) == 1 and groups[-1][0] == i + 1:
            groups[-1].insert(0, i)
        else:
            groups.append([i])
    return groups


def modes(node: OnnxNode) -> tuple[str, str, str]:
    """(mode, coordinates, rounding), or Unsupported."""
    mode = node.attrs.get("mode", "nearest")
    old = node.op == "Upsample" or node.version < 11
    coordinates = node.attrs.get(
        "coordinate_transformation_mode", "asymmetric" if old else "half_pixel"
    )
    rounding = node.attrs.get("nearest_mode", "floor" if old else "round_prefer_floor")
    if mode not in ("nearest", "linear", "cubic"):
        raise Unsupported(f"its mode is {mode}", "use nearest, linear or cubic")
    if coordinates not in COORDINATES:
        raise Unsupported(
            f"its coordinate_transformation_mode is {coordinates}",
            f"use one of {', '.join(COORDINATES)}",
        )
    if rounding not in ROUNDINGS:
        raise Unsupported(f"its nearest_mode is {rounding}", f"use one of {', '.join(ROUNDINGS)}")
    if mode == "nearest" and node.attrs.get("antialias", 0):
        raise Unsupported("it filters with antialias, and its mode is nearest", "use linear")
    return mode, coordinates, rounding


def _read_axes(node: OnnxNode, shape: Shape, coordinates: str) -> list[Axis]:
    """How each axis of the input changes."""
    old = node.op == "Upsample" or node.version < 11
    scales = node.attrs.get("scales") if "scales" in node.attrs else node.const(1 if old else 2)
    sizes = None if old else node.const(3)
    rank = len(shape)
    named = node.attrs.get("axes")
    at = [axis_of(int(i), rank) for i in named] if named else list(range(rank))
    axes = [Axis(d, d, F32(1)) for d in shape]
    if scales is not None and np.size(scales):
        for i, scale in zip(at, np.ravel(scales), strict=True):
            scale = F32(scale)
            axes[i] = Axis(shape[i], int(np.floor(scale * F32(shape[i]))), scale)
    elif sizes is not None and np.size(sizes):
        ratios = [float(size) / shape[i] for i, size in zip(at, np.ravel(sizes), strict=True)]
        policy = str(node.attrs.get("keep_aspect_ratio_policy", "stretch"))
        if policy in KEPT:
            ratios = [KEPT[policy](ratios)] * len(at)
        for i, ratio in zip(at, ratios, strict=True):
            axes[i] = Axis(shape[i], int(np.floor(ratio * shape[i] + 0.5)), F32(ratio))
    else:
        raise Unsupported("it has neither scales nor sizes")
    if coordinates == "tf_crop_and_resize":
        for i, start, end in zip(at, *np.split(_crop(node, len(at)), 2), strict=True):
            axes[i] = replace(axes[i], crop=(float(start), float(end)))
    if any(a.out < 1 for a in axes):
        raise Unsupported(f"its output is empty: {[a.out for a in axes]}")
    return axes


def _crop(node: OnnxNode, axes: int) -> NDArray[np.float64]:
    """Starts, then ends, of the crop along each axis, in parts of it."""
    given = node.const(1)
    if given is None or np.size(given) != 2 * axes:
        raise Unsupported(f"its crop has {0 if given is None else np.size(given)} limits")
    return np.asarray(given, np.float64).ravel()


def _as_image(
    b: Builder, x: Value, changed: list[int]
) -> tuple[Value, tuple[int | None, int | None], Callable[[Value], Value]]:
    """`x` as an NHWC image, which of its axes H and W are, and the way back."""
    rank = len(x.shape)
    first, last = changed[0], changed[-1]
    if rank == 4 and first >= 2:
        return to_nhwc(b, x), (2, 3), lambda y: from_nhwc(b, y, 4)
    if rank == 3 and first == 2:
        return to_nhwc(b, x), (None, 2), lambda y: from_nhwc(b, y, 3)
    before, after = int(np.prod(x.shape[:first])), int(np.prod(x.shape[last + 1 :]))
    h = first if last > first else None
    image = b.reshape(x, (before, x.shape[first] if h is not None else 1, x.shape[last], after))

    def restore(y: Value) -> Value:
        return b.reshape(
            y, (*x.shape[:first], *y.shape[2 - (last - first) : 3], *x.shape[last + 1 :])
        )

    return image, (h, last), restore


OPS: tuple[OpDef, ...] = (Resize(),)
