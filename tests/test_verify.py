"""Each rule of a legal graph is noticed when broken."""

import numpy as np
import pytest

from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value, constant
from edgekit.toolkit.verify import IllegalGraph, verify

F32 = np.dtype(np.float32)


def value(name, *shape):
    return Value(name, TensorType(F32, shape))


@pytest.fixture
def graph():
    x, y, z = value("x", 4), value("y", 4), value("z", 4)
    return Graph(
        [Node("Abs", [x], [y]), Node("Neg", [y], [z])],
        [Port("x", x, 1, (4,))],
        [Port("z", z, 1, (4,))],
    )


def break_order(g):
    g.nodes.reverse()


def break_dangling(g):
    g.nodes[1].inputs = [value("nobody", 4)]


def break_producer(g):
    g.nodes[1].outputs = list(g.nodes[0].outputs)


def break_operator(g):
    g.nodes[0].op = "Frobnicate"


def break_type(g):
    g.nodes[0].output.type = TensorType(F32, (5,))


def break_name(g):
    g.nodes[0].output.name = "x"


def break_empty_name(g):
    g.nodes[0].output.name = ""


def break_output(g):
    g.outputs[0].value = value("q", 4)


def break_port(g):
    g.outputs[0].shape = (3,)


def break_constant(g):
    c = constant(np.ones(4, np.float32), "c")
    c.type = TensorType(F32, (2, 2))
    g.nodes.append(Node("Abs", [c], [value("w", 2, 2)]))


BREAKS = [f for name, f in list(globals().items()) if name.startswith("break_")]


def test_a_legal_graph_is_accepted(graph):
    verify(graph, "nothing")


@pytest.mark.parametrize("how", BREAKS, ids=lambda f: f.__name__)
def test_each_breach_is_found_and_the_step_named(graph, how):
    how(graph)
    with pytest.raises(IllegalGraph, match="after this step"):
        verify(graph, "this step")
