"""Two-fold cross-validation of weight rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...progress import Progress
from ...runtime import return_freed
from ..outputs.kept_samples import two_folds
from ..ranges.calibration import Calibration
from ..ranges.candidate_evaluation import HELD_OUT, CandidateEvaluator, Score
from ..scheme.options import Ranges, RoundedWeights
from ..scheme.plan import Plan
from .layer_rounding import round_by_halves


class JudgedByHalves(NamedTuple):
    """Weights rounded by a method on all samples and on each half, and the score of each half's
    weights on the other half."""

    score: Score
    method: str
    whole: RoundedWeights
    halves: list[RoundedWeights]


def best_by_halves(
    plan: Plan,
    ranges: Ranges,
    calibration: Calibration,
    nearest: tuple[CandidateEvaluator, Score],
    methods: Sequence[str],
    progress: Progress | None,
) -> JudgedByHalves | None:
    """The weights of the best rounding method; a method other than the first must be significantly
    better. None if every method is significantly worse than the `nearest` weights.

    The methods gain on nearly every model, but often by less than a few samples can distinguish
    from chance; therefore the requirement is only that they are not worse.
    """
    trials, plain = nearest
    if len(calibration.kept) < 2 or not plain.noise.size:
        return None
    best: JudgedByHalves | None = None
    samples = [s.inputs for s in calibration.kept]
    for method in methods:
        return_freed()  # by what came before
        whole, halves = round_by_halves(plan, ranges, samples, progress, method)
        return_freed()  # by rounding
        noise = plain.noise.copy()
        for rounded, (_, others) in zip(halves, two_folds(calibration.kept), strict=True):
            graph, _ = plan.with_rounded(rounded).emit(ranges)
            noise[:, others] = trials.noise(graph, others)
        score = Score(noise, plain.signal, plain.variation)
        harms = plain.surpasses(score, 0.0, HELD_OUT)
        if not harms and (best is None or score.surpasses(best.score, 0.0, HELD_OUT)):
            best = JudgedByHalves(score, method, whole, halves)
    return best
