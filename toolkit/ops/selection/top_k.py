"""TopK: the first elements of an order along an axis."""

from __future__ import annotations

import numpy as np

from ...format.schema import OpKind
from ...ir import Array, Node, TensorType, Value
from ...numerics import INT32, INTEGERS, UINT8, WIDE, held, integer_precisions
from .._formula import Term
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported, computes_in
from .._views import axis_view, view_params
from ..composites._checks import agrees, as_ints, checked
from ..convert.cast import cast_to
from ..move.movement import axis_of


class TopK(OpDef):
    """ONNX TopK-1..24 along any axis, of floats and integers; a computed k must equal the declared
    size of the outputs.

    attrs: axis, from the front; k; smallest. Outputs: the values, and their int32 indices. Sorted;
    of equal elements the first.
    """

    name = "TopK"
    onnx = ("TopK",)
    exactness = "exact"
    shared = True
    wide = True
    precisions = integer_precisions(*INTEGERS)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.input(0)
        if not x.shape:
            raise Unsupported("its input is a scalar", "reshape it")
        axis = axis_of(int(node.attrs.get("axis", -1)), len(x.shape))
        given = node.optional(1)
        if given is not None and given.const is None:
            k = node.shape_of(0)[axis]
        else:
            k = int(np.ravel(np.asarray(node.attrs.get("k", node.const(1))))[0])
        if not 0 <= k <= x.shape[axis]:
            raise Unsupported(f"its k is {k}", f"at most {x.shape[axis]} are there")
        if k == 0:
            shape = tuple(0 if i == axis else d for i, d in enumerate(x.shape))
            return [b.constant(np.zeros(shape, t)) for t in (x.dtype, np.int64)]
        smallest = not node.attrs.get("largest", 1)
        small = held(x.dtype) == UINT8
        y = cast_to(b, x, 6) if small else x
        values, indices = b.emit_all("TopK", [y], axis=axis, k=k, smallest=smallest)
        if small:
            values = cast_to(b, values, node.element(0) or 2)
        if given is not None and given.const is None:
            fits = agrees(as_ints(b, given), [k])
            if values.dtype in WIDE:
                indices = checked(Term(b, indices), fits).value
            else:
                values = checked(Term(b, values), fits).value
        return [values, indices]

    def infer(self, node: Node) -> list[TensorType]:
        x, axis, k = node.input(0), node.attrs["axis"], node.attrs["k"]
        axis_view(x.shape, (axis,))
        if not computes_in(OpKind.TopK, x.dtype) or not 0 < k <= x.shape[axis]:
            raise ValueError(f"the first {k} of {x}")
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        return [TensorType(x.dtype, shape), TensorType(INT32, shape)]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        x, axis = np.asarray(inputs[0]), node.attrs["axis"]
        wide = x.astype(np.int64)
        order = np.argsort(wide if node.attrs["smallest"] else -wide, axis, kind="stable")
        first = np.take(order, range(node.attrs["k"]), axis)
        return [np.take_along_axis(x, first, axis), first.astype(np.int32)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x = node.input(0)
        params = view_params(x.shape, (node.attrs["axis"],))
        params |= {"k": node.attrs["k"], "smallest": int(node.attrs["smallest"])}
        return Lowered(OpKind.TopK, params, [x])


OPS: tuple[OpDef, ...] = (TopK(),)
