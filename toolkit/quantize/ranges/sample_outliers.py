"""Calibration samples unlike all others: one of them can take nearly all steps from the rest.

A range holds the largest value of any sample. Where a sample drives many tensors, or an input,
several times as far as every other, the others are left with a part of the steps. Which sample that
is shows in the largest value that each tensor has on each sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...ir import Graph
from ...progress import Progress
from ..scheme.options import Options
from ..scheme.plan import Plan
from .calibration import AnySize, Calibration, Sample, calibrate
from .candidate_evaluation import CandidateEvaluator, Score
from .range_search import fixed_ranges

FEWEST = 8
"""Samples of which one can be told to be unlike the others."""
SHARE = 0.05
"""Of the samples, at most, that are outliers: more of them are a kind of sample."""
FACTOR = 4.0
"""How many times as far as the others a sample must drive a tensor: two bits of their eight."""
TENSORS = 0.1
FEWEST_TENSORS = 3
"""Of the tensors must be driven so far, this share and so many, or an input: behind an exponential
alone, ordinary samples reach as far."""
FARTHEST = 8.0
"""How many times as far as the others int16 tensors follow an outlier: three bits of their 16."""
GAIN_DB = 1.0
"""What the other samples must gain for ranges without an outlier."""


@dataclass(frozen=True)
class SampleOutlier:
    """Sample `index`, from 0, drives `tensor` to `reach`, and every other sample to `others` at
    most, and so `share` of the tensors FACTOR times as far or farther. `gain_db`: what the other
    samples gain at the outputs where ranges leave it out, as they do if it is not None."""

    index: int
    tensor: str
    reach: float
    others: float
    share: float
    gain_db: float | None = None

    def in_words(self, name: str | None = None) -> str:
        """With the sample's name, if that is known."""
        drives = (
            f"{name or f'sample {self.index}'} is an outlier: '{self.tensor}' reaches "
            f"{self.reach:.4g} (other samples: {self.others:.4g}); so do {self.share:.0%} "
            f"of the tensors, by a factor of {FACTOR:g} or more"
        )
        if self.gain_db is None:
            return f"{drives}. The ranges include it: the other samples lose little"
        return f"{drives}. The ranges exclude it: the other samples gain {self.gain_db:.1f} dB"


def find_outliers(
    reach: Mapping[str, NDArray[np.float64]], inputs: Iterable[str]
) -> list[SampleOutlier]:
    """The samples unlike all others, by the largest magnitude of each tensor on each sample."""
    names = list(reach)
    if not names:
        return []
    sizes = np.array([reach[n] for n in names])
    count = sizes.shape[1]
    if count < FEWEST:
        return []
    most = max(int(SHARE * count), 1)
    others = np.sort(sizes, axis=1)[:, -1 - most]
    ratios = np.where(others[:, None] > 0, sizes / np.maximum(others[:, None], 1e-30), 0.0)
    far = ratios >= FACTOR
    shares, many = far.mean(axis=0), far.sum(axis=0) >= FEWEST_TENSORS
    given = far[[n in set(inputs) for n in names]].any(axis=0)
    found = []
    for i in np.flatnonzero((many & (shares >= TENSORS)) | given):
        t = int(ratios[:, i].argmax())
        found.append(
            SampleOutlier(int(i), names[t], float(sizes[t, i]), float(others[t]), float(shares[i]))
        )
    return found


def without_outliers(
    graph: Graph,
    samples: Iterable[Sample],
    calibration: Calibration,
    progress: Progress | None = None,
    of_any_size: AnySize | None = None,
) -> tuple[Calibration, list[SampleOutlier]]:
    """The calibration by the other samples, where these gain by it at min-max ranges; and the
    outliers. `of_any_size` as for calibrate. The extremes of all stay `outlying`."""
    found = find_outliers(calibration.reach(), [p.value.name for p in graph.inputs])
    if not found:
        return calibration, []
    gone = {o.index for o in found}
    again = [s.inputs for s in calibration.kept]
    histograms = any(s.bins for s in calibration.stats.values())
    if of_any_size is not None or len(again) < calibration.samples:
        if iter(samples) is samples:  # a generator, which is read
            return calibration, found
        left = (s for i, s in enumerate(samples) if i not in gone)
        others = calibrate(graph, left, progress, of_any_size=of_any_size, histograms=histograms)
    else:
        inputs = [s for i, s in enumerate(again) if i not in gone]
        others = calibrate(graph, inputs, progress, histograms=histograms)
    trials = CandidateEvaluator(others)
    before, after = (_score(graph, c, trials) for c in (calibration, others))
    if not after.surpasses(before, GAIN_DB):
        return calibration, found
    gain = after.mean_db - before.mean_db
    known = others.extremes()
    for name, (low, high) in calibration.extremes().items():
        most = FARTHEST * max((abs(end) for end in known.get(name, ())), default=0.0)
        others.outlying[name] = max(low, -most), min(high, most)
    return others, [replace(o, gain_db=gain) for o in found]


def _score(graph: Graph, calibration: Calibration, trials: CandidateEvaluator) -> Score:
    ranges = fixed_ranges(calibration, "minmax")
    return trials.score(Plan(graph, ranges, Options()), ranges)
