"""Weights as integers that keep each node's output, node after node in order of execution.

For each node: what it reads in the float model and in the quantized one so far, then integers that
make its output of the latter closest to the float model's. So a node makes up for the errors of
those before it, as far as its weights can. The biases take what is left in the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Node
from ...ops import is_a
from ...ops._opdef import Activation
from ...ops.conv.conv2d import Conv2d
from ...ops.matmul.fully_connected import FullyConnected
from ...progress import Progress
from ..scheme.options import Ranges, RoundedWeights
from ..scheme.plan import Plan
from ..scheme.shared_weights import sharing_weights
from ..weights import adaround, gptq
from ..weights.layer_weights import LayerWeights
from ..weights.rate_distortion import Rate, RateProblem
from ..weights.weight_quantizer import (
    QuantizedWeights,
    WeightQuantizer,
    make_weight_quantizer,
    target_scales,
)
from .layer_executor import LayerExecutor
from .second_moments import (
    LayerInputs,
    MomentSums,
    SecondMoments,
    held_out,
    moment_sums,
    observe_inputs,
    second_moments,
    spread_evenly,
    total,
)

Reals = NDArray[np.float64]

KEEP = 0.1
"""How much a weight is held where it is: in mean powers of the inputs. Few samples do not say what
all directions of the inputs weigh."""
FACTORS = (1.0, 0.85, 1.15)
"""On the scales of narrow weights: each is tried, and the best kept for each channel."""
MOVE_PRICE = 0.3
"""Of an integer other than an older file's, as PRICE of rate_distortion.py."""
MOST_LOST = 2.0
"""Times the error of rows that are rounded anew, at which those near an older file's are taken."""
TRIED = 64
"""Rows of a group that tell, at most, what is carried from some samples to others."""
WIDEST = 1536
"""Weights of an output channel, at most: the time grows with their cube, their moments with their
square, and no number of samples here tells how so many inputs go together."""


def round_weights(
    plan: Plan,
    ranges: Ranges,
    samples: Sequence[Mapping[str, Array]],
    progress: Progress | None = None,
    method: str = "gptq",
) -> dict[tuple[str, int], QuantizedWeights]:
    """The weights of every node of `plan` that has quantized ones, by what they make and
    their bits; `method` is "gptq" or "adaround".

    Layers that share weights keep the nearest, and so share them still. The same plan, ranges and
    samples give the same integers.
    """
    through = method == "adaround"
    few = spread_evenly(samples)
    runs = LayerExecutor(few), LayerExecutor(few)
    found: dict[tuple[str, int], QuantizedWeights] = {}
    nodes = rounded_nodes(plan)
    for i, node in enumerate(nodes):
        if progress:
            progress("rounding weights", i, len(nodes))
        now = plan.with_rounded(found)
        graph, _ = now.emit(ranges, trial=True)
        if node not in now.linear:
            continue
        made = next(n for n in graph.nodes if n.outputs and n.output.name == node.output.name)
        x, y = made.input(0).quant, made.output.quant
        if x is None or y is None:
            continue
        linear = now.linear[node]
        seen = observe_inputs(node, plan.graph, graph, runs, outputs=through)
        parts = moment_sums(seen, let_go=not through)
        whole = total(parts)
        about, carried = second_moments(whole), carried_part(linear, whole, parts)
        parts.clear()
        floor = linear.floor(x, y)
        rate = plan.options.rates.get(node.output.name) if linear.form.bits == 8 else None
        if rate is not None:
            problem = RateProblem(*_normal(linear, about, carried))
            z, scales = problem.solve(rate, floor, x.scalar / y.scalar)
            grid = WeightQuantizer(linear.form, linear.rows.shape[1], scales)
            rounded = _with_bias(linear, about, grid, z)
        else:
            rounded = _round(linear, floor, about, carried)
        if through and rate is None:
            rounded = _through_clamp(linear, rounded, seen, about, carried, made)
        found[node.output.name, linear.form.bits] = rounded
    if progress:
        progress("rounding weights", len(nodes), len(nodes))
    return found


class RoundedOnce:
    """`round_weights` that does nothing twice: half of many samples may be all that it takes of
    the whole."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress
        self._known: list[tuple[tuple[Plan, Ranges, str], list[object], RoundedWeights]] = []

    def __call__(
        self, plan: Plan, ranges: Ranges, samples: Sequence[Mapping[str, Array]], method: str
    ) -> RoundedWeights:
        few, how = spread_evenly(samples), (plan, dict(ranges), method)
        for before, seen, found in self._known:
            alike = before[0] is plan and before[1:] == how[1:] and len(seen) == len(few)
            if alike and all(a is b for a, b in zip(seen, few, strict=True)):
                return found
        found = round_weights(plan, ranges, few, self.progress, method)
        self._known.append((how, list(few), found))
        return found


def rounded_nodes(plan: Plan) -> list[Node]:
    """Those whose weights are rounded for what they make, in order of execution."""
    shared = sharing_weights(plan.graph)
    return [
        n
        for n, u in plan.linear.items()
        if is_a(n, Conv2d, FullyConnected) and u.rows.shape[1] <= WIDEST and n not in shared
    ]


@dataclass(frozen=True)
class NodeRates:
    """A node whose weights any rate may be tried on: those of `linear`, with scales that are
    `floor` at least and go into the table times `ratio`, on what it multiplies, `seen`."""

    node: Node
    linear: LayerWeights
    floor: Reals
    ratio: float
    seen: SecondMoments
    problem: RateProblem

    def at(self, rate: Rate) -> tuple[QuantizedWeights, float]:
        """Its weights at a rate, and their noise in units of the rate's steps."""
        z, scales = self.problem.solve(rate, self.floor, self.ratio)
        noise = self.problem.noise(z, scales, _real(self.linear, self.seen), rate.steps)
        grid = WeightQuantizer(self.linear.form, self.linear.rows.shape[1], scales)
        return _with_bias(self.linear, self.seen, grid, z), noise


def nodes_at_rates(
    plan: Plan,
    ranges: Ranges,
    samples: Sequence[Mapping[str, Array]],
    wanted: Callable[[Node], bool],
    progress: Progress,
) -> Iterator[NodeRates]:
    """Those of `rounded_nodes` that are `wanted` and have weights of 8 bits, in the graph of `plan`
    as it is."""
    few = spread_evenly(samples)
    runs = LayerExecutor(few), LayerExecutor(few)
    graph, _ = plan.emit(ranges, trial=True)
    nodes = [n for n in rounded_nodes(plan) if wanted(n)]
    made_by = {n.output.name: n for n in graph.nodes if n.outputs}
    for i, node in enumerate(nodes):
        progress("measuring rates", i, len(nodes))
        linear, made = plan.linear[node], made_by[node.output.name]
        x, y = made.input(0).quant, made.output.quant
        if linear.form.bits < 8 or x is None or y is None:
            continue
        inputs = observe_inputs(node, plan.graph, graph, runs)
        seen = second_moments(total(moment_sums(inputs, let_go=True)))
        problem = RateProblem(*_normal(linear, seen, 0.0))
        ratio = x.scalar / y.scalar
        yield NodeRates(node, linear, linear.floor(x, y), ratio, seen, problem)
    progress("measuring rates", len(nodes), len(nodes))


def _held(seen: SecondMoments) -> Reals:
    """What the distance of a weight from where it is costs, by group."""
    power = np.trace(seen.qq, axis1=1, axis2=2) / seen.qq.shape[1]
    result: Reals = KEEP * power + 1e-6 * power.max() + 1e-30
    return result


def _second(seen: SecondMoments) -> Reals:
    h: Reals = seen.qq.copy()
    np.einsum("gii->gi", h)[...] += _held(seen)[:, None]
    return h


def _real(linear: LayerWeights, seen: SecondMoments | MomentSums) -> Reals:
    groups, k = seen.q.shape
    return linear.real.reshape(groups, -1, k)


def _normal(linear: LayerWeights, seen: SecondMoments, carried: float) -> tuple[Reals, Reals]:
    """The quadratic form of the error, as weights/gptq.py has it: b, h.

    Of what would make up for the errors of the inputs, the part that is `carried` is wanted.
    """
    h = _second(seen)
    return gptq.product(_real(linear, seen), h + carried * (seen.xq - seen.qq)), h


def carried_part(linear: LayerWeights, whole: MomentSums, parts: Sequence[MomentSums]) -> float:
    """The part of what makes up for the errors of the inputs that holds for other samples too.

    Weights w and inputs that are off want w E[(x - q) q'] h^-1 more. By cross-validation (Stone
    1974, doi:10.1111/j.2517-6161.1974.tb00994.x): that of all parts of the samples but one, times
    the factor that serves this one best, in [0, 1] for all of them. In 64ths. `whole` are the sums
    of all `parts`.
    """
    gain = power = 0.0
    w = _real(linear, whole)
    w = w[:, :: -(-w.shape[1] // TRIED)]
    for part in parts if len(parts) > 1 else ():
        rest = second_moments(whole - part)
        qq, xq = held_out(part, rest)
        more = gptq.unrounded(gptq.product(w, rest.xq - rest.qq), _second(rest))
        gain += float((gptq.product(w, xq - qq) * more).sum())
        power += float((gptq.product(more, qq) * more).sum())
    return float(np.rint(64 * min(max(gain / power, 0.0), 1.0)) / 64) if power > 0 else 0.0


def _round(
    linear: LayerWeights, floor: Reals, seen: SecondMoments, carried: float
) -> QuantizedWeights:
    """The weights of one node, by GPTQ and coordinate descent."""
    b, h = _normal(linear, seen, carried)
    grid = _grid(linear, floor, h)
    best: tuple[WeightQuantizer, Reals, Reals] | None = None
    for factor in FACTORS if grid.form.bits < 8 else (1.0,):
        tried = replace(grid, scales=np.maximum(grid.scales * factor, floor))
        found = _solve(tried, b, h, floor)
        best = found if best is None else _better(best, found)
    assert best is not None
    grid, z, error = best
    if linear.kept is not None:
        z = _near_kept(linear.kept.z.reshape(b.shape), grid, z, error, b, h)
    return _with_bias(linear, seen, grid, z)


def _near_kept(
    kept: Reals, grid: WeightQuantizer, z: Reals, error: Reals, b: Reals, h: Reals
) -> Reals:
    """`z`, of an `error` for each row, or integers of an older file, of rows that lose little by
    it; of these a few are moved, each of which has a price."""
    steps, limit = grid.steps.reshape(b.shape), grid.form.limit
    power = (np.trace(h, axis1=1, axis2=2) / h.shape[1])[:, None, None]
    moved, price = np.zeros_like(b), np.full(2 * limit + 1, MOVE_PRICE)
    price[limit] = 0.0
    left = (b / steps - gptq.product(kept * steps, h) / steps) / power
    gptq.descend(moved, left, h / power, np.ones_like(b), limit, price)
    near = np.clip(kept + moved, -limit, limit)
    least = (gptq.unrounded(b, h) * b).sum(axis=2)
    lost = gptq.error(near, b, gptq.product(near * steps, h), steps) + least
    suits = lost <= MOST_LOST * np.maximum(error + least, 0.0)
    return np.where(suits[:, :, None], near, z)


def _with_bias(
    linear: LayerWeights, seen: SecondMoments, grid: WeightQuantizer, z: Reals
) -> QuantizedWeights:
    """Integers [g, n, k] of a grid, and biases that take what they are off in the mean."""
    w, real = linear.real.reshape(z.shape), z * grid.steps.reshape(z.shape)
    shift = (w * seen.x[:, None, :]).sum(axis=2) - (real * seen.q[:, None, :]).sum(axis=2)
    return QuantizedWeights(
        grid, z.reshape(linear.rows.shape), linear.real_bias + shift.reshape(-1)
    )


def _through_clamp(
    linear: LayerWeights,
    start: QuantizedWeights,
    seen: LayerInputs,
    about: SecondMoments,
    carried: float,
    made: Node,
) -> QuantizedWeights:
    """The weights of one node by AdaRound, from those of `_round`; `made` is what it makes."""
    aim, out = gptq.unrounded(*_normal(linear, about, carried)), made.output.quant
    assert out is not None
    shape, grid, step = aim.shape, start.grid, seen.step
    unit = (grid.scales * step).reshape(shape[:2])
    low, high = (out.scalar * (q - out.zero_point) for q in Activation.of(made).q_range(out))
    targets = _targets(linear, seen, about, carried, (low, high))
    alone = (1 - about.certain) * np.diagonal(about.qq, axis1=1, axis2=2)
    held = (_held(about)[:, None] + alone) / step**2
    steps, factors = grid.steps.reshape(shape), grid.factors.reshape(shape).astype(np.float64)
    problem = adaround.Problem.of(
        np.concatenate(seen.q, axis=1).swapaxes(1, 2).astype(np.float64),
        targets / unit[:, :, None],
        (low / unit, high / unit),
        linear.real.reshape(shape) / steps,
        factors,
        held,
        about.certain,
        grid.form.limit,
    )
    bias = start.bias.reshape(shape[:2]) / unit
    z, bias = adaround.solve(problem, start.z.reshape(shape), bias, aim / steps)
    return QuantizedWeights(grid, z.reshape(start.z.shape), (bias * unit).reshape(-1))


def _targets(
    linear: LayerWeights,
    seen: LayerInputs,
    about: SecondMoments,
    carried: float,
    clamp: tuple[float, float],
) -> Reals:
    """What a node should make [g, n, places], behind its clamp.

    For the part that is `carried` what the float model makes; for the rest what the float weights
    make of the quantized model's inputs, their mean made good.
    """
    w = _real(linear, about)
    wanted: Reals = np.concatenate(seen.outputs).T.reshape(*w.shape[:2], -1)
    if carried < 1:
        inputs = np.concatenate(seen.q, axis=1) * seen.step + (about.x - about.q)[:, None]
        plain = gptq.product(inputs, w.swapaxes(1, 2)).swapaxes(1, 2)
        plain += linear.real_bias.reshape(*w.shape[:2], 1)
        wanted = carried * wanted + (1 - carried) * np.clip(plain, *clamp)
    return wanted


def _solve(
    grid: WeightQuantizer, b: Reals, h: Reals, floor: Reals
) -> tuple[WeightQuantizer, Reals, Reals]:
    """The integers for a grid, its scales adapted to narrow ones, and the error of each row."""
    steps, limit = grid.steps.reshape(b.shape), grid.form.limit
    z = gptq.nearest_plane(b, h, steps, limit)
    vh = gptq.descend(z, b, h, steps, limit)
    if grid.form.bits < 8:
        factor = gptq.best_factor(z, b, vh, steps).reshape(-1)
        grid = replace(grid, scales=np.maximum(grid.scales * factor, floor))
        steps = grid.steps.reshape(b.shape)
        vh = gptq.descend(z, b, h, steps, limit)
    return grid, z, gptq.error(z, b, vh, steps)


def _better(
    one: tuple[WeightQuantizer, Reals, Reals], other: tuple[WeightQuantizer, Reals, Reals]
) -> tuple[WeightQuantizer, Reals, Reals]:
    """Of each row the one with less error; both have the same multipliers."""
    less = other[2] < one[2]
    scales = np.where(less.reshape(-1), other[0].scales, one[0].scales)
    return (
        replace(one[0], scales=scales),
        np.where(less[:, :, None], other[1], one[1]),
        np.minimum(other[2], one[2]),
    )


def _grid(linear: LayerWeights, floor: Reals, h: Reals) -> WeightQuantizer:
    """Steps; below 8 bits those that keep the errors small that weigh most."""
    rows, form = linear.rows, linear.form
    if form.bits == 8:
        return make_weight_quantizer(linear.wanted, form, rows.shape[1], floor)
    weighs = np.diagonal(h, axis1=1, axis2=2).repeat(len(rows) // len(h), axis=0)
    return make_weight_quantizer(
        target_scales(rows, form, True, weighs), form, rows.shape[1], floor
    )
