"""Constants one after the other are one, and neutral ones are none."""

import numpy as np
import pytest

from edgekit.toolkit.passes.fusion.merge_affine import MergeAffine


@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_two_constants_become_one(net, op):
    x = net.emit(op, [net.input(2, 3, 4), net.random(4)])
    net.output(net.emit(op, [net.random(), x]))
    assert net.after(MergeAffine()) == [op]


@pytest.mark.parametrize("op, neutral", [("Add", 0.0), ("Mul", 1.0)])
def test_a_neutral_constant_is_dropped(net, op, neutral):
    x = net.emit("Abs", [net.input(2, 3)])
    net.output(net.emit(op, [x, net.constant(np.full(3, neutral, np.float32))]))
    assert net.after(MergeAffine()) == ["Abs"]


def test_a_neutral_constant_that_broadcasts_stays(net):
    net.output(net.emit("Mul", [net.input(3), net.constant(np.ones((2, 3), np.float32))]))
    assert net.after(MergeAffine()) == ["Mul"]


def test_constants_that_would_grow_stay(net):
    x = net.emit("Add", [net.input(2, 3, 4), net.random(3, 1)])
    net.output(net.emit("Add", [x, net.random(4)]))
    assert net.after(MergeAffine()) == ["Add", "Add"]


def test_a_clamp_in_between_keeps_them_apart(net):
    x = net.emit("Add", [net.input(4), net.random(4)], act_min=0.0)
    net.output(net.emit("Add", [x, net.random(4)]))
    assert net.after(MergeAffine()) == ["Add", "Add"]


@pytest.mark.parametrize("op, neutral", [("Add", 0.0), ("Mul", 1.0)])
def test_a_neutral_constant_that_clamps_stays(net, op, neutral):
    one = net.constant(np.full(3, neutral, np.float32))
    net.output(net.emit(op, [net.input(2, 3), one], act_min=0.0, act_max=0.5))
    assert net.after(MergeAffine()) == [op]


def test_constants_whose_product_is_no_number_stay(net):
    huge = net.constant(np.full(1, 1e30, np.float32))
    net.output(net.emit("Mul", [net.emit("Mul", [net.input(4), huge]), huge]))
    assert net.after(MergeAffine()) == ["Mul", "Mul"]
