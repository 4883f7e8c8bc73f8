"""How much wider int8 ranges must be than samples show, by samples that did not make them.

The samples that make a range cannot show what it clips: of several real models on samples not seen,
the twentieth with the largest error has nine tenths of it. So ranges are made without a part of the
samples, which judges them, each part in turn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..scheme.plan import Plan
from .calibration import Calibration
from .candidate_evaluation import CandidateEvaluator, Score
from .range_search import above

ROOMS = (1.1, 1.2, 1.35)
"""Times as wide. A third costs 2.6 dB where nothing is clipped."""
PARTS = 4
ENOUGH = 2 * PARTS
"""Of fewer samples each is a part: ranges by half of the samples say little of those by all."""
GAIN_DB = 2.0
"""By which wider ranges must be better in all: less is chance."""
LOSS_DB = 0.2
"""What the average sample may lose: where few samples are clipped the others have coarser steps."""


def find_room(plan: Plan, calibration: Calibration, trials: CandidateEvaluator) -> float:
    """Times as wide as min-max ranges int8 ranges serve samples best that did not make them; 1
    where those that did are hardly better off."""
    if len(trials.kept) < 2 or not len(trials.points):
        return 1.0
    first = best = _held_out(plan, calibration, trials)
    own = trials.score(plan, plan.wide)
    room = 1.0
    if own.mean_db < first.mean_db + GAIN_DB:
        return room
    for tried in ROOMS:
        wider = plan.mixed(replace(plan.options, room=tried))
        score = _held_out(wider, calibration, trials)
        gains = score.mean_db > max(first.mean_db + GAIN_DB, best.mean_db)
        if gains and score.gain_db(first) > -LOSS_DB:
            best, room = score, tried
    return room


def _held_out(plan: Plan, calibration: Calibration, trials: CandidateEvaluator) -> Score:
    """Each part of the samples by the ranges of the others."""
    count = len(trials.kept)
    parts = PARTS if count >= ENOUGH else count
    noise = np.zeros((len(trials.points), count))
    lowest = calibration.lowest()
    for part in range(parts):
        at = slice(part, None, parts)
        ranges = {n: above(r, lowest.get(n)) for n, r in calibration.without(at).items()}
        noise[:, at] = trials.noise(plan.emit(ranges, trial=True)[0], at)
    trials.count -= parts - 1  # all of them run each sample once
    return Score(noise, trials.signal)
