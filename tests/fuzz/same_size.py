"""One operator of each kind whose output has as many bytes as an input: it could lie there."""

import numpy as np

from edgekit.toolkit.format.model import NUMPY_OF
from edgekit.toolkit.format.schema import DType, OpKind

NEVER = {OpKind.QuantizeS8, OpKind.QuantizeS16, OpKind.DequantizeS8, OpKind.DequantizeS16}
"""Kinds whose elements change their size, one for one."""


def convolution(c, f, kind):
    groups = 4 if kind.name.startswith("Depthwise") else 1
    g = c.geometry(4, 4, kernel=(3, 3), stride=(1, 1), pads=(1, 1), groups=groups)
    c.convolution(f, kind, g, 3 * 3 * 4 * 4 // groups)


def pool(c, f, kind):
    dtype, p = c.element(kind), {}
    g = c.geometry(3, 3, kernel=(1, 1), stride=(1, 1), pads=(0, 0))
    if kind is OpKind.AvgPool2dS8:
        p = {"table": f.requant(1, 0), "counts": 1, **c.S8}
    if kind is OpKind.AvgPool2dS16:
        p = {"table": f.requant16(1, 0), "counts": 1, **c.S16}
    if kind is OpKind.AvgPool2dF32:
        p = {"count_include_pad": 0}
    shape, _ = c.shapes(g)
    f.output(f.op(kind, [f.input(dtype, *shape)], dtype, *shape, **g, **p))


def fully_connected(c, f, kind):
    dtype, p = DType.Float32, {"bias": c.NO_BIAS, "min": 0.0, "max": 6.0}
    if "F32" not in kind.name:
        dtype, p = c.activations(f, kind, 6)
    if c.holds_nibbles(kind):
        p |= {"group": 0, "multipliers": 0}
    weights = f.floats(6, 6) if dtype is DType.Float32 else f.weights(6, 6)
    p |= {"rows": 5, "k": 6, "n": 6, "weights": weights}
    f.output(f.op(kind, [f.input(dtype, 5, 6)], dtype, 5, 6, **p))


def mat_mul(c, f, kind):
    dtype = c.element(kind)
    p = {"batch": 2, "rows": 4, "k": 4, "n": 4, "a_step": 16, "b_step": 16, "transpose_b": 1}
    if kind is OpKind.MatMulS8:
        p |= {"multiplier": 2**30, "shift": -6, "a_zero": 3, "b_zero": 0, "output_zero": 1}
        p |= {"qmin": -128, "qmax": 127}
    if kind is OpKind.MatMulS16:
        p |= {"multiplier": 2**22, "shift": 38, **c.S16}
    ab = [f.input(dtype, 2, 4, 4), f.input(dtype, 2, 4, 4)]
    f.output(f.op(kind, ab, dtype, 2, 4, 4, **p))


def resize(c, f, kind):
    dtype = c.element(kind)
    same = [np.arange(3), np.arange(3), np.zeros(3)]
    p = {"batch": 1, "in_h": 3, "in_w": 3, "out_h": 3, "out_w": 3, "channels": 2, "linear": 1}
    p["table"] = f.constant(np.concatenate(same * 2).astype(np.int32))
    f.output(f.op(kind, [f.input(dtype, 1, 3, 3, 2)], dtype, 1, 3, 3, 2, **p))


def reduction(c, f, kind):
    dtype = c.element(kind)
    more = {
        OpKind.ReduceS8: {"multiplier": 2**30, "shift": -2, **c.S8},
        OpKind.ReduceS16: {"multiplier": 5 << 20, "shift": 24, **c.S16},
    }.get(kind, {})
    f.output(f.op(kind, [f.input(dtype, 6, 5)], dtype, 6, 5, **c.view(6, 1, 5), fn=0, **more))


def arg_max(c, f, kind):
    dtype = c.element(kind)
    axis = 4 // NUMPY_OF[dtype].itemsize
    p = {**c.view(6, axis, 5), "is_min": 0, "last": 0}
    f.output(f.op(kind, [f.input(dtype, 6, axis, 5)], DType.Int32, 6, 5, **p))


def movement(c, f, kind):
    p = {
        OpKind.Concat: {"outer": 2, "output_step": 12},
        OpKind.Pad: {**c.indexed(in_dims=(1, 1, 2, 12), before=(0,) * 4, out_dims=(1, 1, 2, 12)),
                     "element_bytes": 1, "mode": 0, "value": 0},
        OpKind.Gather: {"outer": 1, "axis": 2, "inner_bytes": 12, "count": 2},
    }[kind]  # fmt: skip
    given = [f.input(DType.Int8, 2, 12)]
    if kind is OpKind.Gather:
        given.append(f.input(DType.Int32, 2))
    f.output(f.op(kind, given, DType.Int8, 2, 12, **p))


def where(c, f, kind):
    every = (24, 12, 4, 1)
    p = c.indexed(dims=(1, 2, 3, 4), condition=every, a=every, b=every)
    given = [f.input(dtype, 2, 3, 4) for dtype in (DType.UInt8, DType.Int8, DType.Int8)]
    f.output(f.op(kind, given, DType.Int8, 2, 3, 4, **p, element_bytes=1))


MAKERS = {
    ("Conv2d", "Depthwise", "ConvTranspose"): convolution,
    ("MaxPool", "AvgPool"): pool,
    ("FullyConnected",): fully_connected,
    ("MatMul",): mat_mul,
    ("Resize",): resize,
    ("Reduce",): reduction,
    ("ArgMax",): arg_max,
    ("Concat", "Pad", "Gather"): movement,
    ("Where",): where,
}


def model(corpus, kind):
    """The model; for a kind that is not in MAKERS the corpus has such operators."""
    for names, make in MAKERS.items():
        if kind.name.startswith(names):
            f = corpus.FileMaker()
            make(corpus, f, kind)
            return f.model()
    return corpus.one_operator(kind)
