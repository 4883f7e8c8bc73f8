"""Weights rounded so that a node's output is off least, not each weight.

For integers z in steps of `steps`, the rows v = z * steps of one group have the error
v h v' - 2 v b' (plus what no rounding changes): h the second moment of the inputs, b the product of
the wanted weights with the inputs' moments. Two methods, one after the other:

- GPTQ (Frantar et al. 2022, arXiv:2210.17323): weight after weight, each rounded with the errors of
  those before made up for by those to come. Written as Babai's nearest plane, which is the same
  (arXiv:2507.18553) and needs no inverse.
- Coordinate descent: each weight in turn to its best integer, until none moves.

Only elementwise operations, so the same input gives the same integers whatever BLAS and threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

SWEEPS = 8
"""Of coordinate descent at most."""


def product(a: Reals, m: Reals) -> Reals:
    """a [g, n, k] @ m [g, k, l], summed in order."""
    total: Reals = np.zeros((*a.shape[:2], m.shape[2]))
    for j in range(a.shape[2]):
        total += a[:, :, j, None] * m[:, None, j, :]
    return total


def cholesky(h: Reals) -> Reals:
    """Upper triangular r with r' r = h [g, k, k], which must be positive definite."""
    left, r = h.copy(), np.zeros_like(h)
    for j in range(h.shape[1]):
        row = left[:, j, j:] / np.sqrt(left[:, j, j])[:, None]
        r[:, j, j:] = row
        left[:, j + 1 :, j + 1 :] -= row[:, 1:, None] * row[:, None, 1:]
    return r


def nearest_plane(b: Reals, h: Reals, steps: Reals, limit: int) -> Reals:
    """Integers in [-limit, limit] by GPTQ, the inputs with most power first."""
    k = h.shape[1]
    order = np.argsort(np.diagonal(h, axis1=1, axis2=2), axis=1, kind="stable")
    group = np.arange(len(h))[:, None]
    r = cholesky(h[group[:, :, None], order[:, :, None], order[:, None, :]])
    b, steps = (np.take_along_axis(v, order[:, None, :], 2) for v in (b, steps))
    y, z = _divided(b, r), np.zeros_like(b)
    for j in range(k - 1, -1, -1):
        unit = steps[:, :, j]
        z[:, :, j] = np.clip(np.rint(y[:, :, j] / r[:, j, j, None] / unit), -limit, limit)
        y[:, :, : j + 1] -= (z[:, :, j] * unit)[:, :, None] * r[:, None, : j + 1, j]
    back = np.empty_like(z)
    np.put_along_axis(back, np.broadcast_to(order[:, None, :], z.shape), z, 2)
    return back


def _divided(b: Reals, r: Reals) -> Reals:
    """b [g, n, k] r^-1, r upper triangular [g, k, k]."""
    y = b.copy()
    for j in range(b.shape[2]):
        y[:, :, j] /= r[:, j, j, None]
        y[:, :, j + 1 :] -= y[:, :, j, None] * r[:, None, j, j + 1 :]
    return y


def unrounded(b: Reals, h: Reals) -> Reals:
    """The real weights with the least error."""
    r = cholesky(h)
    y = _divided(b, r)
    for j in range(b.shape[2] - 1, -1, -1):
        y[:, :, j] /= r[:, j, j, None]
        y[:, :, :j] -= y[:, :, j, None] * r[:, None, :j, j]
    return y


def descend(z: Reals, b: Reals, h: Reals, steps: Reals, limit: int) -> Reals:
    """`z` improved, in place; returns its products v h."""
    gradient = product(z * steps, h) - b
    curvature = np.diagonal(h, axis1=1, axis2=2)
    for _ in range(SWEEPS):
        moved = False
        for j in range(h.shape[1]):
            unit = steps[:, :, j]
            best = z[:, :, j] - gradient[:, :, j] / curvature[:, j, None] / unit
            move = np.clip(np.rint(best), -limit, limit) - z[:, :, j]
            at = np.nonzero(move)
            if len(at[0]):
                moved = True
                z[:, :, j] += move
                gradient[at] += (move * unit)[at][:, None] * h[at[0], j]
        if not moved:
            break
    return gradient + b


def error(z: Reals, b: Reals, vh: Reals, steps: Reals) -> Reals:
    """Of each row [g, n], up to what no rounding changes; `vh` as descend returns it."""
    v = z * steps
    result: Reals = (v * (vh - 2 * b)).sum(axis=2)
    return result


def best_factor(z: Reals, b: Reals, vh: Reals, steps: Reals) -> Reals:
    """What to multiply the steps of each row [g, n] by, for the least error with these integers."""
    v = z * steps
    top, bottom = (v * b).sum(axis=2), (v * vh).sum(axis=2)
    ratio = np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), 1.0)
    return np.clip(ratio, 0.5, 2.0)
