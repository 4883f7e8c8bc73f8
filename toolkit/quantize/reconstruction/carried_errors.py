"""How much of the error in a node's inputs its weights should compensate.

Computed in units of input steps from the sums of second_moments.py. The matrices of a part of the
samples are never re-centred on other means; only their products with a few rows are. Matrices and
weights are float32 here: what is found is far less certain than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....calibration import FiledArrays
from ...ir import Array
from ...runtime import linear_algebra
from ...runtime.cores import on_cores
from ..weights import gptq
from .observed_inputs import FINE
from .second_moments import MomentSums, certain_part, held, total

Reals = NDArray[np.float64]
Singles = NDArray[np.float32]

TRIED = 64
"""The maximum number of weight rows per group used for cross-validation."""
TOGETHER = 1 << 17
"""Numbers in the matrices of parts that are left out together."""
HELD_BYTES = 5 << 17
"""Bytes of the matrices of a part up to which they stay in memory."""
ROUNDED = 1e-6
"""What float32 leaves of sums that cancel, relative to the powers of all samples: the rest of them
may be constant."""
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
    seen, kept, filed = list[_Part](), dict[int, Array](), FiledArrays[int]()

    def see(part: MomentSums) -> MomentSums:
        (kept if part.qq.nbytes <= HELD_BYTES else filed)[len(seen)] = part.qq
        seen.append(_Part.of(part, _tried(real, part)))
        return part

    whole = total(map(see, parts))
    return _carried(_tried(real, whole), whole, seen, kept or filed), whole


def _carried(
    w: Singles, whole: MomentSums, parts: Sequence[_Part], matrices: Mapping[int, Array]
) -> float:
    """`carried_part` on some weights w [groups, rows, k]; `matrices` are qq of the parts."""
    if len(parts) < 2:
        return 0.0
    every: Singles = np.sum([part.error for part in parts], axis=0)
    of_all, gain, power = _Diagonals.of(whole), 0.0, 0.0
    many = max(1, TOGETHER // max(whole.qq.size, w.size))
    found = dict[int, tuple[list[float], ...]]()

    def leave_out(first: int) -> None:
        some = range(first, min(first + many, len(parts)))
        qq, those = [matrices[i] for i in some], _Parts.of([parts[i] for i in some])
        rest = _Rest.of(whole, of_all, those, qq)
        more, error = rest.more(w, every - those.error, whole, qq), those.error
        columns = those.columns[:, None, None]
        x, q = those.x / columns / FINE, those.q / columns
        off: Singles = error / _single(columns)[..., None]
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


def _tried(real: Reals, sums: MomentSums) -> Singles:
    """A subset of the weights, [groups, rows, k]."""
    groups, k = sums.q.shape
    w = real.reshape(groups, -1, k)
    return w[:, :: -(-w.shape[1] // TRIED)].astype(np.float32)


class _Diagonals(NamedTuple):
    """Those of xq and qq [groups, k]."""

    xq: Reals
    qq: Reals

    @staticmethod
    def of(s: MomentSums) -> _Diagonals:
        xq, qq = (np.einsum("gii->gi", m).astype(np.float64) for m in (s.xq, s.qq))
        return _Diagonals(xq, qq)


@dataclass(frozen=True)
class _Part:
    """The sums of a part of the samples except qq. xq and qq are reduced to their diagonals
    [groups, k] and to `error`, w times the sums of x q' - q q'."""

    xq: Reals
    powers: Reals
    error: Singles
    x: Reals
    q: Reals
    squares: float
    columns: int
    samples: int

    @staticmethod
    def of(s: MomentSums, w: Singles) -> _Part:
        error = gptq.product(w, s.xq, s.qq, 1 / FINE)
        return _Part(*_Diagonals.of(s), error, s.x, s.q, s.squares, s.columns, s.samples)


@dataclass(frozen=True)
class _Parts:
    """Some parts, along a first axis."""

    xq: Reals
    powers: Reals
    error: Singles
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
    the mean of x - q, the diagonal of x q' - q q' about the means, and the damped powers of q about
    them. Off-diagonal entries are multiplied by `certain` [parts]."""

    q: Reals
    off: Reals
    diagonal: Reals
    damped: Reals
    certain: Reals
    columns: NDArray[np.int64]

    @staticmethod
    def of(whole: MomentSums, of_all: _Diagonals, parts: _Parts, matrices: list[Array]) -> _Rest:
        """All samples except each of `parts`, whose sums qq are `matrices`."""
        beside = [linear_algebra.squares_without(whole.qq, qq) for qq in matrices]
        squares, samples = whole.squares - parts.squares, whole.samples - parts.samples
        certain = np.array([certain_part(*of) for of in zip(beside, squares, samples, strict=True)])
        count = whole.columns - parts.columns
        columns = count[:, None, None]
        x, q = ((a - b) / columns for a, b in ((whole.x, parts.x), (whole.q, parts.q)))
        off = x / FINE - q
        qq, xq = ((a - b) / columns for a, b in ((of_all.qq, parts.powers), (of_all.xq, parts.xq)))
        powers, noise = qq - q * q, ROUNDED * of_all.qq.mean(axis=1) / whole.columns
        damped = powers + (held(powers) + noise)[..., None]
        return _Rest(q, off, xq / FINE - qq - off * q, damped, certain, count)

    def more(
        self, w: Singles, errors: Singles, whole: MomentSums, matrices: list[Array]
    ) -> Singles:
        """The corrections to weights w [groups, rows, k]; `errors` are w times the sums of
        x q' - q q'."""
        certain = _single(self.certain[:, None, None, None])
        wanted: Singles = errors / _single(self.columns[:, None, None, None])
        wanted -= _outer(_rows(w, self.off), self.q)
        wanted *= certain
        wanted += (1 - certain) * w * _single(self.diagonal[:, :, None, :])
        n, k = wanted.shape[2:]
        each = zip(matrices, self.columns, self.certain, self.q, self.damped, strict=True)
        h = gptq.stacked([linear_algebra.moments_without(whole.qq, *of) for of in each])
        found = gptq.unrounded(wanted.reshape(-1, n, k), h.reshape(-1, k, k), overwrite=True)
        return found.reshape(wanted.shape)


def _product(a: Singles, matrices: list[Array]) -> Singles:
    """a [parts, g, n, k] times the matrix [g, k, k] of each part."""
    return np.stack([gptq.product(x, m) for x, m in zip(a, matrices, strict=True)])


def _totals(a: Singles) -> list[float]:
    """The sum of each part."""
    found: list[float] = a.reshape(len(a), -1).sum(axis=1, dtype=np.float64).tolist()
    return found


def _single(x: Array) -> Singles:
    return x.astype(np.float32)


def _rows(w: Singles, v: Reals) -> Singles:
    """w [..., g, n, k] times v [parts, g, k]: [parts, g, n]."""
    result: Singles = (w * _single(v)[:, :, None, :]).sum(axis=3)
    return result


def _outer(a: Singles, b: Reals) -> Singles:
    """a [parts, g, n] times b [parts, g, k]: [parts, g, n, k]."""
    return a[..., None] * _single(b)[:, :, None, :]
