"""Operators of functions that few models use, for the corpus."""

from edgekit.toolkit.format.schema import DType, MathFn

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
