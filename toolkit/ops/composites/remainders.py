"""Mod."""

from __future__ import annotations

import numpy as np

from ...ir import Value
from .._formula import Term
from .._opdef import Builder, OnnxNode, Unsupported
from ._composite import Composite


def remainder(b: Builder, node: OnnxNode) -> list[Value]:
    """Of integers: with the sign of the divisor, or with fmod that of the dividend."""
    x, y = node.input(0), node.input(1)
    held = x.dtype
    if held.kind == "f":
        raise Unsupported("it is the remainder of floats", "use integers")
    a, n = (Term(b, v).to(np.int32) for v in (x, y))
    if n.const is not None and np.any(n.const == 0):
        raise Unsupported("it divides integers by a constant 0", "export the model again")
    rest = a - (a / n) * n
    if not node.attrs.get("fmod", 0):
        opposite = ((rest < 0) & (n > 0)) | ((rest > 0) & (n < 0))
        rest = opposite.where(rest + n, rest)
    return [rest.to(held).value if held == np.uint8 else rest.value]


BUILT = (Composite("Mod", "Sub", remainder, "ONNX Mod-10..13 of integers"),)
