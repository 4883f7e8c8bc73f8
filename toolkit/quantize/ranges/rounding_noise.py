"""The noise at the evaluation points when some tensors of a float graph are rounded.

The graph runs once on each sample; for each set of rounded tensors it runs again from the first of
them on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ...build import open_once
from ...ir import Array, Graph, QuantParams
from ...numerics import FLOAT
from ...runtime import return_freed
from ...runtime.branches import Branches
from ...runtime.cores import on_cores
from ..outputs.evaluation_points import with_evaluation_points
from ..scheme.simulation import Simulation
from .candidate_evaluation import MOST, CandidateEvaluator

Noise = NDArray[np.float64]
"""By evaluation point and sample."""
Roundings = Mapping[str, QuantParams]
"""Rounded tensors, by name."""


def rounding_noise(
    graph: Graph,
    trials: CandidateEvaluator,
    sets: Sequence[Roundings],
    enough: Callable[[int, Noise], bool] = lambda _, __: False,
    within: int | None = None,
) -> list[Noise]:
    """The noise of each set of roundings. After each sample `enough` is called with the number of
    the set and its noise on the samples so far; if true, the set is not run on the others, where
    its noise is 0. Sets run on all cores, `within` bytes for copies of the session (copies_of)."""
    noise = [np.zeros((len(trials.points), len(trials.kept))) for _ in sets]
    others = _run_branches(graph, trials, sets, noise, enough, within) if sets else []
    trials.count += len(sets) - len(others)
    if others:
        return_freed()  # by branches
    for i in others:
        noise[i] = trials.measure(Simulation(graph, sets[i], {}).run()).noise
    return noise


def _run_branches(
    graph: Graph,
    trials: CandidateEvaluator,
    sets: Sequence[Roundings],
    noise: Sequence[Noise],
    enough: Callable[[int, Noise], bool],
    within: int | None,
) -> list[int]:
    """Measure `noise`, except of the sets that it returns: those of inputs, of tensors that are not
    computed, or of tensors within branches and loops."""
    branches = Branches(open_once(with_evaluation_points(graph, trials.points)))
    return_freed()
    floats = {v.name for v in graph.values() if v.dtype == FLOAT}
    rounded = [{n: q for n, q in s.items() if n in floats} for s in sets]
    left = [i for i, s in enumerate(rounded) if s and s.keys() <= branches.places.keys()]
    others = [i for i in range(len(sets)) if i not in left]
    left.sort(key=lambda i: min(branches.places[name] for name in rounded[i]))

    def run(
        k: int,
        noise_of: Callable[[Mapping[str, Array]], NDArray[np.float64]],
        some: tuple[Branches, Sequence[int]],
    ) -> None:
        """Run some of the sets on a sample."""
        each, running = some

        def change(i: int, name: str, x: Array) -> Array:
            quant = rounded[running[i]][name]
            return quant.dequantize(quant.quantize(x))

        chosen = [rounded[i] for i in running]
        for i, outputs in each.run_sets(trials.kept[k].inputs, chosen, change):
            noise[running[i]][:, k] = np.nan_to_num(noise_of(outputs), nan=MOST, posinf=MOST)

    seconds = 0.0
    for k in range(len(trials.kept) if left else 0):
        many = [branches, *branches.copies(seconds, len(left) - 1, within)]
        tasks = [(each, left[i :: len(many)]) for i, each in enumerate(many)]
        started = perf_counter()
        on_cores(partial(run, k, trials.noise_on(k)), tasks)
        seconds = (perf_counter() - started) * len(many)
        left = [i for i in left if not enough(i, noise[i][:, : k + 1])]
        if not left:
            break
    return others
