"""Quantization parameters that a quantized ONNX model contains; they are kept unchanged.

A FakeQuantize defines the grid of its output. If nothing else reads its input, the producer of the
input computes on that grid directly, which is marked by the value's `quant`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Graph, Node, QuantParams, Value
from ...numerics import INT8, INT16, DType
from ...ops import definition, is_a
from ...ops._opdef import Activation
from ...ops.convert.fake_quantize import FakeQuantize, given_quantization
from ...ops.move.gather import Gather
from ...passes.fusion.fuse_activation import FUSING
from .options import Range

Steps = NDArray[np.float64]


def given_range(quant: QuantParams) -> Range:
    """The real values of the smallest and the largest integer."""
    low, high = ((q - quant.zero_point) * quant.scalar for q in (quant.qmin, quant.qmax))
    return low, high


def given_as(quant: QuantParams, dtype: DType) -> QuantParams:
    """A given quantization, for reading the tensor as `dtype`: int16 keeps the step."""
    return quant if quant.dtype == dtype else QuantParams.int16(quant.scalar)


def given_ranges(graph: Graph) -> dict[str, Range]:
    """Ranges of marked tensors, and of those with a fixed range; empty without marks."""
    if not is_given(graph):
        return {}
    fixed = {n.output.name: definition(n.op).fixed_output(n, INT8) for n in graph.nodes}
    found = {name: given_range(quant) for name, quant in fixed.items() if quant is not None}
    marked = (v for v in graph.values() if v.const is None)
    return found | {v.name: given_range(v.quant) for v in marked if v.quant is not None}


def mark_given(graph: Graph) -> None:
    """Mark the values that FakeQuantize nodes put on grids, and remove nodes that their mark makes
    redundant."""
    _absorb(graph)
    made_by = graph.producers()
    changed = True
    while changed:
        readers = graph.consumers()
        changed = any([_spread(node, graph, made_by, readers) for node in graph.nodes])


def _absorb(graph: Graph) -> None:
    made_by, readers, outputs = graph.producers(), graph.consumers(), graph.output_values()
    stands_for: dict[Value, Value] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        node.inputs = [None if v is None else stands_for.get(v, v) for v in node.inputs]
        quant = given_quantization(node)
        if quant is None:
            kept.append(node)
            continue
        x, y = node.input(0), node.output
        alone = len(readers[x]) == 1 if x in readers else False
        if alone and x not in outputs and x.quant is None and _takes(made_by.get(x), quant):
            _mark(x, quant, made_by.get(x))
            stands_for[y] = x
            readers[x] = readers.get(y, [])
            if y in outputs:
                x.name = y.name
                outputs.add(x)
        else:
            y.quant = quant
            kept.append(node)
    graph.nodes = kept
    for port in graph.outputs:
        port.value = stands_for.get(port.value, port.value)


def _mark(x: Value, quant: QuantParams, maker: Node | None) -> None:
    """Put `x` on the grid. Its ends also clamp float computation, as they may replace a ReLU."""
    x.quant = quant
    if maker is not None and maker.op in FUSING:
        (low, high), act = given_range(quant), Activation.of(maker)
        maker.attrs["act_min"] = max(act.low, low)
        maker.attrs["act_max"] = min(act.high, high)


def _takes(maker: Node | None, quant: QuantParams) -> bool:
    """Whether the output of `maker` may have this quantization."""
    if maker is None:
        return True
    if is_a(maker, FakeQuantize):
        return False
    fixed = definition(maker.op).fixed_output(maker, quant.dtype)
    return fixed is None or fixed == quant


def _spread(
    node: Node, graph: Graph, made_by: dict[Value, Node], readers: dict[Value, list[Node]]
) -> bool:
    """Copy marks between the input and output of `node`; whether one was new."""
    if not definition(node.op).selects or len(node.outputs) > 1 or node.output.dtype != np.float32:
        return False
    data, y = node.dynamic_inputs[:1] if is_a(node, Gather) else node.dynamic_inputs, node.output
    if any(v.dtype != np.float32 for v in data):
        return False
    if y.quant is None and len(data) == 1 and data[0].quant is not None:
        if any(v is not None and v.const is not None and v.dtype == np.float32
               for v in node.inputs):  # fmt: skip
            return False
        y.quant = data[0].quant
        return True
    if y.quant is None:
        return False
    outputs, found = graph.output_values(), False
    for x in data:
        alone = x.quant is None and len(readers[x]) == 1 and x not in outputs
        if alone and _takes(made_by.get(x), y.quant):
            _mark(x, y.quant, made_by.get(x))
            found = True
    return found


def is_given(graph: Graph) -> bool:
    """Whether the model contains quantization parameters."""
    return any(v.quant is not None for v in graph.values() if v.const is None)


def grid_quant(x: Array, dtype: DType) -> QuantParams | None:
    """The quantization of a constant whose values are already multiples of a step."""
    steps = grid_steps(x.reshape(1, -1), 255)
    if steps is None or not steps[0]:
        return None
    if dtype == INT16:
        return QuantParams.int16(float(steps[0]))
    low, high = (round(float(end) / float(steps[0])) for end in (min(x.min(), 0), max(x.max(), 0)))
    return QuantParams((float(np.float32(steps[0])),), -128 - low) if high - low <= 255 else None


TOLERANCE = 1e-3
"""In steps: float32 represents 255 steps to within 1e-5 of a step."""
FEW = 8
"""Number of values of a row that are tried first."""


def grid_steps(rows: Array, most: int) -> Steps | None:
    """The largest step of each row [n, k] such that all values are integer multiples of it, up to
    `most` times; 0 for a row of zeros. None if a row has no such step.

    It is the original scale of the dequantized row, times the common divisor of its integers.
    """
    real = np.asarray(rows, np.float64)
    top = np.abs(real).max(axis=1, initial=0.0)
    steps = np.zeros(len(real))
    left = top > 0
    for k in range(1, most + 1):
        if not left.any():
            break
        rest = np.flatnonzero(left)
        scale = top[rest] / k
        few = real[rest][:, :FEW] / scale[:, None]
        hopeful = (np.abs(few - np.rint(few)) < TOLERANCE).all(axis=1)
        parts = real[rest[hopeful]] / scale[hopeful, None]
        whole = np.rint(parts)
        fits = (np.abs(parts - whole) < TOLERANCE).all(axis=1)
        at, q = rest[hopeful][fits], whole[fits]
        # The mean over the row estimates the scale better than its largest value alone.
        steps[at] = (real[at] * q).sum(axis=1) / (q * q).sum(axis=1)
        left[at] = False
    return None if left.any() else steps
