"""Warnings about calibration samples that are not representative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...ir import Array
from .calibration import Calibration

FEW = 8
"""Fewer samples do not determine a range: a new one exceeds each end with chance 1 / (n + 1)."""


def calibration_warnings(calibration: Calibration, batch: int = 1) -> list[str]:
    """A line for each warning.

    The model takes `batch` samples at a time, which calibration counts as one.
    """
    kept, found = calibration.kept, []
    inputs = [k.inputs for k in kept]
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
