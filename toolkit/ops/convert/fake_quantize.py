"""FakeQuantize: a real tensor on the grid of a quantization that the model gives it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ir import Graph, Node, QuantParams, TensorType, Value
from .._opdef import ANY_LAYOUT, Blob, Lowered, OpDef


class FakeQuantize(OpDef):
    """float32 rounded to the grid of attrs: quant (QuantParams per tensor), as QuantizeLinear and
    DequantizeLinear behind it do.

    The quantizer takes it as the quantization of what makes its input; in a float graph it is a
    Quantize and a Dequantize (`spelled_out`).
    """

    name = "FakeQuantize"
    layout = ANY_LAYOUT
    exactness = "exact"
    int16 = True

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        if x.dtype != np.float32:
            raise ValueError(f"float32 is quantized, not {x.dtype}")
        if node.attrs["quant"].axis is not None:
            raise ValueError("activations are quantized per tensor")
        return [x.type]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        raise ValueError(f"FakeQuantize '{node.name}' is not spelled out")


def given_quantization(node: Node | None) -> QuantParams | None:
    """The grid that `node` rounds to; None if it is no FakeQuantize."""
    if node is None or node.op != FakeQuantize.name:
        return None
    quant: QuantParams = node.attrs["quant"]
    return quant


def arrives_quantized(graph: Graph) -> bool:
    """Whether the model came with quantizations of its own."""
    return any(node.op == FakeQuantize.name for node in graph.nodes)


def spelled_out(graph: Graph) -> Graph:
    """The graph with every FakeQuantize as a Quantize and a Dequantize; itself without any."""
    if not arrives_quantized(graph):
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        quant = given_quantization(node)
        if quant is None:
            nodes.append(node)
            continue
        x = node.input(0)
        q = Value(f"{node.output.name}.q", TensorType(quant.dtype, x.shape), None, quant)
        nodes.append(Node("Quantize", [x], [q], {}, q.name))
        nodes.append(Node("Dequantize", [q], [node.output], {}, node.name))
    return replace(graph, nodes=nodes)


OPS: tuple[OpDef, ...] = (FakeQuantize(),)
