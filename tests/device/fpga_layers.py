"""One-operator files with random weights, for what no model of the collection has."""

import numpy as np

from edgekit.toolkit.format.model import (
    EdgeModel,
    IoRecord,
    Memory,
    OpRecord,
    TensorRecord,
    is_variant,
)
from edgekit.toolkit.format.schema import VARIANT, DType, OpKind, Place
from edgekit.toolkit.format.structs import pack
from edgekit.toolkit.ops._opdef import Lowered
from edgekit.toolkit.runtime import OpForm, scratch_bytes

FLOAT = 1  # TensorProto.FLOAT


def _model(kind, shapes, out_shape, params, blob):
    """A file of one operator; tensors one behind the other, then its scratch."""
    tensors, at = [], 0
    for shape in (*shapes, out_shape):
        tensors.append(TensorRecord(shape, DType.Int8, Place.Arena, at, 0.5, 3))
        at += -(-tensors[-1].nbytes // 16) * 16
    params = dict(Lowered(kind, params, []).params)  # without a codec
    number = kind + VARIANT * is_variant(kind, params, DType.Int8)
    scratch = scratch_bytes(None, OpForm(number, DType.Int8, pack(kind.name, params)))
    many = len(shapes)
    op = OpRecord(kind, "out", tuple(range(many)), (many,), params, at if scratch else 0, scratch)
    inputs = [IoRecord(f"in{i}", i, FLOAT, s) for i, s in enumerate(shapes)]
    outputs = [IoRecord("out", many, FLOAT, out_shape)]
    memory = Memory(0, at + -(-scratch // 16) * 16, scratch, 0, 0)
    return EdgeModel(tensors, [op], inputs, outputs, memory, blob)


def _requant(rng, outputs, k):
    """bias, multiplier, shift whose results use all of int8."""
    bias = rng.integers(-1000, 1000, outputs).astype("<i4")
    multiplier = rng.integers(1 << 30, (1 << 31) - 1, outputs).astype("<i4")
    shift = rng.integers(-8 - int(np.log2(k)) // 2, -5, outputs).astype(np.int8)
    return bias.tobytes() + multiplier.tobytes() + shift.tobytes()


def _geometry(
    n, h, w, c, out_c, kernel, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0), groups=1
):
    """pads are top, left, bottom, right."""
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    out_h = (h + pads[0] + pads[2] - spans[0]) // stride[0] + 1
    out_w = (w + pads[1] + pads[3] - spans[1]) // stride[1] + 1
    numbers = {
        **{"in_h": h, "in_w": w, "out_h": out_h, "out_w": out_w, "batch": n, "in_c": c},
        **{"out_c": out_c, "groups": groups, "kernel_h": kernel[0], "kernel_w": kernel[1]},
        **{"stride_h": stride[0], "stride_w": stride[1], "dilation_h": dilation[0]},
        **{"dilation_w": dilation[1], "pad_top": pads[0], "pad_left": pads[1]},
    }
    shape, out = (n, h, w, c), (n, out_h, out_w, out_c)
    return {f"geometry.{name}": v for name, v in numbers.items()}, shape, out


def conv(rng, *sizes, **how):
    geometry, shape, out = _geometry(*sizes, **how)
    k = sizes[5][0] * sizes[5][1] * sizes[3] // how.get("groups", 1)
    weights = rng.integers(-127, 128, k * sizes[4]).astype(np.int8).tobytes()
    weights += bytes(-len(weights) % 16)
    params = {
        **geometry,
        **{"weights": 0, "requant.table": len(weights), "requant.input_zero": 3},
        **{"requant.output_zero": -5, "requant.qmin": -120, "requant.qmax": 127},
    }
    requant = _requant(rng, sizes[4], k)
    return _model(OpKind.Conv2d, [shape], out, params, weights + requant)


def fully_connected(rng, rows, k, n):
    weights = rng.integers(-127, 128, k * n).astype(np.int8).tobytes()
    weights += bytes(-len(weights) % 16)
    params = {
        **{"rows": rows, "k": k, "n": n, "weights": 0, "requant.table": len(weights)},
        **{"requant.input_zero": -7, "requant.output_zero": 9},
        **{"requant.qmin": -128, "requant.qmax": 100},
    }
    blob = weights + _requant(rng, n, k)
    return _model(OpKind.FullyConnected, [(rows, k)], (rows, n), params, blob)


def add(rng, count):
    shift = 20
    params = {f"shape.dims.{i}": d for i, d in enumerate((1, 1, 1, count))}
    params |= {f"shape.{side}.{i}": s for side in "ab" for i, s in enumerate((0, 0, 0, 1))}
    params |= {"a_multiplier": 700_001, "b_multiplier": -400_003, "bias": 1 << 19}
    params |= {"shift": shift, "qmin": -128, "qmax": 127}
    return _model(OpKind.Add, [(1, count), (1, count)], (1, count), params, b"")


def pool(rng, *sizes, mean=False, **how):
    geometry, shape, out = _geometry(*sizes, **how)
    if not mean:
        return _model(OpKind.MaxPool2d, [shape], out, geometry, b"")
    most = min(sizes[5][0], sizes[1]) * min(sizes[5][1], sizes[2])
    divisors = np.arange(1, most + 1)
    shifts = -4 - np.ceil(np.log2(divisors)).astype(np.int8)
    multipliers = np.round(2.0**31 / divisors / 16 * 2.0 ** (-shifts)) // 1
    table = np.clip(multipliers, 1 << 30, (1 << 31) - 1).astype("<i4").tobytes() + shifts.tobytes()
    params = {
        **geometry,
        **{"table": 0, "counts": most, "input_zero": 3, "output_zero": -4},
        **{"qmin": -128, "qmax": 127},
    }
    return _model(OpKind.AvgPool2d, [shape], out, params, table)


def layers(rng):
    """Name and file of each: every kind, with tails, strides, dilations, groups and paddings."""
    yield "conv 3x3", conv(rng, 1, 9, 11, 5, 13, (3, 3), pads=(1, 1, 1, 1))
    yield "conv 1x1", conv(rng, 2, 7, 6, 24, 9, (1, 1))
    yield "conv stride", conv(rng, 1, 13, 17, 3, 10, (5, 4), stride=(2, 3), pads=(2, 1, 2, 2))
    yield "conv wide stride", conv(rng, 1, 16, 16, 4, 8, (2, 2), stride=(5, 5))
    yield "conv dilated", conv(rng, 1, 15, 14, 6, 7, (3, 2), dilation=(2, 3), pads=(2, 3, 2, 0))
    yield "conv groups", conv(rng, 2, 8, 8, 12, 18, (3, 3), groups=3, pads=(1, 1, 1, 1))
    yield "conv whole", conv(rng, 1, 4, 5, 8, 3, (4, 5))
    yield "conv 1-D", conv(rng, 1, 1, 50, 7, 21, (1, 9), dilation=(1, 4), pads=(0, 32, 0, 0))
    yield "conv deep", conv(rng, 1, 4, 4, 70, 9, (3, 3), pads=(1, 1, 1, 1))
    for name, how in (
        ("3x3", {"pads": (1, 1, 1, 1)}),
        ("stride", {"stride": (2, 2), "pads": (0, 0, 1, 1)}),
        ("wide stride", {"stride": (4, 5)}),
        ("dilated", {"dilation": (2, 2), "pads": (2, 2, 2, 2)}),
    ):
        yield (
            f"depthwise {name}",
            conv(rng, 2, 10, 11, 19, 19, (3, 3), groups=19, **how),
        )
    yield (
        "depthwise 7x7",
        conv(rng, 1, 9, 9, 11, 11, (7, 7), groups=11, pads=(3, 3, 3, 3)),
    )
    yield "one channel", conv(rng, 1, 9, 9, 1, 1, (5, 5))
    yield "fully connected", fully_connected(rng, 3, 37, 21)
    yield "fully connected 1", fully_connected(rng, 1, 300, 10)
    yield "add", add(rng, 1003)
    for mean in (False, True):
        kind = "mean" if mean else "max"
        yield f"{kind} pool", pool(rng, 2, 8, 9, 19, 19, (2, 2), stride=(2, 2), mean=mean)
        yield (
            f"{kind} padded",
            pool(rng, 1, 9, 8, 10, 10, (3, 3), stride=(2, 1), pads=(1, 1, 1, 1), mean=mean),
        )
        yield f"{kind} dilated", pool(rng, 1, 12, 12, 8, 8, (3, 2), dilation=(2, 3), mean=mean)
        yield f"{kind} global", pool(rng, 1, 6, 5, 33, 33, (6, 5), mean=mean)
