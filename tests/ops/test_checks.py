"""Parameters that would leave a tensor, or never end, are refused when a file is opened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.build import build_model
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.runtime import Session

S8, S16, F32 = np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.float32)
Q, Q16 = QuantParams((0.1,), 0), QuantParams.int16(0.001)
QUANT = {S8: Q, S16: Q16}
CODES = {"int8": 3, "int16": 5, "int32": 6, "float32": 1}


def value(name: str, dtype: np.dtype, *shape: int) -> Value:
    return Value(name, TensorType(dtype, shape), quant=QUANT.get(dtype))


def node(op: str, inputs: list[Value], out: QuantParams = Q, **attrs: object) -> Node:
    y = Value("y", inputs[0].type, quant=inputs[0].quant or out)
    n = Node(op, list(inputs), [y], dict(attrs), op)
    y.type = definition(op).infer(n)[0]
    y.quant = QUANT.get(y.dtype)
    return n


def requantize(x: Value, quant: QuantParams) -> Node:
    y = Value("y", TensorType(quant.dtype, x.shape), quant=quant)
    return Node("Requantize", [x], [y], {}, "Requantize")


A, B, ROW = value("a", S8, 2, 3, 4), value("b", S8, 2, 3, 4), value("r", S8, 4)
A16, B16, ROW16 = value("a", S16, 2, 3, 4), value("b", S16, 2, 3, 4), value("r", S16, 4)
X, Y = value("x", F32, 2, 3, 4), value("z", F32, 4)
AT = value("i", np.dtype(np.int32), 3)
TABLE = constant(np.zeros(256, np.int8), "t")
TABLE16 = constant(np.zeros(513, np.int16), "t")
TABLES, TABLES16 = (
    constant(np.zeros((2, n), d), "ts") for n, d in ((256, np.int8), (513, np.int16))
)
INDEX = constant(np.array([1, 0, 0, 1], np.uint8), "index")
SLOPE = constant(np.full(4, 0.5, np.float32), "slope")
NORM = {"axes": (2,), "epsilon": 1e-5, "centered": True}
PAD = {"before": (0, 1, 1), "after": (0, 1, 0), "value": 0.0}
IMAGE = value("a", S16, 1, 3, 4, 2)
WINDOW = {
    "kernel": (2, 2), "stride": (1, 1), "dilation": (1, 1), "pads": (0, 0, 0, 0), "out_hw": (2, 3),
}  # fmt: skip
AT_0 = np.zeros(2, np.int32)
NEAREST = {
    "out_hw": (2, 2), "mode": "nearest", "h_lo": AT_0, "h_hi": AT_0, "w_lo": AT_0, "w_hi": AT_0,
    "h_w": np.zeros(2, np.float32), "w_w": np.zeros(2, np.float32),
}  # fmt: skip
BIG = 0xFFFFFFFF

CASES = [
    (node("Add", [A, B]), [
        {"shape.dims.3": 25}, {"shape.dims.3": 0}, {"shape.a.3": 2},
        {"shape.a.3": 0, "shape.b.3": 0},
        {"shape.dims.0": BIG, "shape.dims.1": BIG}, {"shape.b.0": BIG, "shape.dims.0": BIG},
        {"shift": 31}, {"shift": -1}, {"a_multiplier": -(1 << 31)}, {"bias": (1 << 31) - 1},
        {"qmin": -129}, {"qmax": 128},
    ]),
    (node("Mul", [A, ROW]), [
        {"shape.b.2": 1}, {"shape.a.2": 5}, {"multiplier": 0}, {"multiplier": -(1 << 31)},
        {"shift": 15}, {"shift": -31}, {"a_zero": 128}, {"output_zero": -129},
    ]),
    (node("Max", [A, ROW]), [{"shape.dims.2": 7}, {"is_max": 2}]),
    (node("Add", [A16, ROW16]), [
        {"shape.dims.3": 25}, {"shape.b.2": 1}, {"shift": 0}, {"shift": 41},
        {"a_multiplier": (5 << 20) + 1}, {"b_multiplier": -(1 << 23) - 1}, {"qmin": 1, "qmax": 0},
    ]),
    (node("Mul", [A16, ROW16]), [
        {"shape.a.2": 5}, {"multiplier": 1}, {"multiplier": 1 << 23}, {"shift": 0}, {"shift": 63},
        {"qmin": 1, "qmax": 0},
    ]),
    (node("Max", [A16, ROW16]), [{"shape.dims.2": 7}, {"is_max": 2}]),
    (node("PRelu", [A16, SLOPE]), [
        {"view.axis": 3}, {"table": 2}, {"shift": 0}, {"multiplier": (1 << 23) + 1},
        {"input_zero": 1}, {"output_zero": -1}, {"qmin": 3, "qmax": 2},
    ]),
    (node("LayerNorm", [A16, SLOPE, SLOPE], **NORM), [
        {"view.axis": 3}, {"input_zero": 1}, {"shift": 11}, {"radicand_shift": 48}, {"table": BIG},
        {"qmin": 3, "qmax": 2},
    ]),
    (node("Lut", [A16, TABLE16]), [{"count": 25}, {"table": BIG}, {"table": 2}, {"table": 1}]),
    (node("Lut", [A16, TABLES16, INDEX]), [
        {"rows": 5}, {"rows": 1, "channels": 24}, {"tables": 1}, {"table": BIG}, {"table": 1},
        {"index": BIG}, {"tables": 257},
    ]),
    (node("Sub", [X, Y]), [{"shape.dims.2": 7}, {"fn": 8}]),
    (node("PRelu", [A, SLOPE]), [
        {"view.outer": 5}, {"view.axis": 3}, {"view.inner": 0}, {"table": BIG}, {"table": 2},
        {"shift": 0}, {"shift": 31}, {"multiplier": (1 << 22) + 1}, {"input_zero": 128},
        {"output_zero": -129}, {"qmin": 3, "qmax": 2},
    ]),
    (node("LayerNorm", [A, SLOPE, SLOPE], **NORM), [
        {"view.outer": 5}, {"view.axis": 3}, {"view.inner": 0}, {"table": BIG}, {"table": 2},
        {"channels": 0}, {"channels": 1 << 20}, {"step": 0}, {"centered": 2}, {"shift": 11},
        {"widening": 16}, {"widening": 1}, {"shift": 61}, {"radicand_shift": 1},
        {"radicand_shift": 44}, {"radicand_shift": 48},
        {"epsilon_high": 1 << 30}, {"table": 4}, {"input_zero": 128}, {"qmin": 3, "qmax": 2},
    ]),
    (node("LayerNorm", [X, SLOPE, SLOPE], **NORM), [
        {"view.outer": 5}, {"table": BIG}, {"table": 2}, {"channels": 0}, {"step": 0},
        {"channels": 1 << 20}, {"centered": 2},
    ]),
    (node("Lut", [A, TABLE]), [{"count": 25}, {"table": BIG}, {"table": 64}]),
    (node("Lut", [A, TABLES, INDEX]), [
        {"rows": 5}, {"channels": 3}, {"rows": 0}, {"channels": 0}, {"rows": BIG, "channels": BIG},
        {"tables": 0}, {"tables": 1}, {"tables": 3}, {"tables": BIG}, {"table": BIG}, {"table": 5},
        {"index": BIG}, {"index": 513}, {"rows": 1, "channels": 24},
    ]),
    (node("Exp", [X]), [{"count": 25}, {"fn": 28}]),
    (node("Concat", [A, B], axis=2), [{"outer": 0}, {"outer": 5}, {"output_step": 9}]),
    (node("Transpose", [X], perm=(2, 0, 1)), [
        {"offset": 1}, {"offset": BIG}, {"strides.5": -4}, {"strides.5": (1 << 31) - 1},
        {"dims.5": 7}, {"dims.0": 0}, {"dims.0": BIG, "dims.1": BIG}, {"element_bytes": 1},
        {"element_bytes": 0},
    ]),
    (node("Pad", [A], mode="constant", **PAD), [
        {"before.2": 3}, {"before.3": BIG}, {"in_dims.3": 3}, {"out_dims.1": 0}, {"mode": 3},
        {"element_bytes": 4}, {"element_bytes": 0}, {"in_dims.0": 0},
    ]),
    (node("Pad", [A], mode="reflect", **PAD), [{"in_dims.2": 1, "in_dims.1": 6}]),
    (node("Gather", [X, AT], axis=1), [
        {"outer": 3}, {"axis": 4}, {"inner_bytes": 17}, {"count": 4}, {"axis": 0},
        {"outer": 0}, {"inner_bytes": BIG, "outer": BIG},
    ]),
    (node("Cast", [X], to=np.dtype(np.int32)), [{"count": 23}, {"from": 3}, {"to": 1}, {"to": 9}]),
    (node("Cast", [X], to=np.dtype(np.int32), element=5), [
        {"count": 23}, {"element": 0}, {"element": 8}, {"element": 10}, {"element": 7},
        {"element": 24}, {"element": 27}, {"element": BIG & 0xFFFF}, {"saturate": 2},
    ]),
    (node("Quantize", [X]), [
        {"count": 25}, {"scale": 0.0}, {"scale": float("nan")}, {"zero": 128},
    ]),
    (node("MaxPool2d", [IMAGE], **WINDOW), [{"geometry.in_w": 5}, {"geometry.stride_h": 0}]),
    (node("AvgPool2d", [IMAGE], **WINDOW, count_include_pad=False), [
        {"geometry.out_h": 5}, {"counts": 3}, {"table": BIG}, {"table": 2}, {"qmin": 1, "qmax": 0},
    ]),
    (node("ReduceMean", [A16], axes=(1,), keepdims=False), [
        {"view.axis": 4}, {"view.outer": 0}, {"multiplier": 1}, {"shift": 0}, {"shift": 63},
        {"fn": 4}, {"qmin": 1, "qmax": 0},
    ]),
    (node("Softmax", [A16], axis=1), [{"view.inner": 3}, {"table": BIG}, {"table": 4}]),
    (node("ArgMax", [A16], axis=1, keepdims=False, select_last_index=False), [
        {"view.axis": 4}, {"is_min": 2}, {"last": 2},
    ]),
    (node("Resize", [IMAGE], **NEAREST), [
        {"in_w": 5}, {"out_h": 3}, {"linear": 2}, {"table": BIG}, {"channels": 0},
    ]),
    (node("Dequantize", [A]), [{"count": 25}, {"scale": -1.0}, {"zero": -129}]),
    (node("Quantize", [X], Q16), [{"count": 25}, {"scale": 0.0}, {"scale": float("nan")}]),
    (node("Dequantize", [A16]), [{"count": 25}, {"scale": -1.0}]),
    (requantize(A, Q16), [
        {"count": 25}, {"multiplier": 1}, {"multiplier": 1 << 23}, {"shift": 0}, {"shift": 63},
        {"input_zero": 128}, {"output_zero": 1}, {"qmin": 1, "qmax": 0},
    ]),
    (requantize(A16, Q), [{"input_zero": 1}, {"output_zero": 128}, {"qmax": 128}, {"shift": 0}]),
    (requantize(A16, Q16), [{"count": 23}, {"output_zero": -1}, {"input_zero": 1}]),
]  # fmt: skip


def open_with(n: Node, **params: float) -> Session:
    ports = [Port(v.name, v, CODES[v.dtype.name], v.shape)
             for v in dict.fromkeys(n.dynamic_inputs)]  # fmt: skip
    y = n.output
    model = build_model(Graph([n], ports, [Port("y", y, CODES[y.dtype.name], y.shape)]))
    ops = [replace(op, params={**op.params, **params}) for op in model.ops]
    return Session(write(replace(model, ops=ops)))


@pytest.mark.parametrize(
    ("n", "params"),
    [(n, p) for n, changes in CASES for p in changes],
    ids=lambda v: v.op if isinstance(v, Node) else ",".join(f"{k}={x}" for k, x in v.items()),
)
def test_what_leaves_a_tensor_is_refused(n, params):
    open_with(n)
    with pytest.raises(UserError):
        open_with(n, **params)
