"""How much wider int8 ranges must be than samples show, by samples that did not make them.

The samples that make a range cannot show what it clips: of several real models on samples not seen,
the twentieth with the largest error has nine tenths of it. So ranges are made without a part of the
samples, which judges them, each part in turn.
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
from .range_search import above

TOP, FEWEST = 8, 2
"""The eighth of the samples that reach furthest, at least so many, are the tail of a tensor."""
MOST = 0.6
"""Of its width, by which a tail makes a range wider."""
GAIN_DB = 2.0
"""By which wider ranges must be better in all: less is chance."""
LOSS_DB = 0.2
"""What the average sample may lose: where few samples are clipped the others have coarser steps."""


@dataclass(frozen=True)
class Room:
    """Ranges `times` as wide as min-max ones, and at each end by `tail` times what the tail of a
    tensor is on average beyond the samples before it: nothing where all reach as far."""

    times: float = 1.0
    tail: float = 0.0

    def ranges(self, calibration: Calibration, places: slice = slice(0, 0)) -> dict[str, Range]:
        """By all samples but the kept ones at `places`."""
        lowest, found = calibration.lowest(), calibration.without(places)
        rows = calibration.ends_without(places) if self.tail else {}
        for name, (low, high) in found.items():
            if name in rows:
                most = MOST * (high - low)
                low -= min(most, self.tail * _excess(-rows[name][:, 0])) if low else 0.0
                high += min(most, self.tail * _excess(rows[name][:, 1])) if high else 0.0
            found[name] = above((low * self.times, high * self.times), lowest.get(name))
        return found


def _excess(ends: NDArray[np.float64]) -> float:
    """Of the tail of the samples, over the sample before it."""
    count = max(FEWEST, len(ends) // TOP)
    if len(ends) <= count:
        return 0.0
    largest = np.sort(ends)[::-1]
    return float(np.mean(largest[:count] - largest[count]))


ROOMS = (Room(1.1), Room(1.2), Room(1.35), Room(tail=1.0), Room(tail=2.0), Room(tail=4.0))
"""A third more costs 2.6 dB where nothing is clipped; a tail costs only tensors that have one."""


def find_room(
    plan: Plan, ranges: Ranges, calibration: Calibration, trials: CandidateEvaluator, own: Score
) -> Room | None:
    """What serves samples best that did not make the ranges; None where those that made `ranges`,
    whose score is `own`, are hardly better off."""
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
