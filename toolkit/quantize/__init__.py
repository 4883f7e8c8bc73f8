"""Post-training quantization: a float graph and samples -> an int8 graph. docs/quantization.md."""

from .budget import Budget, Judged, Mixed, Point, parse_drop
from .mixed_precision.search import fit_budget
from .optimize import optimize, quantize_model
from .ranges.calibration import Calibration, Keeper, KeptSample, Sample, calibrate
from .ranges.candidate_evaluation import Score, Trials
from .ranges.evaluation_points import Probe, find_probes, with_probes
from .result import Quantized
from .scheme.macs import macs_of
from .scheme.options import OBSERVERS, ROUNDINGS, WEIGHTS, Decision, Options, Range, Ranges, grouped
from .scheme.plan import Plan, quantize_graph
from .scheme.prepare import prepare

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
