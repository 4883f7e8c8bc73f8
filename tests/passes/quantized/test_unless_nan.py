"""Where a softmax is no number, and what stands there instead."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.passes.quantized.unless_nan import UnlessNan


def attention(net, other=None, told=0):
    y = net.emit("Softmax", [net.input(2, 6)], axis=1)
    equal = net.emit("Equal", [y, y if other is None else other])
    is_nan = net.emit("Equal", [equal, net.constant(np.full(1, told, np.uint8))])
    return net.emit("Where", [is_nan, net.constant(np.zeros(1, np.float32)), y])


def test_what_stands_for_nan_goes(net):
    net.output(attention(net))
    assert net.after(UnlessNan()) == ["Softmax"]


def test_it_goes_inside_of_a_network(net):
    net.output(net.dense(attention(net), 3))
    assert net.after(UnlessNan()) == ["Softmax", "FullyConnected"]


@pytest.mark.parametrize("shape", [(2, 6), (1, 6)])
def test_another_condition_stays(net, shape):
    net.output(attention(net, net.random(*shape)))
    assert "Where" in net.after(UnlessNan())


def test_what_stands_for_numbers_stays(net):
    net.output(attention(net, told=1))
    assert "Where" in net.after(UnlessNan())


def test_what_becomes_larger_stays(net):
    y = net.emit("Softmax", [net.input(2, 6)], axis=1)
    same = net.emit("Equal", [y, y])
    is_nan = net.emit("Equal", [same, net.constant(np.zeros(1, np.uint8))])
    net.output(net.emit("Where", [is_nan, net.constant(np.zeros((3, 2, 6), np.float32)), y]))
    assert "Where" in net.after(UnlessNan())
