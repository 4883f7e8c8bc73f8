"""What a node with weights multiplies, as second moments over samples and places.

Sums are of integers, and exact.
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
"""Input columns taken for one node, spread over so many samples at most, and values in them."""
FEW = 2
"""A sample with so many times less columns than inputs has its squares summed column by column."""
KNOWN = 2 * SAMPLES
"""Choices of places that are remembered: many layers have outputs of the same size."""
PARTS = 8
"""Of the samples: what the others say is tried on each."""
KEEP = 0.1
"""How much a weight is held where it is: in mean powers of the inputs. Few samples do not say what
all directions of the inputs weigh."""
ROWS = 64
SQUARED = 1 << 14
"""Rows of a matrix, and values, of which others of their size are made at a time."""
FINE = 16
"""Parts of an input step in which the float model's input is counted."""


@dataclass(frozen=True)
class SecondMoments:
    """Over columns x of the float model and q of the quantized one, for each group of channels.

    qq, xq [groups, k, k] are the means of q q' and x q' about the means q [groups, k] and x, as far
    as the samples can tell: what is not on the diagonal is shrunk by how much it differs between
    samples (Schaefer and Strimmer 2005, doi:10.2202/1544-6115.1175, with a sample's columns as one
    observation). One column a sample says little about which inputs go together. `certain` is what
    is left of them.
    """

    qq: Reals
    xq: Reals
    q: Reals
    x: Reals
    certain: float


@dataclass(frozen=True)
class LayerInputs:
    """What meets a node's weights, a few places of each sample: [groups, places, k] of integers.

    q counts steps of the quantized model's input, x parts of them (FINE) of the float model's.
    outputs [places, channels] are the float model's, real, if they were asked for. `x_sums` and
    `q_sums` [groups, k] are those of each sample.
    """

    x: FiledArrays[int]
    q: FiledArrays[int]
    outputs: list[Reals]
    step: float
    x_sums: list[Sums]
    q_sums: list[Sums]


@dataclass(frozen=True)
class FloatInputs:
    """What meets a node's weights in the float model, for each sample: as in LayerInputs, and the
    `places` of the node's output that are taken."""

    x: FiledArrays[int]
    places: list[NDArray[np.int64]]
    outputs: list[Reals]
    step: float
    x_sums: list[Sums]


def spread_evenly(samples: Sequence[Mapping[str, Array]]) -> list[Mapping[str, Array]]:
    """At most SAMPLES of them, evenly."""
    step = -(-len(samples) // SAMPLES)
    return list(samples[::step])


def observe_floats(
    node: Node, floats: Graph, run: LayerExecutor, outputs: bool, step: float
) -> FloatInputs:
    """What `node`, a Conv2d or FullyConnected of `floats`, reads in the float model, of all samples
    of `run`, and its `outputs` if wanted; `step` is that of the quantized model's input."""
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
    """What `node` reads in both models: in `quantized` on the samples of `run`, which are those
    that are `chosen` of the float model's."""
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
    """Over columns of some samples, counted from `middle` (of x, of q), in units of Seen; qq and xq
    are int32 where that holds them."""

    qq: Array
    xq: Array
    q: Reals
    x: Reals
    squares: float
    """Of what each sample has in qq off the diagonal."""
    columns: int
    samples: int
    middle: tuple[Reals, Reals]
    step: float

    def own(self) -> MomentSums:
        """The same, in matrices of its own, of float64."""
        return replace(self, qq=self.qq.astype(np.float64), xq=self.xq.astype(np.float64))

    def with_added(self, other: MomentSums) -> MomentSums:
        """Those of both, in the matrices of these, which are `own`."""
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
    """Of what a node reads, in each of the `parts` of the samples, of which sample i is in part i
    modulo their number; one after the other, for each is large."""
    sums = seen.x_sums, seen.q_sums
    count = [seen.q.shape(i)[1] for i in seen.q]
    x0, q0 = (
        np.rint(np.mean([s / n for s, n in zip(of, count, strict=True)], axis=0)) for of in sums
    )
    parts = min(parts, len(count))
    for first in range(parts):
        yield _sums_of(seen, (x0, q0), sums, range(first, len(count), parts))


def _held(columns: Whole) -> Whole:
    """The same, in half of the memory where that holds them, as it does nearly always."""
    fits = max(columns.max(initial=0), -columns.min(initial=0)) < 1 << 15
    return columns.astype(np.int16) if fits else columns


def _small(sums: Array) -> Array:
    """Whole numbers in half of the memory, where they fit."""
    if sums.dtype == np.int32:
        return sums
    fits = max(float(sums.max()), -float(sums.min())) < 1 << 31
    return sums.astype(np.int32 if fits else np.float64)


def total(moment_sums: Iterable[MomentSums]) -> MomentSums:
    """Of all parts together, in matrices of its own."""
    parts = iter(moment_sums)
    whole = next(parts).own()
    for part in parts:
        whole = whole.with_added(part)
        del part  # for the next one is large
    return whole


def _sums_of(
    seen: LayerInputs,
    middle: tuple[Reals, Reals],
    sums: tuple[Sequence[Sums], Sequence[Sums]],
    chosen: range,
) -> MomentSums:
    """Of what a node reads in the samples `chosen`, counted from `middle`; `sums` are of each
    sample's columns."""
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
    """qq, xq and squares of many groups of few columns in some samples."""
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
    """qq, xq and squares of one group's columns in some samples."""
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
    """`_beside` of v' v, by v v', which has the same sum of squares and is smaller for few rows."""
    outer = linear_algebra.outer_products(v, middle)
    powers = ((v - middle).astype(np.float64) ** 2).sum(axis=0)
    return float(_squared(outer.reshape(-1)) - (powers * powers).sum())


def second_moments(s: MomentSums) -> SecondMoments:
    """Of what a node reads in these samples, in the matrices of `s`, which are its `own`."""
    x, q = s.x / s.columns, s.q / s.columns
    qq, xq = s.qq, s.xq
    certain = certain_part(qq, s.squares, s.samples)
    for moments, mean, unit in ((qq, q, s.step**2), (xq, x, s.step**2 / FINE)):
        moments /= s.columns
        subtract_outer(moments, mean, q)
        moments *= unit
        diagonal = np.einsum("gii->gi", moments)
        kept = diagonal.copy()
        moments *= certain  # in place, for they are large
        diagonal[...] = kept
    x, q = (x + s.middle[0]) * s.step / FINE, (q + s.middle[1]) * s.step
    return SecondMoments(qq, xq, q, x, certain)


def held(power: Reals) -> Reals:
    """What the distance of a weight from where it is costs, by group, of the mean squares of its
    inputs [groups, k]."""
    mean = power.sum(axis=1) / power.shape[1]
    result: Reals = KEEP * mean + 1e-6 * mean.max() + 1e-30
    return result


def subtract_outer(m: Reals, a: Reals, b: Reals) -> None:
    """Subtract a b' of a and b [groups, k] from m [groups, k, k], a few rows at a time."""
    for first in range(0, a.shape[1], ROWS):
        rows = slice(first, first + ROWS)
        m[:, rows] -= a[:, rows, None] * b[:, None, :]


def _beside(products: Array) -> float:
    """The sum of squares off the diagonal."""
    diagonal = np.einsum("gii->gi", products).astype(np.float64)
    return float(_squared(products.reshape(-1)) - (diagonal * diagonal).sum(axis=1).sum())


def _squared(x: Array) -> float:
    """The sum of squares, halves first as numpy sums, but without holding all squares."""
    if len(x) > SQUARED:
        half = len(x) // 2 // 8 * 8
        return _squared(x[:half]) + _squared(x[half:])
    return float(np.multiply(x, x, dtype=np.float64).sum())


def certain_part(sums: Reals, squares: float, samples: int) -> float:
    """Of sums [groups, k, k] off the diagonal, what is not chance, by their variance over samples;
    `squares` as in MomentSums."""
    power = _beside(sums)
    if samples < 2 or power <= 0:
        return 0.0
    variance = (squares - power / samples) * samples / (samples - 1)
    return float(1 - np.clip(variance / power, 0, 1))


def _places(node: Node, seed: int, samples: int) -> NDArray[np.int64]:
    """Which outputs' columns to take of a sample."""
    total = node.output.type.size // node.output.shape[-1]
    height = node.input(0).shape[-1] * int(np.prod(node.input(1).shape[1:-1]))
    wanted = max(1, -(-min(COLUMNS, VALUES // height) // samples))
    return _some(seed, total, min(wanted, total))


@lru_cache(maxsize=KNOWN)
def _some(seed: int, total: int, wanted: int) -> NDArray[np.int64]:
    """So many of `total` places, in order."""
    if wanted == total:
        return np.arange(total)
    return np.sort(np.random.default_rng(seed).choice(total, wanted, replace=False))


def windows_of(node: Node) -> Windows:
    """How the weights of a node, a Conv2d or FullyConnected, meet its input."""
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
