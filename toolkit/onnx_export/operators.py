"""The kinds of a file as ONNX operators between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import fixed_point
from ..format.model import OpRecord
from ..format.schema import DType, OpKind, ReduceFn, WeightCodec
from ..format.tables import Table, table_of
from ..ir import Array, Shape
from ..weight_codecs import stored_int8

if TYPE_CHECKING:
    from .network import Network

Params = Mapping[str, int | float]


def geometry(p: Params) -> dict[str, int]:
    return {k.partition(".")[2]: int(v) for k, v in p.items() if k.startswith("geometry.")}


def _window(g: Mapping[str, int]) -> dict[str, Any]:
    """Attributes of a window over an image; what is behind the last one is cut or padded."""
    after = [
        max((g[f"out_{a}"] - 1) * g[f"stride_{a}"] + (g[f"kernel_{a}"] - 1) * g[f"dilation_{a}"] + 1
            - g[f"in_{a}"] - g[pad], 0)
        for a, pad in (("h", "pad_top"), ("w", "pad_left"))
    ]  # fmt: skip
    found = {
        "kernel_shape": [g["kernel_h"], g["kernel_w"]],
        "strides": [g["stride_h"], g["stride_w"]],
        "pads": [g["pad_top"], g["pad_left"], *after],
    }
    dilations = [g["dilation_h"], g["dilation_w"]]
    return found if dilations == [1, 1] else {**found, "dilations": dilations}


def image(net: Network, op: OpRecord, g: Mapping[str, int]) -> str:
    t = op.inputs[0]
    shape = (g["batch"], g["in_h"], g["in_w"], g["in_c"])
    return net.channels_first(net.reshape(net.real(t), net.tensor(t).shape, shape))


def put_image(net: Network, op: OpRecord, y: str, g: Mapping[str, int], channels: int) -> None:
    """The output, rounded before its channels go behind: integers stay where they are."""
    t, y = op.outputs[0], net.channels_last(net.rounded(op, y))
    shape = (g["batch"], g["out_h"], g["out_w"], channels)
    net.put(t, net.reshape(y, shape, net.tensor(t).shape))


def _constants(net: Network, op: OpRecord, w: Array) -> tuple[str, str]:
    """Weights [n, ...] and bias, dequantized: integers as the file has them."""
    x = net.tensor(op.inputs[0])
    table = table_of(op.kind, x.dtype, op.params, net.model.blob)
    bias, sums = table.bias, w.reshape(len(w), -1).astype(np.int64).sum(axis=1)
    if x.dtype != DType.Int16:
        bias = bias + x.zero_point * sums
    return dequantized(net, op, w, bias, ratios(net, op, table))


def ratios(net: Network, op: OpRecord, table: Table) -> NDArray[np.float32]:
    """The scale of each channel's weights."""
    x, y = net.tensor(op.inputs[0]), net.tensor(op.outputs[0])
    real = fixed_point.real_ratio16 if x.dtype == DType.Int16 else fixed_point.real_ratio
    scale = real(table.multiplier, table.shift) * y.scale / x.scale
    return np.asarray(scale, np.float32)


def dequantized(
    net: Network, op: OpRecord, w: Array, bias: Array, scale: NDArray[np.float32], axis: int = 0
) -> tuple[str, str]:
    """Names of weights, whose channels are `axis`, and of the bias."""
    unit = (scale.astype(np.float64) * net.tensor(op.inputs[0]).scale).astype(np.float32)
    name = op.name or op.kind.name.lower()
    return (
        _per_channel(net, w, scale, f"{name}.weights", axis),
        _per_channel(net, bias.astype(np.int32), unit, f"{name}.bias"),
    )


def _per_channel(
    net: Network, q: Array, scale: NDArray[np.float32], name: str, axis: int = 0
) -> str:
    parts = (net.constant(q, f"{name}.q"), net.constant(scale, f"{name}.scale"))
    zero = net.constant(np.zeros(len(scale), q.dtype), f"{name}.zero")
    return net.node("DequantizeLinear", *parts, zero, name=name, axis=axis)


def weights(net: Network, op: OpRecord, count: int) -> NDArray[np.int8]:
    if op.codec != WeightCodec.Plain:
        return stored_int8(op.kind, op.params, net.model.blob)
    return np.frombuffer(net.model.blob, np.int8, count, int(op.params["weights"]))


def conv(net: Network, op: OpRecord) -> None:
    g = geometry(op.params)
    n, kernel = g["out_c"], (g["kernel_h"], g["kernel_w"])
    inner = g["in_c"] // g["groups"]
    flat = weights(net, op, n * prod(kernel) * inner)
    if op.is_variant(net.model.tensors):
        w = flat.reshape(*kernel, n).transpose(2, 0, 1)[:, None]
    else:
        w = flat.reshape(n, *kernel, inner).transpose(0, 3, 1, 2)
    constants = _constants(net, op, w)
    y = net.node("Conv", image(net, op, g), *constants, group=g["groups"], **_window(g))
    put_image(net, op, y, g, n)


def fully_connected(net: Network, op: OpRecord) -> None:
    rows, k, n = (int(op.params[f]) for f in ("rows", "k", "n"))
    constants = _constants(net, op, weights(net, op, n * k).reshape(n, k))
    x = net.reshape(net.real(op.inputs[0]), net.tensor(op.inputs[0]).shape, (rows, k))
    net.put_quantized(op, net.node("Gemm", x, *constants, transB=1), (rows, n))


def max_pool(net: Network, op: OpRecord) -> None:
    g = geometry(op.params)
    y = net.node("MaxPool", image(net, op, g), **_window(g))
    put_image(net, op, y, g, g["in_c"])


def average_pool(net: Network, op: OpRecord) -> None:
    g = geometry(op.params)
    y = net.node(
        "AveragePool",
        image(net, op, g),
        count_include_pad=int(op.params["counts"] == 1),
        **_window(g),
    )
    put_image(net, op, y, g, g["in_c"])


def binary(net: Network, op: OpRecord) -> None:
    name = {OpKind.Add: "Add", OpKind.Mul: "Mul"}.get(op.kind, "")
    if op.kind == OpKind.Add and int(op.params["b_multiplier"]) < 0:
        name = "Sub"
    if op.kind == OpKind.MinMax:
        name = "Max" if op.params["is_max"] else "Min"
    y = net.node(name, *(net.real(t) for t in op.inputs))
    net.put_quantized(op, y, net.tensor(op.outputs[0]).shape)


def mat_mul(net: Network, op: OpRecord) -> None:
    a, b = (net.real(t) for t in op.inputs)
    if op.params["transpose_b"]:
        rank = len(net.tensor(op.inputs[1]).shape)
        b = net.transpose(b, (*range(rank - 2), rank - 1, rank - 2))
    net.put_quantized(op, net.node("MatMul", a, b), net.tensor(op.outputs[0]).shape)


def softmax(net: Network, op: OpRecord) -> None:
    view = tuple(int(op.params[f"view.{f}"]) for f in ("outer", "axis", "inner"))
    x = net.reshape(net.real(op.inputs[0]), net.tensor(op.inputs[0]).shape, view)
    net.put_quantized(op, net.node("Softmax", x, axis=1), view)


def reduce(net: Network, op: OpRecord) -> None:
    view = tuple(int(op.params[f"view.{f}"]) for f in ("outer", "axis", "inner"))
    x = net.reshape(net.real(op.inputs[0]), net.tensor(op.inputs[0]).shape, view)
    name = f"Reduce{ReduceFn(int(op.params['fn'])).name}"
    axes = net.constant(np.array([1], np.int64), "axes")
    net.put_quantized(op, net.node(name, x, axes, keepdims=1), (view[0], 1, view[2]))


def requantize(net: Network, op: OpRecord) -> None:
    """Also from float32: what it reads is real already."""
    net.put_quantized(op, net.real(op.inputs[0]), net.tensor(op.inputs[0]).shape)


def dequantize(net: Network, op: OpRecord) -> None:
    """To float32, or from it."""
    if op.is_variant(net.model.tensors):
        requantize(net, op)
        return
    t = op.outputs[0]
    x = net.reshape(net.real(op.inputs[0]), net.tensor(op.inputs[0]).shape, net.tensor(t).shape)
    net.put(t, x)


def lut(net: Network, op: OpRecord) -> None:
    """The table itself, looked up by the integers."""
    table = np.frombuffer(net.model.blob, np.int8, 256, int(op.params["table"]))
    _looked_up(net, op, table, np.array(128, np.int32), net.tensor(op.inputs[0]).shape)


def channel_lut(net: Network, op: OpRecord) -> None:
    """The tables one after the other, and where that of each channel has its middle."""
    rows, channels, tables = (int(op.params[f]) for f in ("rows", "channels", "tables"))
    blob = net.model.blob
    table = np.frombuffer(blob, np.int8, 256 * tables, int(op.params["table"]))
    which = np.frombuffer(blob, np.uint8, channels, int(op.params["index"]))
    _looked_up(net, op, table, which.astype(np.int32) * 256 + 128, (rows, channels))


def _looked_up(net: Network, op: OpRecord, table: Array, middle: Array, shape: Shape) -> None:
    t, name = op.outputs[0], op.name or "lut"
    q = net.reshape(net.integers(op.inputs[0]), net.tensor(op.inputs[0]).shape, shape)
    places = net.node("Cast", q, to=6)
    places = net.node("Add", places, net.constant(middle, "offset"))
    q = net.node("Gather", net.constant(table, f"{name}.table"), places, name=f"{name}.q")
    y = net.node("DequantizeLinear", q, *net.grid(net.tensor(t)), name=name)
    net.put(t, net.reshape(y, shape, net.tensor(t).shape))


def prelu(net: Network, op: OpRecord) -> None:
    """Slopes as the file rounds them, times the ratio of the scales that it rounds too."""
    view = tuple(int(op.params[f"view.{f}"]) for f in ("outer", "axis", "inner"))
    x, y = net.tensor(op.inputs[0]), net.tensor(op.outputs[0])
    slopes = np.frombuffer(net.model.blob, np.int32, view[1], int(op.params["table"]))
    unit = y.scale / x.scale / 2.0 ** int(op.params["shift"])
    real = (slopes * unit).astype(np.float32).reshape(1, view[1], 1)
    line = net.reshape(net.real(op.inputs[0]), x.shape, view)
    net.put_quantized(op, net.node("PRelu", line, net.constant(real, "slopes")), view)


def concat(net: Network, op: OpRecord) -> None:
    outer = int(op.params["outer"])
    parts = [
        net.reshape(net.real(t), net.tensor(t).shape, (outer, prod(net.tensor(t).shape) // outer))
        for t in op.inputs
    ]
    t = op.outputs[0]
    shape = (outer, prod(net.tensor(t).shape) // outer)
    net.put_quantized(op, net.node("Concat", *parts, axis=1), shape)


def copy(net: Network, op: OpRecord) -> None:
    """Strided elements: a Transpose where that is all, else looked up by their places."""
    x, y = net.tensor(op.inputs[0]), net.tensor(op.outputs[0])
    dims = [int(op.params[f"dims.{i}"]) for i in range(6)]
    places = np.full((1,) * 6, int(op.params["offset"]), np.int64)
    for i, d in enumerate(dims):
        shape = [1] * 6
        shape[i] = d
        places = places + np.arange(d).reshape(shape) * int(op.params[f"strides.{i}"])
    flat = places.ravel()
    real = net.real(op.inputs[0])
    perm = _permutation(x.shape, flat)
    if perm is not None:
        shape_after = tuple(x.shape[p] for p in perm)
        made = real if list(perm) == sorted(perm) else net.transpose(real, perm)
        net.put_quantized(op, made, shape_after)
        return
    line = net.reshape(real, x.shape, (prod(x.shape),))
    picked = net.node("Gather", line, net.constant(flat, "places"))
    net.put_quantized(op, picked, (prod(y.shape),))


def _permutation(shape: tuple[int, ...], flat: NDArray[np.int64]) -> tuple[int, ...] | None:
    if prod(shape) != len(flat) or len(shape) > 5:
        return None
    index = np.arange(len(flat)).reshape(shape)
    found = (p for p in permutations(range(len(shape)))
             if np.array_equal(index.transpose(p).ravel(), flat))  # fmt: skip
    return next(found, None)
