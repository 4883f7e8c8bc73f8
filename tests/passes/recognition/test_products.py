"""Activation functions written as products are recognized, and nothing else is."""

import numpy as np
import pytest

from edgekit.toolkit.passes.recognition.products import Products


def scalar(net, v):
    return net.constant(np.float32(v))


def hard_sigmoid(net, x, b=3.0, top=6.0):
    return net.emit("Clip", [net.emit("Add", [x, scalar(net, b)])], min=0.0, max=top)


def mul(net, *values):
    first, *rest = values
    for v in rest:
        first = net.emit("Mul", [first, v])
    return first


HARD_SWISH = {
    "x * (c / 6)": lambda n, x: mul(n, x, mul(n, hard_sigmoid(n, x), scalar(n, 1 / 6))),
    "(x * c) / 6": lambda n, x: mul(n, x, hard_sigmoid(n, x), scalar(n, 1 / 6)),
    "(x / 6) * c": lambda n, x: mul(n, x, scalar(n, 0.16667), hard_sigmoid(n, x)),
    "HardSigmoid": lambda n, x: mul(n, n.emit("HardSigmoid", [x], alpha=1 / 6, beta=0.5), x),
}


@pytest.mark.parametrize("form", HARD_SWISH)
def test_hard_swish(net, form):
    net.output(HARD_SWISH[form](net, net.input(2, 8)))
    assert net.after(Products()) == ["HardSwish"]


def erf_gate(net, x):
    erf = net.emit("Erf", [net.emit("Mul", [x, scalar(net, np.sqrt(0.5))])])
    return net.emit("Add", [erf, scalar(net, 1.0)])


GELU = {
    "0.5 * (x * g)": lambda n, x: mul(n, scalar(n, 0.5), mul(n, x, erf_gate(n, x))),
    "(0.5 * x) * g": lambda n, x: mul(n, x, scalar(n, 0.5), erf_gate(n, x)),
    "x * (g * 0.5)": lambda n, x: mul(n, x, mul(n, erf_gate(n, x), scalar(n, 0.5))),
}


@pytest.mark.parametrize("form", GELU)
def test_gelu(net, form):
    net.output(GELU[form](net, net.input(2, 8)))
    assert net.after(Products()) == ["Gelu"]


def tanh_gate(n, x, cubed, factor=0.044715):
    inner = n.emit("Add", [x, mul(n, scalar(n, factor), cubed)])
    tanh = n.emit("Tanh", [mul(n, scalar(n, np.sqrt(2 / np.pi)), inner)])
    return n.emit("Add", [scalar(n, 1.0), tanh])


GELU_TANH = {
    "a product": lambda n, x: mul(n, x, mul(n, scalar(n, 0.5), tanh_gate(n, x, mul(n, x, x, x)))),
    "a power": lambda n, x: mul(
        n, scalar(n, 0.5), x, tanh_gate(n, x, n.emit("Pow", [x, scalar(n, 3.0)]))
    ),
}


@pytest.mark.parametrize("form", GELU_TANH)
def test_gelu_by_tanh(net, form):
    net.output(GELU_TANH[form](net, net.input(2, 8)))
    assert net.after(Products()) == ["GeluTanh"]


def test_hard_sigmoid(net):
    net.output(mul(net, hard_sigmoid(net, net.input(2, 8)), scalar(net, 1 / 6)))
    assert net.after(Products()) == ["HardSigmoid"]


OTHERS = {
    "another x": lambda n, x: mul(n, n.input(2, 8), hard_sigmoid(n, x), scalar(n, 1 / 6)),
    "another limit": lambda n, x: mul(n, x, hard_sigmoid(n, x, top=5.0), scalar(n, 1 / 6)),
    "another shift": lambda n, x: mul(n, x, hard_sigmoid(n, x, 2.0), scalar(n, 1 / 6)),
    "another factor": lambda n, x: mul(n, x, erf_gate(n, x), scalar(n, 0.6)),
    "another cube": lambda n, x: mul(n, x, tanh_gate(n, x, mul(n, x, x)), scalar(n, 0.5)),
    "another cubic": lambda n, x: mul(n, x, tanh_gate(n, x, mul(n, x, x, x), 0.05), scalar(n, 0.5)),
    "a square": lambda n, x: mul(n, x, x),
    "another floor": lambda n, x: mul(
        n,
        x,
        n.emit("Clip", [n.emit("Add", [x, scalar(n, 3)])], min=-1.0, max=6.0),
        scalar(n, 1 / 6),
    ),
    "another half": lambda n, x: mul(n, x, tanh_gate(n, x, mul(n, x, x, x)), scalar(n, 0.6)),
    "another one": lambda n, x: mul(
        n, x, n.emit("Add", [erf_gate(n, x), scalar(n, 1)]), scalar(n, 0.5)
    ),
    "another beta": lambda n, x: mul(n, n.emit("HardSigmoid", [x], alpha=1 / 6, beta=0.4), x),
    "a clamped product": lambda n, x: mul(
        n, x, n.emit("Mul", [hard_sigmoid(n, x), scalar(n, 1 / 6)], act_max=0.5)
    ),
    "a clamped sum": lambda n, x: mul(
        n,
        x,
        n.emit("Clip", [n.emit("Add", [x, scalar(n, 3)], act_max=2.0)], min=0.0, max=6.0),
        scalar(n, 1 / 6),
    ),
}


@pytest.mark.parametrize("form", OTHERS)
def test_others_stay(net, form):
    net.output(OTHERS[form](net, net.input(2, 8)))
    before = net.ops()
    assert net.after(Products()) == before


def test_what_others_read_stays(net):
    x = net.input(2, 8)
    gate = hard_sigmoid(net, x)
    net.output(gate, mul(net, x, gate, scalar(net, 1 / 6)))
    assert "HardSwish" not in net.after(Products())
