"""Is one file ahead of another by more than the choice of evaluation samples explains?"""

from __future__ import annotations

import numpy as np
from accuracy_table import loss

RESAMPLES = 1000
MEANS = ("top1", "auc", "miou", "psnr", "mae_vs_float", "within_50cents")
"""Metrics of samples that may be drawn twice."""


def lead(model, ours, theirs, metric, real):
    """How far `theirs` (outputs of all samples) is ahead of `ours`, in the unit of losses against
    the float model's `real` figure: (by how much, low, high), between which are 95 % of paired
    bootstrap samples (Efron 1979, doi:10.1214/aos/1176344552). None for a metric that has no such
    samples."""
    library, directory, count = model.library, str(model.directory), len(ours[0])
    kept = {k: v for k, v in library.load_labels(directory).items() if _needed(k, metric)}
    if metric not in MEANS or not kept or any(len(v) != count for v in kept.values()):
        return None
    load_labels, run_all = library.load_labels, library.run_all

    def score(outputs, at):
        library.load_labels = lambda *_: {k: v[at] for k, v in kept.items()}
        library.run_all = lambda *_: [np.asarray(o)[at] for o in outputs]
        return library.score(directory, None)[metric]

    rng = np.random.default_rng(0)
    try:
        found = [
            loss(metric, real, score(ours, at))[0] - loss(metric, real, score(theirs, at))[0]
            for at in [slice(None), *(rng.integers(count, size=count) for _ in range(RESAMPLES))]
        ]
    finally:
        library.load_labels, library.run_all = load_labels, run_all
    return [float(v) + 0.0 for v in (found[0], *np.percentile(found[1:], (2.5, 97.5)))]


def _needed(label, metric):
    return label.startswith("y") or metric in ("mae_vs_float", "within_50cents")
