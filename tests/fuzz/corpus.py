"""One small valid file for every operator kind: the fuzzer and the runtime tests start here."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.format.describe import holds_nibbles
from edgekit.toolkit.format.model import NUMPY_OF, TensorRecord
from edgekit.toolkit.format.schema import BinaryFn, CompareFn, DType, OpKind, Place, ReduceFn
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Model, kernel_tables
from edgekit.toolkit.runtime.kernels import table
from edgekit.toolkit.runtime.model import aligned as aligned_memory

sys.path.insert(0, str(Path(__file__).parent))
from file_maker import FileMaker, geometry, indexed, long_chain, shapes, view

NO_BIAS = 0xFFFFFFFF
S16 = {"qmin": -32767, "qmax": 32767}
S8 = {"input_zero": 3, "output_zero": -5, "qmin": -128, "qmax": 127}


def element(kind):
    """What the tensors of a kind hold, by the end of its name."""
    for suffix, dtype in (("S8", DType.Int8), ("S16", DType.Int16)):
        if kind.name.endswith(suffix):
            return dtype
    return DType.Float32


def requant_params(table):
    return {"requant.table": table, **{f"requant.{k}": v for k, v in S8.items()}}


def requant16_params(table):
    return {"requant.table": table, **{f"requant.{k}": v for k, v in S16.items()}}


def activations(f, kind, n):
    """Their type beside integer weights, and the requantization to n channels of them."""
    if kind.name.endswith("S16"):
        return DType.Int16, requant16_params(f.requant16(n))
    return DType.Int8, requant_params(f.requant(n))


def convolution(f, kind, g, weights):
    """An int8 or float convolution of any sort, `weights` values in all."""
    into, out = shapes(g)
    if holds_nibbles(kind):
        dtype, requant = activations(f, kind, out[-1])
        p = {"weights": f.weights(weights), **requant}
        p |= {"group": 4, "multipliers": f.multipliers(weights)}
        f.output(f.op(kind, [f.input(dtype, *into)], dtype, *out, **g, **p))
    elif kind.name.endswith("S8"):
        # A transposed convolution has the biases of each phase of its stride.
        phases = (
            g["geometry.stride_h"] * g["geometry.stride_w"]
            if kind is OpKind.ConvTranspose2dS8
            else 1
        )
        table = f.requant(out[-1], phases * out[-1])
        p = {"weights": f.weights(weights), **requant_params(table)}
        f.output(f.op(kind, [f.input(DType.Int8, *into)], DType.Int8, *out, **g, **p))
    elif kind.name.endswith("S16"):
        p = {"weights": f.weights(weights), **requant16_params(f.requant16(out[-1]))}
        f.output(f.op(kind, [f.input(DType.Int16, *into)], DType.Int16, *out, **g, **p))
    else:
        p = {"weights": f.floats(weights), "bias": f.floats(out[-1]), "min": -1e30, "max": 1e30}
        f.output(f.op(kind, [f.input(DType.Float32, *into)], DType.Float32, *out, **g, **p))


def convolutions(f, kind):
    name = kind.name
    if name.startswith("Depthwise"):
        g = geometry(5, 5, groups=5)
        convolution(f, kind, g, 3 * 2 * 5)
    elif name.startswith("ConvTranspose"):
        g = geometry(4, 6, out_hw=(5, 12))
        convolution(f, kind, g, 6 * 3 * 2 * 4)
    else:
        convolution(f, kind, geometry(4, 6, groups=2), 6 * 3 * 2 * 2)
        convolution(f, kind, geometry(3, 5, kernel=(1, 1), stride=(1, 1), pads=(0, 0)), 5 * 3)


def pools(f, kind):
    dtype = element(kind)
    g = geometry(3, 3)
    into, out = shapes(g)
    p = {}
    if kind is OpKind.AvgPool2dS8:
        p = {"table": f.requant(6, 0), "counts": 6, **S8}
    if kind is OpKind.AvgPool2dS16:
        table = np.concatenate([np.full(6, 5 << 20, np.int32).view(np.uint8), np.full(6, 24, "u1")])
        p = {"table": f.constant(table), "counts": 6, **S16}
    if kind is OpKind.AvgPool2dF32:
        p = {"count_include_pad": 1}
    f.output(f.op(kind, [f.input(dtype, *into)], dtype, *out, **g, **p))


def products(f, kind):
    if kind is OpKind.FullyConnectedS8:
        p = {"rows": 3, "k": 7, "n": 5, "weights": f.weights(5, 7), **requant_params(f.requant(5))}
        f.output(f.op(kind, [f.input(DType.Int8, 3, 7)], DType.Int8, 3, 5, **p))
    elif kind in (OpKind.FullyConnectedW4, OpKind.FullyConnectedW4S16):
        for rows, group in (3, 0), (3, 3), (5, 2**32 - 1):
            dtype, requant = activations(f, kind, 5)
            p = {"rows": rows, "k": 7, "n": 5, "weights": f.weights(5, 4), "group": group}
            p |= {"multipliers": f.multipliers(5, 3), **requant}
            f.output(f.op(kind, [f.input(dtype, rows, 7)], dtype, rows, 5, **p))
    elif kind is OpKind.FullyConnectedS16:
        sizes = {"rows": 3, "k": 7, "n": 5}
        p = {**sizes, "weights": f.weights(5, 7), **requant16_params(f.requant16(5))}
        f.output(f.op(kind, [f.input(DType.Int16, 3, 7)], DType.Int16, 3, 5, **p))
    elif kind is OpKind.FullyConnectedF32:
        p = {
            "rows": 3,
            "k": 7,
            "n": 5,
            "weights": f.floats(5, 7),
            "bias": NO_BIAS,
            "min": 0.0,
            "max": 6.0,
        }
        f.output(f.op(kind, [f.input(DType.Float32, 3, 7)], DType.Float32, 3, 5, **p))
    else:
        sizes = {"batch": 2, "rows": 3, "k": 4, "n": 5, "a_step": 12, "b_step": 20}
        for transpose in (0, 1):
            dtype, p = DType.Float32, {}
            if kind is OpKind.MatMulS8:
                dtype = DType.Int8
                p = {
                    "multiplier": 2**30 + 9,
                    "shift": -6,
                    "a_zero": 3,
                    "b_zero": -2,
                    "output_zero": 1,
                    "qmin": -100,
                    "qmax": 127,
                }
            if kind is OpKind.MatMulS16:
                dtype = DType.Int16
                p = {"multiplier": 2**22 + 9, "shift": 38, "qmin": -32000, "qmax": 32767}
            ab = [f.input(dtype, 2, 3, 4), f.input(dtype, 2, 4, 5)]
            f.output(f.op(kind, ab, dtype, 2, 3, 5, **sizes, **p, transpose_b=transpose))


def binaries(f, kind):
    dtype = element(kind)
    cases = {
        OpKind.AddS8: {
            "a_multiplier": 5000, "b_multiplier": -3000, "bias": 700,
            "shift": 12, "qmin": -128, "qmax": 127,
        },
        OpKind.MulS8: {
            "multiplier": 2**30, "shift": -5, "a_zero": 1, "b_zero": 2,
            "output_zero": 3, "qmin": -128, "qmax": 127,
        },
        OpKind.AddS16: {
            "a_multiplier": 5 << 20, "b_multiplier": -3 << 20, "shift": 23, **S16,
        },
        OpKind.MulS16: {"multiplier": 5 << 20, "shift": 38, **S16},
        OpKind.MinMaxS8: {"is_max": 1},
        OpKind.MinMaxS16: {"is_max": 0},
        OpKind.BinaryF32: {"fn": BinaryFn.Add, "min": -1e30, "max": 1e30},
    }  # fmt: skip
    p = cases[kind]
    ab = [f.input(dtype, 2, 3, 4), f.input(dtype, 3, 1)]
    steps = {"shape.dims": (1, 2, 3, 4), "shape.a": (24, 12, 4, 1), "shape.b": (0, 0, 1, 0)}
    f.output(f.op(kind, ab, dtype, 2, 3, 4, **indexed(**steps), **p))
    fns = list(BinaryFn) if kind is OpKind.BinaryF32 else [None]
    for fn in fns:
        p = p if fn is None else {**p, "fn": fn}
        ab = [f.input(dtype, 3, 5), f.input(dtype, 3, 5)]
        steps = {"shape.dims": (1, 1, 3, 5), "shape.a": (15, 15, 5, 1), "shape.b": (15, 15, 5, 1)}
        f.output(f.op(kind, ab, dtype, 3, 5, **indexed(**steps), **p))


def prelus(f, kind):
    slopes = f.constant(f.rng.integers(-(2**20), 2**20, 5).astype(np.int32))
    limits = S8 if kind is OpKind.PReluS8 else {"input_zero": 0, "output_zero": 0, **S16}
    p = {"table": slopes, "multiplier": 2**20, "shift": 20, **limits}
    for v in (view(6, 5, 1), view(2, 5, 3)):
        x = f.input(element(kind), 2, 5, 3)
        f.output(f.op(kind, [x], element(kind), 2, 5, 3, **v, **p))


def layer_norms(f, kind):
    dtype = element(kind)
    if kind is OpKind.LayerNormF32:
        p = {"table": f.floats(3, 5), "epsilon": 1e-5, "min": -1e30, "max": 1e30}
    else:
        largest = 1 << (26 if dtype is DType.Int8 else 30)
        scales = f.rng.integers(-largest, largest, 5)
        table = np.concatenate([scales, f.rng.integers(-(2**17), 2**17, 5)]).astype(np.int32)
        table = np.concatenate([table.view(np.uint8), np.arange(5, dtype=np.uint8)])
        p = {"table": f.constant(table), "shift": 46, "radicand_shift": 14}
        p |= {"epsilon_low": 7, "epsilon_high": 3}
        p |= {"input_zero": 0, **S16} if kind is OpKind.LayerNormS16 else {"input_zero": -9, **S8}
        p = {k: v for k, v in p.items() if k != "output_zero"}
    for centered in (0, 1):
        for v, step in ((view(6, 5, 1), 1), (view(2, 5, 3), 3), (view(1, 30, 1), 2)):
            x = f.input(dtype, 2, 5, 3)
            more = {"channels": 5, "step": step, "centered": centered}
            more |= {} if kind is OpKind.LayerNormF32 else {"widening": 4 * centered}
            f.output(f.op(kind, [x], dtype, 2, 5, 3, **v, **p, **more))


def choices(f, kind):
    steps = {"shape.dims": (1, 2, 3, 4), "shape.a": (24, 12, 4, 1), "shape.b": (0, 0, 1, 0)}
    if kind is OpKind.BinaryS32:
        for fn in list(BinaryFn)[:6]:
            ab = [f.input(DType.Int32, 2, 3, 4), f.input(DType.Int32, 3, 1)]
            f.output(f.op(kind, ab, DType.Int32, 2, 3, 4, **indexed(**steps), fn=fn))
    elif kind is OpKind.Compare:
        for dtype in (DType.Float32, DType.Int32, DType.UInt8):
            for fn in list(CompareFn) if dtype is DType.UInt8 else list(CompareFn)[:3]:
                ab = [f.input(dtype, 2, 3, 4), f.input(dtype, 3, 1)]
                p = {**indexed(**steps), "fn": fn, "element": dtype}
                f.output(f.op(kind, ab, DType.UInt8, 2, 3, 4, **p))
    else:
        steps = {"dims": (1, 2, 3, 4), "condition": (0, 0, 1, 0), "a": (24, 12, 4, 1)}
        for dtype in (DType.Float32, DType.Int8, DType.Int16):
            given = [f.input(DType.UInt8, 3, 1), f.input(dtype, 2, 3, 4), f.input(dtype, 1)]
            p = {**indexed(**steps, b=(0, 0, 0, 0)), "element_bytes": NUMPY_OF[dtype].itemsize}
            f.output(f.op(kind, given, dtype, 2, 3, 4, **p))


def resizes(f, kind):
    dtype = element(kind)
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
        f.output(f.op(kind, [x], dtype, 1, 6, 7, 2, **sizes, table=table, linear=linear))


def along_axis(f, kind):
    dtype = element(kind)
    v = view(2, 5, 3)

    def emit(out_dtype, *shape, **p):
        f.output(f.op(kind, [f.input(dtype, 2, 5, 3)], out_dtype, *shape, **v, **p))

    if kind.name.startswith("ArgMax"):
        emit(DType.Int32, 2, 3, is_min=0, last=1)
    elif kind is OpKind.SoftmaxS8:
        e = np.round(2.0**23 * np.exp(-0.05 * np.arange(256))).astype(np.uint32)
        emit(dtype, 2, 5, 3, table=f.constant(e))
    elif kind is OpKind.SoftmaxS16:
        high = np.round(2.0**16 * np.exp(-0.5 * np.arange(256))).astype(np.uint32)
        low = np.round(2.0**15 * np.exp(-0.5 / 256 * np.arange(256))).astype(np.uint16)
        emit(dtype, 2, 5, 3, table=f.constant(np.concatenate([high.view(np.uint16), low])))
    elif kind is OpKind.SoftmaxF32:
        emit(dtype, 2, 5, 3, log=0)
        emit(dtype, 2, 5, 3, log=1)
    else:
        more = {
            OpKind.ReduceS8: {"multiplier": 2**30, "shift": -2, **S8},
            OpKind.ReduceS16: {"multiplier": 5 << 20, "shift": 24, **S16},
        }.get(kind, {})
        fns = list(ReduceFn)[:4] if more else list(ReduceFn)
        for fn in fns:
            emit(dtype, 2, 3, fn=fn, **more)


def movements(f, kind):
    if kind is OpKind.Concat:
        ab = [f.input(DType.Float32, 2, 3), f.input(DType.Float32, 2, 5)]
        f.output(f.op(kind, ab, DType.Float32, 2, 8, outer=2, output_step=32))
    elif kind is OpKind.Copy:
        for dtype in (DType.Int8, DType.Float32):
            p = indexed(dims=(1, 1, 1, 2, 4, 3), strides=(0, 0, 0, 12, -1, 4))
            x = f.input(dtype, 2, 3, 4)
            size = NUMPY_OF[dtype].itemsize
            f.output(f.op(kind, [x], dtype, 2, 4, 3, **p, offset=3, element_bytes=size))
    elif kind is OpKind.Pad:
        p = indexed(in_dims=(1, 2, 3, 4), before=(0, 1, 1, 1), out_dims=(1, 4, 5, 7))
        for mode in range(3):
            for dtype in (DType.Int8, DType.Float32) if mode == 0 else (DType.Int8,):
                x = f.input(dtype, 1, 2, 3, 4)
                size = NUMPY_OF[dtype].itemsize
                q = p if mode != 1 else {**p, "out_dims.1": 3, "out_dims.2": 5}
                shape = [q[f"out_dims.{i}"] for i in range(4)]
                f.output(
                    f.op(kind, [x], dtype, *shape, **q, element_bytes=size, mode=mode, value=7)
                )
    else:
        ab = [f.input(DType.Float32, 2, 5, 3), f.input(DType.Int32, 4)]
        f.output(f.op(kind, ab, DType.Float32, 2, 4, 3, outer=2, axis=5, inner_bytes=12, count=4))


def elementwise(f, kind):
    if kind in (OpKind.LutS8, OpKind.LutS16):
        x, table = f.input(element(kind), 3, 7), f.weights(256 if kind is OpKind.LutS8 else 2 * 513)
        f.output(f.op(kind, [x], element(kind), 3, 7, count=21, table=table))
    elif kind in (OpKind.ChannelLutS8, OpKind.ChannelLutS16):
        x = f.input(element(kind), 3, 7)
        p = {"tables": 2, "index": f.constant(np.array([0, 1, 1, 0, 1, 0, 0], np.uint8))}
        p["table"] = f.weights(2, 256 if kind is OpKind.ChannelLutS8 else 2 * 513)
        f.output(f.op(kind, [x], element(kind), 3, 7, rows=3, channels=7, **p))
    elif kind is OpKind.UnaryF32:
        for fn in range(28):
            x = f.input(DType.Float32, 5)
            f.output(f.op(kind, [x], DType.Float32, 5, count=5, fn=fn, alpha=0.25, beta=0.5))
    elif kind is OpKind.Cast:
        for a, b in [
            (DType.Float32, DType.Int32),
            (DType.Int32, DType.Float32),
            (DType.UInt8, DType.Float32),
        ]:
            x = f.input(a, 5)
            f.output(f.op(kind, [x], b, 5, **{"count": 5, "from": a, "to": b}))
    elif kind is OpKind.QuantizeS16:
        f.output(f.op(kind, [f.input(DType.Float32, 9)], DType.Int16, 9, count=9, scale=0.1))
    elif kind is OpKind.DequantizeS16:
        f.output(f.op(kind, [f.input(DType.Int16, 9)], DType.Float32, 9, count=9, scale=0.1))
    elif kind is OpKind.Requantize:
        narrow, wide = {"qmin": -128, "qmax": 127}, S16
        for a, b, p in [
            (DType.Int8, DType.Int16, {"input_zero": -7, "output_zero": 0, **wide}),
            (DType.Int16, DType.Int8, {"input_zero": 0, "output_zero": 9, **narrow}),
            (DType.Int16, DType.Int16, {"input_zero": 0, "output_zero": 0, **wide}),
        ]:
            x = f.input(a, 9)
            f.output(f.op(kind, [x], b, 9, count=9, multiplier=5 << 20, shift=20, **p))
    elif kind is OpKind.QuantizeS8:
        f.output(f.op(kind, [f.input(DType.Float32, 9)], DType.Int8, 9, count=9, scale=0.1, zero=4))
    else:
        f.output(f.op(kind, [f.input(DType.Int8, 9)], DType.Float32, 9, count=9, scale=0.1, zero=4))


def maker_of(kind):
    name = kind.name
    if name.startswith(("Conv", "Depthwise")) and kind is not OpKind.Concat:
        return convolutions
    if "Pool" in name:
        return pools
    if name.startswith(("FullyConnected", "MatMul")):
        return products
    if name in ("BinaryS32", "Compare", "Where"):
        return choices
    if name.startswith(("Add", "Mul", "MinMax", "Binary")):
        return binaries
    if name.startswith("PRelu"):
        return prelus
    if name.startswith("LayerNorm"):
        return layer_norms
    if name.startswith("Resize"):
        return resizes
    if name.startswith(("Reduce", "Softmax", "ArgMax")):
        return along_axis
    return movements if name in ("Concat", "Copy", "Pad", "Gather") else elementwise


def one_operator(kind):
    """The model, not yet bytes."""
    f = FileMaker()
    maker_of(kind)(f, kind)
    return f.model()


def chain():
    """Quantized from end to end: x float -> table -> table in place -> y float."""
    f = FileMaker()
    x = f.input(DType.Int8, 2, 3, scale=0.5, zero=-4, onnx=1)
    table = f.constant(np.arange(127, -129, -1).astype(np.int8))
    y = f.op(OpKind.LutS8, [x], DType.Int8, 2, 3, quant=(0.25, 7), count=6, table=table)
    z = f.op(OpKind.LutS8, [y], DType.Int8, 2, 3, quant=(0.5, 3), count=6, table=table)
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
        blob += packed.tobytes()
    if ops == model.ops:
        return None
    return replace(model, ops=ops, blob=bytes(blob), target=kernels)


def files():
    """Name -> bytes of every file."""
    models = {kind.name: one_operator(kind) for kind in OpKind}
    packed = {
        f"{name}-{kernels}": packed_for(model, kernels)
        for name, model in models.items()
        for kernels in kernel_tables()
    }
    everything = {**models, "chain": chain(), "long": long_chain(), **packed}
    return {name: write(model) for name, model in everything.items() if model}
