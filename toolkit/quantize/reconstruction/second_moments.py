"""What a node with weights multiplies, as second moments over samples and places.

Sums are of integers that float64 holds exactly: no order of summation, and no BLAS, changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...ir import Array, Graph, Node
from .layer_executor import LayerExecutor

Reals = NDArray[np.float64]

SAMPLES = 128
COLUMNS = 8192
VALUES = 1 << 23
"""Input columns taken for one node, spread over so many samples at most, and values in them."""
EXACT = 1 << 24
"""Sums of whole numbers below it are exact in float32, which multiplies twice as fast."""
PARTS = 8
"""Of the samples: what all others say is tried on each."""
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
    outputs [places, channels] are the float model's, real, if they were asked for.
    """

    x: list[Reals]
    q: list[Reals]
    outputs: list[Reals]
    step: float


def spread_evenly(samples: Sequence[Mapping[str, Array]]) -> list[Mapping[str, Array]]:
    """At most SAMPLES of them, evenly."""
    step = -(-len(samples) // SAMPLES)
    return list(samples[::step])


def observe_inputs(
    node: Node,
    floats: Graph,
    quantized: Graph,
    runs: tuple[LayerExecutor, LayerExecutor],
    outputs: bool = False,
) -> LayerInputs:
    """What `node` (of `floats`) reads in both graphs; Conv2d and FullyConnected only.

    `runs` are of the one and of the other, on the same samples.
    """
    made = next(n for n in quantized.nodes if n.outputs and n.output.name == node.output.name)
    source, quant = made.input(0), made.input(0).quant
    assert quant is not None
    exact = runs[0].run_to(floats, node, [node.input(0), *([node.output] if outputs else [])])
    rounded = runs[1].run_to(quantized, made, [source])
    step, count = quant.scalar, len(runs[0].samples)
    seen = LayerInputs([], [], [], step)
    for i, ((x, *y), (q,)) in enumerate(zip(exact, rounded, strict=True)):
        places = _places(node, i, count)
        seen.x.append(columns(node, np.rint(x / (step / FINE)), places))
        seen.q.append(columns(node, np.rint(q / step), places))
        seen.outputs.extend(v.reshape(-1, node.output.shape[-1])[places] for v in y)
    return seen


@dataclass(frozen=True)
class MomentSums:
    """Over columns of some samples, counted from `middle` (of x, of q), in units of Seen."""

    qq: Reals
    xq: Reals
    q: Reals
    x: Reals
    squares: float
    """Of what each sample has in qq off the diagonal."""
    columns: int
    samples: int
    middle: tuple[Reals, Reals]
    step: float

    def __add__(self, other: MomentSums) -> MomentSums:
        """Those of both."""
        return replace(
            self,
            qq=self.qq + other.qq,
            xq=self.xq + other.xq,
            q=self.q + other.q,
            x=self.x + other.x,
            squares=self.squares + other.squares,
            columns=self.columns + other.columns,
            samples=self.samples + other.samples,
        )

    def __sub__(self, part: MomentSums) -> MomentSums:
        """Those of the other samples."""
        return replace(
            self,
            qq=self.qq - part.qq,
            xq=self.xq - part.xq,
            q=self.q - part.q,
            x=self.x - part.x,
            squares=self.squares - part.squares,
            columns=self.columns - part.columns,
            samples=self.samples - part.samples,
        )


def parts(seen: LayerInputs) -> list[range]:
    """Which samples are tried by what the others say: every PARTS-th, from each of the first on."""
    count = len(seen.q)
    step = min(PARTS, count)
    return [range(first, count, step) for first in range(step)]


def moment_sums(seen: LayerInputs) -> list[MomentSums]:
    """Of what a node reads, in each of the parts of the samples."""
    x0, q0 = (np.rint(np.mean([v.mean(axis=1) for v in vs], axis=0)) for vs in (seen.x, seen.q))
    return [_sums_of(seen, (x0, q0), chosen) for chosen in parts(seen)]


def total(moment_sums: Sequence[MomentSums]) -> MomentSums:
    """Of all parts together."""
    return reduce(MomentSums.__add__, moment_sums)


def _sums_of(seen: LayerInputs, middle: tuple[Reals, Reals], chosen: range) -> MomentSums:
    """Of what a node reads in the samples `chosen`, counted from `middle`."""
    both = zip((seen.x, seen.q), middle, strict=True)
    xs, qs = ([vs[i] - m[:, None] for i in chosen] for vs, m in both)
    qq, squares = _products(qs)
    return MomentSums(
        qq=qq,
        xq=_sum(x.swapaxes(1, 2) @ q for x, q in zip(xs, qs, strict=True)),
        q=_sum(v.sum(axis=1) for v in qs),
        x=_sum(v.sum(axis=1) for v in xs),
        squares=squares,
        columns=sum(v.shape[1] for v in qs),
        samples=len(qs),
        middle=middle,
        step=seen.step,
    )


def second_moments(s: MomentSums) -> SecondMoments:
    """Of what a node reads in these samples."""
    x, q = s.x / s.columns, s.q / s.columns
    qq, xq = _about(s, x, q)
    certain = 1 - _uncertain(s)
    weight = np.where(np.eye(qq.shape[1], dtype=bool), 1.0, certain)
    x, q = (x + s.middle[0]) * s.step / FINE, (q + s.middle[1]) * s.step
    return SecondMoments(qq * weight, xq * weight, q, x, certain)


def held_out(part: MomentSums, rest: SecondMoments) -> tuple[Reals, Reals]:
    """qq, xq of a part of the samples as it is, about the means of the rest."""
    x, q = rest.x / part.step * FINE - part.middle[0], rest.q / part.step - part.middle[1]
    return _about(part, x, q)


def _about(s: MomentSums, x: Reals, q: Reals) -> tuple[Reals, Reals]:
    """The means of q q' and x q' about `x` and `q`, which are counted as in the sums."""
    mean_x, mean_q = s.x / s.columns - x, s.q / s.columns - q
    qq = s.qq / s.columns - _outer(mean_q + q, q) - _outer(q, mean_q)
    xq = s.xq / s.columns - _outer(mean_x + x, q) - _outer(x, mean_q)
    return qq * s.step**2, xq * s.step**2 / FINE


def _outer(a: Reals, b: Reals) -> Reals:
    return a[:, :, None] * b[:, None, :]


def _sum(arrays: Iterable[Reals]) -> Reals:
    """In order, without keeping them."""
    total: Reals | None = None
    for array in arrays:
        total = array if total is None else total + array
    assert total is not None
    return total


def _products(columns: Sequence[Reals]) -> tuple[Reals, float]:
    """The sum over samples of their second moments, and of these squared, off the diagonal."""
    total, squares = np.zeros(()), 0.0
    for v in columns:
        small = v.shape[1] * np.abs(v).max(initial=0.0) ** 2 < EXACT
        v = v.astype(np.float32) if small else v
        own = (v.swapaxes(1, 2) @ v).astype(np.float64)
        total, squares = total + own, squares + _beside(own)
    return total, squares


def _beside(products: Reals) -> float:
    """The sum of squares off the diagonal."""
    squared = products * products
    return float(squared.sum() - np.trace(squared, axis1=1, axis2=2).sum())


def _uncertain(s: MomentSums) -> float:
    """The part of the sums off the diagonal that is chance, by their variance over samples."""
    power = _beside(s.qq)
    if s.samples < 2 or power <= 0:
        return 1.0
    variance = (s.squares - power / s.samples) * s.samples / (s.samples - 1)
    return float(np.clip(variance / power, 0, 1))


def _places(node: Node, seed: int, samples: int) -> NDArray[np.int64]:
    """Which outputs' columns to take of a sample."""
    total = node.output.type.size // node.output.shape[-1]
    height = node.input(0).shape[-1] * int(np.prod(node.input(1).shape[1:-1]))
    wanted = max(1, -(-min(COLUMNS, VALUES // height) // samples))
    if wanted >= total:
        return np.arange(total)
    return np.sort(np.random.default_rng(seed).choice(total, wanted, replace=False))


def columns(node: Node, x: Reals, places: NDArray[np.int64]) -> Reals:
    """What meets the weights at these outputs: [groups, places, k], k as weights lie."""
    if node.op == "FullyConnected":
        return x.reshape(1, -1, x.shape[-1])[:, places]
    top, left, bottom, right = node.attrs["pads"]
    _, kh, kw, _ = node.input(1).shape
    (sh, sw), (dh, dw) = node.attrs["stride"], node.attrs["dilation"]
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    extent = ((kh - 1) * dh + 1, (kw - 1) * dw + 1)
    windows = sliding_window_view(padded, extent, axis=(1, 2))[:, ::sh, ::sw, :, ::dh, ::dw]
    taken = windows[np.unravel_index(places, node.output.shape[:3])]
    groups = int(node.attrs["groups"])
    split = taken.reshape(len(places), groups, -1, kh, kw)
    return np.ascontiguousarray(split.transpose(1, 0, 3, 4, 2)).reshape(groups, len(places), -1)
