"""Nodes whose inputs are all known: their value, by ONNX's reference evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from ..ir import Array
from ..ops._opdef import Unsupported

LIMIT = 1 << 26
"""Elements a folded constant may have."""

_RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"}
_RANDOM |= {"RandomUniformLike"}
_CONTROL = {"If", "Loop", "Scan", "SequenceMap"}


def can_fold(node: onnx.NodeProto) -> bool:
    """Whether the node's value depends on nothing but its inputs and attributes."""
    return (
        node.domain in ("", "ai.onnx", "ai.onnx.ml")
        and node.op_type not in _RANDOM
        and node.op_type not in _CONTROL
    )


def fold(
    node: onnx.NodeProto, opsets: Sequence[onnx.OperatorSetIdProto], inputs: dict[str, Array]
) -> list[Array] | None:
    """The outputs of a node on constants; None if the evaluator cannot tell.

    Raises Unsupported when the result would be larger than LIMIT.
    """
    _check_size(node, [inputs.get(name) for name in node.input])
    try:
        infos = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape
            )
            for name, a in inputs.items()
        ]
        kept = [name for name in node.output if name]
        outs = [onnx.helper.make_tensor_value_info(name, 0, None) for name in kept]
        graph = onnx.helper.make_graph([node], "fold", infos, outs)
        model = onnx.helper.make_model(graph, opset_imports=opsets)
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, dict(inputs))
    except Exception:  # the evaluator raises whatever its numpy code does
        return None
    found: dict[str, Any] = dict(zip(kept, results, strict=True))
    if not all(isinstance(r, np.ndarray | np.generic) for r in results):
        return None
    return [np.asarray(found[name]) if name else np.empty(0) for name in node.output]


def _check_size(node: onnx.NodeProto, inputs: Sequence[Array | None]) -> None:
    a = inputs[0] if inputs else None
    b = inputs[1] if len(inputs) > 1 else None
    size = 0
    if node.op_type == "ConstantOfShape" and a is not None:
        size = prod(int(d) for d in a)
    elif node.op_type == "Expand" and b is not None:
        size = prod(int(d) for d in b)
    elif node.op_type == "Tile" and a is not None and b is not None:
        size = a.size * prod(int(d) for d in b)
    elif node.op_type == "Range" and a is not None and b is not None and inputs[2] is not None:
        start, limit, step = (float(np.ravel(v)[0]) for v in (a, b, inputs[2]))
        size = int(abs((limit - start) / step)) if step else 0
    if size > LIMIT:
        raise Unsupported(
            f"its constant result has {size} elements; the limit is {LIMIT}",
            "fix the input shapes with --shape",
        )
