"""A file run beside the float model, tensor by tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..format.reader import read
from ..ir import Array, Graph, QuantParams
from ..runtime import Session
from .resolved import Resolved, Truth


class Beside:
    """The file of `edge`, made of the float graph `floats`.

    resolved  what of the float graph's tensors counts
    kept      channels that the file has of a tensor, where it lost some
    """

    def __init__(self, edge: Session, floats: Graph) -> None:
        self.edge = edge
        self.resolved = Resolved(floats, {out.name: out.dtype for out in edge.op_outputs})
        pruned = read(edge.model.data.tobytes()).pruned
        self.kept = {edge.op_outputs[i].name: np.array(mask) for i, mask in pruned.items()}

    def run(
        self,
        feed: Mapping[str, Array],
        truth: Truth,
        take: Callable[[str, Array, Array, Array], None],
    ) -> dict[str, Array]:
        """Run a sample and `take(name, values, counted, truth)` of every tensor that both have.

        The file's values as real numbers, valid during the call only; what of them counts, and of
        the truth, in one shape. Returns the file's outputs.
        """

        def each(i: int, name: str, array: Array) -> None:
            if name in truth:
                out, kept = self.edge.op_outputs[i], self.kept.get(name)
                real: Array = array
                if out.scale:
                    real = QuantParams((out.scale,), out.zero_point).dequantize(array)
                take(name, real, truth.counted(name, real, kept), truth.of(name, kept))

        return self.edge.run_layers(feed, each)
