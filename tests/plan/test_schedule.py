"""The order of execution: legal, and the best of all on graphs small enough to try them all."""

import itertools
import sys
from contextlib import suppress

import numpy as np

from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value
from edgekit.toolkit.plan.schedule import schedule


def value(name, size):
    return Value(name, TensorType(np.dtype(np.int8), (size,)))


def peak(graph, order):
    alive, most = {p.value for p in graph.inputs}, 0
    kept = {p.value for p in graph.outputs}
    most = sum(v.type.nbytes for v in alive)
    for i, node in enumerate(order):
        alive |= set(node.outputs)
        most = max(most, sum(v.type.nbytes for v in alive))
        later = {v for n in order[i + 1 :] for v in n.inputs}
        alive = {v for v in alive if v in later or v in kept}
    return most


def legal(graph, order):
    done = {p.value for p in graph.inputs}
    for node in order:
        if not set(node.inputs) <= done:
            return False
        done |= set(node.outputs)
    return True


def random_graph(seed):
    rng = np.random.default_rng(seed)
    values = [value("x", int(rng.integers(1, 50)))]
    nodes = []
    for i in range(6):
        reads = [values[j] for j in rng.choice(len(values), min(len(values), 2), replace=False)]
        out = value(f"v{i}", int(rng.integers(1, 100)))
        nodes.append(Node("Any", list(reads), [out]))
        values.append(out)
    return Graph(nodes, [Port("x", values[0], 1, ())], [Port("y", values[-1], 1, ())])


def test_no_legal_order_needs_less():
    for seed in range(40):
        graph = random_graph(seed)
        best = min(
            peak(graph, order)
            for order in itertools.permutations(graph.nodes)
            if legal(graph, order)
        )
        found = schedule(graph)
        assert legal(graph, found)
        assert peak(graph, found) == best


def test_an_order_whose_peak_one_operator_needs_is_kept_without_a_search(monkeypatch):
    values = [value(str(i), 10) for i in range(5)]
    nodes = [Node("Any", [a], [b]) for a, b in itertools.pairwise(values)]
    chain = Graph(nodes, [Port("x", values[0], 1, ())], [Port("y", values[-1], 1, ())])
    module = sys.modules[schedule.__module__]
    monkeypatch.setattr(module, "_next_beam", None)
    assert schedule(chain) == nodes
    kept = 0
    for graph in map(random_graph, range(40)):
        with suppress(TypeError):
            kept += schedule(graph) == graph.nodes
            assert peak(graph, graph.nodes) == min(
                peak(graph, order)
                for order in itertools.permutations(graph.nodes)
                if legal(graph, order)
            )
    assert kept
