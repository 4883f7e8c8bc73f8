"""What a node with weights multiplies, as second moments over samples and places.

Sums are of integers that float64 holds exactly: no order of summation, and no BLAS, changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..build import open_once
from ..ir import Array, Graph, Node, Port, QuantParams, Value

Reals = NDArray[np.float64]

SAMPLES = 128
COLUMNS = 8192
VALUES = 1 << 23
"""Input columns taken for one node, spread over so many samples at most, and values in them."""
EXACT = 1 << 24
"""Sums of whole numbers below it are exact in float32, which multiplies twice as fast."""
FINE = 16
"""Parts of an input step in which the float model's input is counted."""


@dataclass(frozen=True)
class Moments:
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
class Seen:
    """What meets a node's weights, a few places of each sample: [groups, places, k] of integers.

    q counts steps of the quantized model's input, x parts of them (FINE) of the float model's.
    outputs [places, channels] are the float model's, real, if they were asked for.
    """

    x: list[Reals]
    q: list[Reals]
    outputs: list[Reals]
    step: float


def spread(samples: Sequence[Mapping[str, Array]]) -> list[Mapping[str, Array]]:
    """At most SAMPLES of them, evenly."""
    step = -(-len(samples) // SAMPLES)
    return list(samples[::step])


def observe(
    node: Node,
    floats: Graph,
    quantized: Graph,
    samples: Sequence[Mapping[str, Array]],
    outputs: bool = False,
) -> Seen:
    """What `node` (of `floats`) reads in both graphs; Conv2d and FullyConnected only."""
    made = next(n for n in quantized.nodes if n.outputs and n.output.name == node.output.name)
    source, quant = made.input(0), made.input(0).quant
    assert quant is not None
    exact, rounded = Watch(floats, node.input(0)), Watch(quantized, source)
    answer = Watch(floats, node.output) if outputs else None
    step = quant.scalar
    seen = Seen([], [], [], step)
    for i, sample in enumerate(samples):
        places = _places(node, i, len(samples))
        for kept, watch, unit in ((seen.x, exact, step / FINE), (seen.q, rounded, step)):
            kept.append(columns(node, np.rint(watch(sample) / unit), places))
        if answer is not None:
            seen.outputs.append(answer(sample).reshape(-1, node.output.shape[-1])[places])
    return seen


def moments(seen: Seen) -> Moments:
    """Of what a node reads."""
    found, steps = [seen.x, seen.q], seen.step
    middle = [np.rint(np.mean([v.mean(axis=1) for v in vs], axis=0)) for vs in found]
    xs, qs = ([v - m[:, None] for v in vs] for vs, m in zip(found, middle, strict=True))
    count = sum(v.shape[1] for v in qs)
    total, squares = _products(qs)
    x, q = (_sum(v.sum(axis=1) for v in vs) / count for vs in (xs, qs))
    qq = total / count - q[:, :, None] * q[:, None, :]
    xq = _sum(x.swapaxes(1, 2) @ q for x, q in zip(xs, qs, strict=True)) / count
    xq -= x[:, :, None] * q[:, None, :]
    certain = 1 - _uncertain(total, squares, len(seen.q))
    weight = np.where(np.eye(qq.shape[1], dtype=bool), 1.0, certain)
    x, q = x + middle[0], q + middle[1]
    fine = steps / FINE
    return Moments(qq * weight * steps**2, xq * weight * steps * fine, q * steps, x * fine, certain)


def _sum(arrays: Iterable[Reals]) -> Reals:
    """In order, without keeping them."""
    total: Reals | None = None
    for array in arrays:
        total = array if total is None else total + array
    assert total is not None
    return total


def _products(columns: Sequence[Reals]) -> tuple[Reals, Reals]:
    """The sum over samples of their second moments, and of the squares of these."""
    total = squares = np.zeros(())
    for v in columns:
        small = v.shape[1] * np.abs(v).max(initial=0.0) ** 2 < EXACT
        v = v.astype(np.float32) if small else v
        own = (v.swapaxes(1, 2) @ v).astype(np.float64)
        total, squares = total + own, squares + own * own
    return total, squares


def _uncertain(total: Reals, squares: Reals, samples: int) -> float:
    """The part of the sums off the diagonal that is chance, by their variance over samples."""
    beside = ~np.eye(total.shape[1], dtype=bool)
    power = (total * total)[:, beside].sum()
    if samples < 2 or power == 0:
        return 1.0
    variance = (squares[:, beside].sum() - power / samples) * samples / (samples - 1)
    return float(np.clip(variance / power, 0, 1))


class Watch:
    """One tensor of a graph, run no further than there."""

    def __init__(self, graph: Graph, value: Value) -> None:
        self.value = value
        made_by = graph.producers()
        self.port = next((p for p in graph.inputs if p.value is value), None)
        if self.port is None:
            nodes = _needed(graph, value)
            port = Port(value.name, value, 1, value.shape)
            self.session = open_once(Graph(nodes, graph.inputs, [port]))
        assert self.port is not None or value in made_by

    def __call__(self, sample: Mapping[str, Array]) -> Reals:
        """The tensor's real values."""
        if self.port is None:
            return self.session.run(sample)[self.value.name].astype(np.float64)
        x = np.asarray(sample[self.port.name]).reshape(self.value.shape)
        quant = self.value.quant
        return (x if quant is None else _held(x, quant)).astype(np.float64)


def _held(x: Array, quant: QuantParams) -> Array:
    return quant.dequantize(quant.quantize(x))


def _needed(graph: Graph, value: Value) -> list[Node]:
    needed, kept = {value}, list[Node]()
    for node in reversed(graph.nodes):
        if any(v in needed for v in node.outputs):
            kept.append(node)
            needed |= {v for v in node.inputs if v is not None}
    return kept[::-1]


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
