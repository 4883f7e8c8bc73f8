"""Shapes of operators that broadcast as numpy does, and how the runtime steps through them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Shape, Value
from ._opdef import Builder
from .move.movement import expand, row_major

BROADCAST_DIMS = 4


def broadcast(*shapes: Shape) -> tuple[list[int], ...]:
    """(dims, steps of each) of the result, neighbours merged where all allow it."""
    out = np.broadcast_shapes(*shapes)
    dims, steps = list[int](), [list[int]() for _ in shapes]
    padded = [(1,) * (len(out) - len(s)) + s for s in shapes]
    strides = [row_major(s) for s in padded]
    for i, d in enumerate(out):
        if d == 1:
            continue
        step = [0 if p[i] == 1 else s[i] for p, s in zip(padded, strides, strict=True)]
        if dims and all(have[-1] == d * s for have, s in zip(steps, step, strict=True)):
            dims[-1] *= d
            for have, s in zip(steps, step, strict=True):
                have[-1] = s
        else:
            dims.append(d)
            for have, s in zip(steps, step, strict=True):
                have.append(s)
    return dims, *steps


def step_params(names: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int | float]:
    """Fields `names` of a struct: the dims, then each one's steps. ValueError for over 4 dims."""
    found = broadcast(*shapes)
    fill = BROADCAST_DIMS - len(found[0])
    if fill < 0:
        given = " with ".join(str(list(s)) for s in shapes)
        raise ValueError(f"broadcasting {given} takes {len(found[0])} dims, not 4")
    rows = ([*[1 - min(k, 1)] * fill, *row] for k, row in enumerate(found))
    return {f"{n}.{i}": d for n, row in zip(names, rows, strict=True) for i, d in enumerate(row)}


def shape_params(a: Shape, b: Shape) -> dict[str, int | float]:
    """Fields of the struct Broadcast. Raises ValueError if it takes more than 4 dims."""
    return step_params(("shape.dims", "shape.a", "shape.b"), (a, b))


def within_reach(b: Builder, values: Sequence[Value]) -> list[Value]:
    """The values, expanded to the result's shape where the runtime could not step through them."""
    shapes = [v.shape for v in values]
    if len(broadcast(*shapes)[0]) <= BROADCAST_DIMS:
        return list(values)
    return [expand(b, v, np.broadcast_shapes(*shapes)) for v in values]
