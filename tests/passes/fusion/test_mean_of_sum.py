"""A sum over n elements and a factor of 1 / n."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.passes.fusion.mean_of_sum import MeanOfSum


def times(net, op, total, number, swap=False):
    by = net.constant(np.array(number, np.float32))
    return net.emit(op, [by, total] if swap else [total, by])


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [(1,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("how", ["Mul", "swapped", "Div"])
def test_it_is_a_mean(net, axes, keepdims, how):
    x = net.input(2, 3, 5)
    n = np.prod([x.shape[a] for a in axes])
    total = net.emit("ReduceSum", [x], axes=axes, keepdims=keepdims)
    op = "Div" if how == "Div" else "Mul"
    net.output(times(net, op, total, n if op == "Div" else 1 / n, how == "swapped"))
    assert net.after(MeanOfSum()) == ["ReduceMean"]
    assert net.graph.nodes[0].attrs == {"axes": axes, "keepdims": keepdims}


@pytest.mark.parametrize("op, number", [("Mul", 0.3), ("Mul", 3), ("Mul", 0), ("Div", 2)])
def test_another_factor_is_none(net, op, number):
    total = net.emit("ReduceSum", [net.input(2, 3)], axes=(1,), keepdims=True)
    net.output(times(net, op, total, number))
    assert net.after(MeanOfSum()) == ["ReduceSum", op]


def test_a_number_over_the_sum_is_none(net):
    total = net.emit("ReduceSum", [net.input(2, 3)], axes=(1,), keepdims=True)
    net.output(times(net, "Div", total, 3, swap=True))
    assert net.after(MeanOfSum()) == ["ReduceSum", "Div"]


def test_a_sum_that_is_read_elsewhere_stays(net):
    total = net.emit("ReduceSum", [net.input(2, 3)], axes=(1,), keepdims=True)
    net.output(times(net, "Mul", total, 1 / 3), total)
    assert net.after(MeanOfSum()) == ["ReduceSum", "Mul"]


def test_a_factor_that_gives_more_axes_stays(net):
    total = net.emit("ReduceSum", [net.input(2, 5)], axes=(1,), keepdims=True)
    net.output(net.emit("Mul", [total, net.constant(np.full((1, 1, 1), 0.2, np.float32))]))
    assert net.after(MeanOfSum()) == ["ReduceSum", "Mul"]
