"""The size and noise of each layer's weights at rates from fine to coarse.

The size, and the noise at the layer's output, come from solving its weights at each rate, with the
inputs of the current quantized model. The noise at the model's outputs is measured at one rate of
each kind, with only that layer's weights quantized, and scaled to the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...ir import Node
from ...numerics import W8A8
from ...progress import Progress
from ..mixed_precision.evaluator import Evaluator
from ..mixed_precision.noise_contributions import NoiseContributions
from ..ranges.candidate_evaluation import LEAST
from ..reconstruction.layer_rounding import NodeRates, nodes_at_rates
from ..weights.rate_distortion import Rate, coded_bytes

Reals = NDArray[np.float64]

LEVELS = tuple(float(v) for v in np.geomspace(113.0, 2.5, 12))
"""Number of steps in the largest weight of a channel (for kinds below 1: on average)."""
MEASURED = 8
"""The level whose noise is measured at the model's outputs."""
BETWEEN = (0.25, 0.5, 0.75)
"""Geometric fractions between two levels at which rates are interpolated instead of solved."""
KINDS = (0.0, 0.5, 1.0)
"""Exponents of a channel's largest weight in its step. 0: all outputs of a layer have equal noise;
1: noise is proportional to the range of each channel; 0.5: in between."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A rate of one layer: its size in bytes, and its noise at the model's outputs relative to the
    signal."""

    rate: Rate
    size: float
    noise: float


Layer = Sequence[Entry]
"""The Pareto-optimal entries of a layer, by increasing noise."""


def make_database(
    evaluator: Evaluator, wanted: Callable[[Node], bool], progress: Progress
) -> dict[str, Layer]:
    """The entries of every `wanted` layer, by its output name."""
    done, few = evaluator.done, evaluator.few
    inputs = done.calibration.inputs
    found: dict[str, Layer] = {}
    signal = np.maximum(few.signal, LEAST)
    for node in nodes_at_rates(done.plan, done.ranges, inputs, wanted, progress):
        name = node.node.output.name
        entries: list[Entry] = []
        for steps in _steps(node):
            row = [(s, *node.at(Rate(s))) for s in steps]
            _, weights, own = row[MEASURED]
            plan = done.plan.with_rounded({(name, 8): weights})
            alone = NoiseContributions(plan, {W8A8: plan}, done.ranges, few)
            part = float(np.mean(alone.of_weights([name], W8A8) / signal))
            base = row[MEASURED][0]
            solved: list[Entry] = []
            for s, w, noise in row:
                scaled = noise * float(np.square(s / base).mean())
                solved.append(Entry(Rate(s), coded_bytes(w.z), part * scaled / max(own, LEAST)))
            entries += solved
            entries += [_between(a, b, t) for a, b in pairwise(solved) for t in BETWEEN]
        found[name] = _best(entries)
    return found


def _steps(node: NodeRates) -> Iterator[list[Reals]]:
    """For each kind, the steps of all channels at each level."""
    rows = np.abs(node.linear.rows)
    top = np.maximum(rows.max(axis=1), 1e-3 * rows.max())
    power = node.problem.power.repeat(len(top) // len(node.problem.power))
    for kind in KINDS:
        shape = top**kind * power ** (-0.5 * (1 - kind))
        shape *= np.sqrt((top**2 * power).sum() / (shape**2 * power).sum())
        yield [shape / level for level in LEVELS]


def _between(a: Entry, b: Entry, part: float) -> Entry:
    """The entry at fraction `part` between `a` and `b`: size and log-noise are linear in the
    logarithm of the step."""
    steps = a.rate.steps ** (1 - part) * b.rate.steps**part
    size = (1 - part) * a.size + part * b.size
    return Entry(Rate(steps), size, a.noise ** (1 - part) * b.noise**part)


def _best(entries: list[Entry]) -> Layer:
    """The lower convex hull of size over noise."""
    hull: list[Entry] = []
    for e in sorted(entries, key=lambda e: (e.noise, e.size)):
        if hull and e.size >= hull[-1].size:
            continue
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-2], e):
            hull.pop()
        hull.append(e)
    return hull


def _slope(a: Entry, b: Entry) -> float:
    """The change of size per change of noise; negative."""
    return (b.size - a.size) / max(b.noise - a.noise, 1e-300)


def finest(database: Mapping[str, Layer]) -> dict[str, Entry]:
    """The entry of each layer with the least noise."""
    return {name: layer[0] for name, layer in database.items()}


def noise_of(entries: Mapping[str, Entry]) -> float:
    """The approximate noise at the model's outputs, relative to the signal."""
    return sum(e.noise for e in entries.values())


def bytes_of(entries: Mapping[str, Entry]) -> float:
    """The approximate size of the weights."""
    return sum(e.size for e in entries.values())


def choose(
    database: Mapping[str, Layer], noise: float = math.inf, size: float = 0.0
) -> dict[str, Entry]:
    """The smallest entries whose total noise is at most `noise`, but no coarser than the first that
    fit in `size` bytes. One trade-off of size against noise applies to all layers."""
    at = dict.fromkeys(database, 0)
    total, left = noise_of(finest(database)), bytes_of(finest(database))
    steps = [
        (_slope(a, b), b.noise - a.noise, name, i + 1, a.size - b.size)
        for name, layer in database.items()
        for i, (a, b) in enumerate(pairwise(layer))
    ]
    for _, more, name, i, fewer in sorted(steps):
        if total + more > noise or left <= size:
            break
        total, left = total + more, left - fewer
        at[name] = i
    return {name: layer[at[name]] for name, layer in database.items()}
