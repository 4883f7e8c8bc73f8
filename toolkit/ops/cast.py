"""Cast: one element type to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..format.schema import DType, OpKind
from ..ir import Node, TensorType, Value
from ._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported

BOOL = 0xFFFF
"""Cast.to for bool: uint8, 1 where the input is not zero."""

_DTYPES: dict[np.dtype[Any], DType] = {
    np.dtype(np.float32): DType.Float32,
    np.dtype(np.int32): DType.Int32,
    np.dtype(np.uint8): DType.UInt8,
}

# TensorProto.DataType -> what the runtime holds. The small integers would have to wrap.
_HALF = {10: "float16", 16: "bfloat16"}
_FROM_ONNX: dict[int, type[np.generic]] = {
    1: np.float32, 11: np.float32,
    2: np.uint8, 6: np.int32, 7: np.int32, 9: np.bool_,
}  # fmt: skip


class Cast(OpDef):
    """ONNX Cast-6..25, CastLike-15..25, between float32, int32, uint8 and bool. attrs: to (dtype).

    float64 is float32 here and int64 is int32; nothing is rounded to 16-bit floats. Floats are
    truncated towards zero and saturate, NaN is 0; an int32 gives its lowest byte to uint8. To bool:
    1 where not zero, in uint8.
    """

    name = "Cast"
    onnx = ("Cast", "CastLike")
    float_only = "it changes the element type"
    exactness = "exact"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.inputs[0]
        assert x is not None
        if node.op == "Cast":
            code = int(node.attrs["to"])
            if code in _HALF:
                raise Unsupported(
                    f"it casts to {_HALF[code]}, and the runtime computes in float32",
                    "export the model in float32, or leave the cast out",
                )
            if code not in _FROM_ONNX:
                raise Unsupported(
                    f"it casts to ONNX element type {code}",
                    "float32, float64, int32, int64, uint8 and bool are supported",
                )
            to: np.dtype[Any] = np.dtype(_FROM_ONNX[code])
        else:
            like = node.inputs[1]
            assert like is not None
            to = _held(like)
        if x.dtype not in _DTYPES:
            raise Unsupported(f"it casts from {x.dtype}")
        return [x if x.dtype == to else b.emit("Cast", [x], to=to)]

    def infer(self, node: Node) -> list[TensorType]:
        x, to = node.input(0), np.dtype(node.attrs["to"])
        held = np.dtype(np.uint8) if to == np.bool_ else to
        if x.dtype not in _DTYPES or held not in _DTYPES:
            raise ValueError(f"cannot cast {x.dtype} to {to}")
        return [TensorType(held, x.shape)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, to = node.input(0), np.dtype(node.attrs["to"])
        code = BOOL if to == np.bool_ else int(_DTYPES[to])
        params = {"count": x.type.size, "from": int(_DTYPES[x.dtype]), "to": code}
        return Lowered(OpKind.Cast, params, [x])


def _held(like: Value) -> np.dtype[Any]:
    """The element type that the runtime has for CastLike's second input."""
    if like.dtype == np.uint8 and like.const is None:
        raise Unsupported("it may cast to uint8 or to bool", "use Cast, which says which")
    if like.dtype.kind == "f":
        return np.dtype(np.float32)
    return np.dtype(np.int32) if like.dtype == np.int64 else like.dtype


OPS: tuple[OpDef, ...] = (Cast(),)
