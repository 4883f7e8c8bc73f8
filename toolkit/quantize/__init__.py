"""Post-training quantization: a float graph and samples -> an int8 graph. docs/quantization.md."""

from .calibrate import Calibration, calibrate
from .optimize import Quantized, optimize, quantize_model
from .options import OBSERVERS, Decision, Observer, Options, Range, Ranges
from .plan import Plan, quantize_graph

__all__ = [
    "OBSERVERS",
    "Calibration",
    "Decision",
    "Observer",
    "Options",
    "Plan",
    "Quantized",
    "Range",
    "Ranges",
    "calibrate",
    "optimize",
    "quantize_graph",
    "quantize_model",
]
