"""TopK of few: the nearest of the neighbours."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ...ir import Node, TensorType, Value
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from .._views import float_input
from ..move.movement import axis_of

LARGEST = float(np.finfo(np.float32).max)
"""What is taken counts as this far off: calibration refuses infinities."""

MOST = 32
"""Each of the k is an arg-max over what is left."""


class TopK(OpDef):
    """ONNX TopK-1..24 of float32 along the last axis, for a constant k of at most 32.

    Sorted; of equal elements the first. In the IR it is an ArgMax, a Gather and a Where for each.
    """

    name = "TopK"
    onnx = ("TopK",)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = float_input(node)
        given = node.attrs.get("k", node.const(1) if len(node.inputs) > 1 else None)
        k, last = int(np.ravel(np.asarray(given))[0]), len(x.shape) - 1
        if axis_of(int(node.attrs.get("axis", -1)), len(x.shape)) != last:
            raise Unsupported("it sorts another axis than the last", "transpose before and behind")
        if not 0 < k <= min(MOST, x.shape[-1]):
            raise Unsupported(f"its k is {k}", f"at most {MOST} of {x.shape[-1]} are supported")
        largest = bool(node.attrs.get("largest", 1))
        op, worst = ("ArgMax", -LARGEST) if largest else ("ArgMin", LARGEST)
        places = b.constant(np.arange(x.shape[-1], dtype=np.int64))
        extreme = "ReduceMax" if largest else "ReduceMin"
        values, indices = [], []
        for i in range(k):
            at = b.emit(op, [x], axis=last, keepdims=True, select_last_index=False)
            indices.append(at)
            values.append(b.emit(extreme, [x], axes=(last,), keepdims=True))
            if i + 1 < k:
                taken = b.emit("Equal", [places, at])
                x = b.emit("Where", [taken, b.constant(np.array(worst, np.float32)), x])
        if k == 1:
            return [values[0], indices[0]]
        return [b.emit("Concat", values, axis=last), b.emit("Concat", indices, axis=last)]

    def infer(self, node: Node) -> list[TensorType]:
        return self._absent(node)

    def lower(self, node: Node, blob: Blob) -> Lowered:
        return self._absent(node)

    def _absent(self, node: Node) -> NoReturn:
        raise ValueError(f"TopK '{node.name}' is other operators in the IR")


OPS: tuple[OpDef, ...] = (TopK(),)
