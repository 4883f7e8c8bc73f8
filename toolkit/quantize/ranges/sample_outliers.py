"""Outliers among the calibration samples.

A range covers the largest value of any sample. If the values of one sample are several times as
large as those of all others, in many tensors or in an input, the others use only a few of the
steps. Outliers are found by the largest magnitude of each tensor on each sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...ir import Graph
from ...progress import Progress
from ..outputs.kept_samples import Sample
from ..scheme.options import Options
from ..scheme.plan import Plan
from .calibration import AnySize, Calibration, calibrate
from .candidate_evaluation import CandidateEvaluator, Score
from .range_search import fixed_ranges

FEWEST = 8
"""Minimum number of samples for outlier detection."""
SHARE = 0.05
"""Maximum share of outliers: more of them are a class of samples."""
FACTOR = 4.0
"""Factor by which an outlier exceeds the others: two of eight bits."""
TENSORS = 0.1
FEWEST_TENSORS = 3
"""Of the tensors must be driven so far, this share and so many, or an input: behind an exponential
alone, ordinary samples reach as far."""
GAIN_DB = 1.0
"""Minimum gain of the other samples for excluding an outlier."""
TELLING_DB = 15.0
"""SQNR below which the gain says nothing, and an outlier is excluded: it is measured with min-max
ranges in int8, before anything is promoted, as the front ends of networks for sound are."""


@dataclass(frozen=True)
class SampleOutlier:
    """In sample `index` (from 0), `tensor` reaches `reach`, in all others at most `others`; in a
    `share` of the tensors the factor is at least FACTOR. `gain_db` is the output gain of the other
    samples if ranges exclude the outlier; None if they do not exclude it."""

    index: int
    tensor: str
    reach: float
    others: float
    share: float
    gain_db: float | None = None

    def in_words(self, name: str | None = None) -> str:
        """As text, with the sample's name if it is known."""
        drives = (
            f"{name or f'sample {self.index}'} is an outlier: '{self.tensor}' reaches "
            f"{self.reach:.4g} (other samples: {self.others:.4g}); so do {self.share:.0%} "
            f"of the tensors, by a factor of {FACTOR:g} or more"
        )
        if self.gain_db is None:
            return f"{drives}. The ranges include it: the other samples lose little"
        gains = f": the other samples gain {self.gain_db:.1f} dB" if self.gain_db >= GAIN_DB else ""
        return f"{drives}. The ranges exclude it{gains}"


def find_outliers(
    reach: Mapping[str, NDArray[np.float64]], inputs: Iterable[str]
) -> list[SampleOutlier]:
    """The outliers, by the largest magnitude of each tensor on each sample."""
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
    """The calibration without outliers, unless the other samples gain little at min-max ranges; and
    the outliers. `of_any_size` as for calibrate."""
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
    if after.mean_db >= TELLING_DB and not after.surpasses(before, GAIN_DB):
        return calibration, found
    gain = after.mean_db - before.mean_db
    return others, [replace(o, gain_db=gain) for o in found]


def _score(graph: Graph, calibration: Calibration, trials: CandidateEvaluator) -> Score:
    ranges = fixed_ranges(calibration, "minmax")
    return trials.score(Plan(graph, ranges, Options()), ranges)
