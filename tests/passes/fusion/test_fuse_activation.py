"""Clamps become part of the operator in front."""

import numpy as np
import pytest

from edgekit.toolkit.passes.fusion.fuse_activation import FuseActivation


def made(net, op):
    x = net.input(1, 6, 5, 4)
    if op == "Conv2d":
        return net.conv(x, 4, 3)
    if op == "FullyConnected":
        return net.dense(x, 4)
    return net.emit(op, [x, net.input(1, 6, 5, 4, name="z")])


@pytest.mark.parametrize("op", ["Conv2d", "FullyConnected", "Add", "Sub", "Mul"])
def test_a_clamp_fuses_and_its_name_stays(net, op):
    graph = net.output(net.relu(made(net, op), 6.0))
    name = graph.outputs[0].value.name
    assert net.after(FuseActivation()) == [op]
    assert (graph.nodes[0].attrs["act_min"], graph.nodes[0].attrs["act_max"]) == (0.0, 6.0)
    assert graph.nodes[0].output.name == name


@pytest.mark.parametrize("first, then", [((0, 6), (1, 9)), ((0, 6), (7, 9)), ((0, 6), (-5, -3))])
def test_two_clamps_are_one(net, first, then):
    x = made(net, "Add")
    for low, high in (first, then):
        x = net.emit("Clip", [x], min=float(low), max=float(high))
    net.output(x)
    assert net.after(FuseActivation()) == ["Add"]


def test_a_clamp_fuses_through_movement(net):
    x = net.reshape(net.nchw(made(net, "Conv2d")), (4, 30))
    net.output(net.relu(x))
    assert net.after(FuseActivation()) == ["Conv2d", "Transpose", "Reshape"]


def test_what_others_read_is_not_clamped(net):
    x = made(net, "Conv2d")
    net.output(x, net.relu(x))
    assert net.after(FuseActivation()) == ["Conv2d", "Clip"]


def test_nothing_fuses_into_operators_that_cannot_clamp(net):
    net.output(net.relu(net.emit("Tanh", [net.input(4)])))
    assert net.after(FuseActivation()) == ["Tanh", "Clip"]


def test_one_sided_clamps(net):
    net.output(net.emit("Clip", [made(net, "Mul")], min=-np.inf, max=0.5))
    assert net.after(FuseActivation()) == ["Mul"]
