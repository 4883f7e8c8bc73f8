"""The walk over a file: every tensor as real numbers behind a DequantizeLinear."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ... import __version__
from ..errors import UserError
from ..format.model import ABSENT, NUMPY_OF, EdgeModel, IoRecord, OpRecord, TensorRecord
from ..format.schema import DType, Place
from ..ir import Array, Names, Shape
from ..numerics import INTEGERS
from .writers import WRITERS

IR_VERSION = 10
OPSET, OPSET_OF_INT16 = 19, 21
"""onnxruntime 1.32 rewrites int8 models of opset 21 into ones that it refuses."""
FLOAT = onnx.TensorProto.FLOAT

Limits = tuple[int, ...]
WHOLE: dict[DType, Limits] = {DType.Int8: (-128, 127), DType.Int16: (-32767, 32767)}


class Network:
    """One file's export. `real(t)` names the real numbers of tensor `t`, in the file's layout."""

    def __init__(self, model: EdgeModel, label: str) -> None:
        self.model, self.label = model, label
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self._real: dict[int, str] = {}
        self._integers: dict[int, str] = {}
        self._held: dict[int, int] = {}  # by offset in the arena: the tensor that lies there
        self.unique = Names(io.name for io in (*model.inputs, *model.outputs)).unique
        self._channels_first: dict[str, str] = {}

    def run(self) -> onnx.ModelProto:
        """The model. Raises UserError that names all operators without a form."""
        lacking = [
            f"{op.kind.name} '{name}'"
            for op, name in zip(self.model.ops, self.model.op_names, strict=True)
            if not self._is_served(op)
        ]
        if lacking:
            more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
            raise UserError(
                f"{self.label}: {', '.join(lacking[:3])}{more} cannot be exported: ONNX has no "
                "equivalent between DequantizeLinear and QuantizeLinear; "
                "docs/quantized-models.md lists the supported operators"
            )
        inputs = [self._input(io) for io in self.model.inputs]
        for op in self.model.ops:
            WRITERS[op.kind](self, op)
        outputs = [self._output(io) for io in self.model.outputs]
        wide = any(t.dtype == DType.Int16 for t in self.model.tensors)
        graph = helper.make_graph(
            self.nodes, "edgekit", inputs, outputs, list(self.constants.values())
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET_OF_INT16 if wide else OPSET)],
            ir_version=IR_VERSION,
            producer_name="edgekit",
            producer_version=__version__,
        )

    def _is_served(self, op: OpRecord) -> bool:
        tensors = [self.tensor(t) for t in (*op.inputs, *op.outputs) if t != ABSENT]
        real = {DType.Float32} if op.kind.name == "Dequantize" else set()
        return op.kind in WRITERS and all(
            t.dtype in real or (NUMPY_OF[t.dtype] in INTEGERS and t.scale) for t in tensors
        ) and not (
            op.kind.name in ("Lut", "ChannelLut") and tensors[0].dtype == DType.Int16
        )  # fmt: skip

    def tensor(self, t: int) -> TensorRecord:
        return self.model.tensors[t]

    def constant(self, array: Array, name: str = "constant") -> str:
        name = self.unique(name)
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def node(self, op: str, *inputs: str, name: str = "", **attrs: Any) -> str:
        out = self.unique(name or op.lower())
        self.nodes.append(helper.make_node(op, inputs, [out], out, **attrs))
        return out

    def reshape(self, x: str, before: Shape, after: Sequence[int]) -> str:
        if tuple(before) == tuple(after):
            return x
        return self.node("Reshape", x, self.constant(np.array(after, np.int64), "shape"))

    def transpose(self, x: str, perm: Sequence[int]) -> str:
        return self.node("Transpose", x, perm=list(perm))

    def channels_first(self, x: str) -> str:
        """NCHW of an NHWC image."""
        if x not in self._channels_first:
            self._channels_first[x] = self.transpose(x, (0, 3, 1, 2))
        return self._channels_first[x]

    def channels_last(self, x: str) -> str:
        """NHWC of an NCHW image, which is remembered."""
        y = self.transpose(x, (0, 2, 3, 1))
        self._channels_first[y] = x
        return y

    def array(self, t: TensorRecord) -> Array:
        """What the blob holds of a constant."""
        flat = np.frombuffer(self.model.blob, NUMPY_OF[t.dtype], prod(t.shape), t.offset)
        return flat.reshape(t.shape)

    def grid(self, t: TensorRecord) -> tuple[str, str]:
        """Names of the scale and the zero point of a quantized tensor."""
        key = f"{t.scale!r}/{t.zero_point}/{t.dtype.name}"
        if f"{key}/scale" not in self.constants:
            for part, value in (
                ("scale", np.float32(t.scale)),
                ("zero", np.array(t.zero_point, NUMPY_OF[t.dtype])),
            ):
                name = f"{key}/{part}"
                self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return f"{key}/scale", f"{key}/zero"

    def real(self, t: int) -> str:
        """The real numbers of a tensor: made before, or constant."""
        record = self.tensor(t)
        if record.place == Place.Blob and t not in self._real:
            if record.scale:
                q = self.constant(self.array(record), "constant.q")
                self._real[t] = self.node("DequantizeLinear", q, *self.grid(record))
            else:
                self._real[t] = self.constant(self.array(record))
        known = t in self._real and self._held.get(record.offset, t) == t
        if record.place != Place.Blob and not known:
            self._view(t)
        return self._real[t]

    def integers(self, t: int) -> str:
        """Those behind `real`."""
        self.real(t)
        if t not in self._integers:
            self._integers[t] = self.node(
                "QuantizeLinear", self._real[t], *self.grid(self.tensor(t))
            )
        return self._integers[t]

    def _view(self, t: int) -> None:
        """A Reshape does not run: its output lies where its input does."""
        record = self.tensor(t)
        source = self._held[record.offset]
        self._integers.pop(t, None)
        self._real[t] = self.reshape(self._real[source], self.tensor(source).shape, record.shape)
        self._held[record.offset] = t

    def put(self, t: int, real: str) -> None:
        """`real` is the tensor from here on."""
        record = self.tensor(t)
        end = record.offset + record.nbytes
        for offset, other in list(self._held.items()):
            if offset < end and record.offset < offset + self.tensor(other).nbytes:
                del self._held[offset]
        self._held[record.offset], self._real[t] = t, real
        self._integers.pop(t, None)

    def quantized(self, t: int, real: str, name: str, limits: Limits | None = None) -> str:
        """`real` on the grid of tensor `t`, between two of its integers."""
        record, whole = self.tensor(t), WHOLE[self.tensor(t).dtype]
        if limits is not None and limits != whole:
            ends = ((q - record.zero_point) * np.float32(record.scale) for q in limits)
            real = self.node("Clip", real, *(self.constant(np.asarray(e), "limit") for e in ends))
        grid = self.grid(record)
        q = self.node("QuantizeLinear", real, *grid, name=f"{name}.q")
        return self.node("DequantizeLinear", q, *grid, name=name)

    def rounded(self, op: OpRecord, real: str) -> str:
        """The output of `op` on its grid, with the op's limits."""
        low, high = WHOLE[self.tensor(op.outputs[0]).dtype]
        limits = tuple(
            int(op.params.get(f, op.params.get(f"requant.{f}", end)))
            for f, end in (("qmin", low), ("qmax", high))
        )
        return self.quantized(op.outputs[0], real, op.name or op.kind.name.lower(), limits)

    def put_quantized(self, op: OpRecord, real: str, shape: Sequence[int]) -> None:
        """The output of `op`, from real numbers of this shape."""
        t, y = op.outputs[0], self.rounded(op, real)
        self.put(t, self.reshape(y, tuple(shape), self.tensor(t).shape))

    def _refuse_handed_over(self, io: IoRecord) -> None:
        t = self.tensor(io.tensor)
        if io.axes or (t.scale and t.dtype == DType.UInt8):
            raise UserError(
                f"{self.label}: '{io.name}' has a layout or type chosen for the device; export a "
                "file quantized without --input-layout, --output-layout and type uint8"
            )

    def _input(self, io: IoRecord) -> onnx.ValueInfoProto:
        record = self.tensor(io.tensor)
        self._refuse_handed_over(io)
        if io.onnx_dtype != FLOAT:
            raise UserError(f"{self.label}: input '{io.name}' is not float32, which export needs")
        x = self.reshape(io.name, io.shape, record.shape)
        if record.scale:
            x = self.quantized(io.tensor, x, f"{io.name}.real")
        self.put(io.tensor, x)
        return helper.make_tensor_value_info(io.name, FLOAT, io.shape)

    def _output(self, io: IoRecord) -> onnx.ValueInfoProto:
        if io.onnx_dtype != FLOAT:
            raise UserError(f"{self.label}: output '{io.name}' is not float32, which export needs")
        self._refuse_handed_over(io)
        x = self.reshape(self.real(io.tensor), self.tensor(io.tensor).shape, io.shape)
        self.nodes.append(helper.make_node("Identity", [x], [io.name]))
        return helper.make_tensor_value_info(io.name, FLOAT, io.shape)
