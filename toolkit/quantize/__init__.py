"""Post-training quantization: a float graph and samples -> an int8 graph. docs/quantization.md."""

from .budget import Budget, Judged, Mixed, Point, parse_drop
from .mixed_precision.fit import fit_budget
from .optimize import optimize, quantize_model
from .outputs.evaluation_points import (
    EvaluationPoint,
    find_evaluation_points,
    fitted,
    with_evaluation_points,
)
from .outputs.kept_samples import Keeper, KeptSample, Sample
from .ranges.calibration import AnySize, Calibration, calibrate, watched
from .ranges.candidate_evaluation import CandidateEvaluator, Score
from .result import Quantized
from .scheme.macs import macs_of
from .scheme.options import (
    EFFORTS,
    OBSERVERS,
    ROUNDINGS,
    WEIGHTS,
    Decision,
    Options,
    Range,
    Ranges,
    grouped,
)
from .scheme.plan import Plan, as_given, quantize_graph
from .scheme.prepare import prepare, prepared_floats

__all__ = [
    "EFFORTS",
    "OBSERVERS",
    "ROUNDINGS",
    "WEIGHTS",
    "AnySize",
    "Budget",
    "Calibration",
    "CandidateEvaluator",
    "Decision",
    "EvaluationPoint",
    "Judged",
    "Keeper",
    "KeptSample",
    "Mixed",
    "Options",
    "Plan",
    "Point",
    "Quantized",
    "Range",
    "Ranges",
    "Sample",
    "Score",
    "as_given",
    "calibrate",
    "find_evaluation_points",
    "fit_budget",
    "fitted",
    "grouped",
    "macs_of",
    "optimize",
    "parse_drop",
    "prepare",
    "prepared_floats",
    "quantize_graph",
    "quantize_model",
    "watched",
    "with_evaluation_points",
]
