"""Small networks in which a cause of loss can be planted."""

from __future__ import annotations

import json

import numpy as np

from edgekit.toolkit.accuracy import explain
from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.model import Provenance
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value, constant
from edgekit.toolkit.quantize import Options, quantize_graph

FLOAT = np.dtype(np.float32)
LIMITS = {"act_min": -np.inf, "act_max": np.inf}


def fully_connected(x, weight, bias, name):
    y = Value(name, TensorType(FLOAT, (*x.shape[:-1], len(weight))))
    w = constant(np.asarray(weight, np.float32), f"{name}.w")
    b = constant(np.asarray(bias, np.float32), f"{name}.b")
    return Node("FullyConnected", [x, w, b], [y], dict(LIMITS), name)


class Net:
    """x [1, 32] -> a [1, 32] -> b [1, 8], both FullyConnected."""

    def __init__(self, seed=3):
        rng = np.random.default_rng(seed)
        self.first = rng.normal(size=(32, 32)) / 6
        self.first_bias = rng.normal(size=32) * 0.1
        self.second = rng.normal(size=(8, 32)) / 6
        self.samples = [{"x": rng.normal(size=(1, 32)).astype(np.float32)} for _ in range(40)]

    def graph(self):
        x = Value("x", TensorType(FLOAT, (1, 32)))
        a = fully_connected(x, self.first, self.first_bias, "a")
        b = fully_connected(a.output, self.second, np.zeros(8), "b")
        return Graph([a, b], [Port("x", x, 1, x.shape)], [Port("b", b.output, 1, b.output.shape)])

    def seen(self, samples=None):
        """The least and largest value of every tensor, in numpy."""
        x = np.concatenate([s["x"] for s in samples or self.samples]).astype(np.float64)
        a = x @ self.first.T + self.first_bias
        found = {"x": x, "a": a, "b": a @ self.second.T}
        return {n: (float(v.min()), float(v.max())) for n, v in found.items()}

    def explained(self, ranges=None, dtype="int8", unseen=True, **options):
        graph = self.graph()
        wide = frozenset({"x", "a", "b"} if dtype == "int16" else ())
        chosen = Options(search_scales=True, wide=wide)
        quantized, _ = quantize_graph(graph, ranges or self.seen(), chosen)
        provenance = Provenance(options=json.dumps(options))
        return explain(build_file(quantized, provenance), graph, self.samples[:16], unseen=unseen)


def layer(explanation, name):
    return next(c for c in explanation.layers if c.name == name)


def residual_sum(rng):
    """s = a + b, whose channel 5 is 100 times as large as the others, and y of s; the samples."""
    x = Value("x", TensorType(FLOAT, (1, 32)))
    weights = [rng.normal(size=(n, 32)) / 6 for n in (32, 32, 8)]
    for w in weights[:2]:
        w[5] *= 100
    weights[2][:, 5] /= 100
    a, b = (fully_connected(x, w, np.zeros(32), n) for n, w in zip("ab", weights[:2], strict=True))
    s = Value("s", TensorType(FLOAT, (1, 32)))
    add = Node("Add", [a.output, b.output], [s], dict(LIMITS), "s")
    y = fully_connected(s, weights[2], np.zeros(8), "y")
    ports = [Port("x", x, 1, x.shape)], [Port("y", y.output, 1, y.output.shape)]
    fed = rng.normal(size=(32, 1, 32))
    seen = {"x": fed, "a": fed @ weights[0].T, "b": fed @ weights[1].T}
    seen["s"] = seen["a"] + seen["b"]
    seen["y"] = seen["s"] @ weights[2].T
    ranges = {n: (float(v.min()), float(v.max())) for n, v in seen.items()}
    return Graph([a, b, add, y], *ports), ranges, [{"x": v.astype(np.float32)} for v in fed]


def of_gelu(seed=3):
    """x [1, 32] -> a -> Gelu -> b; a reaches far, so that the Gelu's steps are coarse, and is below
    -3 mostly, where a Gelu is nearly 0 but its errors add up."""
    net = Net(seed)
    net.first[:4] *= 10
    net.first_bias[4:] -= 4
    net.second[:, 4:] = np.abs(net.second[:, 4:])
    graph = net.graph()
    a, b = graph.nodes
    g = Value("g", a.output.type)
    gelu = Node("Gelu", [a.output], [g], {}, "g")
    graph.nodes[1:1] = [gelu]
    b.inputs[0] = g
    return net, graph
