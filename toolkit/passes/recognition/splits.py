"""What a Reshape keeps apart: axes of which joining neighbours makes either of its shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from operator import mul

from ...ir import Array, Shape


def common_split(*shapes: Shape) -> Shape | None:
    """The coarsest shape of which joining neighbours makes each of `shapes`, all of one size.

    None where they cut across each other, as [2, 3] and [3, 2] do. It has no axes of size 1.
    """
    cuts = sorted({1, *(cut for shape in shapes for cut in accumulate(shape, mul))})
    if any(b % a for a, b in pairwise(cuts)):
        return None
    return tuple(b // a for a, b in pairwise(cuts))


def split_axes(shape: Shape, split: Shape, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes of `split` that `axes` of `shape` are made of."""
    parts = _parts(shape, split)
    return tuple(i for axis in axes for i in parts[axis])


def split_array(array: Array, shape: Shape, split: Shape) -> Array:
    """`array`, which broadcasts to `shape`, as it broadcasts to `split`."""
    padded = (1,) * (len(shape) - array.ndim) + array.shape
    made = [1] * len(split)
    for d, part in zip(padded, _parts(shape, split), strict=True):
        for i in part if d != 1 else ():
            made[i] = split[i]
    return array.reshape(made)


def _parts(shape: Shape, split: Shape) -> list[range]:
    """The axes of `split` that each axis of `shape` is made of."""
    found, first = list[range](), 0
    for d in shape:
        end = first
        while prod(split[first:end]) != d:
            end += 1
        found.append(range(first, end))
        first = end
    return found
