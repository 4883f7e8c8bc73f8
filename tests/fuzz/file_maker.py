"""Builds files operator by operator, without a planner; and the parameters many kinds share."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edgekit.toolkit.format import schema
from edgekit.toolkit.format.model import (
    NUMPY_OF,
    EdgeModel,
    IoRecord,
    Memory,
    OpRecord,
    TensorRecord,
)
from edgekit.toolkit.format.schema import DType, OpKind, Place, WeightCodec
from edgekit.toolkit.format.structs import pack
from edgekit.toolkit.numerics import OF_NUMPY
from edgekit.toolkit.ops._opdef import Lowered
from edgekit.toolkit.runtime import OpForm, scratch_bytes

ONNX = {dtype: OF_NUMPY[NUMPY_OF[dtype]].onnx for dtype in DType}


class Form(NamedTuple):
    """A body of an operator kind, with plain weights or behind a codec."""

    name: str  # of its C file, and of the codec
    kind: OpKind
    variant: bool
    element: DType | None
    codec: WeightCodec = WeightCodec.Plain


FORMS = {name: Form(name, *which) for which, name in schema.FORMS.items()}
CODED = {
    (name := f"{form.name}-{codec.name.lower()}"): form._replace(name=name, codec=codec)
    for form in FORMS.values()
    for codec in list(WeightCodec)[1:]
    if form.kind.name in schema.OPTIONAL
    and form.element not in (DType.Float32, DType.Float16)
    and (form.kind != OpKind.Recurrent or codec == WeightCodec.Nibbles)
}
CASES = {**FORMS, **CODED}


def aligned(n):
    return -(-n // 16) * 16


class FileMaker:
    """Operators one after the other; no memory is used twice."""

    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.tensors, self.ops, self.inputs, self.outputs = [], [], [], []
        self.blob = bytearray()
        self.arena = 0

    def constant(self, array):
        self.blob += bytes(-len(self.blob) % 16)
        at = len(self.blob)
        self.blob += np.ascontiguousarray(array).tobytes()
        return at

    def weights(self, *shape):
        return self.constant(self.rng.integers(-127, 128, shape).astype(np.int8))

    def multipliers(self, *shape):
        """Of groups of 4-bit weights."""
        return self.constant(self.rng.integers(1, 17, shape).astype(np.uint8))

    def floats(self, *shape, dtype=DType.Float32):
        return self.constant(self.rng.normal(size=shape).astype(NUMPY_OF[dtype]))

    def requant(self, n, biases=None):
        """A table of `n` channels: bias, multiplier, shift."""
        biases = n if biases is None else biases
        words = [self.rng.integers(-500, 500, biases), self.rng.integers(2**30, 2**31 - 1, n)]
        shifts = self.rng.integers(-9, -6, n).astype(np.int8)
        return self.constant(
            np.concatenate([np.concatenate(words).astype(np.int32).view(np.int8), shifts])
        )

    def requant16(self, n, biases=None):
        """The same for int16."""
        biases = n if biases is None else biases
        words = [self.rng.integers(-500, 500, biases), self.rng.integers(2**22, 2**23, n)]
        shifts = self.rng.integers(24, 40, n).astype(np.int8)
        return self.constant(
            np.concatenate([np.concatenate(words).astype(np.int32).view(np.int8), shifts])
        )

    def tensor(self, dtype, *shape, scale=0.0, zero=0, place=Place.Arena, offset=None):
        record = TensorRecord(shape, dtype, place, offset or 0, scale, zero)
        if offset is None:
            record = TensorRecord(shape, dtype, place, self.arena, scale, zero)
            self.arena += aligned(record.nbytes)
        self.tensors.append(record)
        return len(self.tensors) - 1

    def input(self, dtype, *shape, onnx=None, **quant):
        t = self.tensor(dtype, *shape, **quant)
        self.inputs.append(IoRecord(f"x{len(self.inputs)}", t, onnx or ONNX[dtype], shape))
        return t

    def op(self, form, inputs, dtype, *shape, quant=(0.0, 0), more=(), **params):
        """The first output; `more` are the shapes of others, which are outputs of the file too; an
        element type in front of one is its own."""
        out = self.tensor(dtype, *shape, scale=quant[0], zero=quant[1])
        others = [
            self.tensor(*(other if isinstance(other[0], DType) else (dtype, *other)))
            for other in more
        ]
        kind = form.kind
        params = dict(Lowered(kind, params, []).params)  # what is not given has no use
        packed = pack(kind.name, params)
        number = kind + schema.VARIANT * form.variant
        scratch = scratch_bytes(None, OpForm(number, form.element, packed))
        name = f"op{len(self.ops)}"
        self.ops.append(
            OpRecord(
                kind, name, tuple(inputs), (out, *others), params,
                self.arena if scratch else 0, scratch,
            )
        )  # fmt: skip
        self.arena += aligned(scratch)
        for other in others:
            self.output(other)
        return out

    def output(self, tensor, onnx=None):
        t = self.tensors[tensor]
        name = f"y{len(self.outputs)}"
        self.outputs.append(IoRecord(name, tensor, onnx or ONNX[t.dtype], t.shape))

    def model(self):
        largest = max((op.scratch_bytes for op in self.ops), default=0)
        memory = Memory(0, self.arena, largest, 0, 0)
        return EdgeModel(
            self.tensors, self.ops, self.inputs, self.outputs, memory, bytes(self.blob)
        )


def geometry(
    in_c, out_c, *, in_hw=(5, 6), kernel=(3, 2), stride=(1, 2), pads=(1, 0), groups=1, out_hw=None
):
    h, w = out_hw or (
        (in_hw[0] + 2 * pads[0] - kernel[0]) // stride[0] + 1,
        (in_hw[1] + 2 * pads[1] - kernel[1]) // stride[1] + 1,
    )
    fields = {
        "in_h": in_hw[0], "in_w": in_hw[1], "out_h": h, "out_w": w, "batch": 2, "in_c": in_c,
        "out_c": out_c, "groups": groups, "kernel_h": kernel[0], "kernel_w": kernel[1],
        "stride_h": stride[0], "stride_w": stride[1], "dilation_h": 1, "dilation_w": 1,
        "pad_top": pads[0], "pad_left": pads[1],
    }  # fmt: skip
    return {f"geometry.{k}": v for k, v in fields.items()}


def shapes(g):
    """Input and output shape (NHWC) of a geometry."""
    p = {k.removeprefix("geometry."): v for k, v in g.items()}
    return (p["batch"], p["in_h"], p["in_w"], p["in_c"]), (
        p["batch"],
        p["out_h"],
        p["out_w"],
        p["out_c"],
    )


def indexed(**arrays):
    return {f"{name}.{i}": v for name, values in arrays.items() for i, v in enumerate(values)}


def view(outer, axis, inner):
    return {"view.outer": outer, "view.axis": axis, "view.inner": inner}


def long_chain():
    """Of 80 operators that write to and fro."""
    f = FileMaker()
    t = first = f.input(DType.Int8, 5)
    table = f.constant(np.arange(127, -129, -1).astype(np.int8))
    for _ in range(80):
        t = f.op(FORMS["lut_s8"], [t], DType.Int8, 5, count=5, table=table)
        f.tensors[t] = replace(f.tensors[t], offset=f.tensors[first].offset + 16 * (t % 2))
    f.arena = 32
    f.output(t)
    return f.model()
