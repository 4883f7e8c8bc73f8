"""What a quantized file costs against the float model."""

from .compare import LayerReport, OutputReport, Report, compare
from .metrics import Difference, Top1, predicted_class, sqnr_db
from .oracle import OnnxRuntime, Oracle, OwnRuntime, make_oracle

__all__ = [
    "Difference",
    "LayerReport",
    "OnnxRuntime",
    "Oracle",
    "OutputReport",
    "OwnRuntime",
    "Report",
    "Top1",
    "compare",
    "make_oracle",
    "predicted_class",
    "sqnr_db",
]
