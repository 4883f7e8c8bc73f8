"""GPTQ: rounds weights to minimize the error of a node's output instead of the error of each
weight.

For integers z in steps of `steps`, the rows v = z * steps of one group have the error v h v' - 2 v
b' (plus a constant), where h is the second moment of the inputs and b the product of the float
weights with the inputs' moments. Two methods run in sequence:

- GPTQ (Frantar et al. 2022, arXiv:2210.17323): weights are rounded one by one, and those that
  follow compensate the error of those before. Implemented as Babai's nearest-plane algorithm, which
  is equivalent (arXiv:2507.18553) and needs no matrix inverse.
- Coordinate descent: each weight in turn takes its best integer, until none changes.

Sums have a fixed order (runtime/linear_algebra.py), so the same input gives the same integers,
independent of the BLAS and the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...runtime import linear_algebra
from ...runtime.linear_algebra import R, cholesky, divided, divided_transposed, product

__all__ = ["best_factor", "cholesky", "descend", "error", "nearest_plane", "product", "unrounded"]

Reals = NDArray[np.float64]

SWEEPS = 8
"""Maximum number of sweeps of coordinate descent."""


class Planes:
    """The problem given by b [g, n, k] and h [g, k, k], inputs sorted by power (descending)."""

    def __init__(self, b: Reals, h: Reals) -> None:
        self.order = np.argsort(np.diagonal(h, axis1=1, axis2=2), axis=1, kind="stable")
        each = [one.take(order, 0).take(order, 1) for one, order in zip(h, self.order, strict=True)]
        self.r = cholesky(stacked(each), overwrite=True)
        self.y = divided(_columns(b, self.order), self.r)

    def nearest(
        self, steps: Reals, limit: int, price: Reals | None = None, unit: Reals | None = None
    ) -> Reals:
        """Integers in [-limit, limit] by GPTQ, for b / unit [g, n, 1]. `price` is an additional
        cost of each integer, from -limit on."""
        steps, y = _columns(steps, self.order), self.y
        z = linear_algebra.nearest_plane(
            y if unit is None else y / unit, self.r, steps, limit, price
        )
        return _columns(z, np.argsort(self.order, axis=1))


def stacked(matrices: Sequence[NDArray[R]]) -> NDArray[R]:
    """The matrices along a first axis; a single one is not copied."""
    return matrices[0][None] if len(matrices) == 1 else np.stack(matrices)


def _columns(x: Reals, order: NDArray[np.int64]) -> Reals:
    """x [g, n, k] with the columns of each group in this order [g, k]."""
    alone = len(order) == 1  # several times faster
    found: Reals = (
        x[0].take(order[0], 1)[None] if alone else np.take_along_axis(x, order[:, None, :], 2)
    )
    return found


def nearest_plane(b: Reals, h: Reals, steps: Reals, limit: int) -> Reals:
    """Integers in [-limit, limit] by GPTQ, inputs with the largest power first."""
    return Planes(b, h).nearest(steps, limit)


def unrounded(b: NDArray[R], h: NDArray[R], overwrite: bool = False) -> NDArray[R]:
    """The real-valued weights that minimize the error; `overwrite` allows overwriting h."""
    r = cholesky(h, overwrite)
    return divided_transposed(divided(b, r), r)


def descend(
    z: Reals, b: Reals, h: Reals, steps: Reals, limit: int, price: Reals | None = None
) -> Reals:
    """Improve `z` in place; `price` as in `Planes.nearest`. Returns the products v h."""
    gradient = product(z * steps, h) - b
    z[...], gradient = linear_algebra.descend(z, gradient, h, steps, limit, SWEEPS, price)
    return gradient + b


def error(z: Reals, b: Reals, vh: Reals, steps: Reals) -> Reals:
    """The error of each row [g, n], up to a constant; `vh` as returned by `descend`."""
    v = z * steps
    result: Reals = (v * (vh - 2 * b)).sum(axis=2)
    return result


def best_factor(z: Reals, b: Reals, vh: Reals, steps: Reals) -> Reals:
    """The factor on the steps of each row [g, n] that minimizes the error of these integers."""
    v = z * steps
    top, bottom = (v * b).sum(axis=2), (v * vh).sum(axis=2)
    ratio = np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), 1.0)
    return np.clip(ratio, 0.5, 2.0)
