"""Add, Sub, Mul and Div on integers: the numbers of the file, and what they mean."""

from __future__ import annotations

import numpy as np

from ... import fixed_point
from ...ir import Array, Node, QuantParams
from .._opdef import Activation


def _quant(node: Node) -> tuple[QuantParams, QuantParams, QuantParams]:
    a, b, out = node.input(0).quant, node.input(1).quant, node.output.quant
    if a is None or b is None or out is None:
        raise ValueError(f"{node.op} '{node.name}' is integer but not all its values are quantized")
    return a, b, out


def add(node: Node, a: Array, b: Array) -> Array:
    """Add or Sub of int64 `a` and `b`, which hold the node's int8 or int16."""
    wide = node.output.dtype == np.int16
    p = add_params16(node) if wide else add_params(node)
    offset = 1 << (p["shift"] - 1) if wide else p["bias"]
    q = (a * p["a_multiplier"] + b * p["b_multiplier"] + offset) >> p["shift"]
    result: Array = np.clip(q, p["qmin"], p["qmax"]).astype(node.output.dtype)
    return result


def mul(node: Node, a: Array, b: Array) -> Array:
    """Mul, as `add`."""
    if node.output.dtype == np.int16:
        p = mul_params16(node)
        return fixed_point.requantize16(a * b, p["multiplier"], p["shift"], p["qmin"], p["qmax"])
    p = mul_params(node)
    acc = (a - p["a_zero"]) * (b - p["b_zero"])
    return fixed_point.requantize(
        acc, p["multiplier"], p["shift"], p["output_zero"], p["qmin"], p["qmax"]
    )


def add_params(node: Node) -> dict[str, int]:
    """Fields of an int8 Add or Sub. ValueError if the output's scale is too small."""
    a, b, out = _quant(node)
    sign = -1 if node.op == "Sub" else 1
    qmin, qmax = Activation.of(node).q_range(out)
    for s in range(30, -1, -1):
        ma = round(a.scalar / out.scalar * 2.0**s)
        mb = sign * round(b.scalar / out.scalar * 2.0**s)
        half = 1 << (s - 1) if s else 0
        c = (out.zero_point << s) - a.zero_point * ma - b.zero_point * mb + half
        reach = [x * ma + y * mb + c for x in (-128, 127) for y in (-128, 127)]
        if abs(ma) + abs(mb) <= 1 << 22 and max(map(abs, reach)) < 1 << 31 and abs(c) < 1 << 31:
            fields = (ma, mb, c, s, qmin, qmax)
            names = ("a_multiplier", "b_multiplier", "bias", "shift", "qmin", "qmax")
            return dict(zip(names, fields, strict=True))
    raise _too_small(node)


def _too_small(node: Node) -> ValueError:
    a, b, out = _quant(node)
    return ValueError(
        f"{node.op} '{node.name}': scales {a.scalar:g} and {b.scalar:g} are too large "
        f"for an output scale of {out.scalar:g}"
    )


def add_params16(node: Node) -> dict[str, int]:
    """Fields of an int16 Add or Sub. ValueError if the output's scale is too small."""
    a, b, out = _quant(node)
    sign = -1 if node.op == "Sub" else 1
    qmin, qmax = Activation.of(node).q_range(out)
    for s in range(ADD16_MAX_SHIFT, 0, -1):
        ma, mb = round(a.scalar / out.scalar * 2.0**s), round(b.scalar / out.scalar * 2.0**s)
        if ma + mb <= 1 << 23:
            fields = {"a_multiplier": ma, "b_multiplier": sign * mb, "shift": s}
            return fields | {"qmin": qmin, "qmax": qmax}
    raise _too_small(node)


ADD16_MAX_SHIFT = 40
"""2^23 * 2^-40 of any int16 is less than half a step: finer multipliers would not show."""


def mul_params(node: Node) -> dict[str, int]:
    """Fields of an int8 Mul. Raises ValueError if the output's scale is far too small."""
    a, b, out = _quant(node)
    ratio = a.scalar * b.scalar / out.scalar
    m, shift = fixed_point.multiplier(min(ratio, 2.0**MUL_MAX_SHIFT))
    if shift > MUL_MAX_SHIFT:
        raise ValueError(
            f"{node.op} '{node.name}': an output scale of {out.scalar:g} is too small "
            f"for inputs of scale {a.scalar:g} and {b.scalar:g}"
        )
    qmin, qmax = Activation.of(node).q_range(out)
    return {
        "multiplier": m,
        "shift": shift,
        "a_zero": a.zero_point,
        "b_zero": b.zero_point,
        "output_zero": out.zero_point,
        "qmin": qmin,
        "qmax": qmax,
    }


MUL_MAX_SHIFT = 14
"""255 * 255 * 2^14 < 2^30."""


def mul_params16(node: Node) -> dict[str, int]:
    """Fields of an int16 Mul. Raises ValueError if the output's scale is far too small.

    The product of two int16 stays below 2^31.
    """
    a, b, out = _quant(node)
    m, shift = fixed_point.multiplier16(a.scalar * b.scalar / out.scalar)
    qmin, qmax = Activation.of(node).q_range(out)
    return {"multiplier": m, "shift": shift, "qmin": qmin, "qmax": qmax}


def div(node: Node, a: Array, b: Array) -> Array:
    """Div, as `add`. By 0 it is the largest of the sign, and 0 / 0 is 0."""
    _, _, out = _quant(node)
    m, shift, a_zero, b_zero, output_zero = div_numbers(node)
    qmin, qmax = Activation.of(node).q_range(out)
    x, y = np.broadcast_arrays(a - a_zero, b - b_zero)
    divisor = np.abs(y) << shift
    size = (np.abs(x) * m + divisor // 2) // np.maximum(divisor, 1)
    size = np.where(divisor == 0, np.where(x == 0, 0, 1 << 17), size)
    q = output_zero + np.where((x < 0) != (y < 0), -size, size)
    result: Array = np.clip(q, qmin, qmax).astype(node.output.dtype)
    return result


DIV_BITS = {np.dtype(np.int8): (22, 22), np.dtype(np.int16): (16, 15)}
"""Of the multiplier, and the largest shift: no product and no divisor leaves 31 bits."""


def div_numbers(node: Node) -> tuple[int, int, int, int, int]:
    """Multiplier, shift, zero points of both inputs and the output. ValueError if out of range."""
    a, b, out = _quant(node)
    ratio = a.scalar / (b.scalar * out.scalar)
    bits, most = DIV_BITS[out.dtype]
    for shift in range(most, -1, -1):
        m = round(ratio * 2.0**shift)
        if m < 1 << bits:
            break
    else:
        m, shift = 0, 0
    if not m:
        raise ValueError(
            f"{node.op} '{node.name}': an output scale of {out.scalar:g} does not go with inputs "
            f"of scale {a.scalar:g} and {b.scalar:g}"
        )
    return m, shift, a.zero_point, b.zero_point, out.zero_point
