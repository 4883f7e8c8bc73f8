"""The observer `auto`: for each tensor the range with the smallest error at the outputs.

It starts from the best fixed observer and goes through the tensors, the noisiest first. It keeps a
candidate if the quantized file, run on calibration samples, is closer to the float model: on half
of the samples, and on the other half as confirmation. The number of trials depends on the size of
the model only, so the same samples give the same file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist

from ....calibration import OBSERVERS, quantization_error
from ...progress import Progress
from ..scheme.options import Range
from ..scheme.plan import Plan
from ..scheme.qparams import width
from ..scheme.shared_scales import ScaleGroup
from .calibration import Calibration
from .candidate_evaluation import SIGNIFICANCE, CandidateEvaluator, Score

WORK = 3e11
"""Multiply-accumulates of a search."""
MAX_TRIALS = 160
PATIENCE = 25
"""Trials in a row without a gain after which a search ends. With fewer left none begins: so few of
the tensors of a large model hardly gain."""
MARGIN_DB = 0.03
"""Smaller gains are ignored."""


def fixed_ranges(calibration: Calibration, observer: str) -> dict[str, Range]:
    """Every tensor's range by one observer, as `bounded`."""
    names = [n for n, s in calibration.stats.items() if s.count]
    return {n: calibration.bounded(n, calibration.observed(observer, n)) for n in names}


def _trials_for(macs: int, samples: int) -> int:
    """The number of trials for a model of this size."""
    return int(min(MAX_TRIALS, max(8, WORK / (max(macs, 1) * max(samples, 1)))))


class RangeSearch:
    """Coordinate descent over the ranges of groups of tensors, from a plan with min-max ranges.

    `macs` of the model limit the number of trials, `times` multiplies that and the patience.
    """

    def __init__(
        self,
        plan: Plan,
        calibration: Calibration,
        trials: CandidateEvaluator,
        score: Score,
        macs: int,
        times: int = 1,
        progress: Progress | None = None,
    ) -> None:
        self.plan, self.trials = plan, trials
        self.budget = times * _trials_for(macs, len(trials.kept))
        self.patience = times * PATIENCE
        self.calibration, self.progress = calibration, progress
        self.ranges, self.score = fixed_ranges(calibration, "minmax"), score
        self._left = 0

    def choose_start(self, plans: Sequence[Plan]) -> None:
        """Choose another fixed observer, with one of these plans, if it is significantly better
        than min-max, which is the safest for unseen samples. Only the first plan is tried with
        every observer, the others with min-max and the best one: their weights differ.

        The best of n candidates needs a correspondingly higher significance (Bonferroni).
        """
        first, tries = self.score, len(plans) * len(OBSERVERS) - 1
        normal = NormalDist()
        errors = -normal.inv_cdf(normal.cdf(-SIGNIFICANCE) / tries)
        certain: list[tuple[float, Plan, dict[str, Range], Score]] = []
        starts = {name: fixed_ranges(self.calibration, name) for name in OBSERVERS}
        for plan in plans:
            gains: dict[str, float] = {}
            for name, ranges in starts.items():
                score = self.trials.contend(plan, ranges, first)
                if score is None:
                    continue
                gains[name] = score.gain_db(first)
                if score.beats(first, 0.0, errors):
                    certain.append((gains[name], plan, ranges, score))
            if plan is plans[0]:
                best = max(gains, key=lambda name: gains[name], default="minmax")
                starts = {name: starts[name] for name in dict.fromkeys(("minmax", best))}
            self._report()
        if certain:
            _, self.plan, self.ranges, self.score = max(certain, key=lambda found: found[0])

    def descend(self) -> None:
        """Go through the tensors once, the noisiest first, within the number of trials and as long
        as `patience` lasts.

        The error is convex in the ends of a range: clipping is a sum of squared distances, and
        rounding noise grows with the square of the width. Ranges beyond one that loses are skipped
        and count as tried. A second round was tried without significant gains.
        """
        in_vain = 0
        if self.budget - self.trials.count < PATIENCE:
            return
        for scale_group in self._by_noise():
            lost: list[dict[str, Range]] = []
            for ranges in self._alternatives(scale_group):
                if self.trials.count + self._left >= self.budget or in_vain >= self.patience:
                    return
                now = {name: self.ranges[name] for name in ranges}
                if any(_beyond(ranges, worse, now) for worse in lost):
                    self._left += 1
                    continue
                tried = self.ranges | ranges
                score, worse = self.trials.challenge(self.plan, tried, self.score, MARGIN_DB)
                in_vain += 1
                if score is not None:
                    self.ranges, self.score, lost, in_vain = tried, score, [], 0
                elif worse:
                    lost.append(ranges)
                self._report()

    def _report(self) -> None:
        if self.progress:
            done = min(self.trials.count + self._left, self.budget)
            self.progress("searching ranges", done, self.budget)

    def _by_noise(self) -> list[ScaleGroup]:
        """Groups sorted by the SQNR of the tensor itself with its range, the noisiest first."""

        def noise(scale_group: ScaleGroup) -> float:
            return max(self._relative_noise(v.name) for v in scale_group.readers)

        return sorted(self.plan.free_scale_groups(), key=noise, reverse=True)

    def _relative_noise(self, name: str) -> float:
        stats = self.calibration.stats[name]
        low, high = self.ranges[name]
        power = quantization_error(stats, 0.0, 0.0)
        return quantization_error(stats, low, high) / power if power else 0.0

    def _alternatives(self, scale_group: ScaleGroup) -> list[dict[str, Range]]:
        """Candidate ranges of a group, with one rule for all of its tensors, the nearest first."""
        by_rule: dict[str, dict[str, Range]] = {}
        for v in scale_group.readers:
            for rule, found in self.calibration.candidates(v.name):
                by_rule.setdefault(rule, {})[v.name] = self.calibration.bounded(v.name, found)
        now = {v.name: self.ranges[v.name] for v in scale_group.readers}
        options = [_scaled(now, factor) for factor in (0.94, 1.06)]
        options += [now | ranges for ranges in by_rule.values()]
        distinct: list[dict[str, Range]] = []
        for option in options:
            if not any(_alike(option, known) for known in [now, *distinct]):
                distinct.append(option)
        return distinct


def _scaled(ranges: Mapping[str, Range], factor: float) -> dict[str, Range]:
    return {name: (low * factor, high * factor) for name, (low, high) in ranges.items()}


def _beyond(a: Mapping[str, Range], b: Mapping[str, Range], now: Mapping[str, Range]) -> bool:
    """Whether `b` lies between `now` and `a`."""
    return (_within(a, b) and _within(b, now)) or (_within(b, a) and _within(now, b))


def _within(a: Mapping[str, Range], b: Mapping[str, Range]) -> bool:
    """Whether ranges are those of `b` or narrower."""
    return all(b[name][0] <= low and high <= b[name][1] for name, (low, high) in a.items())


def _alike(a: Mapping[str, Range], b: Mapping[str, Range]) -> bool:
    """Whether all ends agree to a fifth of a step."""
    return all(
        abs(x - y) <= width(a[name]) / 1280
        for name in a
        for x, y in zip(a[name], b[name], strict=True)
    )
