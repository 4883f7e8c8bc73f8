"""Weights in the codec that takes the fewest bytes; their integers stay what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal, get_args

import numpy as np

from ..ir import Array, Graph, Node, constant
from ..ops import definition, is_a
from ..ops._weighted import WeightedOp, file_weights
from ..ops.conv.conv2d import Conv2d, is_depthwise
from ..ops.conv.conv_transpose2d import ConvTranspose2d
from ..weight_codecs import Storage, encode
from ..weight_codecs.huffman import default_group

Compression = Literal["fast", "balanced", "small"]
COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)

LEAST_USES = 550
"""So often a run must use a weight for `balanced` to code it: what it takes on a small core, about
24 instructions with what blocks of channels cost, is then little beside its products."""
COARSER = 8.0
LEAST_CHANNELS, LEAST_OF_OTHERS = 8, 4
"""Channels of a block, as the runtime decodes them: of convolutions, of other operators."""


@dataclass(frozen=True)
class StoredLayer:
    """The weights of one layer: how many, which are their bytes before, and their bytes in the
    file.

    `uses` is how often a run multiplies by each: what a codec costs is the less for it. `sqnr_db`
    is that of the outputs if only these weights were coarser, estimated where rates were chosen;
    `instructions` what decoding adds to an inference, by target, where it was measured.
    """

    node: str
    op: str
    codec: str
    weights: int
    stored: int
    uses: int
    sqnr_db: float | None = None
    instructions: dict[str, int] = field(default_factory=dict)


@dataclass
class Coding:
    """Which weights are put in a Huffman code, where that saves bytes: "fast" none, "small" all,
    "balanced" those that a run uses LEAST_USES times; but for the layers that make `plain`."""

    how: Compression
    plain: frozenset[str] = frozenset()

    def wants(self, node: Node) -> bool:
        """Whether the weights of `node` may be put in the code."""
        often = self.how == "small" or (self.how == "balanced" and _uses(node) >= LEAST_USES)
        return often and node.output.name not in self.plain

    def candidates(self, graph: Graph) -> dict[str, int]:
        """The weights of the layers of `graph` that may be in the code, by what they make."""
        return {n.output.name: file_weights(n).size for n in _codable(graph) if self.wants(n)}


def store_weights(graph: Graph, coding: Coding) -> None:
    """Choose the storage of the weights of every node of `graph`, in place."""
    for node in _codable(graph):
        if coding.wants(node):
            coded, size = _coded(node)
            if size < _bytes(node, node.attrs.get("storage")):
                node.attrs["storage"] = coded


def coarse_weights(graph: Graph, coding: Coding) -> None:
    """Weights of `graph` in steps COARSER times as large, in place: their codes are about as long
    as those of chosen rates, and each layer makes what it made, about."""
    for node in filter(coding.wants, _codable(graph)):
        for i, v in enumerate(node.inputs[1:], 1):
            if v is not None and v.const is not None and v.quant is not None:
                scale = tuple(COARSER * s for s in v.quant.scale)
                coarse = np.rint(v.const / COARSER).astype(v.const.dtype)
                node.inputs[i] = constant(coarse, v.name, replace(v.quant, scale=scale))


def stored_layers(
    graph: Graph, noise_db: Mapping[str, float], counted: Mapping[str, Mapping[str, int]]
) -> list[StoredLayer]:
    """The layers of `graph` with weights behind a codec; SQNR by what they make, and instructions
    by that and target, as known."""
    return [
        StoredLayer(
            n.name,
            n.op,
            s.codec,
            _weights_of(n).size,
            _bytes(n, s),
            _uses(n),
            noise_db.get(n.output.name),
            dict(counted.get(n.output.name, {})),
        )
        for n in graph.nodes
        if (s := n.attrs.get("storage")) is not None
    ]


def _codable(graph: Graph) -> Iterator[Node]:
    """Nodes whose weights are integers that need no multipliers."""
    for node in graph.nodes:
        if not isinstance(definition(node.op), WeightedOp) or is_a(node, ConvTranspose2d):
            continue
        storage: Storage | None = node.attrs.get("storage")
        plain = storage is None or (storage.multipliers is None and storage.codec != "Huffman")
        if plain and node.input(0).dtype.kind == "i":
            yield node


def _uses(node: Node) -> int:
    """How often a run multiplies by each weight."""
    return prod(node.output.shape[:-1])


def _coded(node: Node) -> tuple[Storage, int]:
    weights, depthwise = file_weights(node), _is_depthwise(node)
    whole = is_a(node, Conv2d) and not depthwise
    least = LEAST_CHANNELS if whole else LEAST_OF_OTHERS
    group = default_group(weights[0].size, least, depthwise=depthwise)
    storage = Storage("Huffman", group)
    return storage, _bytes(node, storage)


def _bytes(node: Node, storage: Storage | None) -> int:
    w = _weights_of(node)
    if storage is None:
        return int(w.size)
    found = encode(w.reshape(len(w), -1), storage, depthwise=_is_depthwise(node))
    return int(found.weights.size) + (0 if found.auxiliary is None else int(found.auxiliary.size))


def _weights_of(node: Node) -> Array:
    """The integers in the file; of an operator that rounds its own zeros, which take as much."""
    op = definition(node.op)
    if op.inner_weight is None:
        return file_weights(node)
    return np.zeros(node.input(op.inner_weight).shape, np.int8)


def _is_depthwise(node: Node) -> bool:
    return is_a(node, Conv2d) and is_depthwise(node)
