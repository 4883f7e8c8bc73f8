"""Tests of the share of the output noise that the rounding of some tensors causes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir import Graph
from .candidate_evaluation import CandidateEvaluator, Score
from .rounding_noise import Noise, Roundings, rounding_noise

Test = tuple[Roundings, Callable[[float], bool]]
"""Rounded tensors, and whether a share passes. If it does, every larger one does."""
CLEAR = 4.0
"""If this multiple of the share on the first samples does not pass, no others are run."""


class NoiseShares:
    """Shares of the noise of `score`, measured on at most `most` of the samples of `trials`."""

    def __init__(self, graph: Graph, trials: CandidateEvaluator, score: Score, most: int) -> None:
        self.graph, count = graph, min(most, len(trials.kept))
        self.trials = trials.on(count)
        self.noise = score.noise[:, trials.spread(count)]

    def __call__(self, tests: Sequence[Test]) -> list[bool]:
        """The result of each test."""

        def is_clear(i: int, noise: Noise) -> bool:
            passes, count = tests[i][1], noise.shape[1]
            return passes(self._share(noise)) or not passes(CLEAR * self._share(noise, count))

        noises = rounding_noise(self.graph, self.trials, [r for r, _ in tests], is_clear)
        return [passes(self._share(n)) for (_, passes), n in zip(tests, noises, strict=True)]

    def _share(self, noise: Noise, count: int | None = None) -> float:
        """The share that `noise` is of all, or of that on the first `count` samples."""
        whole = Score(self.noise[:, :count], self.trials.signal)
        return whole.part(noise.sum(axis=1))
