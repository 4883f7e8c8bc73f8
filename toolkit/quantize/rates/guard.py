"""Default accuracy limits of weight compression without a budget, on held-out samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...decibels import ratio_db
from ..mixed_precision.evaluator import Evaluator
from ..outputs.signals import CONSTANT, energies
from ..quality import GOOD_CHANGED
from ..ranges.candidate_evaluation import LEAST

CLASSES_DB, VALUES_DB = 24.0, 20.0
"""Minimum SQNR of outputs that are compared as classes, and of other outputs. For the latter, the
signal is the variation over the samples: the metric of an anomaly detector whose outputs vary by a
tenth of their magnitude depends on the variation only."""
EXPECTED = 0.0025
"""Maximum expected loss of correct predictions, as a fraction of all."""
SPENT_DB = 1.0
"""Maximum loss of SQNR if the file before compression already misses a limit above."""


@dataclass(frozen=True)
class Loss:
    """Margin of the worst output's SQNR in dB over its limit, and fractions of predictions."""

    spare_db: float
    changed: float
    expected: float

    @staticmethod
    def of(evaluator: Evaluator) -> Loss:
        score, base = evaluator.score(evaluator.base), evaluator.base
        trials, spare = evaluator.trials, float("inf")
        compared = evaluator.figures.answers.compared
        classes = {of.tensor for of in compared if of.part is None and not of.least}
        points = zip(trials.points, trials.truth, trials.weights, score.noise, strict=True)
        for point, truth, weights, noise in points:
            if point.votes:
                continue
            signal, least = float(energies([truth.values()], weights[None])[0]), CLASSES_DB
            if point.axis is None and point.tensor not in classes and not point.empty:
                x = np.stack([v.ravel() for v in truth.values()]) * np.sqrt(weights)[:, None]
                varied = float(np.sum(np.square(x - x.mean(axis=0))))
                if varied > CONSTANT * signal:
                    signal, least = varied, VALUES_DB
            spare = min(spare, ratio_db(max(signal, LEAST), float(noise.sum())) - least)
        answers = evaluator.quality(base).answers
        shares = (0.0, 0.0) if answers is None else (answers.changed, answers.expected)
        return Loss(spare, *shares)

    def within(self, before: Loss) -> bool:
        """Whether it meets the limits, or is no worse than `before` (for SQNR: by SPENT_DB)."""
        return (
            self.spare_db >= min(0.0, before.spare_db - SPENT_DB)
            and self.changed <= max(GOOD_CHANGED, before.changed)
            and self.expected <= max(EXPECTED, before.expected)
        )
