"""How int8 weights lie in a file: a codec a file, found by its WeightCodec in edge.fbs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..format.model import is_variant
from ..format.schema import DType, OpKind, WeightCodec
from ..numerics import WEIGHT_TYPES
from ._codec import Codec, Encoded, Storage
from .huffman import Huffman
from .packed import Packed

__all__ = ["CODECS", "Codec", "Encoded", "Storage", "encode", "stored_int8"]

CODECS: Mapping[str, Codec] = {
    **{w.codec: Packed(w.bits, w.limit) for w in WEIGHT_TYPES.values() if w.bits < 8},
    "Huffman": Huffman(),
}
"""By name in WeightCodec; without Plain."""


def encode(w: NDArray[np.int8], storage: Storage, *, depthwise: bool = False) -> Encoded:
    """Weights [n, k], in the file's order of a channel's weights, as their codec stores them.

    Raises ValueError for weights that the codec does not hold.
    """
    return CODECS[storage.codec].encode(w, storage, depthwise)


def stored_int8(kind: OpKind, params: Mapping[str, int | float], blob: bytes) -> NDArray[np.int8]:
    """The weights of an operator as a blob holds them without a codec, flat."""
    p = {k.rpartition(".")[2]: int(v) for k, v in params.items()}
    if kind == OpKind.FullyConnected:
        n, k = p["n"], p["k"]
    else:
        n, k = p["out_c"], p["kernel_h"] * p["kernel_w"] * (p["in_c"] // p["groups"])
    depthwise = is_variant(kind, params, DType.Int8)
    if p["id"] == WeightCodec.Plain:
        return np.frombuffer(blob, np.int8, n * k, p["weights"])
    codec = CODECS[WeightCodec(p["id"]).name]
    w = codec.decode(blob, p["weights"], p["auxiliary"], p["group"], (n, k), depthwise)
    return np.ascontiguousarray(w.T if depthwise else w).ravel()
