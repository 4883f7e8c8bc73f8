"""ONNX RNN, GRU and LSTM -> a FullyConnected of the inputs and a Recurrent for each direction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...format.schema import RecurrentCell, RecurrentOutput
from ...ir import Array, Value
from .._opdef import Builder, OnnxNode, Unsupported
from .._views import float_input
from ..move.movement import take
from ._functions import DEFAULTS, CellFunction, cell_functions
from ._unrolled import Unrolled

GATES = {RecurrentCell.Rnn: 1, RecurrentCell.Gru: 3, RecurrentCell.Lstm: 4}
CELLS = {"RNN": RecurrentCell.Rnn, "GRU": RecurrentCell.Gru, "LSTM": RecurrentCell.Lstm}

QUANTIZED = "DynamicQuantizeLSTM"
"""Of com.microsoft: an LSTM whose weights are integers, [directions, inputs, gates * hidden]."""

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

Given = list[Value | None]


@dataclass(frozen=True)
class _Layer:
    """What all directions have in common."""

    node: OnnxNode
    cell: RecurrentCell
    x: Value  # [steps, batch, inputs]
    lengths: Value | None
    starts: list[Value | None]  # hidden and cell state [directions, batch, hidden]
    hidden: int
    attrs: dict[str, Any]


def from_onnx(b: Builder, node: OnnxNode) -> list[Value]:
    """The outputs Y, Y_h and Y_c, as far as they have names; a nameless one in between is there."""
    if node.op == QUANTIZED:
        node = _dequantized(b, node)
    reverse = DIRECTIONS.get(str(node.attrs.get("direction", "forward")).lower())
    if reverse is None:
        raise Unsupported(f"its direction is '{node.attrs['direction']}'")
    layer = _read(b, node)
    found = [_direction(b, layer, i, reverse[i]) for i in range(len(reverse))]
    batch_first = bool(node.attrs.get("layout", 0))
    outputs: list[Value] = []
    for i, parts in enumerate(zip(*found, strict=True)):
        axis = 1 if i == 0 else 0
        y = _stacked(b, list(parts), axis)
        if batch_first:
            y = b.transpose(y, (2, 0, 1, 3) if i == 0 else (1, 0, 2))
        outputs.append(y)
    return outputs


def _dequantized(b: Builder, node: OnnxNode) -> OnnxNode:
    """The LSTM of the real weights; onnxruntime rounds its inputs and hidden states besides."""
    given: Given = [*node.inputs, *[None] * 12][:12]
    real = [_real_weights(b, given[i], *given[at : at + 2]) for i, at in ((1, 8), (2, 10))]
    return replace(node, op="LSTM", domain="", inputs=[given[0], *real, *given[3:8]])


def _real_weights(b: Builder, q: Value | None, scale: Value | None, zero: Value | None) -> Value:
    if q is None or q.const is None or scale is None or scale.const is None:
        raise Unsupported("its weights or their scales are not constant", "export it in float")
    whole = q.const.astype(np.float32)
    if zero is not None:
        if zero.const is None:
            raise Unsupported("its zero points are not constant", "export it in float")
        whole -= zero.const.astype(np.float32).reshape(len(whole), 1, -1)
    real = whole * scale.const.astype(np.float32).reshape(len(whole), 1, -1)
    return b.constant(np.ascontiguousarray(real.transpose(0, 2, 1)), q.name)


def _read(b: Builder, node: OnnxNode) -> _Layer:
    cell, x = CELLS[node.op], float_input(node)
    given: Given = [*node.inputs, *[None] * 8][:8]
    starts = [given[5], given[6] if cell == RecurrentCell.Lstm else None]
    if node.attrs.get("layout", 0):
        x = b.transpose(x, (1, 0, 2))
        starts = [None if v is None else b.transpose(v, (1, 0, 2)) for v in starts]
    recurrence = node.inputs[2]
    assert recurrence is not None
    hidden = recurrence.shape[-1]
    if node.attrs.get("hidden_size", hidden) != hidden:
        raise Unsupported(f"its hidden_size {node.attrs['hidden_size']} is not that of its weights")
    attrs = {
        "cell": cell, "clip": float(node.attrs.get("clip", 0.0)),
        "cell_limit": 0.0,
        "reset_after": cell == RecurrentCell.Gru and bool(node.attrs.get("linear_before_reset", 0)),
        "coupled": cell == RecurrentCell.Lstm and bool(node.attrs.get("input_forget", 0)),
        "gives": _wanted(node),
    }  # fmt: skip
    return _Layer(node, cell, x, _lengths(given[4], x), starts, hidden, attrs)


def _lengths(v: Value | None, x: Value) -> Value | None:
    """None where every sample has all steps."""
    whole = v is not None and v.const is not None and bool(np.all(v.const == x.shape[0]))
    return None if whole else v


def _wanted(node: OnnxNode) -> tuple[RecurrentOutput, ...]:
    """All outputs up to the last with a name."""
    order = (RecurrentOutput.Hidden, RecurrentOutput.LastHidden, RecurrentOutput.LastCell)
    count = max((i + 1 for i, name in enumerate(node.outputs) if name), default=1)
    return order[:count]


def _direction(b: Builder, layer: _Layer, d: int, reverse: bool) -> list[Value]:
    node, gates = layer.node, GATES[layer.cell]
    if any(v is not None and v.const is None for v in (*node.inputs[1:4], *node.inputs[7:8])):
        return _computed(b, layer, d, reverse)
    rows = gates * layer.hidden
    weights, recurrence, bias = (_of_direction(node, i, d) for i in (1, 2, 3))
    assert weights is not None and recurrence is not None
    both = np.zeros(2 * rows, np.float32) if bias is None else bias.astype(np.float32)
    of_inputs, of_products = _biases(layer, both[:rows], both[rows:])
    name = node.outputs[0] or node.name
    share = b.emit(
        "FullyConnected",
        [
            layer.x,
            b.constant(weights.astype(np.float32), f"{name}.weights"),
            b.constant(of_inputs, f"{name}.bias") if of_inputs.any() else None,
        ],
        f"{name}.inputs",
    )
    peepholes = _of_direction(node, 7, d) if layer.cell == RecurrentCell.Lstm else None
    starts = [_start(b, v, d) for v in layer.starts]
    return b.emit_all(
        "Recurrent",
        [
            share, layer.lengths, *starts,
            b.constant(recurrence.astype(np.float32), f"{name}.recurrence"),
            b.constant(of_products, f"{name}.reset_bias") if of_products.any() else None,
            None if peepholes is None else b.constant(peepholes, f"{name}.peepholes"),
        ],
        name, reverse=reverse, functions=_functions(node, d), **layer.attrs,
    )  # fmt: skip


def _computed(b: Builder, layer: _Layer, d: int, reverse: bool) -> list[Value]:
    """A direction whose weights are no constants."""
    node, rows = layer.node, GATES[layer.cell] * layer.hidden
    others = layer.lengths is not None or (len(node.inputs) > 7 and node.inputs[7] is not None)
    if others or layer.attrs["clip"] or layer.attrs["coupled"]:
        raise Unsupported(
            "its weights are computed at run time, beside lengths, peepholes, clip or input_forget",
            "make them constants",
        )
    unrolled = Unrolled(
        b, layer.cell, layer.hidden, _functions(node, d), layer.attrs["reset_after"]
    )
    weights = [_part(b, node.inputs[i], d) for i in (1, 2)]
    biases = None
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        both = _part(b, node.inputs[3], d)
        biases = [take(b, both, [range(k * rows, (k + 1) * rows)]) for k in (0, 1)]
    batch = layer.x.shape[1]
    zeros = np.zeros((batch, layer.hidden), np.float32)
    starts = [_start(b, v, d) or b.constant(zeros) for v in layer.starts]
    return unrolled.run(layer.x, weights, biases, starts, reverse)[: len(layer.attrs["gives"])]


def _part(b: Builder, v: Value | None, d: int) -> Value:
    """What direction `d` has of it."""
    assert v is not None
    if v.const is not None:
        return b.constant(v.const[d].astype(np.float32), v.name)
    ranges = [range(d, d + 1), *(range(size) for size in v.shape[1:])]
    return b.reshape(take(b, v, ranges), v.shape[1:])


def _of_direction(node: OnnxNode, i: int, d: int) -> Array | None:
    array = node.const(i)
    return None if array is None else array[d]


def _biases(layer: _Layer, of_inputs: Array, of_products: Array) -> tuple[Array, Array]:
    """All of it is the inputs', but what GRU multiplies by its reset gate."""
    kept = np.zeros_like(of_products)
    if layer.attrs["reset_after"]:
        kept[2 * layer.hidden :] = of_products[2 * layer.hidden :]
    return of_inputs + (of_products - kept), kept


def _functions(node: OnnxNode, d: int) -> tuple[CellFunction, ...]:
    defaults = DEFAULTS[node.op]
    names = [str(n) for n in node.attrs.get("activations", [])]
    directions = len(DIRECTIONS[str(node.attrs.get("direction", "forward")).lower()])
    names = names or list(defaults) * directions
    if len(names) != len(defaults) * directions:
        raise Unsupported(f"it has {len(names)} activations, not {len(defaults) * directions}")
    alphas, betas = (node.attrs.get(k, []) for k in ("activation_alpha", "activation_beta"))
    found = cell_functions(names, alphas, betas)
    return tuple(found[d * len(defaults) : (d + 1) * len(defaults)])


def _start(b: Builder, v: Value | None, d: int) -> Value | None:
    """A direction's state to start with; None where it is 0."""
    if v is None or (v.const is not None and not v.const.any()):
        return None
    ranges = [range(d, d + 1), *(range(size) for size in v.shape[1:])]
    part = b.constant(v.const[d : d + 1], v.name) if v.const is not None else take(b, v, ranges)
    return b.reshape(part, v.shape[1:])


def _stacked(b: Builder, parts: list[Value], axis: int) -> Value:
    """The directions' outputs along a new axis."""
    shape = (*parts[0].shape[:axis], 1, *parts[0].shape[axis:])
    views = [b.reshape(v, shape) for v in parts]
    return views[0] if len(views) == 1 else b.emit("Concat", views, axis=axis)
