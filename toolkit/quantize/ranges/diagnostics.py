"""Warnings about calibration samples that are not representative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ...ir import Array
from .calibration import Calibration
from .samples_needed import FEW

SHORTEST = 8
"""Length of an axis along which windows may overlap."""
PROBED, TRIED = 8, 16
"""Rows by which steps between windows are found, and how many of these are compared whole."""


def calibration_warnings(calibration: Calibration, batch: int = 1) -> list[str]:
    """A line for each warning.

    The model takes `batch` samples at a time, which calibration counts as one.
    """
    kept, found = calibration.kept, []
    inputs = calibration.inputs
    for name in inputs[0]:
        values = {(float(x[name].min()), float(x[name].max())) for x in inputs if x[name].size}
        if len(values) == 1 and len(set(*values)) == 1:
            found.append(
                f"input '{name}' is {min(*values):g} everywhere in every sample; ranges for other "
                "values are not calibrated"
            )
    if len(kept) > 1 and not found:
        if alike(inputs):
            found.append(
                f"all {len(kept)} samples are identical and count as one; calibrate with different "
                "samples"
            )
        elif (worth := separate(inputs, FEW)) < min(len(kept), FEW):
            found.append(
                f"the {len(kept)} samples are overlapping windows, worth {worth} that do not "
                "overlap; calibrate with windows of other recordings"
            )
        elif kept[0].at_points and alike([k.at_points for k in kept]):
            found.append(
                "the float model gives the same answer for every sample; check the preprocessing "
                "(scale, mean, layout)"
            )
    samples = calibration.samples * batch
    if samples < FEW:
        found.append(
            f"only {samples} calibration sample{'s' * (samples > 1)}: other inputs will exceed "
            "these ranges; use about 100"
        )
    return found


def alike(arrays: Sequence[Mapping[str, Array]]) -> bool:
    """Whether all are equal, by name."""
    first = arrays[0]
    return all(np.array_equal(a[name], first[name]) for a in arrays[1:] for name in first)


def separate(samples: Sequence[Mapping[str, Array]], most: int) -> int:
    """How many separate samples these inputs are worth, if that is less than `most`; else their
    number.

    All that are equal are one, and a window that overlaps the one before it (of a stream, cut every
    few frames) counts as the part of it that is new.
    """
    if alike(samples):
        return 1
    found = 1.0
    for one, other in pairwise(samples):
        name = max(one, key=lambda n: one[n].size)
        found += _new_part(one[name], other[name])
        if found >= most:
            return len(samples)
    return int(found)


def _new_part(one: Array, other: Array) -> float:
    """The part of `other` that is not in `one`, moved along an axis; 1 if less than a quarter is
    there, or the same number everywhere."""
    if one.shape != other.shape:
        return 1.0
    for axis, length in enumerate(one.shape):
        if length < SHORTEST:
            continue
        a, b = (np.moveaxis(x, axis, 0).reshape(length, -1) for x in (one, other))
        steps = np.arange(1, length - length // 4 + 1)
        for part in np.linspace(0, 1, PROBED):
            rows = (part * (length - 1 - steps)).astype(int)
            steps = steps[(a[steps + rows] == b[rows]).all(axis=1)]
        for step in steps[:TRIED]:
            common = b[:-step]
            if np.array_equal(a[step:], common) and (common != common[0, 0]).any():
                return float(step / length)
    return 1.0
