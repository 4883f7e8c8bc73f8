"""Only what was tried is advised, and nothing that the file has already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.accuracy import causes, costs, explain
from edgekit.toolkit.build import build_file
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value, constant
from edgekit.toolkit.quantize import quantize_graph

FLOAT = np.dtype(np.float32)
LIMITS = {"act_min": -np.inf, "act_max": np.inf}


def chain(count, seed=4):
    """x [1, 16] through so many FullyConnected, all alike; the samples."""
    rng = np.random.default_rng(seed)
    x = Value("x", TensorType(FLOAT, (1, 16)))
    nodes = []
    for i in range(count):
        weight = constant((rng.normal(size=(16, 16)) / 4).astype(np.float32), f"w{i}")
        y = Value(f"n{i}", TensorType(FLOAT, (1, 16)))
        source = nodes[-1].output if nodes else x
        nodes.append(Node("FullyConnected", [source, weight, None], [y], dict(LIMITS), y.name))
    graph = Graph(nodes, [Port("x", x, 1, x.shape)], [Port(y.name, y, 1, y.shape)])
    return graph, [{"x": rng.normal(size=(1, 16)).astype(np.float32)} for _ in range(12)]


def test_what_was_not_tried_is_not_advised():
    graph, samples = chain(8)
    ranges = {v.name: (-6.0, 6.0) for v in graph.values() if v.const is None}
    quantized, _ = quantize_graph(graph, ranges)
    told = explain(build_file(quantized), graph, samples)
    costly = [c for c in told.layers if c.share >= 0.02]
    assert len(costly) > 4 and all(c.cause and c.advice for c in costly[:4])
    assert all(c.cause and not c.advice and c.gain_db is None for c in costly[4:])


def test_16_bits_together_are_of_the_layers_on_8_bits():
    graph, samples = chain(3)
    ranges = {v.name: (-6.0, 6.0) for v in graph.values() if v.const is None}
    quantized, _ = quantize_graph(graph, ranges)
    told = replace(explain(build_file(quantized), graph, samples), worst_int16_db=9.0)
    first, second, third = told.worst()
    how = "For more int16 and float32 layers, use quantize --min-sqnr or --max-drop"
    assert f"16-bit activations for these 3 together: +9.0 dB. {how}" in costs(told)

    def line(*wide):
        kinds = [replace(c, dtype="int16") if c in wide else c for c in told.layers]
        said = costs(replace(told, layers=kinds))
        return [n for n in said if n.startswith("16-bit activations for")]

    assert line(first) == [
        f"16-bit activations for '{second.name}' and '{third.name}' together: +9.0 dB. {how}"
    ]
    assert line(first, third) == []


@pytest.mark.parametrize(
    ("rounding", "others"),
    [("nearest", "gptq or adaround"), ("gptq", "adaround"), ("auto", "adaround"),
     ("adaround", None)],
)  # fmt: skip
def test_a_rounding_that_the_weights_have_is_not_advised(rounding, others):
    told = causes.coarse_weights(rounding).advice
    assert (others is None) == ("--rounding" not in told) and "keep this layer float" in told
    assert others is None or f"--rounding {others}, or" in told
