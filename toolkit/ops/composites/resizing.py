"""Resize whose scales or sizes are computed at run time; the output's shape is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ir import Value
from .._formula import Term
from .._opdef import Builder, OnnxNode, Reader, Unsupported
from .._views import float_input
from ..move.movement import axis_of
from ._checks import agrees, as_ints, checked
from ._shares import cubic_shares

_COORDINATES = (
    "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners",
)  # fmt: skip


def resized(reader: Reader, b: Builder, node: OnnxNode) -> list[Value]:
    """Of sizes that the shape says, the operator itself; of scales, axis by axis."""
    if node.attrs.get("antialias", 0):
        raise Unsupported("it filters with antialias", "export it with antialias=0")
    old = node.op == "Upsample" or node.version < 11
    x, shape = float_input(node), node.shape_of(0)
    named = node.attrs.get("axes")
    axes = [axis_of(int(a), len(shape)) for a in named] if named else list(range(len(shape)))
    sizes = None if old else node.optional(3)
    if sizes is not None and sizes.type.size:
        if node.attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
            raise Unsupported("it keeps the aspect ratio of sizes that are computed")
        wanted = [shape[a] for a in axes]
        known = replace(node, inputs=[x, None, None, b.constant(np.array(wanted, np.int64))])
        (y,) = reader.from_onnx(b, known)
        return [checked(Term(b, y), agrees(as_ints(b, sizes), wanted)).value]
    scales = Term(b, node.input(1 if old else 2))
    done = Term(b, x)
    for i, axis in enumerate(axes):
        done = _along(node, done, axis, shape[axis], scales.part(0, i), old)
    if done.shape != shape:
        raise Unsupported(f"its axes {axes} do not lead from {list(x.shape)} to {list(shape)}")
    return [done.value]


def _along(node: OnnxNode, x: Term, axis: int, n: int, scale: Term, old: bool) -> Term:
    """One axis, resized to n."""
    d = x.shape[axis]
    name = str(node.attrs.get(
        "coordinate_transformation_mode", "asymmetric" if old else "half_pixel"))  # fmt: skip
    if name not in _COORDINATES:
        raise Unsupported(f"its coordinate_transformation_mode is {name}")
    covered = scale * float(d)
    whole = covered if name == "align_corners" else covered.function("Floor")
    outside = (~whole.equals(float(n))).to(np.int32) * (1 << 30)
    at = _places(name, d, n, scale)
    mode = str(node.attrs.get("mode", "nearest"))
    if mode == "nearest":
        rounding = str(node.attrs.get("nearest_mode", "floor" if old else "round_prefer_floor"))
        return x.take(_index(_rounded(at, rounding), d, outside), axis)
    rank = len(x.shape)
    shape = [n if i == axis else 1 for i in range(rank)]
    if mode == "linear":
        at = at.at_least(0.0).at_most(d - 1.0)
        low = at.function("Floor")
        share = (at - low).reshape(*shape)
        first = x.take(_index(low, d, outside), axis)
        return first * (1.0 - share) + x.take(_index(low + 1.0, d, outside), axis) * share
    if mode != "cubic":
        raise Unsupported(f"its mode is {mode}", "use nearest, linear or cubic")
    low = at.function("Floor")
    shares = cubic_shares(at - low, float(node.attrs.get("cubic_coeff_a", -0.75)))
    taps = [low + (k - 1.0) for k in range(4)]
    if node.attrs.get("exclude_outside", 0):
        shares = [
            share * ((tap >= 0.0) & (tap <= d - 1.0)).to(np.float32)
            for share, tap in zip(shares, taps, strict=True)
        ]
        total = shares[0] + shares[1] + shares[2] + shares[3]
        shares = [share / total for share in shares]
    parts = [
        x.take(_index(tap, d, outside), axis) * share.reshape(*shape)
        for tap, share in zip(taps, shares, strict=True)
    ]
    return parts[0] + parts[1] + parts[2] + parts[3]


def _places(name: str, d: int, n: int, scale: Term) -> Term:
    """Where each output lies in the input."""
    i = np.arange(n, dtype=np.float32)
    still = Term(scale.b, i)
    if name == "align_corners":
        return still * ((d - 1) / max(n - 1, 1))
    if name == "asymmetric":
        return still / scale
    if name == "pytorch_half_pixel" and n == 1:
        return still * 0.0
    at = (still + 0.5) / scale - 0.5
    if name == "half_pixel_symmetric":
        return at + (1.0 - float(n) / (scale * float(d))) * (d / 2)
    return at


def _rounded(at: Term, rounding: str) -> Term:
    if rounding == "round_prefer_floor":
        return (at - 0.5).function("Ceil")
    if rounding == "round_prefer_ceil":
        return (at + 0.5).function("Floor")
    return at.function("Ceil" if rounding == "ceil" else "Floor")


def _index(at: Term, d: int, outside: Term) -> Term:
    return at.at_least(0.0).at_most(d - 1.0).to(np.int32) + outside
