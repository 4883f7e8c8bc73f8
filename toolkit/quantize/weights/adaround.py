"""AdaRound: rounds weights up or down to minimize a node's output error after its clamp.

AdaRound (Nagel et al. 2020, arXiv:2004.10568): each weight is a number between two neighbouring
integers, learned by gradient descent (Adam) on the error after the activation, while a regularizer
drives it to one of the two. Then, in each row, single weights move by whole steps, the best move
first, as long as the loss falls. Both methods start from the closed-form solution (gptq.py), which
ignores the activation, and the best result of each row is kept, so no row gets worse.

Where the clamp saturates both the float output and the quantized output, the error is 0. Where it
saturates only one of them, the gradient is that of the convex surrogate: the residual after the
clamp.

Matrix products use fixed-point numbers that float64 multiplies and adds exactly, in tiles small
enough that BLAS uses a single thread; everything else is elementwise or a sum in a fixed order. So
the same input gives the same integers, independent of the BLAS and of the number of rows solved
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.cores import on_cores

Reals = NDArray[np.float64]

STEPS = 400
"""Steps of gradient descent."""
BATCH = 512
"""Columns per step."""
RATE = 0.02
REGULAR = 0.2
"""Weight of the regularizer, relative to the error of a weight that is rounded at random."""
WARM = 0.2
"""Fraction of the steps without regularizer; after that, its exponent falls from 20 to 2."""
ZETA, GAMMA = 1.1, -0.1
MOVES = 60
"""Maximum number of whole-step moves per row."""

EXACT = 2.0**52
"""Limit of integers that float64 adds and multiplies exactly, with one bit of margin."""
FINEST = 2.0**16
"""Maximum fixed-point resolution (parts per unit)."""
ALONE = 1 << 18
"""Multiply-accumulates up to which OpenBLAS computes a product in one thread."""
ROWS = 64
"""Maximum number of rows solved together."""

Found = tuple[Reals, Reals, Reals]
"""Integers [g, n, k], biases [g, n], and the loss of each row [g, n]."""


@dataclass(frozen=True)
class Problem:
    """Rows of weights, in units of their own accumulators (scale times input step).

    q          [g, tiles, k, w]  integer inputs; columns in tiles, in random order
    counted    [g, tiles, 1, w]  1, or 0 for a padding column of the last tile
    target     [g, tiles, n, w]  the float model's outputs
    low, high  [g, 1, n, 1]      the clamp
    wanted     [g, n, k]         the float weights in steps
    factors    [g, n, k]         the steps in units of the scale
    held       [g, 1, k]         the penalty on a weight's squared distance from `wanted`
    share      the weight of the outputs' mean squared error in the loss
    limit      the largest integer magnitude
    """

    q: Reals
    counted: Reals
    target: Reals
    low: Reals
    high: Reals
    wanted: Reals
    factors: Reals
    held: Reals
    share: float
    limit: int

    @staticmethod
    def of(
        q: Reals,
        target: Reals,
        clamp: tuple[Reals, Reals],
        wanted: Reals,
        factors: Reals,
        held: Reals,
        share: float,
        limit: int,
    ) -> Problem:
        """From columns q [g, k, c], target [g, n, c], clamp (two [g, n]) and held [g, k]."""
        (g, n, k), c = wanted.shape, q.shape[2]
        w = min(c, BATCH, max(8, ALONE // (min(n, ROWS) * k)))
        order = np.random.default_rng(0).permutation(c)
        low, high = (v[:, None, :, None] for v in clamp)
        within = np.clip(_tiled(target[:, :, order], w), low, high)
        counted, columns = _tiled(np.ones((g, 1, c)), w), _tiled(q[:, :, order], w)
        return Problem(
            columns, counted, within, low, high, wanted, factors, held[:, None, :], share, limit
        )

    @property
    def count(self) -> float:
        """The number of columns."""
        return float(self.counted[0].sum())

    def outputs(self, z: Reals, bias: Reals) -> Reals:
        """The outputs before the clamp, [g, tiles, n, w]."""
        result: Reals = np.matmul((z * self.factors)[:, None], self.q) + bias[:, None, :, None]
        return result

    def residual(self, y: Reals) -> Reals:
        """The error after the clamp, for outputs `y` before it."""
        result: Reals = (np.clip(y, self.low, self.high) - self.target) * self.counted
        return result

    def inside(self, y: Reals) -> Reals:
        """1 where the clamp does not saturate."""
        result: Reals = ((y > self.low) & (y < self.high)) * self.counted
        return result

    def loss(self, z: Reals, y: Reals) -> Reals:
        """The loss of each row [g, n], for integers `z` and outputs `y`."""
        r = self.residual(y)
        off = (z - self.wanted) * self.factors
        error = self.share * _sums(r * r) / self.count + (self.held * off * off).sum(axis=2)
        result: Reals = error
        return result

    def slope(self, z: Reals, r: Reals, fine: float) -> Reals:
        """Half the derivative of the loss by `z`, with the residual `r` rounded to 1 / fine."""
        back = _against(np.rint(r * fine), self.q) / fine
        pulled = self.held * (z - self.wanted) * self.factors
        return (self.share * back / self.count + pulled) * self.factors

    def fixed_points(self) -> tuple[float, float]:
        """Resolutions (per step, per unit) at which float64 sums products with `q` exactly."""
        tiles, k, w = self.q.shape[1:]
        peak = max(float(np.abs(self.q).max()), 1.0)
        most = float(self.factors.max()) * (self.limit + 1) * k
        span = max(float((self.high - self.low).max()), 1.0)
        return _fineness(peak * most), _fineness(peak * span * tiles * w)

    def parts(self) -> Iterator[tuple[slice, slice]]:
        """Slices of groups and rows that are solved together; they depend on the shapes only."""
        g, n, k = self.wanted.shape
        rows = int(np.clip(ALONE // (32 * k), 8, ROWS))
        groups = max(1, rows // n)
        for i in range(0, g, groups):
            for j in range(0, n, rows):
                yield slice(i, i + groups), slice(j, j + rows)

    def part(self, groups: slice, rows: slice) -> Problem:
        return replace(
            self,
            q=self.q[groups],
            counted=self.counted[groups],
            target=self.target[groups, :, rows],
            low=self.low[groups, :, rows],
            high=self.high[groups, :, rows],
            wanted=self.wanted[groups, rows],
            factors=self.factors[groups, rows],
            held=self.held[groups],
        )

    def at(self, tiles: NDArray[np.int64]) -> Problem:
        """The problem on the columns of these tiles only."""
        return replace(
            self,
            q=self.q[:, tiles],
            counted=self.counted[:, tiles],
            target=self.target[:, tiles],
        )


def solve(problem: Problem, z: Reals, bias: Reals, aim: Reals) -> tuple[Reals, Reals]:
    """Integers [g, n, k] and biases [g, n]; in no row is the loss larger than that of `z` and
    `bias`.

    `aim` is the closed-form solution without rounding: AdaRound decides between `z` and its
    neighbour on that side.
    """
    z, bias = z.copy(), bias.copy()

    def one(at: tuple[slice, slice]) -> None:
        z[at], bias[at] = _solve(problem.part(*at), z[at], bias[at], aim[at])

    on_cores(one, list(problem.parts()))
    return z, bias


def _solve(p: Problem, z: Reals, bias: Reals, aim: Reals) -> tuple[Reals, Reals]:
    best = z, bias, p.loss(z, p.outputs(z, bias))
    for start in ((z, bias), gradient_descent(p, z, bias, aim)):
        best = _better(best, descend(p, *start))
    return best[:2]


def _better(one: Found, other: Found) -> Found:
    """For each row the result with the smaller loss."""
    less = other[2] < one[2]
    z = np.where(less[:, :, None], other[0], one[0])
    return z, np.where(less, other[1], one[1]), np.minimum(one[2], other[2])


def gradient_descent(p: Problem, z: Reals, bias: Reals, aim: Reals) -> tuple[Reals, Reals]:
    """Integers by AdaRound, and the biases learned with them."""
    base = np.clip(np.where(aim < z, z - 1, z), -p.limit, p.limit - 1)
    v = _logit((np.clip(aim - base, 0.02, 0.98) - GAMMA) / (ZETA - GAMMA))
    power = _sums((p.q * p.q).swapaxes(2, 3)) / p.count
    norm = np.maximum(power.mean(axis=1)[:, None, None], 1e-30) * p.factors**2
    (fine, unit), adam, bias = p.fixed_points(), Adam(v), bias.copy()
    tiles, some = p.q.shape[1], -(-BATCH // p.q.shape[3])
    for i in range(STEPS):
        now = p.at(np.arange(i * some, (i + 1) * some) % tiles) if some < tiles else p
        s = _sigmoid(v)
        raw = s * (ZETA - GAMMA) + GAMMA
        h = np.clip(raw, 0, 1)
        r = now.residual(now.outputs(np.rint((base + h) * fine) / fine, bias))
        slope = 2 * now.slope(base + h, r, unit) / norm - REGULAR * _drive(h, i / STEPS)
        adam.step(v, slope * ((raw > 0) & (raw < 1)) * s * (1 - s))
        bias -= 0.05 * _sums(r) / now.count
    return base + (h >= 0.5), bias


def _drive(h: Reals, done: float) -> Reals:
    """The derivative of |2 h - 1|^beta: beta from 20 to 2 as `done` goes from WARM to 1."""
    if done < WARM:
        return np.zeros_like(h)
    beta = int(np.rint(2 + 18 * (1 - done) / (1 - WARM)))
    side = 2 * h - 1
    return 2 * beta * _power(np.abs(side), beta - 1) * np.sign(side)


class Adam:
    """Kingma and Ba 2015 (arXiv:1412.6980)."""

    def __init__(self, like: Reals) -> None:
        self.mean, self.square = np.zeros_like(like), np.zeros_like(like)
        self.left = [1.0, 1.0]

    def step(self, v: Reals, slope: Reals) -> None:
        """Move `v` down the slope."""
        self.left = [self.left[0] * 0.9, self.left[1] * 0.999]
        self.mean += 0.1 * (slope - self.mean)
        self.square += 0.001 * (slope * slope - self.square)
        size = np.sqrt(self.square / (1 - self.left[1])) + 1e-8
        v -= RATE * self.mean / (1 - self.left[0]) / size


def descend(p: Problem, z: Reals, bias: Reals) -> Found:
    """Integers improved by whole-step moves of single weights, and their biases."""
    nothing = np.zeros_like(bias)
    bias = _centred(p, p.outputs(z, nothing), bias)
    y = p.outputs(z, bias)
    loss, unit = p.loss(z, y), p.fixed_points()[1]
    bend = p.share * _against(p.inside(y), p.q * p.q) / p.count + p.held
    bend = bend * p.factors**2
    barred = np.zeros(z.shape, bool)
    group, row = np.ogrid[: z.shape[0], : z.shape[1]]
    for _ in range(MOVES):
        slope = p.slope(z, p.residual(y), unit)
        way = -np.sign(slope)
        gain = np.where(barred | (np.abs(z + way) > p.limit), 0.0, 2 * np.abs(slope) - bend)
        at = (group, row, gain.argmax(axis=2))
        by = np.where(gain[at] > 0, way[at], 0.0)
        if not by.any():
            break
        moved = z.copy()
        moved[at] += by
        change = (by * p.factors[at])[:, :, None, None] * p.q[group, :, at[2]]
        then = y + change.swapaxes(1, 2)
        lost = p.loss(moved, then)
        less = lost < loss
        loss = np.where(less, lost, loss)
        z = np.where(less[:, :, None], moved, z)
        y = np.where(less[:, None, :, None], then, y)
        barred[at] |= ~less
    bias = _centred(p, p.outputs(z, nothing), bias)
    return z, bias, p.loss(z, p.outputs(z, bias))


def _centred(p: Problem, y: Reals, bias: Reals) -> Reals:
    """Biases for outputs `y` without bias: Newton steps from `bias`, kept if the error falls."""
    for _ in range(4):
        now = y + bias[:, None, :, None]
        r = p.residual(now)
        other = bias - _sums(r) / np.maximum(_sums(p.inside(now)), 1)
        then = p.residual(y + other[:, None, :, None])
        bias = np.where(_sums(then * then) < _sums(r * r), other, bias)
    return bias


def _tiled(columns: Reals, w: int) -> Reals:
    """[g, m, c] as [g, tiles, m, w], padded with zeros."""
    g, m, c = columns.shape
    tiles = -(-c // w)
    filled = np.zeros((g, m, tiles * w))
    filled[:, :, :c] = columns
    return np.ascontiguousarray(filled.reshape(g, m, tiles, w).swapaxes(1, 2))


def _against(r: Reals, q: Reals) -> Reals:
    """r [g, tiles, n, w] times q [g, tiles, k, w] over all columns: [g, n, k]."""
    total = np.zeros((len(r), r.shape[2], q.shape[2]))
    for i in range(r.shape[1]):
        total += np.matmul(r[:, i], q[:, i].swapaxes(1, 2))
    return total


def _sums(a: Reals) -> Reals:
    """Sums over the columns of [g, tiles, n, w]."""
    result: Reals = a.sum(axis=3).sum(axis=1)
    return result


def _fineness(largest: float) -> float:
    """The finest resolution, a power of two >= 1, at which sums up to `largest` are exact."""
    return float(min(FINEST, max(1.0, 2.0 ** (np.frexp(EXACT / largest)[1] - 1))))


def _exp(x: Reals) -> Reals:
    """e^x for |x| below about 50, by products only: math libraries differ in the last bit."""
    u = x / 1024
    result = 1 + u * (1 + u / 2 * (1 + u / 3 * (1 + u / 4)))
    for _ in range(10):
        result = result * result
    return result


def _sigmoid(v: Reals) -> Reals:
    result: Reals = 1 / (1 + _exp(-v))
    return result


def _logit(s: Reals) -> Reals:
    """The inverse of the sigmoid, by Newton's method."""
    v = np.zeros_like(s)
    for _ in range(12):
        now = _sigmoid(v)
        v += (s - now) / (now * (1 - now))
    return v


def _power(x: Reals, n: int) -> Reals:
    result = np.ones_like(x)
    while n:
        result = result * x if n & 1 else result
        x, n = x * x, n >> 1
    return result
