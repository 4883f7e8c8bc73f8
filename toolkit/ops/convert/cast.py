"""Cast: one element type to another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...format.model import DTYPE_OF
from ...format.schema import OpKind
from ...ir import Node, TensorType, Value
from ...numerics import (
    BOOL,
    BY_ONNX,
    ELEMENTS,
    FLOAT,
    FLOAT16,
    INT32,
    INTEGERS,
    OF_NUMPY,
    STRING,
    UINT8,
    UINT64,
    Element,
)
from .._opdef import ANY_LAYOUT, Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported

_BOOL = 0xFFFF
"""Cast.to for bool: uint8, 1 where the input is not zero."""

_CAST = frozenset((FLOAT, INT32, UINT8))
"""Between these the kind Cast serves; whatever else is a Convert."""
_OWN = {FLOAT: 1, UINT8: 2, INT32: 6}
"""Element types of ONNX whose values are all that the runtime's type has."""


class Cast(OpDef):
    """ONNX Cast-6..25, CastLike-15..25, between all element types but strings and float8e8m0.

    attrs: to (dtype), the type that holds the result; element, the type of ONNX that values are
    brought to, if that has fewer; saturate. float64 is float32 here and int64 is int32. Floats are
    truncated towards zero and saturate, NaN is 0; those beyond 4 and 2 bits wrap, as integers do.
    To bool: 1 where not zero, in uint8. Floats are rounded to nearest, half to even.
    """

    name = "Cast"
    layout = ANY_LAYOUT
    wide = True
    onnx = ("Cast", "CastLike")
    float_only = "it changes the element type"
    exactness = "exact"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.inputs[0]
        assert x is not None
        if node.op == "Cast":
            code = int(node.attrs["to"])
            if (texts := b.labels_of(x)) is not None and x.dtype == INT32:
                return [_cast_text(b, x, texts, code)]
            if code == FLOAT16 == node.element(0):  # what lies between is in float32
                return [x]
        else:
            like = node.inputs[1]
            assert like is not None
            code = _element_like(like, node.element(1))
        if code not in BY_ONNX or BY_ONNX[code].held is None or code == STRING:
            name = BY_ONNX[code].name if code in BY_ONNX else f"element type {code}"
            raise Unsupported(
                f"it casts to {name}",
                f"{', '.join(e.name for e in ELEMENTS if e.held)} are supported",
            )
        saturate = int(node.attrs.get("saturate", 1))
        return [cast_to(b, x, code, saturate)]

    def infer(self, node: Node) -> list[TensorType]:
        x, to = node.input(0), np.dtype(node.attrs["to"])
        held = UINT8 if to == BOOL else to
        if x.dtype in INTEGERS or x.dtype not in DTYPE_OF or held not in DTYPE_OF:
            raise ValueError(f"cannot cast {x.dtype} to {to}")
        return [TensorType(held, x.shape)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, to = node.input(0), np.dtype(node.attrs["to"])
        element, count = node.attrs.get("element"), x.type.size
        if element is None and x.dtype in _CAST and (to in _CAST or to == BOOL):
            code = _BOOL if to == BOOL else int(DTYPE_OF[to])
            params = {"count": count, "from": int(DTYPE_OF[x.dtype]), "to": code}
            return Lowered(OpKind.Cast, params, [x])
        own = OF_NUMPY[to].onnx if element is None else element
        params = {"count": count, "element": own, "saturate": node.attrs.get("saturate", 1)}
        return Lowered(OpKind.Convert, params, [x])


def cast_to(b: Builder, x: Value, code: int, saturate: int = 1) -> Value:
    """`x` as an element type of ONNX, by its number, in what the runtime holds that in."""
    element = BY_ONNX[code]
    assert element.held is not None
    if element.numpy == BOOL:
        return b.emit("Cast", [x], to=BOOL)
    narrower = _narrower(element)
    if not narrower:
        return x if x.dtype == element.held else b.emit("Cast", [x], to=element.held)
    return b.emit("Cast", [x], to=element.held, element=code, saturate=saturate)


def _narrower(element: Element) -> bool:
    """Whether the runtime's type has values that the element type of ONNX has not."""
    own = {FLOAT: (1, 11), INT32: (6, 7), UINT8: (2,), UINT64: (13,)}
    return element.held is not None and element.onnx not in own.get(element.held, ())


def _element_like(like: Value, element: int | None) -> int:
    """The element type of CastLike's second input."""
    if element is not None:
        return element
    if like.dtype == UINT8:
        raise Unsupported("it may cast to uint8 or to bool", "use Cast, which says which")
    return _OWN[like.dtype]


def _cast_text(b: Builder, x: Value, texts: Sequence[str], code: int) -> Value:
    """Strings, as strings or as the numbers that they spell."""
    if code == STRING:
        return x
    try:
        numbers = np.array([float(t) for t in texts])
    except ValueError:
        why = f"it casts strings to numbers, and {texts} are no numbers"
        raise Unsupported(why, "encode them with a LabelEncoder") from None
    held = BY_ONNX[code].held if code in BY_ONNX else None
    return b.emit("Gather", [b.constant(numbers.astype(held or FLOAT)), x], axis=0)


OPS: tuple[OpDef, ...] = (Cast(),)
