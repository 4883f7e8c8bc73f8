"""ONNX operators that become several of the IR, and those whose parameters are computed."""

from __future__ import annotations

from . import fourier, masks, ranges, regions, sampling, selection, sums, windows
from ._composite import Composite
from .parameters import PARAMETERS, AtRunTime

__all__ = ["COMPOSITES", "PARAMETERS", "AtRunTime"]

_MODULES = (fourier, masks, ranges, regions, sampling, selection, sums, windows)
COMPOSITES: dict[str, Composite] = {c.onnx: c for module in _MODULES for c in module.BUILT}
"""By ONNX name."""
