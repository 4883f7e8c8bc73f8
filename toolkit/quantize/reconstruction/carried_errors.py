"""How much of the error in a node's inputs its weights should compensate.

Computed in units of input steps from the sums of second_moments.py. The matrices of a part of the
samples are never re-centred on other means; only their products with a few rows are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ....calibration import FiledArrays
from ...ir import Array
from ...runtime.cores import on_cores
from ..weights import gptq
from .observed_inputs import FINE
from .second_moments import MomentSums, certain_part, held, subtract_outer, total

Reals = NDArray[np.float64]

TRIED = 64
"""The maximum number of weight rows per group used for cross-validation."""
TOGETHER = 1 << 17
"""Numbers in the matrices of parts that are left out together."""
BESIDE = 1 << 23
"""Bytes of those that other threads leave out, beyond the first two."""


def carried_part(real: Reals, parts: Iterable[MomentSums]) -> tuple[float, MomentSums]:
    """The fraction of the correction for input errors that generalizes to other samples, and the
    sums of all `parts`.

    The full correction of weights w is w E[(x - q) q'] h^-1. Its fraction is found by
    cross-validation (Stone 1974, doi:10.1111/j.2517-6161.1974.tb00994.x): the correction is
    computed on all parts of the samples but one, and one factor in [0, 1] minimizes the error
    summed over the parts left out. It is rounded to 1/64. `real` are the weights, rows of k, group
    by group.
    """
    seen, matrices = list[_Part](), FiledArrays[int]()

    def see(part: MomentSums) -> MomentSums:
        matrices[len(seen)] = part.qq
        seen.append(_Part.of(part, _tried(real, part)))
        return part

    whole = total(map(see, parts))
    return _carried(_tried(real, whole), whole, seen, matrices), whole


def _carried(
    w: Reals, whole: MomentSums, parts: Sequence[_Part], matrices: Mapping[int, Array]
) -> float:
    """`carried_part` on some weights w [groups, rows, k]; `matrices` are qq of the parts."""
    if len(parts) < 2:
        return 0.0
    every: Reals = np.sum([part.error for part in parts], axis=0)
    diagonal, gain, power = _diagonal(whole), 0.0, 0.0
    many = max(1, TOGETHER // max(whole.qq.size, w.size))
    found = dict[int, tuple[list[float], ...]]()

    def leave_out(first: int) -> None:
        some = range(first, min(first + many, len(parts)))
        qq = np.stack([matrices[i] for i in some]) if many > 1 else matrices[first][None]
        those = _Parts.of([parts[i] for i in some])
        h: Reals = np.subtract(whole.qq, qq, dtype=np.float64)
        rest = _Rest.of(h, whole, diagonal, those)
        more, error = rest.more(w, every - those.error, h), those.error
        del h  # free it before the next one is allocated
        columns = those.columns[:, None, None]
        x, q = those.x / columns / FINE, those.q / columns
        off = error / columns[..., None]
        off -= _outer(_rows(w, x - q), rest.q) + _outer(_rows(w, rest.off), q - rest.q)
        across, own = _rows(more, rest.q), _rows(more, q)
        spread = (_product(more, qq) * more, own * across + across * _rows(more, q - rest.q))
        found[first] = (_totals(off * more), *map(_totals, spread))

    # Two large ones at a time take no more memory than the solution that follows. Small ones would
    # wait for each other's Python.
    firsts = range(0, len(parts), many)
    on_cores(leave_out, firsts, 2 + BESIDE // (12 * whole.qq.size) if many == 1 else 1)
    for first in firsts:
        for gained, square, mean, part in zip(*found[first], parts[first:], strict=False):
            gain += gained
            power += square / part.columns
            power -= mean
    return float(np.rint(64 * min(max(gain / power, 0.0), 1.0)) / 64) if power > 0 else 0.0


def _tried(real: Reals, sums: MomentSums) -> Reals:
    """A subset of the weights, [groups, rows, k]."""
    groups, k = sums.q.shape
    w = real.reshape(groups, -1, k)
    return w[:, :: -(-w.shape[1] // TRIED)]


@dataclass(frozen=True)
class _Part:
    """The sums of a part of the samples except qq. xq is reduced to its diagonal [groups, k] and to
    `error`, w times the sums of x q' - q q'."""

    diagonal: Reals
    error: Reals
    x: Reals
    q: Reals
    squares: float
    columns: int
    samples: int

    @staticmethod
    def of(s: MomentSums, w: Reals) -> _Part:
        error = gptq.product(w, s.xq, s.qq, 1 / FINE)
        return _Part(_diagonal(s), error, s.x, s.q, s.squares, s.columns, s.samples)


@dataclass(frozen=True)
class _Parts:
    """Some parts, along a first axis."""

    diagonal: Reals
    error: Reals
    x: Reals
    q: Reals
    squares: Reals
    columns: NDArray[np.int64]
    samples: NDArray[np.int64]

    @staticmethod
    def of(parts: Sequence[_Part]) -> _Parts:
        names = [f.name for f in fields(_Parts)]
        return _Parts(*(np.array([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class _Rest:
    """For each of some parts, statistics of all samples except it: the means q [parts, groups, k],
    the mean of x - q, and the diagonal of x q' - q q' about the means. Off-diagonal entries are
    multiplied by `certain` [parts]."""

    q: Reals
    off: Reals
    diagonal: Reals
    certain: Reals
    columns: NDArray[np.int64]

    @staticmethod
    def of(h: Reals, whole: MomentSums, diagonal: Reals, parts: _Parts) -> _Rest:
        """`h`, the sums qq without each part, are overwritten by the quadratic forms about the
        means; `diagonal` is that of the sums xq of all."""
        squares, samples = whole.squares - parts.squares, whole.samples - parts.samples
        certain = np.array([certain_part(*of) for of in zip(h, squares, samples, strict=True)])
        count = whole.columns - parts.columns
        columns, factor = count[:, None, None], certain[:, None, None]
        x, q = ((a - b) / columns for a, b in ((whole.x, parts.x), (whole.q, parts.q)))
        off = x / FINE - q
        qq, xq = np.einsum("pgii->pgi", h) / columns, diagonal - parts.diagonal
        about = xq / columns / FINE - qq - off * q
        h *= (factor / columns)[..., None]
        flat = (-1, h.shape[-1])
        subtract_outer(h.reshape(*flat, h.shape[-1]), (factor * q).reshape(flat), q.reshape(flat))
        qq -= q * q
        np.einsum("pgii->pgi", h)[...] = qq + held(qq)[..., None]
        return _Rest(q, off, about, certain, count)

    def more(self, w: Reals, errors: Reals, h: Reals) -> Reals:
        """The corrections to weights w [groups, rows, k]; `errors` are w times the sums of
        x q' - q q'. Overwrites h."""
        certain = self.certain[:, None, None, None]
        wanted = errors / self.columns[:, None, None, None] - _outer(_rows(w, self.off), self.q)
        wanted *= certain
        wanted += (1 - certain) * w * self.diagonal[:, :, None, :]
        n, k = wanted.shape[2:]
        found = gptq.unrounded(wanted.reshape(-1, n, k), h.reshape(-1, k, k), overwrite=True)
        return found.reshape(wanted.shape)


def _product(a: Reals, m: Array) -> Reals:
    """a [parts, g, n, k] times m [parts, g, k, k]."""
    n, k = a.shape[2:]
    return gptq.product(a.reshape(-1, n, k), m.reshape(-1, k, k)).reshape(a.shape)


def _totals(a: Reals) -> list[float]:
    """The sum of each part."""
    found: list[float] = a.reshape(len(a), -1).sum(axis=1).tolist()
    return found


def _diagonal(s: MomentSums) -> Reals:
    return np.diagonal(s.xq, axis1=1, axis2=2).astype(np.float64)


def _rows(w: Reals, v: Reals) -> Reals:
    """w [..., g, n, k] times v [parts, g, k]: [parts, g, n]."""
    result: Reals = (w * v[:, :, None, :]).sum(axis=3)
    return result


def _outer(a: Reals, b: Reals) -> Reals:
    """a [parts, g, n] times b [parts, g, k]: [parts, g, n, k]."""
    return a[..., None] * b[:, :, None, :]
