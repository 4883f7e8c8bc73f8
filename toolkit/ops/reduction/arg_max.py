"""The index of the largest or smallest element along an axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...format.schema import OpKind, ReduceFn
from ...ir import Array, Node, TensorType, Value
from ...numerics import INTEGERS, integer_precisions
from .._formula import Term
from .._opdef import ALONG_AXIS, Blob, Builder, Lowered, OnnxNode, OpDef, computes_in
from .._views import axis_view, float_input, view_params
from ..move.movement import axis_of
from ._int32 import is_int32, reduced


class ArgMax(OpDef):
    """ONNX ArgMax-1..13, ArgMin-1..13. attrs: axis, from the front; keepdims; select_last_index.

    float32 of any shape to int32 indices (int64 in ONNX). Of equal elements the first counts, or
    the last with select_last_index. Of int32 and int64 the places are found where the extremum is.
    """

    exactness = "exact"
    precisions = integer_precisions(*INTEGERS)

    layout = ALONG_AXIS

    def __init__(self, name: str) -> None:
        self.name = name
        self.onnx = (name,)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        if is_int32(node):
            return self._of_integers(b, node)
        x = float_input(node)
        rank = len(x.shape)
        y = b.emit(
            self.name,
            [x if rank else b.reshape(x, (1,))],
            axis=axis_of(int(node.attrs.get("axis", 0)), max(rank, 1)),
            keepdims=bool(node.attrs.get("keepdims", 1)),
            select_last_index=bool(node.attrs.get("select_last_index", 0)),
        )
        return [y if rank else b.reshape(y, ())]

    def _of_integers(self, b: Builder, node: OnnxNode) -> list[Value]:
        """What is equal to the largest or smallest, as 0 and 1, has its largest where that is."""
        x = node.input(0)
        fn = ReduceFn.Max if self.name == "ArgMax" else ReduceFn.Min
        axis = axis_of(int(node.attrs.get("axis", 0)), len(x.shape))
        found = Term(b, x).equals(reduced(Term(b, x), (axis,), fn))
        real = replace(node, inputs=[found.to(np.float32).value])
        return ARG_MAX.from_onnx(b, real)

    def infer(self, node: Node) -> list[TensorType]:
        x, axis = node.input(0), node.attrs["axis"]
        axis_view(x.shape, (axis,))
        if not computes_in(OpKind.ArgMax, x.dtype):
            raise ValueError(f"{self.name} of {x.dtype}; it takes float32")
        middle = (1,) if node.attrs["keepdims"] else ()
        return [TensorType(np.dtype(np.int32), (*x.shape[:axis], *middle, *x.shape[axis + 1 :]))]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        q, axis = inputs[0], node.attrs["axis"]
        assert q is not None
        find = np.argmax if self.name == "ArgMax" else np.argmin
        if node.attrs["select_last_index"]:
            at = q.shape[axis] - 1 - find(np.flip(q, axis), axis=axis)
        else:
            at = find(q, axis=axis)
        return [np.asarray(at, np.int32).reshape(node.output.shape)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x = node.input(0)
        params = view_params(x.shape, (node.attrs["axis"],)) | {
            "is_min": int(self.name == "ArgMin"),
            "last": int(node.attrs["select_last_index"]),
        }
        return Lowered(OpKind.ArgMax, params, [x])


ARG_MAX = ArgMax("ArgMax")
OPS: tuple[OpDef, ...] = (ARG_MAX, ArgMax("ArgMin"))
