"""Layers with weights of the corpus: convolutions, products, pools."""

import numpy as np
from file_maker import FORMS, geometry, shapes

from edgekit.toolkit.format.schema import DType, OpKind, WeightCodec
from edgekit.toolkit.format.structs import NO_BLOB, float_bits
from edgekit.toolkit.weight_codecs import Storage, encode

S16 = {"qmin": -32767, "qmax": 32767}
F32 = {"qmin": float_bits(-1e30), "qmax": float_bits(1e30)}
S8 = {"input_zero": 3, "output_zero": -5, "qmin": -128, "qmax": 127}


def requant_params(table):
    return {"requant.table": table, **{f"requant.{k}": v for k, v in S8.items()}}


def requant16_params(table):
    return {"requant.table": table, **{f"requant.{k}": v for k, v in S16.items()}}


def float_params(table, limits=F32):
    return {"requant.table": table, **{f"requant.{k}": v for k, v in limits.items()}}


def coded(f, form, shape, group, *, depthwise=False):
    """The fields of weights [n, k] behind the form's codec, of which `group` share something."""
    n, k = shape
    if form.codec in (WeightCodec.Nibbles, WeightCodec.Crumbs):
        multipliers = f.multipliers(n, -(-k // group)) if group else NO_BLOB
        fields = f.weights(n * k), group, multipliers
    else:
        w = np.rint(f.rng.laplace(0, 6, shape)).astype(np.int8)
        w[0] = f.rng.integers(-128, 128, k)  # others than the code has
        found = encode(w, Storage(form.codec.name), depthwise=depthwise)
        fields = f.constant(found.weights), found.group, f.constant(found.auxiliary)
    names = ("weights", "codec.group", "codec.auxiliary")
    return {"codec.id": form.codec, **dict(zip(names, fields, strict=True))}


def activations(f, form, n):
    """Their type beside integer weights, and the requantization to n channels of them."""
    if form.element is DType.Int16:
        return DType.Int16, requant16_params(f.requant16(n))
    return DType.Int8, requant_params(f.requant(n))


def convolution(f, form, g, weights):
    """An int8 or float convolution of any sort, `weights` values in all."""
    into, out = shapes(g)
    if form.codec:
        dtype, requant = activations(f, form, out[-1])
        shape = out[-1], weights // out[-1]
        p = coded(f, form, shape, 4, depthwise=form.variant) | requant
        f.output(f.op(form, [f.input(dtype, *into)], dtype, *out, **g, **p))
    elif form.element is DType.Int8:
        # A transposed convolution has the biases of each phase of its stride.
        phases = (
            g["geometry.stride_h"] * g["geometry.stride_w"]
            if form == FORMS["conv_transpose2d_s8"]
            else 1
        )
        table = f.requant(out[-1], phases * out[-1])
        p = {"weights": f.weights(weights), **requant_params(table)}
        f.output(f.op(form, [f.input(DType.Int8, *into)], DType.Int8, *out, **g, **p))
    elif form.element is DType.Int16:
        p = {"weights": f.weights(weights), **requant16_params(f.requant16(out[-1]))}
        f.output(f.op(form, [f.input(DType.Int16, *into)], DType.Int16, *out, **g, **p))
    else:
        p = {"weights": f.floats(weights, dtype=form.element)}
        p |= float_params(f.floats(out[-1]))
        f.output(f.op(form, [f.input(form.element, *into)], form.element, *out, **g, **p))


def convolutions(f, form):
    if form.variant:
        g = geometry(5, 5, groups=5)
        convolution(f, form, g, 3 * 2 * 5)
    elif form.kind == OpKind.ConvTranspose2d:
        g = geometry(4, 6, out_hw=(5, 12))
        convolution(f, form, g, 6 * 3 * 2 * 4)
    else:
        convolution(f, form, geometry(4, 6, groups=2), 6 * 3 * 2 * 2)
        convolution(f, form, geometry(3, 5, kernel=(1, 1), stride=(1, 1), pads=(0, 0)), 5 * 3)


def pools(f, form):
    dtype = form.element
    g = geometry(3, 3)
    into, out = shapes(g)
    p = {}
    if form == FORMS["avg_pool2d_s8"]:
        p = {"table": f.requant(6, 0), "counts": 6, **S8}
    if form == FORMS["avg_pool2d_s16"]:
        table = np.concatenate([np.full(6, 5 << 20, np.int32).view(np.uint8), np.full(6, 24, "u1")])
        p = {"table": f.constant(table), "counts": 6, **S16}
    if form == FORMS["avg_pool2d_f32"]:
        p = {"counts": 1, **F32}
    f.output(f.op(form, [f.input(dtype, *into)], dtype, *out, **g, **p))


def products(f, form):
    if form == FORMS["fully_connected_s8"]:
        p = {"rows": 3, "k": 7, "n": 5, "weights": f.weights(5, 7), **requant_params(f.requant(5))}
        f.output(f.op(form, [f.input(DType.Int8, 3, 7)], DType.Int8, 3, 5, **p))
    elif form.codec:
        for rows, group in (3, 0), (3, 3), (5, 2**16 - 1), (1, 0):
            dtype, requant = activations(f, form, 5)
            p = {"rows": rows, "k": 7, "n": 5, **coded(f, form, (5, 7), group), **requant}
            f.output(f.op(form, [f.input(dtype, rows, 7)], dtype, rows, 5, **p))
    elif form == FORMS["fully_connected_s16"]:
        sizes = {"rows": 3, "k": 7, "n": 5}
        p = {**sizes, "weights": f.weights(5, 7), **requant16_params(f.requant16(5))}
        f.output(f.op(form, [f.input(DType.Int16, 3, 7)], DType.Int16, 3, 5, **p))
    elif form.kind == OpKind.FullyConnected:
        dtype, limits = form.element, {"qmin": float_bits(0.0), "qmax": float_bits(6.0)}
        p = {"rows": 3, "k": 7, "n": 5, "weights": f.floats(5, 7, dtype=dtype)}
        p |= float_params(NO_BLOB, limits)
        f.output(f.op(form, [f.input(dtype, 3, 7)], dtype, 3, 5, **p))
    else:
        sizes = {"batch": 2, "rows": 3, "k": 4, "n": 5, "a_step": 12, "b_step": 20}
        for transpose in (0, 1):
            dtype, p = DType.Float32, F32
            if form == FORMS["mat_mul_s8"]:
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
            if form == FORMS["mat_mul_s16"]:
                dtype = DType.Int16
                p = {"multiplier": 2**22 + 9, "shift": 38, "qmin": -32000, "qmax": 32767}
            ab = [f.input(dtype, 2, 3, 4), f.input(dtype, 2, 4, 5)]
            f.output(f.op(form, ab, dtype, 2, 3, 5, **sizes, **p, transpose_b=transpose))
