"""Operators of functions that few models use, for the corpus."""

import struct
from pathlib import Path

import numpy as np
from file_maker import indexed
from weighted_layers import S16

import edgekit
from edgekit.toolkit.format.model import ABSENT
from edgekit.toolkit.format.schema import BinaryFn, DType, MathFn, OpKind, Place, ScatterFn

_SAME_BYTES = {
    DType.Float32: DType.Int32, DType.Int32: DType.Float32, DType.Float64: DType.Int64,
    DType.Int64: DType.Float64, DType.UInt64: DType.Float64,
}  # fmt: skip


def math_functions(f, form):
    """All that the element type has, of two tensors that broadcast, and of one."""
    dtype = form.element
    real = dtype in (DType.Float32, DType.Float64)
    steps = {"shape.dims": (1, 2, 3, 4), "shape.a": (24, 12, 4, 1), "shape.b": (0, 0, 1, 0)}
    p = {f"{name}.{i}": v for name, values in steps.items() for i, v in enumerate(values)}
    for fn in MathFn:
        if fn <= MathFn.ShiftRight and real:
            continue
        if fn > MathFn.Bits and dtype is not DType.Float32:
            continue
        x = f.input(dtype, 2, 3, 4)
        if fn < MathFn.Bits:
            f.output(f.op(form, [x, f.input(dtype, 3, 1)], dtype, 2, 3, 4, **p, fn=fn))
        else:
            same = p | {f"shape.b.{i}": p[f"shape.a.{i}"] for i in range(4)}
            out = _SAME_BYTES[dtype] if fn == MathFn.Bits else dtype
            f.output(f.op(form, [x, x], out, 2, 3, 4, **same, fn=fn))


def scatters(f, form):
    """Rows in the place of others, and into them by every reduction."""
    dtype, narrow = form.element, form.element in (DType.Int8, DType.Int16)
    for fn in list(ScatterFn)[: 1 if narrow else None]:
        given = [f.input(dtype, 5, 3), f.input(DType.Int32, 4), f.input(dtype, 4, 3)]
        p = {"rows": 5, "inner": 3, "count": 4, "fn": fn}
        f.output(f.op(form, given, dtype, 5, 3, **p))


def selections(f, form):
    """The first of an order, places that are true, and boxes."""
    if form.kind == OpKind.TopK:
        for smallest in (0, 1):
            p = {"view.outer": 2, "view.axis": 5, "view.inner": 3, "k": 4, "smallest": smallest}
            x = f.input(form.element, 2, 5, 3)
            f.output(f.op(form, [x], form.element, 2, 4, 3, more=((DType.Int32, 2, 4, 3),), **p))
    elif form.kind == OpKind.NonZero:
        x, more = f.input(DType.UInt8, 4, 3), ((DType.Int32, 1),)
        f.output(f.op(form, [x], DType.Int32, 12, more=more, count=12, most=12))
    else:
        for centered in (0, 1):
            given = [f.input(DType.Float32, 2, 6, 4), f.input(DType.Float32, 2, 3, 6)]
            given += [f.input(DType.Int32, 1), f.input(DType.Float32, 1), f.input(DType.Float32, 1)]
            p = {"batch": 2, "boxes": 6, "classes": 3, "most": 36, "centered": centered}
            f.output(f.op(form, given, DType.Int32, 36, 3, more=((DType.Int32, 1),), **p))


def customs(f, form):
    """An operator of a user's: with and without its optional input, which may be absent too."""
    name = f.constant(np.frombuffer(b"test::Mix\0", np.uint8))
    p = {"name": name, "name_bytes": 10, "version": 3, "attribute_bytes": 12}
    for dtype, more in ((DType.Int8, ()), (DType.Int16, (DType.Int8,)), (DType.Int8, (None,))):
        packed = struct.pack("<I2i", 2, -100, -50)
        p["attributes"] = f.constant(np.frombuffer(packed, np.uint8))
        given = [f.input(dtype, 3, 4)]
        given += [ABSENT if other is None else f.input(other, 5) for other in more]
        f.output(f.op(form, given, dtype, 3, 4, **p, scratch=24))


for _language in ("py", "c"):
    edgekit.register_op(Path(__file__).with_name(f"custom_op.{_language}"))


def quotients(f, form):
    """Div of two tensors on integers: row by row, and broadcast."""
    dtype, bits = form.element, 22 if form.element is DType.Int8 else 16
    zeros = (-9, 5, 7) if dtype is DType.Int8 else (0, 0, 0)
    limits = {"qmin": -128, "qmax": 127} if dtype is DType.Int8 else S16
    for b, steps, shift in (
        ((3, 1), (0, 0, 1, 0), bits - 7),
        ((2, 3, 4), (24, 12, 4, 1), bits - 9),
    ):
        at = f.constant(np.array([(1 << bits) - 77, shift, *zeros], np.int32))
        numbers = f.tensor(DType.Int32, 5, place=Place.Blob, offset=at)
        given = [f.input(dtype, 2, 3, 4), f.input(dtype, *b), numbers]
        shape = {"shape.dims": (1, 2, 3, 4), "shape.a": (24, 12, 4, 1), "shape.b": steps}
        p = {**indexed(**shape), "fn": BinaryFn.Div, **limits}
        f.output(f.op(form, given, dtype, 2, 3, 4, **p))
