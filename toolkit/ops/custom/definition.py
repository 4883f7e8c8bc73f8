"""A user's operator as one of ours: what it says, asked and looked at before it is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CustomOperatorError
from ...format.model import DTYPE_OF
from ...format.schema import OpKind
from ...format.structs import NO_BLOB
from ...ir import Array, Node, QuantParams, TensorType, Value
from ...numerics import INTEGERS, DType, integer_precisions
from ...user_code import importing_beside, said, where
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef
from .operator import CustomCall, CustomOp, Operand

MOST_INPUTS, MOST_OUTPUTS = 8, 4
"""EK_CUSTOM_INPUTS and EK_CUSTOM_OUTPUTS."""


class Custom(OpDef):
    """A user's operator: float32, and what it says of other element types. attrs: attributes, those
    of the ONNX node that it has, or their default values."""

    wide = True
    real_constants = tuple(range(MOST_INPUTS))

    def __init__(self, op: CustomOp, source: str) -> None:
        self.op, self.source = op, source
        self.name = f"{op.domain}::{op.op_type}"
        self.onnx = (f"{op.domain}.{op.op_type}",)
        self.shared = op.same_scale

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        known = {name: value for name, (_, value) in self.op.attributes.items()} | node.attrs
        missing = sorted(name for name, value in known.items() if value is None)
        if missing:
            raise ValueError(f"it has no attribute {missing[0]}, and {self.source} no default")
        others = sorted(node.attrs.keys() - self.op.attributes.keys())
        if others and type(self.op).pack is CustomOp.pack:
            raise ValueError(f"it has an attribute {others[0]}, which {self.source} does not list")
        if len(node.inputs) > MOST_INPUTS or len(node.outputs) > MOST_OUTPUTS:
            raise ValueError(
                f"it has {len(node.inputs)} inputs and {len(node.outputs)} outputs; an operator of "
                f"your own has at most {MOST_INPUTS} and {MOST_OUTPUTS}"
            )
        return b.emit_all(self.name, node.inputs, attributes=known)

    def infer(self, node: Node) -> list[TensorType]:
        call = CustomCall(_operands(node.inputs), (), node.attrs["attributes"])
        with self.blamed("infer"):
            return self.types(call)

    def types(self, call: CustomCall) -> list[TensorType]:
        """What `infer` says, which is not known to be right."""
        found = [
            TensorType(np.dtype(dtype), tuple(int(d) for d in shape))
            for dtype, shape in self.op.infer(call)
        ]
        if not 0 < len(found) <= MOST_OUTPUTS:
            raise ValueError(f"{len(found)} outputs; there are 1 to {MOST_OUTPUTS}")
        for kind in found:
            if kind.dtype not in DTYPE_OF:
                raise ValueError(f"an output of {kind.dtype}, which no tensor of a file can have")
            if min(kind.shape, default=1) < 1:
                raise ValueError(f"an output of shape {list(kind.shape)}")
        floats = [v for v in call.inputs if v is not None and v.is_quantized]
        if not floats or len(found) > 1:
            return found
        return (
            [TensorType(floats[0].dtype, found[0].shape)] if found[0].dtype.kind == "f" else found
        )

    def lower(self, node: Node, blob: Blob) -> Lowered:
        call = _call_of(node)
        with self.blamed("pack"):
            packed = bytes(self.op.pack(call))
        with self.blamed("scratch"):
            scratch = int(self.op.scratch(call))
            if not 0 <= scratch < 1 << 31:
                raise ValueError(f"scratch of {scratch} bytes")
        name = np.frombuffer(self.name.encode() + b"\0", np.uint8)
        attributes = blob.add(np.frombuffer(packed, np.uint8), align=8) if packed else NO_BLOB
        params: dict[str, int | float] = {
            "name": blob.add(name),
            "name_bytes": name.size,
            "version": self.op.version,
            "attributes": attributes,
            "attribute_bytes": len(packed),
            "scratch": scratch,
        }
        return Lowered(OpKind.Custom, params, list(node.inputs))

    def results(self, call: CustomCall, inputs: Sequence[Array | None]) -> list[Array]:
        """What the operator's Python gives: by `integer` where an operand is quantized."""
        quantized = any(v is not None and v.is_quantized for v in (*call.inputs, *call.outputs))
        meaning: Callable[..., Any] = self.op.integer if quantized else self.op.compute
        with self.blamed(meaning.__name__):
            found = meaning(call, *inputs)
            arrays = list(found) if isinstance(found, list | tuple) else [found]
            if len(arrays) != len(call.outputs):
                raise ValueError(f"{len(arrays)} arrays for {len(call.outputs)} outputs")
            return [_fitting(a, v) for a, v in zip(arrays, call.outputs, strict=True)]

    @contextmanager
    def blamed(self, what: str) -> Iterator[None]:
        """Says of an exception of the user's code where it was raised, as CustomOperatorError."""
        file = Path(self.source)
        try:
            with importing_beside(file):
                yield
        except CustomOperatorError:
            raise
        except (Exception, SystemExit) as why:  # the user's code may raise anything
            place = where(why, file)
            raise CustomOperatorError(
                f"{self.source}: {place}{self.name}: {what}: {said(why)}"
            ) from why


class IntegerCustom(Custom):
    """A user's operator with an integer meaning."""

    def __init__(self, op: CustomOp, source: str) -> None:
        super().__init__(op, source)
        self.precisions = integer_precisions(*(np.dtype(name) for name in op.integers))

    def integer_problem(self, node: Node) -> str | None:
        return None if len(node.outputs) == 1 else "it has several outputs"

    def fixed_output(self, node: Node, dtype: DType) -> QuantParams | None:
        call = _call_of(node)
        with self.blamed("output_quantization"):
            found = self.op.output_quantization(call, str(dtype))
            if found is None:
                return None
            scale, zero = found
            if not 0 < scale < np.inf:
                raise ValueError(f"a scale of {scale}")
        if dtype == np.int16:
            return QuantParams.int16(float(np.float32(scale)))
        return QuantParams((float(np.float32(scale)),), int(zero))

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        return self.results(_call_of(node), inputs)


def definition_of(op: CustomOp, source: str) -> Custom:
    """The definition of a user's operator. Raises CustomOperatorError for one that says nothing."""
    form = IntegerCustom if op.integers else Custom
    made = form(op, source)
    with made.blamed(type(op).__name__):
        _look_at(op)
    return made


def _look_at(op: CustomOp) -> None:
    for what in ("domain", "op_type"):
        text = getattr(op, what)
        if not isinstance(text, str) or not text or "\0" in text:
            raise ValueError(f"it says no {what}")
    if op.domain in ("ai.onnx", "ai.onnx.ml"):
        raise ValueError(f"domain {op.domain} is ONNX's own; take another")
    if not 0 <= int(op.version) < 1 << 32:
        raise ValueError(f"version {op.version}")
    if not set(op.integers) <= set(map(str, INTEGERS)):
        raise ValueError(f"integers {list(op.integers)}; there are {', '.join(map(str, INTEGERS))}")
    if op.integers and type(op).integer is CustomOp.integer:
        raise ValueError("it says `integers` and has no `integer`")


def _operands(values: Sequence[Value | None]) -> tuple[Operand | None, ...]:
    return tuple(None if v is None else _operand(v) for v in values)


def _operand(v: Value) -> Operand:
    quant = None if v.dtype.kind == "f" else v.quant
    scale = 0.0 if quant is None else float(np.float32(quant.scalar))
    return Operand(v.shape, v.dtype, scale, 0 if quant is None else quant.zero_point, v.const)


def _call_of(node: Node) -> CustomCall:
    outputs = tuple(_operand(v) for v in node.outputs)
    return CustomCall(_operands(node.inputs), outputs, node.attrs["attributes"])


def _fitting(array: Any, v: Operand) -> Array:
    found: Array = np.asarray(array)
    if found.shape != v.shape:
        raise ValueError(f"an output of shape {list(found.shape)}; `infer` said {list(v.shape)}")
    if found.dtype != v.dtype and (v.is_quantized or found.dtype.kind != v.dtype.kind):
        raise ValueError(f"an output of {found.dtype}; it is {v.dtype}")
    return np.ascontiguousarray(found.astype(v.dtype)).reshape(v.shape)
