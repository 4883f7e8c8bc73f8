"""Where a quantized model is compared with the float one while it is being tuned.

That is at its outputs, and for a softmax also at a softened one: how far probabilities are off
hangs on the few samples that the model is in doubt about, and a tuning by them alone fits those.
At a temperature where a typical sample is in some doubt, every sample has its say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ..ir import Array, Graph, Port, Value
from ..ops import definition
from .options import Range

REACH = float(np.log(512))
"""Below the best class by this, softmax gives less than half a step of its int8 output."""
MARGIN = 2.0
"""Between the two best classes of the median sample, after division by the temperature."""


@dataclass(frozen=True)
class Probe:
    """A tensor; with `axis`, what counts is its softmax along that axis at `temperature`.

    `limits`: beyond them softmax does not tell values apart. None are set if `shared`, when
    something else reads the tensor too.
    """

    tensor: str
    axis: int | None = None
    temperature: float = 1.0
    limits: Range = (-np.inf, np.inf)
    shared: bool = False

    def view(self, x: Array) -> NDArray[np.float64]:
        """What counts of a sample's tensor."""
        y = x.astype(np.float64)
        if self.axis is None:
            return y
        y = np.clip(y, *self.limits) / self.temperature
        soft: NDArray[np.float64] = softmax(y, axis=self.axis)
        return soft

    def fitted(self, samples: Iterable[Array]) -> list[Probe]:
        """Itself; of a softmax, with limits, and once more at a temperature, by these samples.

        A class counts within REACH of the best one, and the best one no further than that above
        the second: what lies beyond may be clipped.
        """
        if self.axis is None:
            return [self]
        margins, low, high = list[float](), np.inf, -np.inf
        for x in samples:
            best = np.sort(x.astype(np.float64), axis=self.axis).take([-1, -2], self.axis)
            first, second = np.moveaxis(best, self.axis, 0)
            margins.append(float(np.median(first - second)))
            low, high = min(low, first.min() - REACH), max(high, second.max() + REACH)
        limits = (float(low), float(max(high, low + REACH)))
        limited = self if self.shared else replace(self, limits=limits)
        temperature = max(1.0, float(np.median(margins)) / MARGIN)
        return list(dict.fromkeys([limited, replace(limited, temperature=temperature)]))


def find_probes(graph: Graph) -> list[Probe]:
    """One probe an output of floats, those that meet counted once."""
    made_by, readers, outputs = graph.producers(), graph.consumers(), graph.output_values()
    found: list[Probe] = []
    for port in graph.outputs:
        v = port.value
        while v in made_by and definition(made_by[v].op).shared and len(made_by[v].inputs) == 1:
            v = made_by[v].input(0)
        node = made_by.get(v)
        if node is not None and node.op == "Softmax" and node.input(0) in made_by:
            axis, x = int(node.attrs.get("axis", -1)), node.input(0)
            shared = x in outputs or any(r is not node for r in readers[x])
            if x.shape[axis] > 1:
                found.append(Probe(x.name, axis, shared=shared))
        elif port.value.dtype == np.float32 and port.value in made_by:
            found.append(Probe(port.value.name))
    return list(dict.fromkeys(found))


def with_probes(graph: Graph, probes: Sequence[Probe]) -> Graph:
    """`graph` whose outputs are the probed tensors, by their names; those it lacks are left out."""
    by_name: dict[str, Value] = {v.name: v for n in graph.nodes for v in n.outputs}
    tensors = dict.fromkeys(p.tensor for p in probes)
    found = [by_name[name] for name in tensors if name in by_name]
    return Graph(graph.nodes, graph.inputs, [Port(v.name, v, 1, v.shape) for v in found])
