"""Reshapes of reshapes are one, or none."""

import numpy as np

from edgekit.toolkit.passes.movement.merge_reshapes import MergeReshapes


def test_a_chain_is_one(net):
    x = net.input(2, 6)
    y = net.reshape(net.reshape(x, (12,)), (3, 4))
    net.output(net.emit("Abs", [y]))
    assert net.after(MergeReshapes()) == ["Reshape", "Abs"]


def test_there_and_back_is_nothing(net):
    x = net.input(2, 6)
    net.output(net.emit("Abs", [net.reshape(net.reshape(x, (12,)), (2, 6))]))
    assert net.after(MergeReshapes()) == ["Abs"]


def test_an_output_keeps_its_name(net):
    x = net.emit("Abs", [net.input(2, 6)], name="inner")
    graph = net.output(net.emit("Reshape", [x], name="y", shape=(2, 6)))
    net.after(MergeReshapes())
    assert graph.outputs[0].value.name == "y" and net.ops() == ["Abs"]


def test_a_constant_that_is_an_output_stays_computed(net):
    net.output(net.emit("Reshape", [net.constant(np.ones((2, 3), np.float32))], shape=(2, 3)))
    assert not MergeReshapes().run(net.graph) and net.ops() == ["Reshape"]
