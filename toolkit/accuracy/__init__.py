"""What a quantized file costs against the float model."""

from .compare import LayerReport, OutputReport, Report, compare
from .evaluation_set import batch_of, check_labels
from .explain import explain
from .explanation import Explanation, LayerCost
from .formatting import costs, parts, summary
from .judge import ClassMeter, Judge, Meter, check_class, make_meter
from .metric import FORM, Metric, MetricFunction, open_metric
from .metrics import Difference, Top1, predicted_class, sqnr_db
from .named_metrics import NAMED
from .oracle import OnnxRuntime, Oracle, OwnRuntime, make_oracle
from .quality_meter import QualityMeter
from .watched_samples import SAMPLES, watched

__all__ = [
    "FORM",
    "NAMED",
    "SAMPLES",
    "ClassMeter",
    "Difference",
    "Explanation",
    "Judge",
    "LayerCost",
    "LayerReport",
    "Meter",
    "Metric",
    "MetricFunction",
    "OnnxRuntime",
    "Oracle",
    "OutputReport",
    "OwnRuntime",
    "QualityMeter",
    "Report",
    "Top1",
    "batch_of",
    "check_class",
    "check_labels",
    "compare",
    "costs",
    "explain",
    "make_meter",
    "make_oracle",
    "open_metric",
    "parts",
    "predicted_class",
    "sqnr_db",
    "summary",
    "watched",
]
