"""Layers rounded one at a time: each runs from where it is in the network on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from ..build import open_once
from ..ir import Array
from ..quantize import CandidateEvaluator, Score, with_evaluation_points
from ..quantize.outputs.kept_samples import Sample
from ..runtime import Session, return_freed
from ..runtime.branches import Branches, steps
from ..runtime.many_runs import FEW_COPIES_BYTES, copies_of
from ..runtime.turns import Turn, each_in_turn
from .rounding_simulation import Rounding, simulated, with_copies, with_each_alone
from .simulated_model import SimulatedModel


def scores_alone(
    model: SimulatedModel,
    everything: Rounding,
    names: Sequence[str],
    trials: CandidateEvaluator,
    done: Callable[[int], None],
) -> dict[str, Score]:
    """The score of each of the tensors `names` rounded alone, as `everything` says, and the weights
    that make it; `done` is told on how many samples so far.

    The float network runs once on each sample, and for each of them from there on.
    """
    rounded = open_once(with_each_alone(model, everything, names))
    return_freed()  # by what made the file
    graph = with_evaluation_points(with_copies(model, names), trials.points)
    branches, missed = Branches(open_once(graph)), set(names)
    noise = {name: np.zeros((len(trials.points), len(trials.kept))) for name in names}
    return_freed()

    def run(sessions: tuple[Branches, Session], i: int, turn: Turn) -> None:
        sample, noise_of = trials.kept[i].inputs, trials.noise_on(i)
        for name, outputs in sessions[0].run(sample, _Rounded(sessions[1], sample, noise)):
            # NaN is the root of what was rounded below 0, which files clip.
            noise[name][:, i] = np.nan_to_num(noise_of(outputs), posinf=np.inf)
            missed.discard(name)
        turn.wait()
        done(i + 1)

    def others(seconds: float) -> list[tuple[Branches, Session]]:
        copies = (
            branches.copies(seconds, within=FEW_COPIES_BYTES),
            copies_of(rounded, seconds, within=FEW_COPIES_BYTES),
        )
        return list(zip(*copies, strict=False))

    each_in_turn(run, (branches, rounded), range(len(trials.kept)), others)
    found = {n: Score(noise[n], trials.signal, trials.variation) for n in names}
    for name in missed:  # within branches and loops
        graph = simulated(model, everything.only({name}, {name}))
        found[name] = trials.measure(graph, lasting=True)
    return found


class _Rounded:
    """What tensors are where they alone are rounded: a session of `with_each_alone` on a sample,
    run as far as is asked for, in its order."""

    def __init__(self, session: Session, sample: Sample, names: Collection[str]) -> None:
        self._steps, self._names = steps(session, sample), names

    def __call__(self, name: str, _: Array) -> Array | None:
        if name not in self._names:
            return None
        return next((x for _, made, x, _ in self._steps if made == f"{name}.alone"), None)
