"""Lines over their norms, as exporters write them, and sums of magnitudes."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.passes.quantized.norms import Magnitudes, UnitLength


def number(n, value):
    return n.constant(np.array(value, np.float32))


def squares(n, x, how, axes=(1,)):
    if how == "at once":
        return n.emit("ReduceSumSquare", [x], axes=axes, keepdims=True)
    two = [x, number(n, 2)] if how == "power" else [x, x]
    return n.emit("ReduceSum", [n.emit("Pow" if how == "power" else "Mul", two)],
                  axes=axes, keepdims=True)  # fmt: skip


def norm(n, x, axes=(1,)):
    return n.emit("ReduceL2", [x], axes=axes, keepdims=True)


@pytest.mark.parametrize("limit", ["Clip", "Max", "Where", None])
def test_a_line_over_its_norm(net, limit):
    x = net.input(3, 8)
    by = norm(net, x)
    if limit == "Clip":
        by = net.emit("Clip", [by], min=1e-12, max=np.inf)
    elif limit == "Max":
        by = net.emit("Max", [number(net, 1e-8), by])
    elif limit == "Where":
        zero = net.emit("Equal", [by, number(net, 0)])
        by = net.emit("Where", [zero, number(net, 1), by])
    net.output(net.emit("Div", [x, by]))
    assert net.after(UnitLength()) == ["LayerNorm"]


@pytest.mark.parametrize("how", ["power", "product", "at once"])
@pytest.mark.parametrize("inverse", ["Div", "one over", "Reciprocal", "Pow"])
def test_the_root_of_a_sum_of_squares(net, how, inverse):
    x = net.input(2, 5, 4)
    total = net.emit("Add", [number(net, 0.01), squares(net, x, how, (1, 2))])
    if inverse == "Pow":
        net.output(net.emit("Mul", [net.emit("Pow", [total, number(net, -0.5)]), x]))
    else:
        root = net.emit("Sqrt", [total])
        if inverse == "Div":
            net.output(net.emit("Div", [x, root]))
        elif inverse == "one over":
            net.output(net.emit("Mul", [x, net.emit("Div", [number(net, 1), root])]))
        else:
            net.output(net.emit("Mul", [net.emit("Reciprocal", [root]), x]))
    assert net.after(UnitLength()) == ["LayerNorm"]


def test_a_line_of_zeros_stays_one(net):
    x = net.input(2, 4)
    masked = net.emit("Mul", [x, net.constant(np.array([[0], [1]], np.float32))])
    by = net.emit("Clip", [norm(net, masked)], min=1e-12, max=np.inf)
    net.output(net.emit("Div", [masked, by]))
    assert net.after(UnitLength()) == ["Mul", "LayerNorm"]


@pytest.mark.parametrize("least", [1e-3, 2.0])
def test_a_limit_that_shows_stays(net, least):
    x = net.input(2, 4)
    net.output(net.emit("Div", [x, net.emit("Clip", [norm(net, x)], min=least, max=np.inf)]))
    assert "Div" in net.after(UnitLength())


def test_the_norm_of_another_tensor_stays(net):
    x, y = net.input(2, 4), net.input(2, 4, name="y")
    net.output(net.emit("Div", [x, norm(net, y)]))
    assert "Div" in net.after(UnitLength())


def test_norms_that_lie_along_another_axis_stay(net):
    x = net.input(4, 4)
    net.output(net.emit("Div", [x, net.reshape(norm(net, x), (1, 4))]))
    assert "Div" in net.after(UnitLength())


@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_of_magnitudes(net, keepdims):
    net.output(net.emit("ReduceL1", [net.input(2, 5, 3)], axes=(1,), keepdims=keepdims))
    assert net.after(Magnitudes()) == ["Abs", "ReduceSum"]
