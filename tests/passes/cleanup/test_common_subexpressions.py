"""What is computed twice is computed once."""

import numpy as np

from edgekit.toolkit.passes.cleanup.common_subexpressions import CommonSubexpressions


def test_equal_nodes_become_one_also_behind_one_another(net):
    x = net.input(2, 3)
    a, b = (net.emit("Sqrt", [net.emit("Abs", [x])]) for _ in range(2))
    net.output(net.emit("Add", [a, b]))
    assert net.after(CommonSubexpressions()) == ["Abs", "Sqrt", "Add"]


def test_equal_constants_become_one(net):
    x = net.input(2)
    a, b = (net.emit("Add", [x, net.constant(np.ones(2, np.float32))]) for _ in range(2))
    net.output(net.emit("Mul", [a, b]))
    assert net.after(CommonSubexpressions()) == ["Add", "Mul"]


def test_other_attributes_or_content_are_other_nodes(net):
    x = net.input(2)
    parts = [net.relu(x, 1.0), net.relu(x, 2.0)]
    parts += [net.emit("Mul", [x, net.constant(np.float32([1, v]))]) for v in (2, 3)]
    net.output(net.emit("Concat", parts, axis=0))
    assert len(net.after(CommonSubexpressions())) == 5


def test_each_output_keeps_a_value_of_its_own(net):
    x = net.input(2)
    graph = net.output(net.emit("Abs", [x]), net.emit("Abs", [x]))
    net.after(CommonSubexpressions())
    assert graph.outputs[0].value is not graph.outputs[1].value
