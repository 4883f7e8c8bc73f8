"""What a quantized file costs against the float model."""

from .compare import LayerReport, OutputReport, Report, compare
from .explain import SAMPLES, Explanation, LayerCost, explain
from .judge import Judge, check_class
from .metrics import EXACT_DB, Difference, Top1, predicted_class, sqnr_db
from .oracle import OnnxRuntime, Oracle, OwnRuntime, make_oracle
from .words import costs, summary

__all__ = [
    "EXACT_DB",
    "SAMPLES",
    "Difference",
    "Explanation",
    "Judge",
    "LayerCost",
    "LayerReport",
    "OnnxRuntime",
    "Oracle",
    "OutputReport",
    "OwnRuntime",
    "Report",
    "Top1",
    "check_class",
    "compare",
    "costs",
    "explain",
    "make_oracle",
    "predicted_class",
    "sqnr_db",
    "summary",
]
