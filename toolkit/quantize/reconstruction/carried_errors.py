"""How much of the error in a node's inputs its weights should compensate.

Computed in units of input steps from the sums of second_moments.py. The matrices of a part of the
samples are never re-centred on other means; only their products with a few rows are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....calibration import FiledArrays
from ...ir import Array
from ..weights import gptq
from .second_moments import FINE, MomentSums, certain_part, held, subtract_outer, total

Reals = NDArray[np.float64]

TRIED = 64
"""The maximum number of weight rows per group used for cross-validation."""


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
        seen.append(_Part.of(part, real))
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
    gain = power = 0.0
    for i, part in enumerate(parts):
        h: Reals = np.subtract(whole.qq, matrices[i], dtype=np.float64)
        rest, error = _Rest.of(h, whole, part), part.error
        more = rest.more(w, every - error, h)
        del h  # free it before the next one is allocated
        x, q = part.x / part.columns / FINE, part.q / part.columns
        off = error / part.columns
        off -= _outer(_rows(w, x - q), rest.q) + _outer(_rows(w, rest.off), q - rest.q)
        gain += float((off * more).sum())
        across = _rows(more, rest.q)
        power += float((gptq.product(more, matrices[i]) * more).sum()) / part.columns
        power -= float((_rows(more, q) * across + across * _rows(more, q - rest.q)).sum())
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
    def of(s: MomentSums, real: Reals) -> _Part:
        off: Reals = s.xq / FINE
        off -= s.qq
        error = gptq.product(_tried(real, s), off)
        return _Part(_diagonal(s), error, s.x, s.q, s.squares, s.columns, s.samples)


@dataclass(frozen=True)
class _Rest:
    """Statistics of all samples except one part: the means q [groups, k], the mean of x - q, and
    the diagonal of x q' - q q' about the means. Off-diagonal entries are multiplied by
    `certain`."""

    q: Reals
    off: Reals
    diagonal: Reals
    certain: float
    columns: int

    @staticmethod
    def of(h: Reals, whole: MomentSums, part: _Part) -> _Rest:
        """`h`, the sums qq without the part, is overwritten by the quadratic form about the
        means."""
        squares, samples = whole.squares - part.squares, whole.samples - part.samples
        certain, columns = certain_part(h, squares, samples), whole.columns - part.columns
        x, q = ((a - b) / columns for a, b in ((whole.x, part.x), (whole.q, part.q)))
        off = x / FINE - q
        qq, xq = np.einsum("gii->gi", h) / columns, _diagonal(whole) - part.diagonal
        diagonal = xq / columns / FINE - qq - off * q
        h *= certain / columns
        subtract_outer(h, certain * q, q)
        qq -= q * q
        np.einsum("gii->gi", h)[...] = qq + held(qq)[:, None]
        return _Rest(q, off, diagonal, certain, columns)

    def more(self, w: Reals, errors: Reals, h: Reals) -> Reals:
        """The correction to weights w [groups, rows, k]; `errors` are w times the sums of
        x q' - q q'. Overwrites h."""
        wanted = errors / self.columns - _outer(_rows(w, self.off), self.q)
        wanted *= self.certain
        wanted += (1 - self.certain) * w * self.diagonal[:, None, :]
        return gptq.unrounded(wanted, h, overwrite=True)


def _diagonal(s: MomentSums) -> Reals:
    return np.diagonal(s.xq, axis1=1, axis2=2).astype(np.float64)


def _rows(w: Reals, v: Reals) -> Reals:
    """w [g, n, k] times v [g, k]: [g, n]."""
    result: Reals = (w * v[:, None, :]).sum(axis=2)
    return result


def _outer(a: Reals, b: Reals) -> Reals:
    return a[:, :, None] * b[:, None, :]
