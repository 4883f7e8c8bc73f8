"""The operators: one module each, listed here and nowhere else in the toolkit."""

from __future__ import annotations

from enum import IntEnum

from ..ir import Node
from ._opdef import OpDef, Reader
from .classical import distance, features, svm, tree_ensemble
from .composites import COMPOSITES, PARAMETERS, AtRunTime
from .control import regions
from .conv import conv2d, conv_transpose2d
from .convert import cast, fake_quantize, quantize
from .custom.definition import Custom
from .elementwise import binary, compare, lut, math, prelu, unary, where
from .matmul import fully_connected, mat_mul
from .move import concat, gather, movement, pad, resize, scatter
from .norm import batch_norm, layer_norm, softmax
from .recurrent import layers
from .reduction import arg_max, pool, reduce
from .selection import non_max_suppression, non_zero, top_k

_MODULES = (
    conv2d,
    conv_transpose2d,
    fully_connected,
    mat_mul,
    batch_norm,
    binary,
    prelu,
    unary,
    math,
    lut,
    pool,
    reduce,
    softmax,
    layer_norm,
    layers,
    resize,
    movement,
    concat,
    pad,
    gather,
    scatter,
    arg_max,
    tree_ensemble,
    features,
    distance,
    svm,
    top_k,
    non_zero,
    non_max_suppression,
    compare,
    where,
    cast,
    quantize,
    fake_quantize,
    regions,
)

ALL: dict[str, OpDef] = {op.name: op for module in _MODULES for op in module.OPS}
"""By name in the IR."""

FROM_ONNX: dict[str, Reader] = {onnx: op for op in ALL.values() for onnx in op.onnx}
"""By ONNX name; operators outside the default domain are "domain.Name"."""
FROM_ONNX |= COMPOSITES
FROM_ONNX |= {op: AtRunTime(FROM_ONNX[op], *how) for op, how in PARAMETERS.items()}

CUSTOM: dict[str, Custom] = {}
"""The user's own, "domain::Name", that this process was given."""


def definition(name: str) -> OpDef:
    """The operator called `name` in the IR."""
    return ALL[name] if name in ALL else CUSTOM[name]


def is_known(name: str) -> bool:
    """Whether there is an operator called `name` in the IR."""
    return name in ALL or name in CUSTOM


def is_a(node: Node, *operators: type[OpDef]) -> bool:
    """Whether a node's operator is one of these classes."""
    return isinstance(definition(node.op), operators)


def computes(node: Node, *functions: IntEnum) -> bool:
    """Whether a node computes one of these functions, each of its own enum."""
    fn = definition(node.op).fn
    return any(fn is each for each in functions)


def is_view(node: Node) -> bool:
    """Whether a node's output is its input's memory."""
    return definition(node.op).view


def add_custom(op: Custom) -> None:
    """Have a user's operator among the others. Raises ValueError where its name is taken."""
    (onnx,) = op.onnx
    known = FROM_ONNX.get(onnx)
    if known is not None and not (isinstance(known, Custom) and known.source == op.source):
        by = known.source if isinstance(known, Custom) else "edgekit"
        raise ValueError(f"{op.name} is already an operator of {by}; rename yours")
    CUSTOM[op.name] = FROM_ONNX[onnx] = op
