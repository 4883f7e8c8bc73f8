"""Weights as integers that keep each node's output, node after node in order of execution.

For each node: what it reads in the float model and in the quantized one so far, then integers that
make its output of the latter closest to the float model's. So a node makes up for the errors of
those before it, as far as its weights can. The biases take what is left in the mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..ir import Array
from ..progress import Progress
from . import gptq
from .grid import Grid, Rounded, make_grid, wanted_scales
from .moments import Moments, moments, spread
from .options import Ranges
from .plan import Plan
from .weights import Linear

Reals = NDArray[np.float64]

KEEP = 0.03
"""How much a weight is held where it is: in mean powers of the inputs. Few samples do not say what
all directions of the inputs weigh."""
ROUNDABLE = frozenset({"Conv2d", "FullyConnected"})


def round_weights(
    plan: Plan,
    ranges: Ranges,
    samples: Sequence[Mapping[str, Array]],
    progress: Progress | None = None,
) -> dict[tuple[str, int], Rounded]:
    """The weights of every node of `plan` that has quantized ones, by what they make and
    their bits.

    The same plan, ranges and samples give the same integers.
    """
    few = spread(samples)
    found: dict[tuple[str, int], Rounded] = {}
    nodes = [n for n in plan.linear if n.op in ROUNDABLE]
    for i, node in enumerate(nodes):
        if progress:
            progress("rounding weights", i, len(nodes))
        now = plan.with_rounded(found)
        graph, _ = now.emit(ranges)
        if node not in now.linear:
            continue
        made = next(n for n in graph.nodes if n.outputs and n.output.name == node.output.name)
        x, y = made.input(0).quant, made.output.quant
        if x is None or y is None:
            continue
        linear = now.linear[node]
        seen = moments(node, plan.graph, graph, few)
        found[node.output.name, linear.form.bits] = _round(linear, linear.floor(x, y), seen)
    if progress:
        progress("rounding weights", len(nodes), len(nodes))
    return found


def _round(linear: Linear, floor: Reals, seen: Moments) -> Rounded:
    """The weights of one node, by GPTQ and coordinate descent."""
    groups, k = seen.q.shape
    w = linear.real.reshape(groups, -1, k)
    power = np.trace(seen.qq, axis1=1, axis2=2) / k
    held = (KEEP * power + 1e-6 * power.max() + 1e-30)[:, None, None] * np.eye(k)
    h, b = seen.qq + held, gptq.product(w, seen.xq + held)
    grid = _grid(linear, floor, h)
    steps, limit = grid.steps.reshape(w.shape), grid.form.limit
    z = gptq.nearest_plane(b, h, steps, limit)
    vh = gptq.descend(z, b, h, steps, limit)
    if grid.form.bits < 8:
        factor = gptq.best_factor(z, b, vh, steps).reshape(-1)
        grid = replace(grid, scales=np.maximum(grid.scales * factor, floor))
        steps = grid.steps.reshape(w.shape)
        gptq.descend(z, b, h, steps, limit)
    real = z * steps
    shift = (w * seen.x[:, None, :]).sum(axis=2) - (real * seen.q[:, None, :]).sum(axis=2)
    return Rounded(grid, z.reshape(len(linear.rows), k), linear.real_bias + shift.reshape(-1))


def _grid(linear: Linear, floor: Reals, h: Reals) -> Grid:
    """Steps; of 4 bits those that keep the errors small that weigh most."""
    rows, form = linear.rows, linear.form
    if form.bits == 8:
        return make_grid(linear.wanted, form, rows.shape[1], floor)
    weighs = np.diagonal(h, axis1=1, axis2=2).repeat(len(rows) // len(h), axis=0)
    return make_grid(wanted_scales(rows, form, True, weighs), form, rows.shape[1], floor)
