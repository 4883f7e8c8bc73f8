"""What a quantization found: the integer graph, how it came about, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    """The quantized graph and how it came about.

    `floats` is the float graph that was quantized: the one given, or its equal whose channels were
    scaled by `exponents`, then lowered by `shifts`. `score` is on the kept calibration samples, at
    the evaluation points (ranges/evaluation_points.py): for the searched observer an optimistic
    estimate. `calibration` is of `floats`, `given` of the graph given; `rounding` is how weights
    that are fitted to samples are, one of METHODS.

    `held_out` says whether `score` is, on each half (ranges/calibration.py) of the kept samples, of
    weights rounded for the other half; `by_halves` are those of the quantization to int8, if it was
    so. `outliers` are samples unlike all others.
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

    @property
    def sqnr_db(self) -> float:
        """Averaged over the evaluation points."""
        return self.score.mean_db
