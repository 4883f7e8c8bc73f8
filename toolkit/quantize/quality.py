"""How good a quantization is, without labels: good, usable or broken, and the figure that says so.

docs/quantization.md has what these figures were on real models beside what their metrics lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from ..decibels import in_words, ratio_db
from .outputs.answers import AnswerLoss
from .outputs.evaluation_points import EvaluationPoint
from .outputs.one_sided import OneSided
from .ranges.candidate_evaluation import ENOUGH_DB, Score
from .ranges.samples_needed import FEW

Level = Literal["good", "usable", "broken"]
LEVELS: tuple[Level, ...] = get_args(Level)
OnLowAccuracy = Literal["promote", "warn", "fail"]
ON_LOW_ACCURACY: tuple[OnLowAccuracy, ...] = get_args(OnLowAccuracy)
"""What is done below the floor: precisions are mixed, it is only said, or the command fails."""

GOOD_DB = ENOUGH_DB
"""SQNR that every output of a good quantization has: an error of a tenth. With as much the metric
of no real model that was tried lost 2 %."""
FLOOR_DB = 15.0
"""Below, errors are a sixth or more of the signal, and the model is called broken: the worst output
of a real model that lost nothing has 17 dB."""
REBUILT_FLOOR_DB = 10.0
"""The same of the difference from an input that an output rebuilds. That is an error already: its
energy grows by a tenth. Of an autoencoder that lost 4 % of its AUC it has 14 dB, of others that
lost less than 2 %, 9 to 13."""
LEVELED_GOOD_DB = 25.0
"""SQNR of a good quantization where errors count relative to each sample's level: what is added to
the noise that a denoiser leaves, 12 dB below the sound, costs 0.2 dB (2 %) of its SDR."""
RELATIVE_GOOD_DB = 30.0
"""The same where errors count relative to each number: with an error of 3 % depths lose 1 to 2 % of
their threshold accuracy, with 7 % (23 dB) 5 %."""
GOOD_LOSS, FLOOR_LOSS = 0.01, 0.02
"""The expected loss of right answers, as a share of them."""
GOOD_CHANGED = 0.02
"""The share of answers that may be others than the float model's."""
GOOD_KEPT, FLOOR_KEPT = 0.99, 0.9
"""Intersection over union of masks and F1 score of detections, relative to those of the float
model."""


def level_of(
    db: float | None,
    changed: float = 0.0,
    expected: float = 0.0,
    kept: float = 1.0,
    limits_db: tuple[float, float] = (FLOOR_DB, GOOD_DB),
) -> Level:
    """The level of a model by the SQNR of an output (None without float outputs) and what a usable
    and a good one have, the share of changed answers, the expected loss of right answers, and the
    least of Quality.masks and detections."""
    floor_db, good_db = limits_db
    if expected > FLOOR_LOSS or kept < FLOOR_KEPT or (db is not None and db < floor_db):
        return "broken"
    lost = max(expected / GOOD_LOSS, changed / GOOD_CHANGED)
    if lost > 1.0 or kept < GOOD_KEPT or (db is not None and db < good_db):
        return "usable"
    return "good"


@dataclass(frozen=True)
class Quality:
    """The figures of a quantization, on `samples`: of the `calibration` (a number of samples) that
    ranges come from, or others (0; also without ranges, in float32).

    `sqnr_db`: the least SQNR of each output, by the name of its evaluation point (ranges/
    evaluation_points.py). `varying`: outputs with an SQNR of the variation (outputs/signals.py).
    `between`: outputs whose SQNR is that of what their numbers differ by (outputs/unlike_parts.py).
    `temperature`: of the softmax with that SQNR, if it is not 1. `answers`: for models that compare
    classes. `masks`, `detections`: the mean intersection over union, and the expected F1 score,
    relative to the float model's, by tensor (outputs/masks.py, outputs/detections.py).
    `held_out`: ranges and weights come from other samples. `chosen`: precisions were chosen to
    reduce changed answers on these samples. `one_sided`: outputs of which these samples show one
    answer only. `added`: outputs whose SQNR is that of what the network adds
    to an input. `rebuilt`: the same of the difference from an input that they rebuild. `needed`:
    calibration samples below which the model is usable at best (ranges/samples_needed.py).
    `leveled`: outputs as large as the input is loud, whose errors count relative to the level of
    each sample. `relative`: those whose errors count relative to each number. `sequences`: file and
    float model each had its own state.
    """

    sqnr_db: dict[str, float]
    answers: AnswerLoss | None
    samples: int
    held_out: bool
    chosen: bool = False
    temperature: dict[str, float] = field(default_factory=dict)
    masks: dict[str, float] = field(default_factory=dict)
    detections: dict[str, float] = field(default_factory=dict)
    calibration: int = 0
    one_sided: tuple[OneSided, ...] = ()
    added: tuple[str, ...] = ()
    rebuilt: tuple[str, ...] = ()
    needed: int = FEW
    leveled: tuple[str, ...] = ()
    relative: tuple[str, ...] = ()
    varying: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    sequences: bool = False

    @staticmethod
    def of(
        score: Score,
        points: Sequence[EvaluationPoint],
        answers: AnswerLoss | None = None,
        held_out: bool = False,
        masks: Mapping[str, float] | None = None,
        detections: Mapping[str, float] | None = None,
    ) -> Quality:
        levels: dict[str, tuple[float, float, bool]] = {}
        signals = score.signal if score.variation is None else score.variation
        for point, signal, noise in zip(points, signals, score.noise, strict=True):
            if point.votes:
                continue
            db = ratio_db(float(signal), float(noise.sum())) if signal or noise.any() else np.inf
            found = levels.get(point.tensor, (np.inf, 1.0, False))
            softened = point.temperature if point.axis is not None else 1.0
            levels[point.tensor] = min(found, (db, softened, point.between))
        whole = [signal * p.part for p, signal in zip(points, score.signal, strict=True)]
        varying = [
            p.tensor
            for p, signal, most in zip(points, signals, whole, strict=True)
            if not p.votes and not p.is_relative and signal < most
        ]
        known = {name: level for name, level in levels.items() if np.isfinite(level[0])}
        return Quality(
            {name: round(db, 2) for name, (db, _, _) in known.items()},
            answers,
            score.noise.shape[1],
            held_out,
            temperature={name: round(t, 2) for name, (_, t, _) in known.items() if t != 1.0},
            masks={name: round(part, 4) for name, part in (masks or {}).items()},
            detections={name: round(part, 4) for name, part in (detections or {}).items()},
            added=tuple(dict.fromkeys(p.tensor for p in points if p.part < 1.0 and not p.rebuilt)),
            leveled=tuple(dict.fromkeys(p.tensor for p in points if p.follows is not None)),
            relative=tuple(dict.fromkeys(p.tensor for p in points if p.least is not None)),
            rebuilt=tuple(dict.fromkeys(p.tensor for p in points if p.rebuilt)),
            varying=tuple(dict.fromkeys(varying)),
            between=tuple(name for name, (_, _, between) in known.items() if between),
        )

    @property
    def worst(self) -> tuple[str, float] | None:
        """The output that is worst by its SQNR: by its level, then by what it lacks of that of a
        good one. None without outputs of floats."""

        def lack(output: tuple[str, float]) -> tuple[int, float]:
            name, db = output
            limits = self.limits_db(name)
            return LEVELS.index(level_of(db, limits_db=limits)), limits[1] - db

        return max(self.sqnr_db.items(), key=lack, default=None)

    @property
    def least_kept(self) -> float:
        """The least relative score of masks and detections; 1 without either."""
        return min((*self.masks.values(), *self.detections.values()), default=1.0)

    @property
    def level(self) -> Level:
        """Few calibration samples, or such as show one answer only, say too little of others:
        usable at best."""
        doubtful = self.few or bool(self.one_sided)
        return "usable" if self.measured == "good" and doubtful else self.measured

    @property
    def few(self) -> bool:
        """Whether there are fewer calibration samples than `needed`, or than FEW that are worth one
        each."""
        if not self.calibration:
            return False
        return self.samples < FEW or self.calibration < self.needed

    @property
    def measured(self) -> Level:
        """The level by the figures alone, however few the samples."""
        return self.level_with(1.0)

    def level_with(self, part: float) -> Level:
        """The level, were errors and losses this part of what they are."""
        expected = self.answers.expected if self.answers else 0.0
        figures = part * self._changed, part * expected, 1 - part * (1 - self.least_kept)
        known = [
            level_of(db - 20 * math.log10(part), *figures, self.limits_db(name))
            for name, db in self.sqnr_db.items()
        ]
        return max(known, key=LEVELS.index, default=level_of(None, *figures))

    def is_below(self, other: Quality) -> bool:
        """Whether the level is lower."""
        return LEVELS.index(self.measured) > LEVELS.index(other.measured)

    def with_errors(self, part: float) -> Quality:
        """The figures, were errors and losses this part of what they are."""
        answers = self.answers
        return replace(
            self,
            sqnr_db={n: db - 20 * math.log10(part) for n, db in self.sqnr_db.items()},
            answers=answers and AnswerLoss(*(part * share for share in astuple(answers))),
            masks={n: 1 - part * (1 - kept) for n, kept in self.masks.items()},
            detections={n: 1 - part * (1 - kept) for n, kept in self.detections.items()},
        )

    def limits_db(self, output: str) -> tuple[float, float]:
        """The SQNR of an output below which the model is broken, and from which it is good."""
        floor_db = REBUILT_FLOOR_DB if output in self.rebuilt else FLOOR_DB
        if output in self.relative:
            return floor_db, RELATIVE_GOOD_DB
        return floor_db, LEVELED_GOOD_DB if output in self.leveled else GOOD_DB

    @property
    def lacking_db(self) -> float:
        """What the SQNR of the worst output lacks of that of a good one; negative if it is more."""
        if self.worst is None:
            return -math.inf
        name, db = self.worst
        return self.limits_db(name)[1] - db

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
        """The largest of the noise amplitude, the expected loss of answers and, if `strict`, the
        share of changed answers, relative to what a good quantization may lose; and what masks and
        detections lack, relative to what a usable one may lose."""
        lack = 10 ** (self.lacking_db / 20)
        lack = max(lack, (1 - self.least_kept) / (1 - FLOOR_KEPT))
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
            of = " relative to the variation" if name in self.varying else ""
            of = " of what its numbers differ by" if name in self.between else of
            of = " of what is added to the input" if name in self.added else of
            of = " of the difference from the input" if name in self.rebuilt else of
            level = " relative to each sample's level" if name in self.leveled else ""
            level = " relative to each number" if name in self.relative else level
            told.append(f"SQNR {in_words(db)}{of}{level}{_softened(soft)}{several}")
        if self.answers is not None:
            twice = ""
            if self.chosen and self.answers.changed:
                twice = " (counted twice: these samples chose the precisions)"
            told.append(f"{self.answers.changed:.1%} of the answers changed{twice}")
        if self.masks:
            told.append(f"masks keep {min(self.masks.values()):.1%} of their IoU")
        if self.detections:
            told.append(f"detections keep {min(self.detections.values()):.1%} of their F1 score")
        over = " over sequences" if self.sequences else ""
        return (", ".join(told) or "no float output to evaluate") + over

    def to_json(self) -> dict[str, Any]:
        """As documented for --json."""
        return asdict(self) | {"level": self.level}


def _softened(temperature: float | None) -> str:
    return "" if temperature is None else f" at softmax temperature {temperature:.3g}"
