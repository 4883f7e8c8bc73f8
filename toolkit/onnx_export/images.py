"""Kinds over images that no single operator is: borders, resizing, transposed convolutions."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UserError
from ..format.model import NUMPY_OF, OpRecord
from ..format.schema import DType, PadMode
from ..format.tables import table_of
from ..ir import Array
from ..ops.conv.conv_transpose2d import phases_of, stored_taps
from ..ops.move.resize import WEIGHT_BITS
from .operators import dequantized, geometry, image, put_image, ratios, weights

if TYPE_CHECKING:
    from .network import Network


PAST_THE_MIDDLE = 2.0**-13
"""Of a step: weights of a fourth meet the middle between two integers often, which QuantizeLinear
rounds to even and the runtime up."""


def pad(net: Network, op: OpRecord) -> None:
    """Pad of four axes; a constant border is the real number of the file's integer."""
    p, t = op.params, op.outputs[0]
    dims, before, after = (
        [int(p[f"{field}.{i}"]) for i in range(4)] for field in ("in_dims", "before", "out_dims")
    )
    widths = before + [o - d - b for o, d, b in zip(after, dims, before, strict=True)]
    record = net.tensor(t)
    mode = PadMode(int(p["mode"]))
    inputs = [net.reshape(net.real(op.inputs[0]), net.tensor(op.inputs[0]).shape, dims)]
    inputs.append(net.constant(np.array(widths, np.int64), "pads"))
    if mode == PadMode.Constant:
        q = np.frombuffer(int(p["value"]).to_bytes(4, "little"), NUMPY_OF[record.dtype], 1)[0]
        real = (int(q) - record.zero_point) * np.float32(record.scale)
        inputs.append(net.constant(np.asarray(real, np.float32), "border"))
    net.put_quantized(op, net.node("Pad", *inputs, mode=mode.name.lower()), after)


def resize(net: Network, op: OpRecord) -> None:
    """Gathers of rows and columns, or products with the matrices of a linear interpolation."""
    p, t = op.params, op.outputs[0]
    n, in_h, in_w, out_h, out_w, c = (
        int(p[f]) for f in ("batch", "in_h", "in_w", "out_h", "out_w", "channels")
    )
    table = np.frombuffer(net.model.blob, np.int32, 3 * (out_h + out_w), int(p["table"]))
    rows, columns = table[: 3 * out_h].reshape(3, -1), table[3 * out_h :].reshape(3, -1)
    x = net.reshape(net.real(op.inputs[0]), net.tensor(op.inputs[0]).shape, (n, in_h, in_w, c))
    if not p["linear"]:
        for axis, side in ((1, rows), (2, columns)):
            x = net.node("Gather", x, net.constant(side[0].astype(np.int64), "places"), axis=axis)
        net.put_quantized(op, x, (n, out_h, out_w, c))
        return
    one = 1 << WEIGHT_BITS[NUMPY_OF[net.tensor(t).dtype]]
    across, down = _matrix(columns, in_w, one), _matrix(rows, in_h, one)
    y = net.node("MatMul", net.channels_first(x), net.constant(across.T, "columns"))
    y = net.node("MatMul", net.constant(down, "rows"), y)
    middle = np.float32(net.tensor(t).scale * PAST_THE_MIDDLE)
    y = net.node("Add", y, net.constant(np.asarray(middle), "middle"))
    y = net.channels_last(net.rounded(op, y))
    net.put(t, net.reshape(y, (n, out_h, out_w, c), net.tensor(t).shape))


def _matrix(side: Array, size: int, one: int) -> Array:
    """[out, size]: the weight of each source of an output, float32."""
    found, at = np.zeros((side.shape[1], size), np.float32), np.arange(side.shape[1])
    np.add.at(found, (at, side[0]), ((one - side[2]) / one).astype(np.float32))
    np.add.at(found, (at, side[1]), (side[2] / one).astype(np.float32))
    return found


def conv_transpose(net: Network, op: OpRecord) -> None:
    """The file has the taps phase by phase, and on int8 a bias of each, its taps folded in."""
    g = geometry(op.params)
    n, inner, groups = g["out_c"], g["in_c"] // g["groups"], g["groups"]
    kernel, stride = (g["kernel_h"], g["kernel_w"]), (g["stride_h"], g["stride_w"])
    w = stored_taps(op.params, weights(net, op, n * prod(kernel) * inner))
    x = net.tensor(op.inputs[0])
    table = table_of(op.kind, x.dtype, op.params, net.model.blob)
    bias = table.bias[:n]
    if x.dtype != DType.Int16:
        rows, columns = phases_of(op.params)[0]
        taps = w[:, rows][:, :, columns].astype(np.int64)
        bias = bias + x.zero_point * taps.sum(axis=(1, 2, 3))
    turned = w.reshape(groups, n // groups, *kernel, inner).transpose(0, 4, 1, 2, 3)
    # An axis of the weights has one group's channels: the scales repeat for each group.
    if groups > 1:
        raise UserError(f"{net.label}: '{op.name}': grouped transposed convolutions cannot be "
                        "exported")  # fmt: skip
    constants = dequantized(net, op, turned[0], bias, ratios(net, op, table), axis=1)
    span = [
        stride[i] * (g[f"in_{a}"] - 1) + (kernel[i] - 1) * g[f"dilation_{a}"] + 1
        - g[f"pad_{side}"] - g[f"out_{a}"]
        for i, (a, side) in enumerate((("h", "top"), ("w", "left")))
    ]  # fmt: skip
    made = net.node(
        "ConvTranspose", image(net, op, g), *constants, strides=list(stride),
        dilations=[g["dilation_h"], g["dilation_w"]],
        pads=[g["pad_top"], g["pad_left"], *(max(s, 0) for s in span)],
        output_padding=[max(-s, 0) for s in span],
    )  # fmt: skip
    put_image(net, op, made, g, n)
