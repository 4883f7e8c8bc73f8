"""The noise of a single rounding at the outputs.

The float model runs with some tensors rounded to int8, or with the rounded weights of some nodes.
Changes of a complete int8 model are less informative: its errors are tuned to cancel, so removing
one of them may increase the total. Errors of single roundings add up well enough for a comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, QuantParams, Value
from ...numerics import INT8, Precision
from ...ops import definition
from ...runtime.many_runs import FEW_COPIES_BYTES
from ..ranges.candidate_evaluation import CandidateEvaluator
from ..ranges.rounding_noise import rounding_noise
from ..scheme.options import Ranges
from ..scheme.plan import Plan
from ..scheme.quantizable_groups import QuantizableGroup
from ..scheme.reuse import Reuse
from ..scheme.simulation import Simulation
from ..weights.layer_weights import LayerWeights

Noise = NDArray[np.float64]
"""Noise at each evaluation point, summed over samples."""


class NoiseContributions:
    """The noise contributions in the graph that `plan` makes of `ranges`, measured by `trials`.

    Weights come from two plans, one with 8 bits everywhere, one with 4 bits wherever possible.
    """

    def __init__(
        self,
        plan: Plan,
        weights: Mapping[Precision, Plan],
        ranges: Ranges,
        trials: CandidateEvaluator,
    ) -> None:
        self.plan, self.weights, self.trials = plan, weights, trials
        self.quants = plan.params(ranges)
        self.made = {v.name: u for u in plan.groups for v in u.outputs}
        self._known: dict[frozenset[str], Noise] = {}
        self._once = Reuse()

    def of_tensors(self, names: Iterable[str]) -> Noise:
        """The noise of rounding these tensors to int8."""
        rounded = self._rounded(names)
        if not rounded:
            return np.zeros(len(self.trials.points))
        if (known := self._known.get(frozenset(rounded))) is not None:
            return known
        return self._noise(rounded, {})

    def measure_tensors(self, sets: Iterable[Iterable[str]]) -> None:
        """Measure sets of tensors for `of_tensors` together, which takes half as long."""
        rounded = {frozenset(r): r for names in sets if (r := self._rounded(names))}
        roundings = list(rounded.values())
        noises = rounding_noise(self.plan.graph, self.trials, roundings, within=FEW_COPIES_BYTES)
        self._known = {
            names: noise.sum(axis=1) for names, noise in zip(rounded, noises, strict=True)
        }

    def _rounded(self, names: Iterable[str]) -> dict[str, QuantParams]:
        """The int8 parameters of these tensors."""
        wanted = set(names) - {n for n, u in self.made.items() if u.shared}
        quants = self.quants.items()
        return {v.name: q for (v, dtype), q in quants if dtype == INT8 and v.name in wanted}

    def of_weights(self, names: Iterable[str], precision: Precision) -> Noise:
        """The noise of the int8 or int4 weights of the nodes that compute these tensors."""
        groups = [self.made[name] for name in names]
        linear = self.weights[precision].linear
        constants = {
            u.node.output.name: self._weights(u, linear[u.node]) for u in groups if u.node in linear
        }
        return self._noise({}, constants)

    def _weights(self, group: QuantizableGroup, linear: LayerWeights) -> dict[int, Array]:
        assert group.dtype is not None
        node, op = group.node, definition(group.node.op)
        x, y = (self.quants[v, group.dtype] for v in (node.input(0), node.output))
        weight, bias = linear.quantize(x, y)
        assert op.weight is not None
        found = {op.weight: _dequantized(weight)}
        if bias is not None and op.bias is not None:
            found[op.bias] = _dequantized(bias)
        return found

    def _noise(
        self, rounded: Mapping[str, QuantParams], constants: Mapping[str, Mapping[int, Array]]
    ) -> Noise:
        graph = Simulation(self.plan.graph, rounded, constants, once=self._once).run()
        noise: Noise = self.trials.measure(graph, lasting=True).noise.sum(axis=1)
        return noise


def _dequantized(v: Value) -> Array:
    assert v.const is not None and v.quant is not None
    scale = np.array(v.quant.scale).reshape(-1, *[1] * (v.const.ndim - 1))
    real: Array = (v.const * scale).astype(np.float32)
    return real
