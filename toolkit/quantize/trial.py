"""What a choice costs at the outputs: the quantized file, run on calibration samples."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..build import build_file
from ..decibels import ratio_db
from ..ir import Graph
from ..runtime import Session
from .calibrate import Calibration
from .options import Ranges
from .plan import Plan
from .probes import with_probes

SIGNIFICANCE = 2.0
"""Standard errors by which a gain must differ from none."""


@dataclass(frozen=True)
class Score:
    """Noise at each probe by sample [probes, samples], and the signal there [probes]."""

    noise: NDArray[np.float64]
    signal: NDArray[np.float64]

    @property
    def mean_db(self) -> float:
        """SQNR averaged over the probes; 0 without any: then every choice is as good."""
        if not len(self.signal):
            return 0.0
        pairs = zip(self.signal, self.noise.sum(axis=1), strict=True)
        return float(np.mean([ratio_db(float(s), float(n)) for s, n in pairs]))

    def beats(self, other: Score, margin_db: float) -> bool:
        """Better by `margin_db`, and by more than the samples differ about it; never without any.

        Trying many things on few samples finds some that help by chance: a gain counts only if
        it is large against its spread over the samples.
        """
        if not other.noise.shape[1]:
            return False
        total = other.noise.sum(axis=1, keepdims=True) + 1e-30
        gains = ((other.noise - self.noise) / total).sum(axis=0)
        error = float(gains.std() * np.sqrt(len(gains)))
        certain = float(gains.sum()) > SIGNIFICANCE * error
        return certain and self.mean_db > other.mean_db + margin_db


class Trials:
    """Runs trials on the kept samples and counts them."""

    def __init__(self, calibration: Calibration) -> None:
        self.kept, self.probes = calibration.kept, calibration.probes
        self.count = 0
        self.truth = [[p.view(s.probed[p.tensor]) for s in self.kept] for p in self.probes]
        self.signal = _energies(self.truth)

    def on(self, count: int) -> Trials:
        """The same on `count` of the samples, spread evenly."""
        fewer = copy(self)
        at = np.linspace(0, len(self.kept) - 1, count).round().astype(int)
        fewer.kept = [self.kept[i] for i in at]
        fewer.truth = [[views[i] for i in at] for views in self.truth]
        fewer.signal = _energies(fewer.truth)
        return fewer

    def score(self, plan: Plan, ranges: Ranges) -> Score:
        """The score of the graph that `plan` makes of `ranges`."""
        return self.measure(plan.emit(ranges)[0])

    def measure(self, graph: Graph) -> Score:
        """The score of any graph that has the probed tensors by their names."""
        self.count += 1
        session = Session(build_file(with_probes(graph, self.probes)))
        noise = np.zeros((len(self.probes), len(self.kept)))
        for i, sample in enumerate(self.kept):
            got = session.run(sample.inputs)
            for p, probe in enumerate(self.probes):
                if probe.tensor in got:
                    error = probe.view(got[probe.tensor]) - self.truth[p][i]
                    noise[p, i] = np.sum(error * error)
        return Score(noise, self.signal)


def _energies(views: Sequence[Sequence[NDArray[np.float64]]]) -> NDArray[np.float64]:
    """Sum of squares over the samples, by probe."""
    return np.array([sum(float(np.sum(v * v)) for v in vs) for vs in views])
