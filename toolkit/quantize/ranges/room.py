"""Margins of int8 ranges beyond the calibration samples, chosen on held-out samples.

The samples that determine a range cannot show what it clips. On unseen samples of several real
models, the worst twentieth of the samples has nine tenths of the error. Therefore ranges are
computed without a part of the samples, and evaluated on that part, each part in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..scheme.options import Range, Ranges
from ..scheme.plan import Plan
from .calibration import Calibration
from .candidate_evaluation import CandidateEvaluator, Score
from .held_out import held_out, held_out_by

TOP, FEWEST = 8, 2
"""The tail of a tensor: the eighth of the samples with the largest values, at least two."""
MOST = 0.6
"""Maximum widening by a tail, relative to the width of the range."""
GAIN_DB = 2.0
"""Minimum total gain of wider ranges; smaller gains may be chance."""
LOSS_DB = 0.2
"""Maximum loss of the average sample: samples that are not clipped get coarser steps."""


@dataclass(frozen=True)
class Room:
    """A margin: ranges are `times` as wide as min-max, and each end is extended by `tail` times the
    mean distance of the tensor's tail from the next sample (0 if all samples reach equally far)."""

    times: float = 1.0
    tail: float = 0.0

    def ranges(self, calibration: Calibration, places: slice = slice(0, 0)) -> dict[str, Range]:
        """The ranges without the kept samples at `places`."""
        found = calibration.without(places)
        rows = calibration.ends_without(places) if self.tail else {}
        for name, (low, high) in found.items():
            if name in rows:
                most = MOST * (high - low)
                low -= min(most, self.tail * _excess(-rows[name][:, 0])) if low else 0.0
                high += min(most, self.tail * _excess(rows[name][:, 1])) if high else 0.0
            found[name] = calibration.bounded(name, (low * self.times, high * self.times))
        return found


def _excess(ends: NDArray[np.float64]) -> float:
    """Mean distance of the tail from the next sample."""
    count = max(FEWEST, len(ends) // TOP)
    if len(ends) <= count:
        return 0.0
    largest = np.sort(ends)[::-1]
    return float(np.mean(largest[:count] - largest[count]))


ROOMS = (Room(1.1), Room(1.2), Room(1.35), Room(tail=1.0), Room(tail=2.0), Room(tail=4.0))
"""A third more width costs 2.6 dB if nothing is clipped; `tail` only affects tensors with a
tail."""


def find_room(
    plan: Plan, ranges: Ranges, calibration: Calibration, trials: CandidateEvaluator, own: Score
) -> Room | None:
    """The margin with the best score on held-out samples; None if their score with `ranges` is
    close to `own`, the score on the samples that determined `ranges`."""
    if len(trials.kept) < 2 or not len(trials.points):
        return None
    first = best = held_out([plan], ranges, calibration, trials)
    if own.mean_db < first.mean_db + GAIN_DB:
        return None
    found: Room | None = None
    for room in ROOMS:
        score = held_out_by([plan], _maker(room, calibration), trials)
        gains = score.mean_db > max(first.mean_db + GAIN_DB, best.mean_db)
        if gains and score.gain_db(first) > -LOSS_DB:
            best, found = score, room
    return found


def _maker(room: Room, calibration: Calibration) -> Callable[[slice], Ranges]:
    return lambda places: room.ranges(calibration, places)
