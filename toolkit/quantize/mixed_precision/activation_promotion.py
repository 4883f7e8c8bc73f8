"""Makes a usable quantization good with as few int16 tensors as possible, or leaves it as it is.

Changed answers and shifted mask borders result from the noise of many tensors together. Tensors are
ranked by the noise that each removes from the outputs relative to the instructions and bytes that
it adds; bisection finds the shortest prefix of this order that is good with a margin, within the
limits. If none is, the longest prefix within them is used if it is good; as answers have no part in
its choice, those that change count once. If the model is not good with all tensors on int16, the
weights limit it, and nothing is promoted; where they are still to be rounded, only the part of the
error counts that this is expected to leave.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ...ir import Graph
from ...numerics import INT8, INT16, W8A16
from ...ops import is_a
from ...ops.elementwise.lut import SIZES, Lut
from ..quality import GOOD_KEPT, Quality
from ..scheme.macs import work_by_tensor
from .evaluator import Evaluator
from .floor_criteria import FloorCriteria
from .precision_change import Configuration, PrecisionChange
from .sensitivity import Gain

KEPT_AIM = 1 - 0.8 * (1 - GOOD_KEPT)
"""What masks and detections keep on the samples that choose the tensors; on others it is slightly
less."""
MEASURED = 1 / 8
"""Measurements to rank the tensors, as a share of those of a search with a budget."""
RESOLUTION = 1 / 16
"""Precision of the bisection, as a share of all changes."""

TABLE_BYTES = SIZES[INT16] * INT16.itemsize - SIZES[INT8]
"""Additional bytes of an int16 lookup table."""
NOTHING = 1e-6
"""Least relative cost of a change."""

Left = Callable[[Quality], float]
"""The part of the error of a configuration that counts."""


def lacks_precision(quality: Quality) -> bool:
    """Whether a usable quantization has too noisy outputs, too many changed answers, or too
    different masks or detections."""
    noisy = quality.lacking_db > 0
    few = noisy or quality.least_kept < GOOD_KEPT or quality.changes_too_many
    return quality.measured == "usable" and few


def promote_activations(
    evaluator: Evaluator, criteria: FloorCriteria, start: Configuration, left: Left = lambda _: 1.0
) -> tuple[Configuration, bool] | None:
    """`start` with as few int16 tensors as make it good, and whether answers have a part in their
    choice; None if that is not possible within the limits of `criteria`. `left` is the part of the
    error that stays, if weights are still to be rounded."""
    changes = [c for c in evaluator.changes_to(W8A16) if c not in start.changes]
    is_good = partial(_is_good, evaluator, left=left)
    if not changes or not is_good(start.plus(changes), chosen=False):
        return None
    order = _by_worth(evaluator, start, changes)
    most = _most(criteria, start, order)
    found = start.plus(order[:most])
    if most == len(order) or is_good(found):
        fewest = _fewest(evaluator, len(order), most, lambda n: is_good(start.plus(order[:n])))
        return start.plus(order[:fewest]), True
    # The most that fits may do without the margin: its weights are rounded anew, which gains.
    good = most and is_good(found, margin=False, chosen=False)
    return (found, False) if good else None


def _most(criteria: FloorCriteria, start: Configuration, order: Sequence[PrecisionChange]) -> int:
    """Length of the longest prefix of `order` within the limits, by bisection: of the instructions,
    then of the file and arena, which take a file to measure."""

    def longest(keeps: Callable[[Configuration], bool], most: int) -> int:
        if keeps(start.plus(order[:most])):
            return most
        lengths = range(1, most)
        return bisect_left(lengths, True, key=lambda n: not keeps(start.plus(order[:n])))

    return longest(criteria.fits, longest(criteria.affords, len(order)))


def _is_good(
    evaluator: Evaluator,
    configuration: Configuration,
    *,
    left: Left,
    margin: bool = True,
    chosen: bool = True,
) -> bool:
    """Whether it is good with the part `left` of its error: if `chosen` by these samples, changed
    answers count twice; with a `margin`, masks and detections reach KEPT_AIM."""
    quality = replace(evaluator.quality(configuration.assignment), chosen=chosen)
    part, aim = left(quality), KEPT_AIM if margin else GOOD_KEPT
    return quality.level_with(part) == "good" and 1 - part * (1 - quality.least_kept) >= aim


def _by_worth(
    evaluator: Evaluator, start: Configuration, changes: list[PrecisionChange]
) -> list[PrecisionChange]:
    """The changes ordered by removed noise relative to added cost, the sum of the relative growth
    of instructions and file."""
    most = math.ceil(MEASURED * evaluator.measurable)
    how = changes, start.assignment, lambda _, noise: Gain(noise), most
    gains = evaluator.gains(*how, by_worst=True)
    graph, _ = evaluator.plan(start.assignment).emit(evaluator.done.ranges, trial=True)
    work, tables = work_by_tensor(graph), _table_bytes(graph)
    file, whole = evaluator.size(start.assignment).storage, evaluator.work(start.assignment)

    def added(change: PrecisionChange) -> float:
        # A table counts at its input and at its output: half at each.
        parts = (work.get(n, 0) / whole + tables.get(n, 0) / 2 / file for n in change.tensors)
        return max(sum(parts), NOTHING)

    return sorted(changes, key=lambda c: -gains[c].noise / added(c))


def _table_bytes(graph: Graph) -> dict[str, int]:
    """Additional int16 bytes of the lookup tables that write or read each tensor."""
    found: dict[str, int] = {}
    for node in graph.nodes:
        if is_a(node, Lut) and (table := node.inputs[1]) is not None:
            more = table.type.size // SIZES[INT8] * TABLE_BYTES
            for v in (*node.dynamic_inputs, node.output):
                found[v.name] = found.get(v.name, 0) + more
    return found


def _fewest(evaluator: Evaluator, count: int, most: int, is_good: Callable[[int], bool]) -> int:
    """Length of the shortest prefix of `count` changes that is good, by bisection; that of length
    `most` is good."""
    low, high = 0, count
    while high - low > max(RESOLUTION * count, 1):
        middle = (low + high) // 2
        if middle >= most or is_good(middle):
            high = middle
        else:
            low = middle
        evaluator.progress("promoting tensors", count - (high - low), count)
    return min(high, most)
