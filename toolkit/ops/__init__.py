"""The operators: one module each, listed here and nowhere else in the toolkit."""

from __future__ import annotations

from . import (
    arg_max,
    batch_norm,
    binary,
    cast,
    compare,
    concat,
    conv2d,
    conv_transpose2d,
    distance,
    fake_quantize,
    features,
    fully_connected,
    gather,
    layer_norm,
    lut,
    mat_mul,
    movement,
    pad,
    pool,
    prelu,
    quantize,
    recurrent,
    reduce,
    resize,
    softmax,
    svm,
    top_k,
    tree_ensemble,
    unary,
    where,
)
from ._opdef import OpDef, Reader
from .composites import COMPOSITES, PARAMETERS, AtRunTime

_MODULES = (
    conv2d,
    conv_transpose2d,
    fully_connected,
    mat_mul,
    batch_norm,
    binary,
    prelu,
    unary,
    lut,
    pool,
    reduce,
    softmax,
    layer_norm,
    recurrent,
    resize,
    movement,
    concat,
    pad,
    gather,
    arg_max,
    tree_ensemble,
    features,
    distance,
    svm,
    top_k,
    compare,
    where,
    cast,
    quantize,
    fake_quantize,
)

ALL: dict[str, OpDef] = {op.name: op for module in _MODULES for op in module.OPS}
"""By name in the IR."""

FROM_ONNX: dict[str, Reader] = {onnx: op for op in ALL.values() for onnx in op.onnx}
"""By ONNX name; operators outside the default domain are "domain.Name"."""
FROM_ONNX |= COMPOSITES
FROM_ONNX |= {op: AtRunTime(FROM_ONNX[op], *how) for op, how in PARAMETERS.items()}


def definition(name: str) -> OpDef:
    """The operator called `name` in the IR."""
    return ALL[name]
