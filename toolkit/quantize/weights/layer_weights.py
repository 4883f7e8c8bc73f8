"""Integer weights and biases of one node."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ... import fixed_point
from ...format.tables import MULTIPLIER_BITS
from ...ir import Node, QuantParams, Value, constant
from ...numerics import WEIGHT_TYPES
from ...ops import definition
from ...weight_codecs import Storage
from .bias_correction import mean_output
from .weight_quantizer import (
    QuantizedWeights,
    WeightFormat,
    WeightQuantizer,
    make_weight_quantizer,
    target_scales,
)

Reals = NDArray[np.float64]

BIAS_LIMIT = 2.0**28
"""The largest bias in accumulator units: leaves headroom for the sum and the zero point."""
FINE = 256.0
"""Accumulator units per output step for a channel whose weights are all zero."""


LEAST, MOST = 0.67, 1.11
"""A kept scale is reused if the new max-abs scale is within these factors of it."""


@dataclass(frozen=True, eq=False)
class KeptWeights:
    """Scales [n] and integers [n, k] of a layer in the old file."""

    scales: Reals
    z: Reals


class LayerWeights:
    """The constants of a node with weights, quantized for any scales of its input and output.

    Weights are rounded to nearest unless `with_rounded` provides others. If `means` of the input
    channels are given, the mean error of the rounded weights is subtracted from the bias. Weights
    that are already multiples of `steps` [n] (0 for a channel of zeros) are not changed. Scales in
    `kept` (from an old file) are reused if they still fit the weights.
    """

    def __init__(
        self,
        node: Node,
        means: Reals | None,
        search_scales: bool,
        form: WeightFormat | None = None,
        steps: Reals | None = None,
        kept: KeptWeights | None = None,
    ) -> None:
        op = definition(node.op)
        assert op.weight is not None
        self.node, self.means = node, means
        self.search_scales, self.form = search_scales, form or WeightFormat()
        self.weight = node.input(op.weight)
        has_bias = op.bias is not None and op.bias < len(node.inputs)
        self.bias = node.inputs[op.bias] if has_bias and op.bias is not None else None
        assert self.weight.const is not None
        rows = self.rows
        self.shape = rows.shape
        self.wanted = target_scales(rows, self.form, search_scales)
        self.kept = kept if self.form.bits == 8 else None
        if self.kept is not None and self.kept.z.shape == rows.shape:
            now, before = np.abs(rows).max(axis=1) / 127, self.kept.scales
            suits = (LEAST * before < now) & (now < MOST * before)
            self.wanted = np.where(suits, before, self.wanted[:, 0])[:, None]
        else:
            self.kept = None
        bias = None if self.bias is None else self.bias.const
        self.real_bias = np.zeros(len(rows)) if bias is None else bias.astype(np.float64)
        self._empty = ~rows.any(axis=1)
        self.steps = steps
        self.given: QuantizedWeights | None = None
        self._nearest: QuantizedWeights | None = None
        self._sums: tuple[QuantizedWeights, Reals] | None = None
        self._copies = WeakValueDictionary[int, LayerWeights]()

    @property
    def rows(self) -> Reals:
        """The float64 weights [n, k]; not cached, as they take twice the model's memory."""
        const = self.weight.const
        assert const is not None
        return const.reshape(len(const), -1).astype(np.float64)

    def quantize(self, x: QuantParams, y: QuantParams) -> tuple[Value, Value | None]:
        """int8 weight and int32 bias for these input and output quantizations."""
        found = self.rounded(self.floor(x, y))
        scales, bias = self._on_table(found, x.scalar / y.scalar)
        per_channel = QuantParams(tuple(scales.tolist()), 0, 0, -127, 127)
        weight = found.grid.int8(found.z).reshape(self.weight.shape)
        w = constant(weight, self.weight.name, per_channel)
        if self.bias is None and not bias.any():
            return w, None
        unit = scales * x.scalar
        name = f"{self.weight.name}.bias" if self.bias is None else self.bias.name
        q = np.rint(bias / unit).astype(np.int32)
        return w, constant(q, name, QuantParams(tuple(unit.tolist()), 0, 0))

    def _on_table(self, found: QuantizedWeights, step: float) -> tuple[Reals, Reals]:
        """(scales that the requantization table represents exactly, the matching bias).

        They differ from those of `found` by at most 2^-20, so no weight moves by 1/8000 of a step.
        """
        scales = fixed_point.of_bits(found.grid.scales * step, MULTIPLIER_BITS) / step
        if self.means is None:
            return scales, found.bias
        lost = self._mean_sums(found, self.means) * (scales - found.grid.scales)
        return scales, found.bias - lost

    def _mean_sums(self, found: QuantizedWeights, means: Reals) -> Reals:
        """The mean output of each channel [n] for the integers of `found`. Most quantizations of a
        layer have the integers of the one before."""
        if self._sums is None or self._sums[0] is not found:
            z = found.grid.int8(found.z).reshape(self.weight.shape)
            self._sums = found, mean_output(self.node, z, means)
        return self._sums[1]

    def attributes(self, x: QuantParams, y: QuantParams) -> dict[str, Any]:
        """The attributes of the integer node that describe how its weights are stored."""
        if self.form.bits == 8:
            return {}
        grid = self.rounded(self.floor(x, y)).grid
        codec = WEIGHT_TYPES[self.form.bits].codec
        return {"storage": Storage(codec, grid.form.group_size, grid.multipliers)}

    def floor(self, x: QuantParams, y: QuantParams) -> Reals:
        """The smallest scales that keep the bias within int32; never 0.

        The output of an all-zero channel is its bias, which needs steps finer than the output's. A
        bias that is too large for tiny weights makes their steps coarser; the difference is below
        the resolution of the output.
        """
        floor = np.where(self._empty, y.scalar / x.scalar / FINE, 0.0)
        return np.maximum(floor, np.abs(self.real_bias) / x.scalar / BIAS_LIMIT)

    def of(self, node: Node) -> LayerWeights:
        """The same weights for the node at other tensor sizes."""
        new = copy(self)
        new.node, new._copies = node, WeakValueDictionary()
        return new

    def with_means(self, means: Reals | None) -> LayerWeights:
        """A copy whose bias is corrected by other means, or not at all."""
        new = copy(self)
        new.means, new.given, new._nearest, new._sums = means, None, None, None
        new._copies = WeakValueDictionary()
        return new

    def with_rounded(self, rounded: QuantizedWeights | None) -> LayerWeights:
        """A copy with these weights. While a copy is in use, the same weights return it again, so
        that each node is built once (scheme/reuse.py)."""
        if rounded is self.given:
            return self
        known = self._copies.get(id(rounded))  # the copy keeps `rounded` alive, so its id is unique
        if known is None:
            known = copy(self)
            known.given, known._copies = rounded, WeakValueDictionary()
            self._copies[id(rounded)] = known
        return known

    def rounded(self, floor: Reals) -> QuantizedWeights:
        """The given weights if their scales are at least `floor`, otherwise the nearest ones."""
        if self.given is not None and np.all(self.given.grid.scales >= floor):
            return self.given
        if self.steps is not None:
            scales = np.where(self.steps > 0, self.steps, floor)
            if np.all(scales >= floor):
                kept = WeightQuantizer(WeightFormat(), self.shape[1], scales)
                return QuantizedWeights(kept, kept.nearest(self.rows), self.real_bias)
        grid = make_weight_quantizer(self.wanted, self.form, self.shape[1], floor)
        if self._nearest is None or not np.array_equal(self._nearest.grid.scales, grid.scales):
            rows, bias = self.rows, self.real_bias
            z = grid.nearest(rows)
            if self.means is not None:
                lost = (z * grid.steps - rows).reshape(self.weight.shape)
                bias = bias - mean_output(self.node, lost, self.means)
            self._nearest = QuantizedWeights(grid, z, bias)
        return self._nearest
