"""Weights of 4 bits: int8 weights that lie in the file as nibbles (docs/arithmetic.md).

A node of an operator with weights has them where attrs has int4_group: its constant stays int8 [n,
...], every weight nibble * multiplier. int4_multipliers, uint8 [n, groups], belong to groups of
int4_group consecutive weights of a channel; int4_group 0 has none, and weights in [-7, 7].
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..format.schema import OpKind, WeightCodec
from ..format.structs import NO_BLOB
from ..ir import Array, Node
from ._opdef import Blob

MOST = 7
"""Nibbles are in [-7, 7]."""
MOST_MULTIPLIER = 16


def is_int4(node: Node) -> bool:
    """Whether the weights are to be written as nibbles."""
    return "int4_group" in node.attrs


def effective(
    nibbles: NDArray[np.int8], group: int, multipliers: NDArray[np.uint8] | None
) -> NDArray[np.int8]:
    """The int8 weights [n, k] of nibbles [n, k]."""
    if not group or multipliers is None:
        return nibbles
    return (nibbles.astype(np.int16) * _spread(multipliers, group, nibbles.shape[1])).astype(
        np.int8
    )


def add_int4(
    node: Node, blob: Blob, w: Array, *, depthwise: bool = False
) -> dict[str, int | float]:
    """The fields weights and codec of an operator, put into the blob.

    w int8 [n, k], as in the file's order of a channel's weights. Raises ValueError for weights that
    are no nibbles times their multipliers.
    """
    if node.input(0).dtype == np.float32:
        raise ValueError(f"{node.op} has no weights of 4 bits in float32")
    group = int(node.attrs["int4_group"])
    multipliers: NDArray[np.uint8] | None = node.attrs.get("int4_multipliers") if group else None
    nibbles = w.astype(np.int16)
    if group:
        wanted = (len(w), -(-w.shape[1] // group))
        if multipliers is None or multipliers.shape != wanted:
            raise ValueError(f"{node.op} '{node.name}': int4_multipliers are not {list(wanted)}")
        if multipliers.min() < 1 or multipliers.max() > MOST_MULTIPLIER:
            raise ValueError(f"{node.op} '{node.name}': int4_multipliers outside [1, 16]")
        nibbles, rest = np.divmod(nibbles, _spread(multipliers, group, w.shape[1]))
        if rest.any():
            raise ValueError(
                f"{node.op} '{node.name}': weights that int4_multipliers do not divide"
            )
    if np.abs(nibbles).max(initial=0) > MOST:
        raise ValueError(f"{node.op} '{node.name}': weights that are no nibbles in [-7, 7]")
    rows = nibbles.T if depthwise else nibbles
    return {
        "weights": blob.add(_packed(rows)),
        "codec.id": WeightCodec.Nibbles,
        "codec.group": group,
        "codec.auxiliary": NO_BLOB if multipliers is None else blob.add(multipliers, align=1),
    }


def stored_int8(kind: OpKind, params: Mapping[str, int | float], blob: bytes) -> NDArray[np.int8]:
    """The weights as the blob holds them without a codec, flat."""
    p = {k.rpartition(".")[2]: int(v) for k, v in params.items()}
    if kind == OpKind.FullyConnected:
        n, k = p["n"], p["k"]
    else:
        n, k = p["out_c"], p["kernel_h"] * p["kernel_w"] * (p["in_c"] // p["groups"])
    depthwise = kind == OpKind.DepthwiseConv2d
    rows, count = (k, n) if depthwise else (n, k)
    size = rows * -(-count // 2)
    data = np.frombuffer(blob, np.uint8, size, p["weights"]).reshape(rows, -1)
    both = np.stack([data & 15, data >> 4], -1).reshape(rows, -1)[:, :count]
    nibbles = ((both ^ 8).astype(np.int8) - 8).astype(np.int8)
    nibbles = nibbles.T if depthwise else nibbles
    multipliers = None
    if p["group"]:
        groups = -(-k // p["group"])
        multipliers = np.frombuffer(blob, np.uint8, n * groups, p["auxiliary"]).reshape(n, groups)
    w = effective(nibbles, p["group"], multipliers)
    return np.ascontiguousarray(w.T if depthwise else w).ravel()


def _spread(multipliers: NDArray[np.uint8], group: int, k: int) -> NDArray[np.int16]:
    """[n, k]: of each weight."""
    return np.repeat(multipliers, group, axis=1)[:, :k].astype(np.int16)


def _packed(rows: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Two a byte, the lower first; each row begins with a byte."""
    even = np.zeros((rows.shape[0], -(-rows.shape[1] // 2) * 2), np.uint8)
    even[:, : rows.shape[1]] = rows & 15
    packed: NDArray[np.uint8] = even[:, ::2] | even[:, 1::2] << 4
    return packed
