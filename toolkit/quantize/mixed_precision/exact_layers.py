"""Models that 8-bit weights break, whatever their activations: the layers that become float32.

Weights of one scale per channel are too coarse where a few of them are a hundred times larger than
the others, and these matter too: a classifier of which some channels rule out whole places. Few
layers are like that, and in float32 they are cheaper than int16 tensors everywhere. If more are,
and the limits leave no room for float32 beside int16, all tensors on int16 are the best there is.
"""

from __future__ import annotations

import math

from ...numerics import FLOAT32, W8A16
from ..scheme.macs import work_by_tensor
from .evaluator import Evaluator
from .floor_criteria import FloorCriteria
from .precision_change import Configuration
from .tuning import EXPECTED_AFTER_ROUNDING

MUCH = 0.05
"""Share of the noise from which a layer becomes float32."""
SAMPLES = 3
"""Samples that shares are measured on."""
CLEAR = 2.0
"""If the other layers cause this multiple of the noise that may stay, no more are measured."""


def are_weights_too_coarse(evaluator: Evaluator, start: Configuration) -> bool:
    """Whether the model is broken with all tensors on int16, also if weights are rounded for it."""
    return _level(evaluator, _wide(evaluator, start)) == "broken"


def exact_layers(
    evaluator: Evaluator, criteria: FloorCriteria, start: Configuration
) -> Configuration | None:
    """`start` with the layers in float32 of which weights cause much of the noise at the worst
    outputs, if it is not broken then with all tensors on int16, and within the limits of
    `criteria`."""
    quality = evaluator.quality(start.assignment)
    lack = -20 * math.log10(EXPECTED_AFTER_ROUNDING)
    if quality.worst is not None:
        name, db = quality.worst
        lack += db - quality.limits_db(name)[0]
    left = CLEAR * 10 ** (lack / 10)
    found = start
    for change, share in evaluator.weight_shares(start.assignment, SAMPLES, MUCH):
        if share >= MUCH:
            found = found.plus([change])
        else:
            left -= share
        if left < 0 or not criteria.affords(found):
            return None
    mends = found != start and _level(evaluator, _wide(evaluator, found)) != "broken"
    return found if mends and criteria.fits(found) else None


def all_wide(
    evaluator: Evaluator, criteria: FloorCriteria, start: Configuration
) -> Configuration | None:
    """All tensors on int16, if the limits leave no room for float32 beside them: a search of many
    minutes would find little more."""
    wide = _wide(evaluator, start)
    if not criteria.fits(wide):
        return None
    graph, _ = evaluator.plan(start.assignment).emit(evaluator.done.ranges, trial=True)
    work = work_by_tensor(graph)
    floats = evaluator.changes_to(FLOAT32)
    floats.sort(key=lambda c: sum(work.get(name, 0) for name in c.tensors))
    mixes = wide.plus(floats[:1]), start.plus(floats)
    return None if floats and any(criteria.fits(mix) for mix in mixes) else wide


def _wide(evaluator: Evaluator, start: Configuration) -> Configuration:
    return start.plus(evaluator.changes_to(W8A16))


def _level(evaluator: Evaluator, configuration: Configuration) -> str:
    return evaluator.quality(configuration.assignment).level_with(EXPECTED_AFTER_ROUNDING)
