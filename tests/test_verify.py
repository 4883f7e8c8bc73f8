"""Each rule of a legal graph is noticed when broken."""

import numpy as np
import pytest

from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value, constant
from edgekit.toolkit.verify import RULES, IllegalGraph, verify

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


def break_outputs(g):
    g.nodes[1].outputs = []


def break_constant_made(g):
    g.nodes[1].output.const = np.ones(4, np.float32)


def break_constant_input(g):
    g.inputs[0].value.const = np.ones(4, np.float32)


def break_input_given_twice(g):
    g.inputs.append(Port("again", g.inputs[0].value, 1, (4,)))


def break_output_names(g):
    g.outputs.append(Port("z", g.nodes[0].output, 1, (4,)))


def break_input_names(g):
    g.inputs.append(Port("x", value("other", 4), 1, (4,)))


def break_input_port(g):
    g.inputs[0].shape = (2, 3)


BREAKS = [f for name, f in list(globals().items()) if name.startswith("break_")]


def test_a_legal_graph_is_accepted(graph):
    verify(graph, "nothing")


@pytest.mark.parametrize("how", BREAKS, ids=lambda f: f.__name__)
def test_each_breach_is_found_and_the_step_named(graph, how):
    how(graph)
    with pytest.raises(IllegalGraph, match="after this step"):
        verify(graph, "this step")


ALONE = {
    break_constant: "constants_match",
    break_constant_input: "one_producer",
    break_constant_made: "one_producer",
    break_empty_name: "names_are_unique",
    break_input_given_twice: "one_producer",
    break_input_names: "names_are_unique",
    break_input_port: "ports_match",
    break_operator: "operators_are_known",
    break_output_names: "names_are_unique",
    break_outputs: "operators_are_known",
    break_port: "ports_match",
    break_type: "types_are_inferred",
}


@pytest.mark.parametrize("how", ALONE, ids=lambda f: f.__name__)
def test_it_is_the_rule_for_it_that_finds_a_breach(graph, how):
    how(graph)
    (rule,) = [rule for rule in RULES if rule.__name__ == ALONE[how]]
    assert list(rule(graph))
