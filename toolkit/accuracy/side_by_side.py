"""A file run beside the float model, tensor by tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ..format.model import EdgeModel
from ..ir import Array, Graph, QuantParams
from ..runtime import Session
from .softmax_resolution import ReferenceTensors, SoftmaxResolution


def kept_channels(model: EdgeModel) -> dict[str, NDArray[np.bool_]]:
    """Which channels a file has of tensors that lost some."""
    return {model.ops[i].name: np.array(mask) for i, mask in model.pruned.items()}


class SideBySideRunner:
    """The file of `edge`, made of the float graph `floats`.

    resolved  what of the float graph's tensors counts
    kept      channels that the file has of a tensor, where it lost some
    """

    def __init__(self, edge: Session, floats: Graph) -> None:
        self.edge = edge
        self.resolution = SoftmaxResolution(
            floats, {out.name: out.dtype for out in edge.op_outputs}
        )
        self.kept = kept_channels(edge.model.parsed())

    def run(
        self,
        feed: Mapping[str, Array],
        truth: ReferenceTensors,
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
