"""Post-training quantization: a float graph and samples -> an int8 graph. docs/quantization.md."""

from .budget import Budget, Judged, Mixed, Point, parse_drop
from .calibrate import Calibration, Keeper, KeptSample, Sample, calibrate
from .mixed import fit_budget
from .optimize import Quantized, macs_of, optimize, quantize_model
from .options import (
    OBSERVERS,
    ROUNDINGS,
    WEIGHTS,
    Decision,
    Options,
    Range,
    Ranges,
    grouped,
)
from .plan import Plan, quantize_graph
from .prepare import prepare
from .probes import Probe, find_probes, with_probes
from .trial import Score, Trials

__all__ = [
    "OBSERVERS",
    "ROUNDINGS",
    "WEIGHTS",
    "Budget",
    "Calibration",
    "Decision",
    "Judged",
    "Keeper",
    "KeptSample",
    "Mixed",
    "Options",
    "Plan",
    "Point",
    "Probe",
    "Quantized",
    "Range",
    "Ranges",
    "Sample",
    "Score",
    "Trials",
    "calibrate",
    "find_probes",
    "fit_budget",
    "grouped",
    "macs_of",
    "optimize",
    "parse_drop",
    "prepare",
    "quantize_graph",
    "quantize_model",
    "with_probes",
]
