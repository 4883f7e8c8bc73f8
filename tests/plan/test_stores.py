"""States are stored as soon as nothing reads what was there."""

from __future__ import annotations

import numpy as np

from edgekit.toolkit.build import build_model
from edgekit.toolkit.ir import Graph, Node, Port, State, TensorType, Value
from edgekit.toolkit.plan.stores import with_stores

FLOATS = np.dtype(np.float32)


def value(name, *shape):
    return Value(name, TensorType(FLOATS, shape))


def chain(reader_of_held):
    """x and what was before it, cut; `reader_of_held` reads the memory once more, at the end."""
    x, held, both, kept = value("x", 1), value("past", 3), value("both", 4), value("next", 3)
    y, z = value("y", 1), value("z", 3)
    cut = {"starts": (1,), "sizes": (3,), "steps": (1,)}
    first = {"starts": (0,), "sizes": (1,), "steps": (1,)}
    nodes = [
        Node("Concat", [held, x], [both], {"axis": 0}, "both"),
        Node("Slice", [both], [y], first, "y"),
    ]
    outputs = [Port("y", y, 1, (1,))]
    if reader_of_held:
        same = value("same", 3)
        nodes.append(Node("Reshape", [held], [same], {"shape": (3,)}, "same"))
        nodes.append(Node("Tanh", [same], [z], {}, "z"))
        outputs.append(Port("z", z, 1, (3,)))
    store = Node("Slice", [both], [kept], cut, "next")
    return Graph(nodes, [Port("x", x, 1, (1,))], outputs, states=[State("", "", held, store)])


def test_a_store_goes_behind_its_source():
    graph = chain(reader_of_held=False)
    assert [n.name for n in with_stores(graph, graph.nodes)] == ["both", "next", "y"]


def test_a_store_goes_behind_all_that_reads_the_old_state():
    graph = chain(reader_of_held=True)
    names = [n.name for n in with_stores(graph, graph.nodes)]
    assert names == ["both", "y", "same", "z", "next"]


def test_a_store_of_an_output_goes_last():
    graph = chain(reader_of_held=False)
    graph.outputs.append(Port("past", graph.states[0].held, 1, (3,)))
    assert with_stores(graph, graph.nodes)[-1].name == "next"


def test_without_states_the_order_is_the_given_one():
    graph = chain(reader_of_held=False)
    graph.states = []
    assert with_stores(graph, graph.nodes[:1]) == graph.nodes[:1]


def test_the_file_runs_its_operators_in_that_order():
    names = [op.name for op in build_model(chain(reader_of_held=True)).ops]
    assert names.index("next") > names.index("z")
