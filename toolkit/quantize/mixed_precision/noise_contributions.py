"""How much noise a single rounding makes at the outputs, were it the only one.

The float model runs with some tensors rounded to their int8 steps, or with the rounded weights of
some nodes. Steps from a whole int8 model say less: its errors are tuned to cancel out, so that any
one of them taken away may make the rest worse. Errors made alone add up well enough to be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, QuantParams, Value
from ...numerics import INT8, Precision
from ...ops import definition
from ..ranges.candidate_evaluation import CandidateEvaluator
from ..scheme.options import Ranges
from ..scheme.plan import Plan
from ..scheme.quantizable_groups import QuantizableGroup
from ..scheme.simulation import Simulation
from ..weights.layer_weights import LayerWeights

Noise = NDArray[np.float64]
"""At each evaluation point, summed over samples."""


class NoiseContributions:
    """Of the graph that `plan` makes of `ranges`, measured by `trials`.

    Weights are those of two plans, one with 8 bits throughout, one with 4 wherever they can be.
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

    def of_tensors(self, names: Iterable[str]) -> Noise:
        """That of rounding these tensors to int8 where they are made."""
        wanted = set(names) - {n for n, u in self.made.items() if u.shared}
        quants = self.quants.items()
        rounded = {v.name: q for (v, dtype), q in quants if dtype == INT8 and v.name in wanted}
        return self._noise(rounded, {})

    def of_weights(self, names: Iterable[str], precision: Precision) -> Noise:
        """That of the weights of the nodes that make these tensors, int8 or int4."""
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
        graph = Simulation(self.plan.graph, rounded, constants).run()
        noise: Noise = self.trials.measure(graph).noise.sum(axis=1)
        return noise


def _dequantized(v: Value) -> Array:
    assert v.const is not None and v.quant is not None
    scale = np.array(v.quant.scale).reshape(-1, *[1] * (v.const.ndim - 1))
    real: Array = (v.const * scale).astype(np.float32)
    return real
