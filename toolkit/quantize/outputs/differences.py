"""Outputs that differ from an input by little: the difference is what counts of them.

Sums of an input and what the network adds to it (skips.py) are such, and what an autoencoder
rebuilds: it is subtracted from the input, and a large difference means that the input is unlike
what the network was trained on. An enlarged image differs from the input of which each pixel is
repeated: that difference is what the network is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...build import open_once
from ...ir import Array, Graph, Port, Shape, Value
from ...numerics import FLOAT
from ...ops import definition
from .kept_samples import KeptSample
from .signals import ENOUGH, variations

if TYPE_CHECKING:
    from .evaluation_points import EvaluationPoint

LEFT = 0.75
"""Maximum variation of the difference, relative to the variation of the input that is rebuilt. An
autoencoder for log-mel spectra leaves 0.42 of it on normal sounds, and 0.51 on all."""

CLOSE, CLEARER = 0.25, 3.0
"""Maximum energy of the difference, relative to that of the input that is rebuilt, and how many
times as much it is on a wrong scale. Of autoencoders on the right scale it is up to 0.15; on 255
times that, where those with a ReLU still rebuild most, 5 times as much."""
COLORS = 3
"""The channels of an image in color, the first or the last axis of a sample."""
LEAST_NUMBERS = 8
"""Minimum size of an output that rebuilds an input: smaller ones are regressions."""


def inputs_by_size(graph: Graph) -> dict[int, tuple[str, ...]]:
    """The names of the inputs of floats that an output may rebuild. None of a network with several
    inputs and outputs: they may be the states of a recurrent one."""
    found = dict[int, tuple[str, ...]]()
    if len(graph.inputs) == 1 or len(graph.outputs) == 1:
        for port in graph.inputs:
            size = prod(port.shape)
            if port.value.dtype == FLOAT and size >= LEAST_NUMBERS:
                found[size] = (*found.get(size, ()), port.name)
    return found


def inputs_rebuilt_by(v: Value, graph: Graph) -> tuple[str, ...]:
    """The names of the inputs that `v` may rebuild: of as many numbers, or smaller by a factor."""
    alike = inputs_by_size(graph)
    shapes = {p.name: p.shape for p in graph.inputs}
    enlarged = [n for names in alike.values() for n in names if _enlarged(v.shape, shapes[n])]
    return (*alike.get(v.type.size, ()), *enlarged)


def _enlarged(after: Shape, before: Shape) -> tuple[int, ...] | None:
    """By how much each axis is larger: a common factor along one or more axes, and 1 along others;
    None if the shapes do not differ like that."""
    if len(after) != len(before) or any(a % max(b, 1) for a, b in zip(after, before, strict=True)):
        return None
    factors = tuple(a // max(b, 1) for a, b in zip(after, before, strict=True))
    return factors if len(set(factors) - {1}) == 1 else None


def inputs_with_levels(graph: Graph) -> list[str]:
    """The names of the inputs that `inputs_by_size` has, of any size, without images in color: an
    error in a dark one is seen as little as in a bright one."""
    shapes = {p.name: p.shape for p in graph.inputs}
    names = [name for names in inputs_by_size(graph).values() for name in names]
    return [n for n in names if len(shapes[n]) != 4 or COLORS not in shapes[n][1::2]]


def rebuilt_at_scale(
    graph: Graph, port: Port, samples: Sequence[Mapping[str, Array]], factors: Sequence[float]
) -> tuple[float, str] | None:
    """The one of `factors` at which an output rebuilds the input `port`, and the output, if it does
    much worse on the samples as they are.

    It must be made by layers with weights alone: what multiplies the input by a mask passes it on
    where the mask is 1, on whatever scale that is. Inputs that are too small must differ by more
    than they are: biases are most of the output then.
    """
    sizes = {size for size, names in inputs_by_size(graph).items() if port.name in names}
    alike = [p for p in graph.outputs if p.value.dtype == FLOAT and prod(p.shape) in sizes]
    passed = past_weights(graph, port.value)
    outputs = [p for p in alike if p.value not in passed]
    if not outputs or not samples:
        return None
    session = open_once(Graph(graph.nodes, graph.inputs, outputs))
    differing = {}
    for factor in (1.0, *factors):
        parts = list[list[float]]()
        for s in samples:
            x = np.asarray(s[port.name] * np.float32(factor), np.float32)
            got = session.run({**s, port.name: x})
            parts.append([_differing(got[p.name], x) for p in outputs])
        differing[factor] = np.median(parts, axis=0)  # one sample may be an outlier
    for factor in factors:
        clear = np.minimum(differing[1.0] / CLEARER, CLOSE)
        if factor > 1:
            clear[differing[1.0] <= 1.0] = 0.0
        for output, part, most in zip(outputs, differing[factor], clear, strict=True):
            if part < most:
                return factor, output.name
    return None


def past_weights(graph: Graph, *given: Value) -> set[Value]:
    """The tensors that those `given` reach past all layers with weights."""
    reached = set(given)
    for node in graph.nodes:
        if definition(node.op).weight is None and not reached.isdisjoint(node.dynamic_inputs):
            reached.update(node.outputs)
    return reached


def with_counted_part(point: EvaluationPoint, samples: Sequence[KeptSample]) -> EvaluationPoint:
    """The point of an output with the part of its energy that is added to an input, or that is the
    difference from the input that it rebuilds, by these samples; `rebuilt` is that input alone."""
    tensor, added = point.tensor, point.added
    name = None if added else _rebuilt(point, samples)
    alone = replace(point, added=None, rebuilt=() if name is None else (name,))
    if added is not None and added in samples[0].at_points:
        counted = _Views(alone, samples, lambda s: s.at_points[added])
    elif name is not None:
        counted = _Views(alone, samples, lambda s: s.at_points[tensor] - _like(s, name, tensor))
    else:
        return alone
    whole = _Views(alone, samples, lambda s: s.at_points[tensor])
    of_counted, of_whole = variations([alone] * 2, [counted, whole])
    if not of_counted or not of_whole:
        return alone
    most = 1.0 if name is None else np.inf  # an added tensor may be larger than the sum
    return replace(alone, part=float(min(of_counted / of_whole, most)))


@dataclass(frozen=True)
class _Views(Sequence[NDArray[np.float64]]):
    """What counts of an array on each sample, one at a time."""

    point: EvaluationPoint
    samples: Sequence[KeptSample]
    array: Callable[[KeptSample], Array]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, i: Any) -> Any:
        shape = self.samples[i].at_points[self.point.tensor].shape
        return self.point.view(self.array(self.samples[i]).reshape(shape))


def _like(sample: KeptSample, name: str, tensor: str) -> Array:
    """An input as `tensor` rebuilds it: in its shape, with elements repeated if that is larger."""
    x, shape = np.asarray(sample.inputs[name]), sample.at_points[tensor].shape
    if (factors := _enlarged(shape, x.shape)) is not None:
        for axis, factor in enumerate(factors):
            x = x.repeat(factor, axis)
    return x.reshape(shape)


def _alike(shape: Shape, of_input: Shape) -> bool:
    return prod(shape) == prod(of_input) or _enlarged(shape, of_input) is not None


def _rebuilt(point: EvaluationPoint, samples: Sequence[KeptSample]) -> str | None:
    """The input whose elements those of an output vary with, over the samples, or are close to."""
    if len(samples) < ENOUGH:
        return None
    for name in point.rebuilt:
        shapes = {(s.at_points[point.tensor].shape, s.inputs[name].shape) for s in samples}
        if len(shapes) > 1 or not _alike(*shapes.pop()):  # the dimensions of some models vary
            continue
        left, whole = _Variation(), _Variation()
        for s in samples:
            x = point.view(_like(s, name, point.tensor))
            left.add(point.view(s.at_points[point.tensor]) - x)
            whole.add(x)
        close = left.energy <= CLOSE * whole.energy
        if close or left.total <= LEFT * whole.total:
            return name
    return None


@np.errstate(invalid="ignore")  # of what is infinite
def _differing(y: Array, x: Array) -> float:
    """The energy of the difference, relative to that of x."""
    if y.size != x.size:  # their dimensions may vary
        return np.inf
    x = x.astype(np.float64).ravel()
    return float(np.square(y.ravel() - x).sum() / max(np.square(x).sum(), 1e-30))


class _Variation:
    """Of numbers around the mean of each over the samples, summed up."""

    def __init__(self) -> None:
        self.count, self.sums, self.squares = 0, np.zeros(1), np.zeros(1)

    def add(self, x: NDArray[np.float64]) -> None:
        self.count += 1
        self.sums = self.sums + x
        self.squares = self.squares + x * x

    @property
    def energy(self) -> float:
        return float(self.squares.sum())

    @property
    def total(self) -> float:
        return float((self.squares - self.sums * self.sums / self.count).sum())
