"""Operators of the user's that this process runs by their Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime_c._ffi import ffi, lib
from ..format.model import NUMPY_OF
from ..format.schema import DType
from ..ir import Array
from ..ops.custom.definition import Custom
from ..ops.custom.operator import CustomCall, Operand
from .operators import Registered, keep_fault


def of_python(op: Custom) -> Registered:
    """An operator that the runtime runs by its Python."""
    kind = dict(ffi.typeof("ek_custom_operator").fields)["run"].type
    check = ffi.callback(kind, lambda call: _called(op, call, _check))
    run = ffi.callback(kind, lambda call: _called(op, call, _run))
    name = ffi.new("char[]", op.name.encode())
    handle = ffi.new("ek_custom_operator *")
    handle.name, handle.version, handle.check, handle.run = name, op.op.version, check, run
    return Registered(op.name, op.op.version, handle, False, (name, check, run))


def _called(op: Custom, call: Any, work: Callable[[Custom, Any, CustomCall], None]) -> int:
    """The status of a call of the runtime; an exception is kept for the caller of the runtime."""
    try:
        work(op, call, _call_of(op, call))
    except BaseException as why:
        keep_fault(why)
        return int(lib.EK_ERR_CORRUPT)
    return int(lib.EK_OK)


def _call_of(op: Custom, call: Any) -> CustomCall:
    size = int(call.attribute_bytes)
    packed = bytes(ffi.buffer(ffi.cast("const char *", call.attributes), size)) if size else b""
    inputs = tuple(_operand(call.inputs[i]) for i in range(call.input_count))
    outputs = (_operand(call.outputs[i]) for i in range(call.output_count))
    with op.blamed("unpack"):
        attributes = op.op.unpack(packed)
    return CustomCall(inputs, tuple(v for v in outputs if v is not None), attributes)


def _operand(t: Any) -> Operand | None:
    if t.count == 0:
        return None
    shape = tuple(t.shape[i] for i in range(t.rank))
    return Operand(shape, NUMPY_OF[DType(t.dtype)], float(t.scale), int(t.zero_point))


def _array(t: Any, v: Operand) -> Array:
    size = int(t.count) * v.dtype.itemsize
    return np.frombuffer(ffi.buffer(ffi.cast("char *", t.data), size), v.dtype).reshape(v.shape)


def _check(op: Custom, call: Any, said: CustomCall) -> None:
    with op.blamed("infer"):
        kinds = op.types(CustomCall(said.inputs, (), said.attributes))
        if [(k.dtype, k.shape) for k in kinds] != [(v.dtype, v.shape) for v in said.outputs]:
            raise ValueError("the outputs in the file are others than `infer` says")


def _run(op: Custom, call: Any, said: CustomCall) -> None:
    inputs = [
        None if v is None else _array(call.inputs[i], v).copy() for i, v in enumerate(said.inputs)
    ]
    for i, array in enumerate(op.results(said, inputs)):
        _array(call.outputs[i], said.outputs[i])[...] = array
