"""Rounds the weights of one node, given the second moments of its inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...ir import Node
from ...ops._opdef import Activation
from ..weights import adaround, gptq
from ..weights.layer_weights import LayerWeights
from ..weights.weight_quantizer import (
    QuantizedWeights,
    WeightQuantizer,
    make_weight_quantizer,
    target_scales,
)
from .observed_inputs import LayerInputs
from .second_moments import MomentSums, SecondMoments, held

Reals = NDArray[np.float64]

FACTORS = (1.0, 0.85, 1.15)
"""Factors tried on the scales of weights below 8 bits; the best is kept for each channel."""
MOVE_PRICE = 0.3
"""The price of an integer that differs from the old file's; see PRICE in rate_distortion.py."""
MOST_LOST = 2.0
"""Rows close to the old file's are kept if their error is at most this times that of new rows."""


def _second(seen: SecondMoments) -> Reals:
    h: Reals = seen.qq.copy()
    diagonal = np.einsum("gii->gi", h)
    diagonal += held(diagonal)[:, None]
    return h


def real_weights(linear: LayerWeights, seen: SecondMoments | MomentSums) -> Reals:
    """The float weights, [groups, channels per group, k]."""
    groups, k = seen.q.shape
    return linear.rows.reshape(groups, -1, k)


def quadratic_form(
    linear: LayerWeights, seen: SecondMoments, carried: float
) -> tuple[Reals, Reals]:
    """The quadratic form (b, h) of the error, as defined in weights/gptq.py.

    It includes the fraction `carried` of the correction for input errors (carried_errors.py).
    """
    h = _second(seen)
    wanted = seen.xq - seen.qq
    wanted *= carried
    wanted += h
    return gptq.product(real_weights(linear, seen), wanted), h


def round_layer(
    linear: LayerWeights, floor: Reals, seen: SecondMoments, carried: float
) -> QuantizedWeights:
    """The weights of one node, by GPTQ and coordinate descent."""
    b, h = quadratic_form(linear, seen, carried)
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
    return with_bias(linear, seen, grid, z)


def _near_kept(
    kept: Reals, grid: WeightQuantizer, z: Reals, error: Reals, b: Reals, h: Reals
) -> Reals:
    """Integers near the old file's for rows that lose little by it, each change at a price; `z`,
    with its `error` per row, for the other rows."""
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


def with_bias(
    linear: LayerWeights, seen: SecondMoments, grid: WeightQuantizer, z: Reals
) -> QuantizedWeights:
    """Integers [g, n, k] of a grid, with biases that remove their mean error."""
    w, real = linear.rows.reshape(z.shape), z * grid.steps.reshape(z.shape)
    shift = (w * seen.x[:, None, :]).sum(axis=2) - (real * seen.q[:, None, :]).sum(axis=2)
    return QuantizedWeights(
        grid, z.reshape(linear.shape).astype(np.int8), linear.real_bias + shift.reshape(-1)
    )


def through_clamp(
    linear: LayerWeights,
    start: QuantizedWeights,
    inputs: LayerInputs,
    about: SecondMoments,
    carried: float,
    made: Node,
) -> QuantizedWeights:
    """The weights of one node by AdaRound, starting from `round_layer`; `made` is its output."""
    aim, out = gptq.unrounded(*quadratic_form(linear, about, carried)), made.output.quant
    assert out is not None
    shape, grid, step = aim.shape, start.grid, inputs.step
    unit = (grid.scales * step).reshape(shape[:2])
    low, high = (out.scalar * (q - out.zero_point) for q in Activation.of(made).q_range(out))
    targets = _targets(linear, inputs, about, carried, (low, high))
    alone = (1 - about.certain) * np.diagonal(about.qq, axis1=1, axis2=2)
    stays = (held(np.einsum("gii->gi", about.qq))[:, None] + alone) / step**2
    steps, factors = grid.steps.reshape(shape), grid.factors.reshape(shape).astype(np.float64)
    problem = adaround.Problem.of(
        inputs.all_q().swapaxes(1, 2).astype(np.float64),
        targets / unit[:, :, None],
        (low / unit, high / unit),
        linear.rows.reshape(shape) / steps,
        factors,
        stays,
        about.certain,
        grid.form.limit,
    )
    bias = start.bias.reshape(shape[:2]) / unit
    first = start.z.reshape(shape).astype(np.float64)
    z, bias = adaround.solve(problem, first, bias, aim / steps)
    integers = z.reshape(start.z.shape).astype(np.int8)
    return QuantizedWeights(grid, integers, (bias * unit).reshape(-1))


def _targets(
    linear: LayerWeights,
    seen: LayerInputs,
    about: SecondMoments,
    carried: float,
    clamp: tuple[float, float],
) -> Reals:
    """The target output of a node after its clamp, [g, n, positions].

    A mix of the float model's output (fraction `carried`) and the output of the float weights on
    the quantized model's inputs, corrected for their mean error.
    """
    w = real_weights(linear, about)
    wanted: Reals = seen.outputs().T.reshape(*w.shape[:2], -1)
    if carried < 1:
        inputs = seen.all_q() * seen.step + (about.x - about.q)[:, None]
        plain = gptq.product(inputs, w.swapaxes(1, 2)).swapaxes(1, 2)
        plain += linear.real_bias.reshape(*w.shape[:2], 1)
        wanted = carried * wanted + (1 - carried) * np.clip(plain, *clamp)
    return wanted


def _solve(
    grid: WeightQuantizer, b: Reals, h: Reals, floor: Reals
) -> tuple[WeightQuantizer, Reals, Reals]:
    """The grid (scales adapted to weights below 8 bits), the integers, and the error per row."""
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
    """For each row the result with the smaller error; both have the same multipliers."""
    less = other[2] < one[2]
    scales = np.where(less.reshape(-1), other[0].scales, one[0].scales)
    return (
        replace(one[0], scales=scales),
        np.where(less[:, :, None], other[1], one[1]),
        np.minimum(other[2], one[2]),
    )


def _grid(linear: LayerWeights, floor: Reals, h: Reals) -> WeightQuantizer:
    """The scales; below 8 bits, chosen to minimize the weighted error."""
    form, (n, k) = linear.form, linear.shape
    if form.bits == 8:
        return make_weight_quantizer(linear.wanted, form, k, floor)
    weighs = np.diagonal(h, axis1=1, axis2=2).repeat(n // len(h), axis=0)
    return make_weight_quantizer(target_scales(linear.rows, form, True, weighs), form, k, floor)
