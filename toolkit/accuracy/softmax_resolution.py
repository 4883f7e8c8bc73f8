"""What of a tensor counts where softmaxes alone read it.

A softmax does not tell values apart that lie far below the largest of a row. What attention masks
are there, and what is added to put it there, may be held as any number low enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..format.schema import BinaryFn
from ..ir import Array, Graph, Node, Shape, Value
from ..numerics import INT16, DType
from ..ops import computes, is_view
from ..ops.norm.softmax import makes_shares
from ..quantize.scheme.qparams import LEVELS

Tensors = Mapping[str, Array]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ReferenceTensors:
    """The float model's tensors of a sample, by name; what lies below `floors` counts as these."""

    tensors: Tensors
    floors: Tensors

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def of(self, name: str, kept: Mask | None = None) -> Array:
        """What counts of the tensor; of its channels (last axis) those `kept`."""
        return self.counted(name, _of(self.tensors[name], kept), kept)

    def counted(self, name: str, x: Array, kept: Mask | None = None) -> Array:
        """What counts of `x`, which stands for the tensor, in the shape of `of`."""
        shaped: Array = x.reshape(_of(self.tensors[name], kept).shape)
        if name in self.floors:
            shaped = np.maximum(shaped, _of(self.floors[name], kept))
        return shaped


class SoftmaxResolution:
    """Of the float `graph`, whose softmaxes a file has on `dtypes`, by their outputs' names.

    Half of the output's last step is what counts: log(2 * steps) below the largest of a row. Of a
    softmax that stays float32 as on int16. `needs` names the tensors that `truth` reads.
    """

    def __init__(self, graph: Graph, dtypes: Mapping[str, DType]) -> None:
        self._readers, self._made = graph.consumers(), graph.producers()
        self._outputs = graph.output_values()
        self._softmaxes: dict[Value, tuple[Value, int, float]] = {}
        self._masks: dict[Value, list[tuple[Node, Value]]] = {}
        made = [v for n in graph.nodes if not is_view(n) for v in n.outputs]
        made += [p.value for p in graph.inputs]
        for v in made:
            readers = self._read_by(v, makes_shares)
            if len({(read, node.attrs["axis"]) for node, read in readers}) == 1:
                dtype = [dtypes.get(node.output.name, INT16) for node, _ in readers]
                steps = max(LEVELS.get(d, LEVELS[INT16]) for d in dtype)
                node, read = readers[0]
                self._softmaxes[v] = read, int(node.attrs["axis"]), float(np.log(2 * steps))
        for v in made:
            readers = self._read_by(v, _adds)
            if readers and all(node.output in self._softmaxes for node, _ in readers):
                self._masks[v] = readers
        sums = [v for adds in self._masks.values() for n, _ in adds for v in n.dynamic_inputs]
        self.needs = {source_of(v, self._made).name for v in [*self._softmaxes, *sums]}

    def truth(self, tensors: Tensors) -> ReferenceTensors:
        """Of the float model's `tensors` of one sample."""
        floors: dict[str, Array] = {}
        for v, (read, axis, reach) in self._softmaxes.items():
            if v.name in tensors:
                top = tensors[v.name].reshape(read.shape).max(axis=axis, keepdims=True)
                floor = np.broadcast_to(top - np.float32(reach), read.shape)
                floors[v.name] = floor.reshape(tensors[v.name].shape)
        for v, readers in self._masks.items():
            if v.name in tensors and tensors[v.name].max() <= 0 and v.name not in floors:
                lowest = [self._below(node, read, tensors, floors) for node, read in readers]
                if all(floor is not None for floor in lowest):
                    shape = tensors[v.name].shape
                    floors[v.name] = np.min([f.reshape(shape) for f in lowest if f is not None], 0)
        return ReferenceTensors(tensors, floors)

    def _below(self, node: Node, mask: Value, tensors: Tensors, floors: Tensors) -> Array | None:
        """Which values of `mask`, added by `node`, count as what any lower ones do.

        None where what it is added to is not known.
        """
        other = node.input(1) if node.input(0) is mask else node.input(0)
        if other is mask or node.output.name not in floors:
            return None
        x = other.const
        if x is None:
            x = tensors.get(source_of(other, self._made).name)
        if x is None:
            return None
        floor = floors[node.output.name].reshape(node.output.shape) - x.reshape(other.shape)
        return _least(np.minimum(floor, 0), mask.shape)

    def _read_by(self, v: Value, such: Callable[[Node], bool]) -> list[tuple[Node, Value]]:
        """The nodes that read `v`, or what it is reshaped to; none unless all are such."""
        found: list[tuple[Node, Value]] = []
        todo = [v]
        while todo:
            read = todo.pop()
            if read in self._outputs:
                return []
            for node in self._readers.get(read, []):
                if is_view(node):
                    todo.append(node.output)
                elif such(node):
                    found.append((node, read))
                else:
                    return []
        return found


def _adds(node: Node) -> bool:
    return computes(node, BinaryFn.Add)


def source_of(v: Value, made: Mapping[Value, Node]) -> Value:
    """The tensor whose bytes `v` is: a Reshape does not run."""
    while v in made and is_view(made[v]):
        v = made[v].input(0)
    return v


def _of(x: Array, kept: Mask | None) -> Array:
    return x if kept is None else x[..., kept]


def _least(x: Array, shape: Shape) -> Array:
    """The least of what broadcasting makes of each element of `shape`."""
    lead = x.ndim - len(shape)
    axes = [i for i, d in enumerate((1,) * lead + shape) if d < x.shape[i]]
    found: Array = x.min(axis=tuple(axes), keepdims=True).reshape(shape)
    return found
