"""How good a quantization is, without labels: good, usable or broken, and the figure that says so.

docs/quantization.md has what these figures were on real models beside what their metrics lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from ..decibels import in_words, ratio_db
from .ranges.answers import AnswerLoss
from .ranges.candidate_evaluation import Score
from .ranges.evaluation_points import EvaluationPoint

Level = Literal["good", "usable", "broken"]
OnLowAccuracy = Literal["promote", "warn", "fail"]
ON_LOW_ACCURACY: tuple[OnLowAccuracy, ...] = get_args(OnLowAccuracy)
"""What is done below the floor: precisions are mixed, it is only said, or the command fails."""

GOOD_DB = 20.0
"""SQNR that every output of a good quantization has: an error of a tenth. With as much the metric
of no real model that was tried lost 2 %."""
FLOOR_DB = 15.0
"""Below, errors are a sixth or more of the signal, and the model is called broken: the worst output
of a real model that lost nothing has 17 dB."""
GOOD_LOSS, FLOOR_LOSS = 0.01, 0.02
"""The expected loss of right answers, as a share of them."""
GOOD_CHANGED = 0.02
"""The share of answers that may be others than the float model's."""


def level_of(db: float | None, changed: float = 0.0, expected: float = 0.0) -> Level:
    """What a model is with this SQNR at its worst output, None without any, this share of answers
    changed and this expected loss of right ones."""
    if expected > FLOOR_LOSS or (db is not None and db < FLOOR_DB):
        return "broken"
    if max(expected / GOOD_LOSS, changed / GOOD_CHANGED) > 1.0 or (db is not None and db < GOOD_DB):
        return "usable"
    return "good"


@dataclass(frozen=True)
class Quality:
    """`sqnr_db` of each output, by the name of the tensor that it is judged by (ranges/
    evaluation_points.py): the least of its points; of outputs of few numbers that of how they vary
    over the samples. `temperature` where that is of a softmax at another than 1. `answers` where
    the model compares classes.

    On `samples` calibration samples; `held_out`: each by ranges and weights that it did not make.
    `chosen`: precisions were chosen for fewer changed answers on these samples.
    """

    sqnr_db: dict[str, float]
    answers: AnswerLoss | None
    samples: int
    held_out: bool
    chosen: bool = False
    temperature: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def of(
        score: Score,
        points: Sequence[EvaluationPoint],
        answers: AnswerLoss | None = None,
        held_out: bool = False,
    ) -> Quality:
        levels: dict[str, tuple[float, float]] = {}
        signals = score.signal if score.variation is None else score.variation
        for point, signal, noise in zip(points, signals, score.noise, strict=True):
            if point.votes:
                continue
            db = ratio_db(float(signal), float(noise.sum())) if signal or noise.any() else np.inf
            found = levels.get(point.tensor, (np.inf, 1.0))
            levels[point.tensor] = min(found, (db, point.temperature))
        known = {name: level for name, level in levels.items() if np.isfinite(level[0])}
        return Quality(
            {name: round(db, 2) for name, (db, _) in known.items()},
            answers,
            score.noise.shape[1],
            held_out,
            temperature={name: round(t, 2) for name, (_, t) in known.items() if t != 1.0},
        )

    @property
    def worst(self) -> tuple[str, float] | None:
        """The output with the least SQNR; None without outputs of floats."""
        return min(self.sqnr_db.items(), key=lambda item: item[1], default=None)

    @property
    def level(self) -> Level:
        """One sample that made the ranges says nothing of others: usable at best."""
        expected = self.answers.expected if self.answers else 0.0
        level = level_of(self.worst[1] if self.worst else None, self._changed, expected)
        return "usable" if level == "good" and self.samples < 2 and not self.held_out else level

    @property
    def changes_too_many(self) -> bool:
        """Whether more answers changed than in a good quantization."""
        return self._changed > GOOD_CHANGED

    @property
    def _changed(self) -> float:
        """The share of answers that changed; of one sample, as likely by chance, no more than is
        to be expected of many. Samples that chose the precisions flatter: they count twice."""
        a = self.answers
        if a is None:
            return 0.0
        if a.changed * self.samples < 1.5:
            share = min(a.changed, a.chance)
        else:
            share = max(a.changed, a.chance) if self.chosen else a.changed
        return 2 * share if self.chosen else share

    def loss(self, strict: bool = False) -> float:
        """What a good quantization may lose is 1: in amplitude of noise, of right answers, and if
        `strict` of those that differ from the float model's."""
        lack = 0.0 if self.worst is None else 10 ** ((GOOD_DB - self.worst[1]) / 20)
        if self.answers is None:
            return lack
        changed = self._changed / GOOD_CHANGED if strict else 0.0
        return max(lack, self.answers.expected / GOOD_LOSS, changed)

    def in_words(self) -> str:
        """The figures that the level is judged by."""
        told = []
        if self.worst is not None:
            name, db = self.worst
            several = f" at '{name}' (worst output)" if len(self.sqnr_db) > 1 else ""
            soft = self.temperature.get(name)
            told.append(f"SQNR {in_words(db)}{_softened(soft)}{several}")
        if self.answers is not None:
            told.append(f"{self.answers.changed:.1%} of the answers changed")
        return ", ".join(told) or "no output of floats to judge"

    def to_json(self) -> dict[str, Any]:
        """As documented for --json."""
        return asdict(self) | {"level": self.level}


def _softened(temperature: float | None) -> str:
    return "" if temperature is None else f" (softmax at temperature {temperature:.3g})"
