"""Second moments of the inputs of a node with weights, over samples and positions.

Sums are over integers, and exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ....calibration import FiledArrays
from ...ir import Array, Graph, Node
from ...ops import is_a
from ...ops.matmul.fully_connected import FullyConnected
from ...runtime import linear_algebra
from ...runtime.linear_algebra import Whole, Windows
from .layer_executor import LayerExecutor

Reals = NDArray[np.float64]
Sums = NDArray[np.int64]

SAMPLES = 128
COLUMNS = 8192
VALUES = 1 << 23
"""Limits for one node: input columns, samples they are spread over, and values in them."""
FEW = 2
"""If a sample has this factor fewer columns than inputs, squares are summed column by column."""
KNOWN = 2 * SAMPLES
"""Size of the cache of sampled positions: many layers have outputs of the same size."""
PARTS = 8
"""Number of parts of the samples for cross-validation."""
KEEP = 0.1
"""Damping, in units of the mean square of the inputs: a few samples do not determine the weight of
all directions of the input space."""
ROWS = 64
SQUARED = 1 << 14
"""Block sizes (rows of a matrix, values) that bound temporary copies."""
FINE = 16
"""The float model's input is measured in units of the input step divided by this."""


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
class LayerInputs:
    """Input columns of a node's weights at some positions of each sample: integers
    [groups, positions, k].

    q is the quantized model's input in steps, x the float model's input in steps / FINE. `outputs`
    [positions, channels] are the float model's real outputs, if requested. `x_sums` and `q_sums`
    [groups, k] are the sums of each sample.
    """

    x: FiledArrays[int]
    q: FiledArrays[int]
    outputs: list[Reals]
    step: float
    x_sums: list[Sums]
    q_sums: list[Sums]


@dataclass(frozen=True)
class FloatInputs:
    """Input columns in the float model for each sample, as in LayerInputs, and the sampled `places`
    (positions) of the node's output."""

    x: FiledArrays[int]
    places: list[NDArray[np.int64]]
    outputs: list[Reals]
    step: float
    x_sums: list[Sums]


def spread_evenly(samples: Sequence[Mapping[str, Array]]) -> list[Mapping[str, Array]]:
    """At most SAMPLES samples, evenly spaced."""
    step = -(-len(samples) // SAMPLES)
    return list(samples[::step])


def observe_floats(
    node: Node, floats: Graph, run: LayerExecutor, outputs: bool, step: float
) -> FloatInputs:
    """The inputs of `node`, a Conv2d or FullyConnected of `floats`, on all samples of `run`, and
    its `outputs` if requested; `step` is the step of the quantized model's input."""
    seen, count = FloatInputs(FiledArrays(), [], [], step, []), len(run.samples)
    wanted, windows = [node.input(0), *([node.output] if outputs else [])], windows_of(node)
    for i, (x, *y) in enumerate(run.run_to(floats, node, wanted)):
        places = _places(node, i, count)
        seen.places.append(places)
        found = _held(linear_algebra.columns(windows, x, step / FINE, places))
        seen.x[i] = found
        seen.x_sums.append(linear_algebra.sums(found))
        rows = (v.reshape(-1, node.output.shape[-1])[places] for v in y)
        seen.outputs.extend(v.astype(np.float64) for v in rows)
    return seen


def observe_inputs(
    node: Node, floats: FloatInputs, quantized: Graph, run: LayerExecutor, chosen: Sequence[int]
) -> LayerInputs:
    """The inputs of `node` in both models. The samples of `run`, for `quantized`, are the `chosen`
    ones of the float model."""
    made = next(n for n in quantized.nodes if n.outputs and n.output.name == node.output.name)
    source, quant = made.input(0), made.input(0).quant
    assert quant is not None and quant.scalar == floats.step
    sums, windows = [floats.x_sums[i] for i in chosen], windows_of(node)
    seen = LayerInputs(floats.x.numbered(chosen), FiledArrays(), [], floats.step, sums, [])
    for i, (held,) in zip(chosen, run.run_to(quantized, made, [source]), strict=True):
        zero = quant.zero_point
        found = linear_algebra.whole_columns(windows, held, zero, floats.places[i])
        seen.q[len(seen.q)] = found
        seen.q_sums.append(linear_algebra.sums(found))
        seen.outputs.extend(floats.outputs[i : i + 1])
    return seen


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
        )


def moment_sums(seen: LayerInputs, parts: int) -> Iterator[MomentSums]:
    """The sums of each of `parts` parts of the samples (sample i is in part i % parts), generated
    one by one, as each is large."""
    sums = seen.x_sums, seen.q_sums
    count = [seen.q.shape(i)[1] for i in seen.q]
    x0, q0 = (
        np.rint(np.mean([s / n for s, n in zip(of, count, strict=True)], axis=0)) for of in sums
    )
    parts = min(parts, len(count))
    for first in range(parts):
        yield _sums_of(seen, (x0, q0), sums, range(first, len(count), parts))


def _held(columns: Whole) -> Whole:
    """The same values in half the memory if they fit, as they nearly always do."""
    fits = max(columns.max(initial=0), -columns.min(initial=0)) < 1 << 15
    return columns.astype(np.int16) if fits else columns


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
    seen: LayerInputs,
    middle: tuple[Reals, Reals],
    sums: tuple[Sequence[Sums], Sequence[Sums]],
    chosen: range,
) -> MomentSums:
    """The sums over the `chosen` samples, relative to `middle`; `sums` are the column sums of each
    sample."""
    xs, qs = ([vs[i] for i in chosen] for vs in (seen.x, seen.q))
    groups, _, k = qs[0].shape
    if groups > 1 and k <= linear_algebra.SMALL:
        qq, xq, squares = _sums_of_small(xs, qs, middle)
    else:
        *each, every = zip(
            *(
                _group_sums([x[g] for x in xs], [q[g] for q in qs], (middle[0][g], middle[1][g]))
                for g in range(groups)
            ),
            strict=True,
        )
        qq, xq = (of[0][None] if groups == 1 else np.stack(of) for of in each)
        squares = sum(every)
    count = sum(v.shape[1] for v in qs)
    x, q = (
        np.sum([of[i] for i in chosen], axis=0).astype(np.float64) - count * m
        for of, m in zip(sums, middle, strict=True)
    )
    return MomentSums(
        qq=_small(qq),
        xq=_small(xq),
        q=q,
        x=x,
        squares=squares,
        columns=count,
        samples=len(qs),
        middle=middle,
        step=seen.step,
    )


def _sums_of_small(
    xs: Sequence[Whole], qs: Sequence[Whole], middle: tuple[Reals, Reals]
) -> tuple[Reals, Reals, float]:
    """qq, xq and squares of some samples, for many groups of few columns."""
    groups, _, k = qs[0].shape
    x0, q0 = (m.astype(np.int32) for m in middle)
    qq, xq, squares = np.zeros((groups, k, k)), np.zeros((groups, k, k)), 0.0
    for x, q in zip(xs, qs, strict=True):
        own = np.zeros_like(qq)
        linear_algebra.add_small_moments(x, q, (x0, q0), (own, xq))
        qq, squares = qq + own, squares + _beside(own)
    return qq, xq, squares


def _group_sums(
    xs: Sequence[Whole], qs: Sequence[Whole], middle: tuple[Reals, Reals]
) -> tuple[Array, Array, float]:
    """qq, xq and squares of some samples, for one group."""
    x0, q0 = (m.astype(np.int32) for m in middle)
    x, q = (v[0] if len(v) == 1 else np.concatenate(v) for v in (xs, qs))
    xq = _small(linear_algebra.inner_products(x, q, (x0, q0)))
    if any(len(v) * FEW < v.shape[1] for v in qs):
        squares = sum(_few_squares(v, q0) for v in qs)
        return _small(linear_algebra.inner_products(q, q, (q0, q0))), xq, squares
    qq, squares = np.zeros(xq.shape, np.int64), 0.0
    for v in qs:
        own = linear_algebra.inner_products(v, v, (q0, q0))
        qq += own
        squares += _beside(own[None])
    return _small(qq), xq, squares


def _few_squares(v: Whole, middle: Whole) -> float:
    """`_beside` of v' v, computed from v v': the same sum of squares, and smaller for few rows."""
    outer = linear_algebra.outer_products(v, middle)
    powers = ((v - middle).astype(np.float64) ** 2).sum(axis=0)
    return float(_squared(outer.reshape(-1)) - (powers * powers).sum())


def second_moments(s: MomentSums) -> SecondMoments:
    """The moments of `s`, computed in its matrices, which must be `own`."""
    x, q = s.x / s.columns, s.q / s.columns
    qq, xq = s.qq, s.xq
    certain = certain_part(qq, s.squares, s.samples)
    for moments, mean, unit in ((qq, q, s.step**2), (xq, x, s.step**2 / FINE)):
        moments /= s.columns
        subtract_outer(moments, mean, q)
        moments *= unit
        diagonal = np.einsum("gii->gi", moments)
        kept = diagonal.copy()
        moments *= certain  # in place: they are large
        diagonal[...] = kept
    x, q = (x + s.middle[0]) * s.step / FINE, (q + s.middle[1]) * s.step
    return SecondMoments(qq, xq, q, x, certain)


def held(power: Reals) -> Reals:
    """The damping of each group, given the mean squares of its inputs [groups, k]."""
    mean = power.sum(axis=1) / power.shape[1]
    result: Reals = KEEP * mean + 1e-6 * mean.max() + 1e-30
    return result


def subtract_outer(m: Reals, a: Reals, b: Reals) -> None:
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


def certain_part(sums: Reals, squares: float, samples: int) -> float:
    """The shrinkage factor of the off-diagonal `sums` [groups, k, k], from their variance over
    samples; `squares` as in MomentSums."""
    power = _beside(sums)
    if samples < 2 or power <= 0:
        return 0.0
    variance = (squares - power / samples) * samples / (samples - 1)
    return float(1 - np.clip(variance / power, 0, 1))


def _places(node: Node, seed: int, samples: int) -> NDArray[np.int64]:
    """The output positions to sample."""
    total = node.output.type.size // node.output.shape[-1]
    height = node.input(0).shape[-1] * int(np.prod(node.input(1).shape[1:-1]))
    wanted = max(1, -(-min(COLUMNS, VALUES // height) // samples))
    return _some(seed, total, min(wanted, total))


@lru_cache(maxsize=KNOWN)
def _some(seed: int, total: int, wanted: int) -> NDArray[np.int64]:
    """`wanted` of `total` positions, in order."""
    if wanted == total:
        return np.arange(total)
    return np.sort(np.random.default_rng(seed).choice(total, wanted, replace=False))


def windows_of(node: Node) -> Windows:
    """The input windows of a Conv2d or FullyConnected node."""
    x, output = node.input(0), node.output.shape
    if is_a(node, FullyConnected):
        rows = x.type.size // x.shape[-1]
        return Windows((1, rows, x.shape[-1]), 1, (1, 1), (1, 1), (1, 1), (0, 0), (1, rows))
    attrs, kernel = node.attrs, node.input(1).shape
    return Windows(
        x.shape[1:],
        int(attrs["groups"]),
        kernel[1:3],
        attrs["stride"],
        attrs["dilation"],
        attrs["pads"][:2],
        output[1:3],
    )
