"""The inputs of a node with weights, in the float model and in the quantized one, at some positions
of each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ....calibration import FiledRows
from ...ir import Array, Graph, Node, Value
from ...numerics import INT16
from ...ops import is_a
from ...ops.matmul.fully_connected import FullyConnected
from ...runtime import whole_sums
from ...runtime.whole_sums import Whole, Windows
from .layer_executor import LayerExecutor

Reals = NDArray[np.float64]
Sums = NDArray[np.int64]

SAMPLES = 128
COLUMNS, LEAST_COLUMNS = 8192, 4096
VALUES = 1 << 23
"""Limits for one node: samples, input columns of all of them, and values in these."""
TIMES = 32
"""Columns observed for each weight of an output channel, between those limits: the moments of few
inputs need few."""
KNOWN = 8
"""Size of the cache of sampled positions: many layers have outputs of the same size."""
FINE = 16
"""The float model's input is measured in units of the input step divided by this."""
COARSE = 5
"""int16 inputs are measured in units of 2**COARSE steps, an eighth of an int8 step for the same
range: sums of their products mostly fit 32 bits."""


@dataclass(frozen=True)
class FloatInputs:
    """Input columns of a node's weights in the float model, at some positions of each sample:
    integers [samples, groups, positions, k] in steps / FINE, where `step` is the unit_of the
    quantized model's input.

    `places` [samples, positions] are the positions in the node's output, and `outputs` its real
    values there [positions, channels] by sample, if requested. `sums` [samples, groups, k] are over
    positions.
    """

    x: FiledRows
    sums: Sums
    places: NDArray[np.int32]
    outputs: list[Reals]
    step: float


@dataclass(frozen=True)
class LayerInputs:
    """Input columns of a node's weights on the `chosen` samples of `floats`: q in the quantized
    model, in units of `floats.step`. `rest` [samples, groups, k] is what the `sums` of q rounded to
    these units lack; None if nothing."""

    floats: FloatInputs
    chosen: range
    q: FiledRows
    sums: Sums
    rest: Reals | None = None

    @property
    def step(self) -> float:
        return self.floats.step

    @property
    def positions(self) -> int:
        """The number of columns per sample."""
        return int(self.floats.places.shape[1])

    def all_q(self) -> Whole:
        """q of all samples [groups, columns, k]."""
        q = self.q.read(0, len(self.chosen)).swapaxes(0, 1)
        return q.reshape(len(q), -1, q.shape[3])

    def outputs(self) -> Reals:
        """The float model's outputs, if requested [columns, channels]."""
        return np.concatenate([self.floats.outputs[i] for i in self.chosen])


def spread_evenly(samples: Sequence[Mapping[str, Array]]) -> list[Mapping[str, Array]]:
    """At most SAMPLES samples, evenly spaced."""
    step = -(-len(samples) // SAMPLES)
    return list(samples[::step])


def unit_of(source: Value) -> float:
    """The unit in which the quantized input of a node is observed."""
    assert source.quant is not None
    return source.quant.scalar * (1 << COARSE if source.dtype == INT16 else 1)


def observe_floats(
    node: Node, floats: Graph, run: LayerExecutor, outputs: bool, step: float
) -> FloatInputs:
    """The inputs of `node`, a Conv2d or FullyConnected of `floats`, on all samples of `run`, and
    its `outputs` if requested; `step` is the unit_of the quantized model's input."""
    count, windows, channels = len(run.samples), windows_of(node), node.output.shape[-1]
    wanted = [node.input(0), *([node.output] if outputs else [])]
    places, x, sums, real = _places(node, count), FiledRows(count), list[Sums](), list[Reals]()
    for held, *y in run.run_to(floats, node, wanted):
        some = places[len(sums) : len(sums) + len(held)]
        found = whole_sums.columns(windows, held, step / FINE, some)
        x = _written(x, len(sums), count, found)
        sums.extend(whole_sums.sums(found))
        for v in y:
            rows = v.reshape(len(v), -1, channels)
            real.extend(row[at].astype(np.float64) for row, at in zip(rows, some, strict=True))
    return FloatInputs(x, np.stack(sums), places, real, step)


def observe_inputs(
    node: Node, floats: FloatInputs, quantized: Graph, run: LayerExecutor, chosen: range
) -> LayerInputs:
    """The inputs of `node` in both models. The samples of `run`, for `quantized`, are the `chosen`
    ones of the float model."""
    made = next(n for n in quantized.nodes if n.outputs and n.output.name == node.output.name)
    source, quant = made.input(0), made.input(0).quant
    assert quant is not None and unit_of(source) == floats.step
    windows, zero = windows_of(node), quant.zero_point
    places = floats.places[chosen.start : chosen.stop : chosen.step]
    q, sums, rest = FiledRows(len(chosen)), list[Sums](), list[Reals]()
    for (held,) in run.run_to(quantized, made, [source]):
        some = places[len(sums) : len(sums) + len(held)]
        found = whole_sums.whole_columns(windows, held, zero, some)
        own = whole_sums.sums(found)
        if source.dtype == INT16:
            found, exact = _coarse(found), own / (1 << COARSE)
            own = whole_sums.sums(found)
            rest.extend(exact - own)
        q.write(len(sums), found)
        sums.extend(own)
    return LayerInputs(floats, chosen, q, np.stack(sums), np.stack(rest) if rest else None)


def _coarse(steps: Whole) -> Whole:
    """int16 steps, overwritten by the nearest units of 2**COARSE steps."""
    steps >>= COARSE - 1
    steps += 1
    steps >>= 1
    return steps


def _written(rows: FiledRows, first: int, count: int, found: Whole) -> FiledRows:
    """`rows`, of `count`, with `found` from `first` on, all of the wider of both types."""
    if first and rows.dtype != found.dtype:
        narrow, rows = rows, FiledRows(count)
        for i in range(first):
            rows.write(i, narrow.read(i, i + 1).astype(np.int32))
        found = found.astype(np.int32)
    rows.write(first, found)
    return rows


def _places(node: Node, samples: int) -> NDArray[np.int32]:
    """The output positions of each sample that are observed [samples, positions]."""
    total = node.output.type.size // node.output.shape[-1]
    kernel = node.input(1).shape[1:]
    height = node.input(0).shape[-1] * int(np.prod(kernel[:-1]))
    columns = min(max(TIMES * int(np.prod(kernel)), LEAST_COLUMNS), COLUMNS, VALUES // height)
    wanted = max(1, -(-columns // samples))
    return _some(samples, total, min(wanted, total))


@lru_cache(maxsize=KNOWN)
def _some(samples: int, total: int, wanted: int) -> NDArray[np.int32]:
    """`wanted` of `total` positions for each sample, in order."""
    if wanted == total:
        return np.tile(np.arange(total, dtype=np.int32), (samples, 1))
    chosen = (np.random.default_rng(i).choice(total, wanted, replace=False) for i in range(samples))
    return np.sort(np.stack(list(chosen)), axis=1).astype(np.int32)


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
