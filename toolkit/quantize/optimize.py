"""The order of a quantization: calibrate, choose ranges, weights, biases, and what stays float."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..errors import UserError
from ..ir import Graph
from ..ops import definition
from ..progress import Progress
from .calibrate import Calibration, Sample, calibrate
from .options import OBSERVERS, Decision, Options, Range
from .plan import Plan
from .search import Search, fixed_ranges, trials_for
from .tail import TAIL_GAIN_DB, float_tail
from .trial import Trials

SCALES_GAIN_DB = 0.1
NO_CORRECTION_GAIN_DB = 0.5
"""What the outputs must gain for a step to be taken, or for bias correction not to be."""


@dataclass
class Quantized:
    """The int8 graph and how it came about.

    sqnr_db is on the kept calibration samples, averaged over the probes (probes.py): for the
    searched observer an optimistic estimate.
    """

    graph: Graph
    decisions: list[Decision]
    ranges: dict[str, Range]
    observer: str
    options: Options
    samples: int
    trials: int
    sqnr_db: float


def quantize_model(
    graph: Graph,
    samples: Iterable[Sample],
    observer: str = "auto",
    progress: Progress | None = None,
) -> Quantized:
    """`graph` on int8, its ranges from `samples` by `observer` (one of OBSERVERS).

    The same graph and samples give the same result. Raises UserError for an unknown observer or
    samples that do not fit, CalibrationError for values that are not finite.
    """
    if observer not in OBSERVERS:
        raise UserError(f"no observer '{observer}'; there are: {', '.join(OBSERVERS)}")
    return optimize(graph, calibrate(graph, samples, progress), observer, progress)


def optimize(
    graph: Graph, calibration: Calibration, observer: str, progress: Progress | None = None
) -> Quantized:
    """As quantize_model, from statistics that are already there."""
    job = _Job(graph, calibration)
    if observer == "auto":
        job.search(progress)
    else:
        job.fix(observer)
    return job.result(observer)


class _Job:
    """The best found so far; each step keeps what it tries only if the outputs gain."""

    def __init__(self, graph: Graph, calibration: Calibration) -> None:
        self.floats, self.calibration = graph, calibration
        self.wide = fixed_ranges(calibration, "minmax")
        self.ranges = self.wide
        self.options = Options(means=calibration.means())
        self.plan = Plan(graph, self.wide, self.options)
        self.trials = Trials(calibration)
        self.score = self.trials.score(self.plan, self.ranges)

    def fix(self, observer: str) -> None:
        """One observer for all, and the steps that need no search."""
        self.ranges = fixed_ranges(self.calibration, observer)
        self.score = self.trials.score(self.plan, self.ranges)
        self._consider(replace(self.options, search_scales=True), SCALES_GAIN_DB)
        self.choose_options()

    def search(self, progress: Progress | None) -> None:
        """The best observer to start from, then tensor by tensor."""
        budget = trials_for(macs_of(self.floats), len(self.trials.kept))
        search = Search(self.plan, self.calibration, self.trials, budget, progress)
        scaled = replace(self.options, search_scales=True)
        search.choose_start([self.plan, Plan(self.floats, self.wide, scaled)])
        self._adopt(search)
        self.choose_options()
        search.plan, search.score = self.plan, self.score
        search.descend()
        self._adopt(search)

    def _adopt(self, search: Search) -> None:
        assert search.score is not None
        self.plan, self.options = search.plan, search.plan.options
        self.ranges, self.score = search.ranges, search.score

    def choose_options(self) -> None:
        """The steps that change more than ranges, each measured."""
        tail = float_tail(self.plan.graph)
        if tail:
            self._consider(
                replace(self.options, precision=dict.fromkeys(sorted(tail), "float32")),
                TAIL_GAIN_DB,
            )
        self._consider(replace(self.options, means={}), NO_CORRECTION_GAIN_DB)

    def _consider(self, options: Options, margin: float) -> None:
        plan = Plan(self.floats, self.wide, options)
        score = self.trials.score(plan, self.ranges)
        if score.beats(self.score, margin):
            self.plan, self.options, self.score = plan, options, score

    def result(self, observer: str) -> Quantized:
        graph, decisions = self.plan.emit(self.ranges)
        return Quantized(
            graph,
            decisions,
            self.ranges,
            observer,
            self.options,
            self.calibration.samples,
            self.trials.count,
            self.score.mean_db,
        )


def macs_of(graph: Graph) -> int:
    """Multiply-accumulates of the nodes with weights, which outweigh all else."""
    total = 0
    for node in graph.nodes:
        at = definition(node.op).weight
        if at is not None:
            w = node.input(at)
            x = node.input(0) if node.op == "ConvTranspose2d" else node.output
            total += x.type.size * (w.type.size // w.shape[0])
    return total
