"""The result of a quantization: the integer graph, how it was derived, and its score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..ir import Graph
from .budget import Mixed
from .equalization.bias_absorption import Shifts
from .equalization.cross_layer import Exponents
from .ranges.calibration import Calibration
from .ranges.candidate_evaluation import Score
from .ranges.sample_outliers import SampleOutlier
from .scheme.options import METHODS, Decision, Options, Range, RoundedWeights
from .scheme.plan import Plan


@dataclass
class Quantized:
    """The quantized graph and how it was derived.

    `floats` is the float graph that was quantized: the given one, or the equivalent graph equalized
    by `exponents` and then shifted by `shifts`. `score` is measured on the kept calibration samples
    at the evaluation points (outputs/evaluation_points.py); with searched ranges it is optimistic.
    `calibration` belongs to `floats`, `given` to the given graph. `rounding` is the method for
    fitted weights, one of METHODS.

    `held_out`: `score` is cross-validated, each half (outputs/kept_samples.py) of the kept samples
    with weights rounded for the other half; `by_halves` are these weights.
    `outliers` are samples that differ from all others. `finish`, if weights are not rounded yet,
    gives the quantization with rounded weights.
    """

    graph: Graph
    floats: Graph
    exponents: Exponents
    shifts: Shifts
    decisions: list[Decision]
    ranges: dict[str, Range]
    observer: str
    options: Options
    samples: int
    trials: int
    score: Score
    plan: Plan
    calibration: Calibration
    given: Calibration
    mixed: Mixed | None = None
    rounding: str = METHODS[0]
    by_halves: Sequence[RoundedWeights] = ()
    held_out: bool = False
    outliers: Sequence[SampleOutlier] = ()
    finish: Callable[[], Quantized] | None = None

    @property
    def sqnr_db(self) -> float:
        """The mean SQNR over the evaluation points."""
        return self.score.mean_db

    def finished(self) -> Quantized:
        """With rounded weights, if they are not rounded yet."""
        return self if self.finish is None else replace(self.finish(), outliers=self.outliers)

    @property
    def is_plain(self) -> bool:
        """Whether the channels and weights are as a plain start leaves them (QuantizeOptions)."""
        return not (self.exponents or self.options.rounded)
