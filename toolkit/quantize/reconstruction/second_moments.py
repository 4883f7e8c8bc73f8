"""Second moments of the inputs of a node with weights, over samples and positions.

Sums are over integers, and exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...ir import Array
from ...runtime import whole_sums
from ...runtime.whole_sums import Whole
from ..weights.gptq import stacked
from .observed_inputs import FINE, LayerInputs

Reals = NDArray[np.float64]
Sums = NDArray[np.int64]

FEW = 2
"""If a sample has this factor fewer columns than inputs, squares are summed column by column."""
PARTS = 8
"""Number of parts of the samples for cross-validation."""
KEEP = 0.1
"""Damping, in units of the mean square of the inputs: a few samples do not determine the weight of
all directions of the input space."""
ROWS = 64
SQUARED = 1 << 14
"""Block sizes (rows of a matrix, values) that bound temporary copies."""


@dataclass(frozen=True)
class SecondMoments:
    """Over columns x of the float model and q of the quantized one, for each group of channels.

    qq, xq [groups, k, k] are the means of q q' and x q' about the means q [groups, k] and x.
    Off-diagonal entries are shrunk towards 0 according to their variance between samples (Schaefer
    and Strimmer 2005, doi:10.2202/1544-6115.1175, with the columns of a sample as one observation),
    as samples with one column each determine correlations poorly. `certain` is the factor applied.
    """

    qq: Reals
    xq: Reals
    q: Reals
    x: Reals
    certain: float


@dataclass(frozen=True)
class MomentSums:
    """Sums over columns of some samples, relative to `middle` (of x, of q), in the units of
    LayerInputs; qq and xq are int32 if the values fit."""

    qq: Array
    xq: Array
    q: Reals
    x: Reals
    squares: float
    """The sum of squares of each sample's off-diagonal entries in qq."""
    columns: int
    samples: int
    middle: tuple[Reals, Reals]
    step: float
    rest: Reals | float = 0.0
    """What q lacks, as LayerInputs.rest."""

    def own(self) -> MomentSums:
        """A copy with its own float64 matrices."""
        return replace(self, qq=self.qq.astype(np.float64), xq=self.xq.astype(np.float64))

    def with_added(self, other: MomentSums) -> MomentSums:
        """The sum of both, accumulated in the matrices of self, which must be `own`."""
        return replace(
            self,
            qq=np.add(self.qq, other.qq, out=self.qq),
            xq=np.add(self.xq, other.xq, out=self.xq),
            q=self.q + other.q,
            x=self.x + other.x,
            squares=self.squares + other.squares,
            columns=self.columns + other.columns,
            samples=self.samples + other.samples,
            rest=self.rest + other.rest,
        )


def moment_sums(seen: LayerInputs, parts: int) -> Iterator[MomentSums]:
    """The sums of each of `parts` parts of the samples (sample i is in part i % parts), generated
    one by one, as each is large."""
    chosen = seen.chosen
    sums = seen.floats.sums[chosen.start : chosen.stop : chosen.step], seen.sums
    x0, q0 = (np.rint((of / seen.positions).mean(axis=0)) for of in sums)
    parts = min(parts, len(chosen))
    for first in range(parts):
        x, q = (of[first::parts].sum(axis=0) for of in sums)
        yield _sums_of(seen, (x0, q0), (x, q), slice(first, None, parts))


def _small(sums: Array) -> Array:
    """Integers in half the memory, if they fit."""
    if sums.dtype == np.int32:
        return sums
    fits = max(float(sums.max()), -float(sums.min())) < 1 << 31
    return sums.astype(np.int32 if fits else np.float64)


def total(moment_sums: Iterable[MomentSums]) -> MomentSums:
    """The sum of all parts, with its own matrices."""
    parts = iter(moment_sums)
    whole = next(parts).own()
    for part in parts:
        whole = whole.with_added(part)
        del part  # free it: the next one is large
    return whole


def _sums_of(
    seen: LayerInputs, middle: tuple[Reals, Reals], sums: tuple[Sums, Sums], part: slice
) -> MomentSums:
    """The sums over a part of the samples, whose columns add up to `sums`, relative to
    `middle`."""
    of_x, of_q = seen.chosen[part], range(len(seen.chosen))[part]
    x = seen.floats.x.read(of_x.start, of_x.stop, of_x.step)
    q = seen.q.read(of_q.start, of_q.stop, of_q.step)
    qq, xq, squares = _products(x, q, (middle[0].astype(np.int32), middle[1].astype(np.int32)))
    count = len(q) * seen.positions
    about = [of.astype(np.float64) - count * m for of, m in zip(sums, middle, strict=True)]
    return MomentSums(
        qq=qq,
        xq=xq,
        q=about[1],
        x=about[0],
        squares=squares,
        columns=count,
        samples=len(q),
        middle=middle,
        step=seen.step,
        rest=0.0 if seen.rest is None else seen.rest[part].sum(axis=0),
    )


def _products(x: Whole, q: Whole, middle: tuple[Whole, Whole]) -> tuple[Array, Array, float]:
    """qq, xq and squares of samples x and q [samples, groups, positions, k]."""
    _, groups, rows, k = q.shape
    small = groups > 1 and k <= whole_sums.SMALL
    if small or (groups == 1 and rows * FEW >= k):
        found = whole_sums.moments(x, q, middle)
        if found is not None:
            return found
    if small:
        return _sums_of_small(x, q, middle)
    *each, every = zip(
        *(_group_sums(x[:, g], q[:, g], (middle[0][g], middle[1][g])) for g in range(groups)),
        strict=True,
    )
    qq, xq = map(stacked, each)
    return qq, xq, sum(every)


def _sums_of_small(xs: Whole, qs: Whole, middle: tuple[Whole, Whole]) -> tuple[Array, Array, float]:
    """qq, xq and squares of some samples, for many groups of few columns."""
    _, groups, _, k = qs.shape
    qq, xq, squares = np.zeros((groups, k, k)), np.zeros((groups, k, k)), 0.0
    for x, q in zip(xs, qs, strict=True):
        own = np.zeros_like(qq)
        whole_sums.add_small_moments(x, q, middle, (own, xq))
        qq, squares = qq + own, squares + _beside(own)
    return _small(qq), _small(xq), squares


def _group_sums(xs: Whole, qs: Whole, middle: tuple[Whole, Whole]) -> tuple[Array, Array, float]:
    """qq, xq and squares of some samples [samples, positions, k], for one group."""
    (x0, q0), k = middle, qs.shape[2]
    x, q = (v.reshape(-1, k) for v in (xs, qs))
    xq = _small(whole_sums.inner_products(x, q, (x0, q0)))
    if qs.shape[1] * FEW < k:
        known = whole_sums.few_squares(qs, q0)
        squares = sum(_few_squares(v, q0) for v in qs) if known is None else known
        return _small(whole_sums.inner_products(q, q, (q0, q0))), xq, squares
    qq, squares = np.zeros(xq.shape, np.int64), 0.0
    for v in qs:
        own = whole_sums.inner_products(v, v, (q0, q0))
        qq += own
        squares += _beside(own[None])
    return _small(qq), xq, squares


def _few_squares(v: Whole, middle: Whole) -> float:
    """`_beside` of v' v, computed from v v': the same sum of squares, and smaller for few rows."""
    outer = whole_sums.outer_products(v, middle)
    powers = ((v - middle).astype(np.float64) ** 2).sum(axis=0)
    return float(_squared(outer.reshape(-1)) - (powers * powers).sum())


def second_moments(s: MomentSums) -> SecondMoments:
    """The moments of `s`, computed in its matrices, which must be `own`."""
    x, q = s.x / s.columns, s.q / s.columns
    qq, xq = s.qq, s.xq
    certain = certain_part(_beside(qq), s.squares, s.samples)
    for moments, mean, unit in ((qq, q, s.step**2), (xq, x, s.step**2 / FINE)):
        moments /= s.columns
        _subtract_outer(moments, mean, q)
        diagonal = np.einsum("gii->gi", moments)
        if moments is qq and isinstance(s.rest, np.ndarray):
            np.maximum(diagonal - _unit_noise(diagonal), 0.0, out=diagonal)
        moments *= unit
        kept = diagonal.copy()
        moments *= certain  # in place: they are large
        diagonal[...] = kept
    q = q + s.rest / s.columns
    x, q = (x + s.middle[0]) * s.step / FINE, (q + s.middle[1]) * s.step
    return SecondMoments(qq, xq, q, x, certain)


def _unit_noise(power: Reals) -> Reals:
    """The noise of rounding inputs of mean squares `power` [groups, k] to units, [groups, 1].

    A twelfth (Sheppard 1897, doi:10.1112/plms/s1-29.1.353), if the values span several units. The
    noise of smaller ones is correlated, and not on the diagonal alone: what is removed there stays
    below the damping by `held`, so the damped moments are positive definite.
    """
    most: Reals = KEEP / (1 + KEEP) * power.mean(axis=1, keepdims=True)
    return np.minimum(1 / 12, most)


def held(power: Reals) -> Reals:
    """The damping of each group, given the mean squares of its inputs [..., groups, k]."""
    mean = power.sum(axis=-1) / power.shape[-1]
    result: Reals = KEEP * mean + 1e-6 * mean.max(axis=-1, keepdims=True) + 1e-30
    return result


def _subtract_outer(m: Reals, a: Reals, b: Reals) -> None:
    """Subtract the outer products a b' of a and b [groups, k] from m [groups, k, k], by blocks."""
    for first in range(0, a.shape[1], ROWS):
        rows = slice(first, first + ROWS)
        m[:, rows] -= a[:, rows, None] * b[:, None, :]


def _beside(products: Array) -> float:
    """The sum of squares off the diagonal."""
    diagonal = np.einsum("gii->gi", products).astype(np.float64)
    return float(_squared(products.reshape(-1)) - (diagonal * diagonal).sum(axis=1).sum())


def _squared(x: Array) -> float:
    """The sum of squares, in NumPy's pairwise order, without storing all squares."""
    if len(x) > SQUARED:
        half = len(x) // 2 // 8 * 8
        return _squared(x[:half]) + _squared(x[half:])
    return float(np.multiply(x, x, dtype=np.float64).sum())


def certain_part(power: float, squares: float, samples: int) -> float:
    """The shrinkage factor of off-diagonal sums, whose squares add up to `power`, from their
    variance over samples; `squares` as in MomentSums."""
    if samples < 2 or power <= 0:
        return 0.0
    variance = (squares - power / samples) * samples / (samples - 1)
    return float(1 - np.clip(variance / power, 0, 1))
