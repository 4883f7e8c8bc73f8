"""One operator of each form whose output has as many bytes as an input: it could lie there."""

import numpy as np
import weighted_layers
from file_maker import geometry, indexed, shapes, view
from weighted_layers import F32, S8, S16, activations, coded, float_params

from edgekit.toolkit.format.model import NUMPY_OF
from edgekit.toolkit.format.schema import DType, OpKind
from edgekit.toolkit.format.structs import NO_BLOB

NEVER = {"quantize_s8", "quantize_s16", "dequantize_s8", "dequantize_s16"}
"""Forms whose elements change their size, one for one."""


def convolution(c, f, form):
    groups = 4 if form.variant else 1
    g = geometry(4, 4, kernel=(3, 3), stride=(1, 1), pads=(1, 1), groups=groups)
    weighted_layers.convolution(f, form, g, 3 * 3 * 4 * 4 // groups)


def pool(c, f, form):
    dtype, p = form.element, {}
    g = geometry(3, 3, kernel=(1, 1), stride=(1, 1), pads=(0, 0))
    if form.name == "avg_pool2d_s8":
        p = {"table": f.requant(1, 0), "counts": 1, **S8}
    if form.name == "avg_pool2d_s16":
        p = {"table": f.requant16(1, 0), "counts": 1, **S16}
    if form.name == "avg_pool2d_f32":
        p = {"counts": 0, **F32}
    shape, _ = shapes(g)
    f.output(f.op(form, [f.input(dtype, *shape)], dtype, *shape, **g, **p))


def fully_connected(c, f, form):
    dtype, p = form.element, float_params(NO_BLOB)
    if dtype not in (DType.Float32, DType.Float16):
        dtype, p = activations(f, form, 6)
    real = dtype in (DType.Float32, DType.Float16)
    weights = f.floats(6, 6, dtype=dtype) if real else f.weights(6, 6)
    p |= {"rows": 5, "k": 6, "n": 6, "weights": weights}
    if form.codec:
        p |= coded(f, form, (6, 6), 0)
    f.output(f.op(form, [f.input(dtype, 5, 6)], dtype, 5, 6, **p))


def mat_mul(c, f, form):
    dtype = form.element
    p = {"batch": 2, "rows": 4, "k": 4, "n": 4, "a_step": 16, "b_step": 16, "transpose_b": 1}
    p |= F32
    if form.name == "mat_mul_s8":
        p |= {"multiplier": 2**30, "shift": -6, "a_zero": 3, "b_zero": 0, "output_zero": 1}
        p |= {"qmin": -128, "qmax": 127}
    if form.name == "mat_mul_s16":
        p |= {"multiplier": 2**22, "shift": 38, **S16}
    ab = [f.input(dtype, 2, 4, 4), f.input(dtype, 2, 4, 4)]
    f.output(f.op(form, ab, dtype, 2, 4, 4, **p))


def resize(c, f, form):
    dtype = form.element
    same = [np.arange(3), np.arange(3), np.zeros(3)]
    p = {"batch": 1, "in_h": 3, "in_w": 3, "out_h": 3, "out_w": 3, "channels": 2, "linear": 1}
    p["table"] = f.constant(np.concatenate(same * 2).astype(np.int32))
    f.output(f.op(form, [f.input(dtype, 1, 3, 3, 2)], dtype, 1, 3, 3, 2, **p))


def reduction(c, f, form):
    dtype = form.element
    more = {
        "reduce_s8": {"multiplier": 2**30, "shift": -2, **S8},
        "reduce_s16": {"multiplier": 5 << 20, "shift": 24, **S16},
    }.get(form.name, F32)
    f.output(f.op(form, [f.input(dtype, 6, 5)], dtype, 6, 5, **view(6, 1, 5), fn=0, **more))


def arg_max(c, f, form):
    dtype = form.element
    axis = 4 // NUMPY_OF[dtype].itemsize
    p = {**view(6, axis, 5), "is_min": 0, "last": 0}
    f.output(f.op(form, [f.input(dtype, 6, axis, 5)], DType.Int32, 6, 5, **p))


def movement(c, f, form):
    p = {
        "concat": {"outer": 2, "output_step": 12},
        "pad": {**indexed(in_dims=(1, 1, 2, 12), before=(0,) * 4, out_dims=(1, 1, 2, 12)),
                     "element_bytes": 1, "mode": 0, "value": 0},
        "gather": {"outer": 1, "axis": 2, "inner_bytes": 12, "count": 2},
    }[form.name]  # fmt: skip
    given = [f.input(DType.Int8, 2, 12)]
    if form.name == "gather":
        given.append(f.input(DType.Int32, 2))
    f.output(f.op(form, given, DType.Int8, 2, 12, **p))


def where(c, f, form):
    every = (24, 12, 4, 1)
    p = indexed(dims=(1, 2, 3, 4), condition=every, a=every, b=every)
    given = [f.input(dtype, 2, 3, 4) for dtype in (DType.UInt8, DType.Int8, DType.Int8)]
    f.output(f.op(form, given, DType.Int8, 2, 3, 4, **p, element_bytes=1))


def kernel(c, f, form):
    if form.kind == OpKind.Distance:
        ab = [f.input(DType.Float32, n, 4) for n in (3, 4)]
        p = {"rows": 3, "columns": 4, "features": 4, "fn": 0}
        f.output(f.op(form, ab, DType.Float32, 3, 4, **p))
    else:
        x = f.input(DType.Float32, 2, 3)
        f.output(f.op(form, [x], DType.Float32, 2, 3, rows=2, classes=3))


def selection(c, f, form):
    if form.kind == OpKind.TopK:
        p = {**c.view(2, 5, 3), "k": 5, "smallest": 0}
        x = f.input(form.element, 2, 5, 3)
        f.output(f.op(form, [x], form.element, 2, 5, 3, more=((DType.Int32, 2, 5, 3),), **p))
    elif form.kind == OpKind.NonZero:
        x, more = f.input(DType.UInt8, 12), ((DType.Int32, 1),)
        f.output(f.op(form, [x], DType.Int32, 3, more=more, count=12, most=3))
    else:
        given = [f.input(DType.Float32, 1, 3, 4), f.input(DType.Float32, 1, 4, 3)]
        given += [f.input(DType.Int32, 1), f.input(DType.Float32, 1), f.input(DType.Float32, 1)]
        p = {"batch": 1, "boxes": 3, "classes": 4, "most": 4, "centered": 0}
        f.output(f.op(form, given, DType.Int32, 4, 3, more=((DType.Int32, 1),), **p))


MAKERS = {
    selection: (OpKind.TopK, OpKind.NonZero, OpKind.NonMaxSuppression),
    convolution: (OpKind.Conv2d, OpKind.ConvTranspose2d),
    pool: (OpKind.MaxPool2d, OpKind.AvgPool2d),
    fully_connected: (OpKind.FullyConnected,),
    mat_mul: (OpKind.MatMul,),
    resize: (OpKind.Resize,),
    reduction: (OpKind.Reduce,),
    arg_max: (OpKind.ArgMax,),
    movement: (OpKind.Concat, OpKind.Pad, OpKind.Gather),
    where: (OpKind.Where,),
    kernel: (OpKind.Distance, OpKind.PairwiseCoupling),
}


def model(corpus, name):
    """The model of a form; for a kind that is not in MAKERS the corpus has such operators."""
    form = corpus.CASES[name]
    for make, kinds in MAKERS.items():
        if form.kind in kinds:
            f = corpus.FileMaker()
            make(corpus, f, form)
            return f.model()
    return corpus.one_operator(form)
