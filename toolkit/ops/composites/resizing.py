"""Resize whose scales, sizes or crop are computed at run time; the output's shape is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from math import ceil, prod

import numpy as np

from ...ir import Value
from .._formula import Term
from .._opdef import Builder, OnnxNode, Reader, Unsupported
from .._views import float_input
from ..matmul._matmul import matmul
from ..move._filters import RADIUS
from ..move.movement import axis_of
from ..move.resize import KEPT, modes
from ._checks import agrees, as_ints, checked
from ._shares import cubic_far, cubic_near, cubic_shares


def resized(reader: Reader, b: Builder, node: OnnxNode) -> list[Value]:
    """Of sizes that the shape says, the operator itself; of all else, axis by axis."""
    mode, coordinates, rounding = modes(node)
    old = node.op == "Upsample" or node.version < 11
    x, shape = float_input(node), node.shape_of(0)
    named = node.attrs.get("axes")
    axes = [axis_of(int(a), len(shape)) for a in named] if named else list(range(len(shape)))
    sizes = None if old else node.optional(3)
    crop = _crop(b, node) if coordinates == "tf_crop_and_resize" else None
    policy = str(node.attrs.get("keep_aspect_ratio_policy", "stretch"))
    wanted = [shape[a] for a in axes]
    half, fits = 0.0, []
    if sizes is None or not sizes.type.size:
        scales = Term(b, node.input(1 if old else 2))
    elif policy in KEPT:
        from_sizes = as_ints(b, sizes).to(np.float32) / np.array([x.shape[a] for a in axes])
        smaller = policy == "not_larger"
        ratios = [from_sizes.part(0, i) for i in range(len(axes))]
        ratio = reduce(lambda p, q: p.at_most(q) if smaller else p.at_least(q), ratios)
        scales, half = ratio.expand(len(axes)), 0.5
    elif crop is None or crop.const is not None:
        known = replace(
            node, inputs=[x, node.optional(1), None, b.constant(np.array(wanted, np.int64))]
        )
        (y,) = reader.from_onnx(b, known)
        return [checked(Term(b, y), agrees(as_ints(b, sizes), wanted)).value]
    else:
        scales = Term(b, np.array([n / x.shape[a] for n, a in zip(wanted, axes, strict=True)]))
        fits = [agrees(as_ints(b, sizes), wanted)]
    done, inside = Term(b, x), None
    for i, axis in enumerate(axes):
        scale, d, n = scales.part(0, i), x.shape[axis], shape[axis]
        ends = None if crop is None else [crop.part(0, i + k * len(axes)) for k in range(2)]
        line = _Line(d, n, scale, _places(coordinates, d, n, scale, ends))
        outside = _outside(coordinates, line, half) if not fits else Term(b, np.zeros(1, np.int32))
        if crop is not None:
            within = (line.at >= 0.0) & (line.at <= d - 1.0)
            within = within.reshape(*(n if k == axis else 1 for k in range(len(shape))))
            inside = within if inside is None else inside & within
        done = _along(node, done, axis, line, outside, (mode, rounding))
    if done.shape != shape:
        raise Unsupported(f"its axes {axes} do not lead from {list(x.shape)} to {list(shape)}")
    if inside is not None:
        done = inside.where(done, float(node.attrs.get("extrapolation_value", 0.0)))
    return [(checked(done, *fits) if fits else done).value]


@dataclass(frozen=True)
class _Line:
    """An axis of `size`, resized to `out`, by `scale`; where each output lies in the input."""

    size: int
    out: int
    scale: Term
    at: Term


def _crop(b: Builder, node: OnnxNode) -> Term:
    given = node.optional(1)
    if given is None or not given.type.size:
        raise Unsupported("it has no crop")
    return Term(b, given)


def _outside(coordinates: str, line: _Line, half: float) -> Term:
    """int32[1]: 0 where the scale leads to the size, else more than any index."""
    covered = line.scale * float(line.size) + half
    whole = covered if coordinates == "align_corners" else covered.function("Floor")
    return (~whole.equals(float(line.out))).to(np.int32) * (1 << 30)


def _along(
    node: OnnxNode, x: Term, axis: int, line: _Line, outside: Term, how: tuple[str, str]
) -> Term:
    """One axis, resized."""
    mode, rounding = how
    d, at = line.size, line.at
    if mode == "nearest":
        return x.take(_index(_rounded(at, rounding), d, outside), axis)
    if node.attrs.get("antialias", 0):
        return _filtered(node, x, axis, line, outside, mode)
    shape = [line.out if i == axis else 1 for i in range(len(x.shape))]
    if mode == "linear":
        at = at.at_least(0.0).at_most(d - 1.0)
        low = at.function("Floor")
        share = (at - low).reshape(*shape)
        first = x.take(_index(low, d, outside), axis)
        return first * (1.0 - share) + x.take(_index(low + 1.0, d, outside), axis) * share
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


def _filtered(
    node: OnnxNode, x: Term, axis: int, line: _Line, outside: Term, mode: str
) -> Term:  # fmt: skip
    """With antialias: times a matrix of what each element is worth to each output, borders that
    repeat the outermost elements as wide as the kernel can reach."""
    d, n = line.size, line.out
    border = ceil(RADIUS[mode] * max(d / n, 1))
    places = np.arange(-border, d + border, dtype=np.float32).reshape(1, d + 2 * border)
    distance = (line.at.reshape(n, 1) - places).function("Abs") * line.scale.at_most(1.0)
    if mode == "linear":
        weights = (1.0 - distance).at_least(0.0)
    else:
        a = float(node.attrs.get("cubic_coeff_a", -0.75))
        near, far = cubic_near(distance, a), cubic_far(distance, a)
        weights = (distance <= 1.0).where(near, (distance < 2.0).where(far, 0.0))
    if node.attrs.get("exclude_outside", 0):
        weights = weights * ((places >= 0) & (places < d)).astype(np.float32)
    weights = weights / weights.sum(1)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    lines = x.reshape(prod(before), d, prod(after))
    at = np.clip(places.astype(np.int32).ravel(), 0, d - 1)
    wide = lines.take(Term(x.b, at) + outside, 1)
    matrix = weights.reshape(1, n, d + 2 * border).expand(prod(before), n, d + 2 * border)
    y = Term(x.b, matmul(x.b, matrix.value, wide.value))
    return y.reshape(*before, n, *after)


def _places(name: str, d: int, n: int, scale: Term, crop: list[Term] | None) -> Term:
    """Where each output lies in the input."""
    i = np.arange(n, dtype=np.float32)
    still = Term(scale.b, i)
    if crop is not None:
        start, end = (part * (d - 1.0) for part in crop)
        return (still * (1 / (n - 1)) if n > 1 else still + 0.5) * (end - start) + start
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
