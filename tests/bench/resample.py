"""Is one file ahead of another by more than the choice of evaluation samples explains?"""

from __future__ import annotations

import numpy as np
from accuracy_table import loss
from scoring import scored

RESAMPLES = 1000
MEANS = ("top1", "auc", "miou", "psnr", "mae_vs_float", "within_50cents")
"""Metrics of samples that may be drawn twice."""


def lead(model, ours, theirs, metric, real):
    """How far `theirs` (outputs of all samples) is ahead of `ours`, in the unit of losses against
    the float model's `real` figure: (by how much, low, high), between which are 95 % of paired
    bootstrap samples (Efron 1979, doi:10.1214/aos/1176344552). None for a metric that has no such
    samples."""
    found, count = model.library.load_labels(str(model.directory)), len(ours[0])
    kept = {k: v for k, v in found.items() if _needed(k, metric)}
    if metric not in MEANS or not kept or any(len(v) != count for v in kept.values()):
        return None

    def lost(outputs, at):
        answers, labels = [np.asarray(o)[at] for o in outputs], {k: v[at] for k, v in kept.items()}
        figures = scored(model.library, model.directory, answers, labels)
        return loss(metric, real, figures[metric])[0]

    rng = np.random.default_rng(0)
    some = [slice(None), *(rng.integers(count, size=count) for _ in range(RESAMPLES))]
    leads = [lost(ours, at) - lost(theirs, at) for at in some]
    return [float(v) + 0.0 for v in (leads[0], *np.percentile(leads[1:], (2.5, 97.5)))]


def _needed(label, metric):
    return label.startswith("y") or metric in ("mae_vs_float", "within_50cents")
