"""Softmax written out, as jax and others export it."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.passes.cleanup.dead_code import DeadCode
from edgekit.toolkit.passes.recognition.softmax import SoftmaxParts


def parts(n, x, axis, keepdims=True, floor=None, shift=True, of=None, sum_axis=None):
    """exp(x - max(x)) / sum, its reductions reshaped where they drop the axis."""
    kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])

    def reduced(op, v, at):
        r = n.emit(op, [v], axes=(at,), keepdims=keepdims)
        return n.reshape(r, (*v.shape[:at], 1, *v.shape[at + 1 :]))

    e = x
    if shift:
        m = reduced("ReduceMax", x if of is None else of, axis)
        if floor is not None:
            m = n.emit("Max", [n.constant(np.array(floor, np.float32)), m])
        e = n.emit("Sub", [x, n.reshape(m, kept)])
    e = n.emit("Exp", [e])
    return n.emit("Div", [e, reduced("ReduceSum", e, axis if sum_axis is None else sum_axis)])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("floor", [None, -np.inf])
def test_is_recognized(net, axis, keepdims, floor):
    net.output(parts(net, net.input(2, 3, 4), axis, keepdims, floor))
    assert net.after(SoftmaxParts(), DeadCode()) == ["Softmax"]


def test_without_a_maximum(net):
    net.output(parts(net, net.input(2, 8), 1, shift=False))
    assert net.after(SoftmaxParts(), DeadCode()) == ["Softmax"]


def test_the_maximum_of_something_else_stays(net):
    x, other = net.input(2, 3), net.input(2, 3)
    net.output(parts(net, x, 1, of=other))
    assert "Sub" in net.after(SoftmaxParts(), DeadCode())


def test_a_maximum_along_another_axis_stays(net):
    net.output(parts(net, net.input(3, 3), 0, sum_axis=1))
    assert net.after(SoftmaxParts(), DeadCode()) == ["ReduceMax", "Sub", "Softmax"]


def test_parts_that_are_read_stay(net):
    y = parts(net, net.input(2, 3), 1)
    exp = next(n.output for n in net.graph.nodes if n.op == "Exp")
    net.output(y, exp)
    assert "Softmax" not in net.after(SoftmaxParts(), DeadCode())
