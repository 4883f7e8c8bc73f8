"""One small valid file for every body of an operator kind: fuzzer and runtime tests start here."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.format.model import NUMPY_OF, TensorRecord
from edgekit.toolkit.format.schema import (
    BinaryFn,
    CompareFn,
    DType,
    OpKind,
    Place,
    ReduceFn,
)
from edgekit.toolkit.format.structs import float_bits
from edgekit.toolkit.format.varying import Expression, Symbol, Varying
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Model, kernel_tables
from edgekit.toolkit.runtime.kernels import table
from edgekit.toolkit.runtime.model import aligned as aligned_memory

sys.path.insert(0, str(Path(__file__).parent))
from classical import forests, kernels
from file_maker import CASES, FORMS, FileMaker, indexed, long_chain, view
from file_maker import geometry as geometry
from functions import customs, math_functions, quotients, scatters, selections
from recurrent_layers import recurrent
from regions import regions
from tight import coarse, tightened
from weighted_layers import (
    F32,
    S8,
    S16,
    convolutions,
    pools,
    products,
)
from weighted_layers import convolution as convolution


def binaries(f, form):
    dtype = form.element
    if form in (FORMS["binary_s8"], FORMS["binary_s16"]):
        quotients(f, form)
        return
    cases = {
        FORMS["add_s8"]: {
            "a_multiplier": 5000, "b_multiplier": -3000, "bias": 700,
            "shift": 12, "qmin": -128, "qmax": 127,
        },
        FORMS["mul_s8"]: {
            "multiplier": 2**30, "shift": -5, "a_zero": 1, "b_zero": 2,
            "output_zero": 3, "qmin": -128, "qmax": 127,
        },
        FORMS["add_s16"]: {
            "a_multiplier": 5 << 20, "b_multiplier": -3 << 20, "shift": 23, **S16,
        },
        FORMS["mul_s16"]: {"multiplier": 5 << 20, "shift": 38, **S16},
        FORMS["min_max_s8"]: {"is_max": 1},
        FORMS["min_max_s16"]: {"is_max": 0},
        FORMS["binary_f32"]: {"fn": BinaryFn.Add, **F32},
    }  # fmt: skip
    p = cases[form]
    ab = [f.input(dtype, 2, 3, 4), f.input(dtype, 3, 1)]
    steps = {"shape.dims": (1, 2, 3, 4), "shape.a": (24, 12, 4, 1), "shape.b": (0, 0, 1, 0)}
    f.output(f.op(form, ab, dtype, 2, 3, 4, **indexed(**steps), **p))
    fns = list(BinaryFn)[:8] if form == FORMS["binary_f32"] else [None]
    for fn in fns:
        p = p if fn is None else {**p, "fn": fn}
        ab = [f.input(dtype, 3, 5), f.input(dtype, 3, 5)]
        steps = {"shape.dims": (1, 1, 3, 5), "shape.a": (15, 15, 5, 1), "shape.b": (15, 15, 5, 1)}
        f.output(f.op(form, ab, dtype, 3, 5, **indexed(**steps), **p))


def prelus(f, form):
    slopes = f.constant(f.rng.integers(-(2**20), 2**20, 5).astype(np.int32))
    limits = S8 if form == FORMS["prelu_s8"] else {"input_zero": 0, "output_zero": 0, **S16}
    p = {"table": slopes, "multiplier": 2**20, "shift": 20, **limits}
    for v in (view(6, 5, 1), view(2, 5, 3)):
        x = f.input(form.element, 2, 5, 3)
        f.output(f.op(form, [x], form.element, 2, 5, 3, **v, **p))


def layer_norms(f, form):
    dtype = form.element
    if form == FORMS["layer_norm_f32"]:
        p = {"table": f.floats(3, 5), "epsilon_low": float_bits(1e-5), **F32}
    else:
        largest = 1 << (26 if dtype is DType.Int8 else 30)
        scales = f.rng.integers(-largest, largest, 5)
        table = np.concatenate([scales, f.rng.integers(-(2**17), 2**17, 5)]).astype(np.int32)
        table = np.concatenate([table.view(np.uint8), np.arange(5, dtype=np.uint8)])
        p = {"table": f.constant(table), "shift": 46, "radicand_shift": 14}
        p |= {"epsilon_low": 7, "epsilon_high": 3}
        p |= (
            {"input_zero": 0, **S16}
            if form == FORMS["layer_norm_s16"]
            else {"input_zero": -9, **S8}
        )
        p = {k: v for k, v in p.items() if k != "output_zero"}
    for centered in (0, 1):
        for v, step in ((view(6, 5, 1), 1), (view(2, 5, 3), 3), (view(1, 30, 1), 2)):
            x = f.input(dtype, 2, 5, 3)
            more = {"channels": 5, "step": step, "centered": centered}
            more |= {} if form == FORMS["layer_norm_f32"] else {"widening": 4 * centered}
            f.output(f.op(form, [x], dtype, 2, 5, 3, **v, **p, **more))


def choices(f, form):
    steps = {"shape.dims": (1, 2, 3, 4), "shape.a": (24, 12, 4, 1), "shape.b": (0, 0, 1, 0)}
    if form.kind == OpKind.Binary:
        dtype, wide = form.element, form.element is not DType.Int32
        for fn in [f for f in BinaryFn if f != BinaryFn.PRelu] if wide else list(BinaryFn)[:6]:
            ab = [f.input(dtype, 2, 3, 4), f.input(dtype, 3, 1)]
            limits = {"qmin": 0, "qmax": 0} if wide else {"qmin": -(2**31), "qmax": 2**31 - 1}
            f.output(f.op(form, ab, dtype, 2, 3, 4, **indexed(**steps), fn=fn, **limits))
    elif form == FORMS["compare"]:
        for dtype in (DType.Float32, DType.Int32, DType.UInt8):
            for fn in list(CompareFn) if dtype is DType.UInt8 else list(CompareFn)[:3]:
                ab = [f.input(dtype, 2, 3, 4), f.input(dtype, 3, 1)]
                p = {**indexed(**steps), "fn": fn, "element": dtype}
                f.output(f.op(form, ab, DType.UInt8, 2, 3, 4, **p))
    else:
        steps = {"dims": (1, 2, 3, 4), "condition": (0, 0, 1, 0), "a": (24, 12, 4, 1)}
        for dtype in (DType.Float32, DType.Int8, DType.Int16):
            given = [f.input(DType.UInt8, 3, 1), f.input(dtype, 2, 3, 4), f.input(dtype, 1)]
            p = {**indexed(**steps, b=(0, 0, 0, 0)), "element_bytes": NUMPY_OF[dtype].itemsize}
            f.output(f.op(form, given, dtype, 2, 3, 4, **p))


def resizes(f, form):
    dtype = form.element
    one = {DType.Int8: 1 << 11, DType.Int16: 1 << 15}.get(dtype)

    def sources(n_in, n_out):
        at = np.arange(n_out) * (n_in - 1) / (n_out - 1)
        lo = np.floor(at).astype(np.int32)
        weight = at - lo
        weight = np.rint(weight * one).astype(np.int32) if one else weight.astype(np.float32)
        return [lo, np.minimum(lo + 1, n_in - 1).astype(np.int32), weight.view(np.int32)]

    table = f.constant(np.concatenate(sources(3, 6) + sources(4, 7)))
    sizes = {"batch": 1, "in_h": 3, "in_w": 4, "out_h": 6, "out_w": 7, "channels": 2}
    for linear in (0, 1):
        x = f.input(dtype, 1, 3, 4, 2)
        f.output(f.op(form, [x], dtype, 1, 6, 7, 2, **sizes, table=table, linear=linear))


def along_axis(f, form):
    dtype = form.element
    v = view(2, 5, 3)

    def emit(out_dtype, *shape, **p):
        f.output(f.op(form, [f.input(dtype, 2, 5, 3)], out_dtype, *shape, **v, **p))

    if form.kind == OpKind.ArgMax:
        emit(DType.Int32, 2, 3, is_min=0, last=1)
    elif form == FORMS["softmax_s8"]:
        e = np.round(2.0**23 * np.exp(-0.05 * np.arange(256))).astype(np.uint32)
        emit(dtype, 2, 5, 3, table=f.constant(e))
    elif form == FORMS["softmax_s16"]:
        high = np.round(2.0**16 * np.exp(-0.5 * np.arange(256))).astype(np.uint32)
        low = np.round(2.0**15 * np.exp(-0.5 / 256 * np.arange(256))).astype(np.uint16)
        emit(dtype, 2, 5, 3, table=f.constant(np.concatenate([high.view(np.uint16), low])))
    elif form == FORMS["softmax_f32"]:
        emit(dtype, 2, 5, 3, log=0)
        emit(dtype, 2, 5, 3, log=1)
    else:
        more = {
            FORMS["reduce_s8"]: {"multiplier": 2**30, "shift": -2, **S8},
            FORMS["reduce_s16"]: {"multiplier": 5 << 20, "shift": 24, **S16},
        }.get(form, F32)
        fns = list(ReduceFn) if form.element is DType.Float32 else list(ReduceFn)[:4]
        for fn in fns:
            emit(dtype, 2, 3, fn=fn, **more)


def movements(f, form):
    if form == FORMS["concat"]:
        ab = [f.input(DType.Float32, 2, 3), f.input(DType.Float32, 2, 5)]
        f.output(f.op(form, ab, DType.Float32, 2, 8, outer=2, output_step=32))
    elif form == FORMS["copy"]:
        for dtype in (DType.Int8, DType.Float32):
            p = indexed(dims=(1, 1, 1, 2, 4, 3), strides=(0, 0, 0, 12, -1, 4))
            x = f.input(dtype, 2, 3, 4)
            size = NUMPY_OF[dtype].itemsize
            f.output(f.op(form, [x], dtype, 2, 4, 3, **p, offset=3, element_bytes=size))
    elif form == FORMS["pad"]:
        p = indexed(in_dims=(1, 2, 3, 4), before=(0, 1, 1, 1), out_dims=(1, 4, 5, 7))
        for mode in range(3):
            for dtype in (DType.Int8, DType.Float32) if mode == 0 else (DType.Int8,):
                x = f.input(dtype, 1, 2, 3, 4)
                size = NUMPY_OF[dtype].itemsize
                q = p if mode != 1 else {**p, "out_dims.1": 3, "out_dims.2": 5}
                shape = [q[f"out_dims.{i}"] for i in range(4)]
                f.output(
                    f.op(form, [x], dtype, *shape, **q, element_bytes=size, mode=mode, value=7)
                )
    else:
        ab = [f.input(DType.Float32, 2, 5, 3), f.input(DType.Int32, 4)]
        f.output(f.op(form, ab, DType.Float32, 2, 4, 3, outer=2, axis=5, inner_bytes=12, count=4))


def elementwise(f, form):
    if form in (FORMS["lut_s8"], FORMS["lut_s16"]):
        x, table = (
            f.input(form.element, 3, 7),
            f.weights(256 if form == FORMS["lut_s8"] else 2 * 513),
        )
        f.output(f.op(form, [x], form.element, 3, 7, count=21, table=table))
    elif form in (FORMS["channel_lut_s8"], FORMS["channel_lut_s16"]):
        x = f.input(form.element, 3, 7)
        p = {"tables": 2, "index": f.constant(np.array([0, 1, 1, 0, 1, 0, 0], np.uint8))}
        p["table"] = f.weights(2, 256 if form == FORMS["channel_lut_s8"] else 2 * 513)
        f.output(f.op(form, [x], form.element, 3, 7, rows=3, channels=7, **p))
    elif form == FORMS["unary_f32"]:
        for fn in range(28):
            x = f.input(DType.Float32, 5)
            f.output(f.op(form, [x], DType.Float32, 5, count=5, fn=fn, alpha=0.25, beta=0.5))
    elif form == FORMS["cast"]:
        for a, b in [
            (DType.Float32, DType.Int32),
            (DType.Int32, DType.Float32),
            (DType.UInt8, DType.Float32),
        ]:
            x = f.input(a, 5)
            f.output(f.op(form, [x], b, 5, **{"count": 5, "from": a, "to": b}))
    elif form == FORMS["convert"]:
        for a, b, element in CONVERTED:
            n = 66 if element == 22 else 3
            x = f.input(a, n)
            f.output(f.op(form, [x], b, n, count=n, element=element, saturate=1))
    elif form == FORMS["quantize_s16"]:
        f.output(f.op(form, [f.input(DType.Float32, 9)], DType.Int16, 9, count=9, scale=0.1))
    elif form == FORMS["dequantize_s16"]:
        f.output(f.op(form, [f.input(DType.Int16, 9)], DType.Float32, 9, count=9, scale=0.1))
    elif form == FORMS["requantize"]:
        narrow, wide = {"qmin": -128, "qmax": 127}, S16
        for a, b, p in [
            (DType.Int8, DType.Int16, {"input_zero": -7, "output_zero": 0, **wide}),
            (DType.Int16, DType.Int8, {"input_zero": 0, "output_zero": 9, **narrow}),
            (DType.Int16, DType.Int16, {"input_zero": 0, "output_zero": 0, **wide}),
        ]:
            x = f.input(a, 9)
            f.output(f.op(form, [x], b, 9, count=9, multiplier=5 << 20, shift=20, **p))
    elif form == FORMS["quantize_s8"]:
        f.output(f.op(form, [f.input(DType.Float32, 9)], DType.Int8, 9, count=9, scale=0.1, zero=4))
    else:
        f.output(f.op(form, [f.input(DType.Int8, 9)], DType.Float32, 9, count=9, scale=0.1, zero=4))


CONVERTED = (
    (DType.Float32, DType.Int32, 22), (DType.Int32, DType.Int32, 5), (DType.Int32, DType.UInt8, 9),
    (DType.UInt8, DType.Float32, 1), (DType.UInt64, DType.Float32, 16),
    (DType.Float32, DType.Float16, 10), (DType.Float16, DType.Float32, 17),
    (DType.Float32, DType.Float64, 11), (DType.Float64, DType.Int64, 7),
    (DType.Int64, DType.UInt64, 13),
)  # fmt: skip
"""Element types of Convert: of the input, of the output, and of ONNX."""

MAKERS = {
    forests: (OpKind.TreeEnsemble,),
    kernels: (OpKind.Distance, OpKind.PairwiseCoupling),
    convolutions: (OpKind.Conv2d, OpKind.ConvTranspose2d),
    pools: (OpKind.MaxPool2d, OpKind.AvgPool2d),
    products: (OpKind.FullyConnected, OpKind.MatMul),
    binaries: (OpKind.Add, OpKind.Mul, OpKind.MinMax, OpKind.Binary),
    choices: (OpKind.Compare, OpKind.Where),
    math_functions: (OpKind.Math,),
    scatters: (OpKind.Scatter,),
    selections: (OpKind.TopK, OpKind.NonZero, OpKind.NonMaxSuppression),
    customs: (OpKind.Custom,),
    prelus: (OpKind.PRelu,),
    layer_norms: (OpKind.LayerNorm,),
    recurrent: (OpKind.Recurrent,),
    resizes: (OpKind.Resize,),
    along_axis: (OpKind.Reduce, OpKind.Softmax, OpKind.ArgMax),
    regions: (OpKind.Region,),
    movements: (OpKind.Concat, OpKind.Copy, OpKind.Pad, OpKind.Gather),
}


def maker_of(form):
    if form.kind == OpKind.Binary and form.element is not DType.Float32:
        return binaries if form.element in (DType.Int8, DType.Int16) else choices
    return next((maker for maker, kinds in MAKERS.items() if form.kind in kinds), elementwise)


def one_operator(form):
    """The model, not yet bytes, of a form or its name."""
    form = CASES.get(form, form)
    f = FileMaker()
    maker_of(form)(f, form)
    return f.model()


def chain():
    """Quantized from end to end: x float -> table -> table in place -> y float."""
    f = FileMaker()
    x = f.input(DType.Int8, 2, 3, scale=0.5, zero=-4, onnx=1)
    table = f.constant(np.arange(127, -129, -1).astype(np.int8))
    y = f.op(FORMS["lut_s8"], [x], DType.Int8, 2, 3, quant=(0.25, 7), count=6, table=table)
    z = f.op(FORMS["lut_s8"], [y], DType.Int8, 2, 3, quant=(0.5, 3), count=6, table=table)
    f.tensors[z] = TensorRecord((2, 3), DType.Int8, Place.Arena, f.tensors[y].offset, 0.5, 3)
    f.output(z, onnx=1)
    return f.model()


def packed_for(model, kernels):
    """The model with its weights packed for a kernel table; None if that packs none of them."""
    opened = Model(write(model))
    blob, ops = bytearray(model.blob), []
    nbytes = ffi.new("size_t *")
    for i, op in enumerate(model.ops):
        pack = (opened.handle, i, table(kernels))
        if lib.ek_pack_weights(*pack, ffi.NULL, nbytes) != lib.EK_OK or not nbytes[0]:
            ops.append(op)
            continue
        packed = aligned_memory(nbytes[0])
        at = ffi.cast("void *", packed.ctypes.data)
        assert lib.ek_pack_weights(*pack, at, nbytes) == lib.EK_OK
        blob += bytes(-len(blob) % 16)
        ops.append(replace(op, params={**op.params, "weights": len(blob)}))
        blob += packed[: nbytes[0]].tobytes()
    if ops == model.ops:
        return None
    return replace(model, ops=ops, blob=bytes(blob), target=kernels)


def varying():
    """Rows whose number is chosen, by expressions of every term."""
    f = FileMaker()
    x = f.input(DType.Float32, 6, 4)
    y = f.op(FORMS["unary_f32"], [x], DType.Float32, 6, 4, count=24, fn=0, alpha=-1.0, beta=1.0)
    f.output(y)
    s = Expression.symbol(0)
    rows = s.times(4).plus(5).plus(-3).divided(2).added(s).divided(3).at_most(6).at_least(1)
    model, shape = f.model(), (Varying(6, s), 4)
    out = (Varying(6, rows), 4)
    (op,) = model.ops
    return replace(
        model,
        symbols=(Symbol("rows", 2, 6, 2),),
        tensors=[replace(t, shape=(shape, out)[i == y]) for i, t in enumerate(model.tensors)],
        ops=[replace(op, params={**op.params, "count": Varying(24, s.times(4))})],
        inputs=[replace(model.inputs[0], shape=shape)],
        outputs=[replace(model.outputs[0], shape=out)],
    )


def files():
    """Name -> bytes of every file."""
    models = {form.name: one_operator(form) for form in CASES.values()}
    tight = {f"{name}-tight": tightened(c) for name, m in models.items() if (c := coarse(m))}
    packed = {
        f"{name}-{kernels}": packed_for(model, kernels)
        for name, model in models.items()
        for kernels in kernel_tables()
    }
    everything = {
        **models,
        **tight,
        "chain": chain(),
        "long": long_chain(),
        "varying": varying(),
        **packed,
    }
    return {name: write(model) for name, model in everything.items() if model}
