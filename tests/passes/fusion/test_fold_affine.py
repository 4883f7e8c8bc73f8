"""Scale and shift behind a linear operator go into its weights."""

import numpy as np
import pytest

from edgekit.toolkit.passes.fusion.fold_affine import FoldAffine


def linear(net, kind):
    if kind == "FullyConnected":
        return net.dense(net.input(3, 8), 4)
    x = net.input(1, 6, 5, 4)
    if kind == "ConvTranspose2d":
        attrs = {"stride": (2, 2), "dilation": (1, 1), "pads": (0,) * 4, "groups": 1}
        w = net.random(4, 2, 2, 4)
        return net.emit(kind, [x, w, None], output_shape=(12, 10), **attrs)
    return net.conv(x, 4, 3, groups=4 if kind == "depthwise" else 1)


KINDS = ("Conv2d", "depthwise", "ConvTranspose2d", "FullyConnected")


@pytest.mark.parametrize("kind", KINDS)
def test_batch_normalization_disappears(net, kind):
    y = linear(net, kind)
    y = net.emit("Add", [net.emit("Mul", [y, net.random(4)]), net.random(1, 4)])
    net.output(y)
    assert len(net.after(FoldAffine())) == 1


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("left", [False, True])
def test_every_form(net, op, left):
    y, c = linear(net, "Conv2d"), net.random(4)
    net.output(net.emit(op, [c, y] if left else [y, c]))
    assert net.after(FoldAffine()) == (["Conv2d", "Div"] if op == "Div" and left else ["Conv2d"])


def test_a_clamp_of_the_second_node_moves_along(net):
    y = linear(net, "Conv2d")
    net.output(net.emit("Add", [y, net.random(4)], act_min=0.0, act_max=6.0))
    assert net.after(FoldAffine()) == ["Conv2d"]
    assert net.graph.nodes[0].attrs["act_max"] == 6.0


def test_what_others_read_is_not_changed(net):
    y = linear(net, "Conv2d")
    net.output(y, net.emit("Mul", [y, net.random(4)]))
    assert net.after(FoldAffine()) == ["Conv2d", "Mul"]


@pytest.mark.parametrize("then", [{}, {"act_max": 0.5}, {"act_min": 0.2}])
def test_positive_factors_fold_behind_a_relu(net, then):
    y = net.conv(net.input(1, 4, 4, 2), 4, act_min=0.0)
    net.output(net.emit("Mul", [y, net.constant(np.float32([0.1, 1.0, 3.0, 20.0]))], **then))
    assert net.after(FoldAffine()) == ["Conv2d"]


@pytest.mark.parametrize(
    ("op", "constant", "high"),
    [("Mul", [0.5, -0.5, 1, 2], np.inf), ("Add", [1, 1, 1, 1], np.inf), ("Mul", [1, 2, 3, 4], 6.0)],
)
def test_nothing_else_folds_behind_a_clamp(net, op, constant, high):
    y = net.conv(net.input(1, 4, 4, 2), 4, act_min=0.0, act_max=high)
    net.output(net.emit(op, [y, net.constant(np.float32(constant))]))
    assert net.after(FoldAffine()) == ["Conv2d", op]


@pytest.mark.parametrize("shape", [(1, 5, 1), (2, 6, 5, 4)])
def test_a_constant_that_is_not_per_channel_stays(net, shape):
    net.output(net.emit("Mul", [linear(net, "Conv2d"), net.random(*shape)]))
    assert net.after(FoldAffine()) == ["Conv2d", "Mul"]


def test_weights_stay_finite(net):
    net.output(net.emit("Mul", [linear(net, "Conv2d"), net.constant(np.float32(3e38))]))
    assert net.after(FoldAffine()) == ["Conv2d", "Mul"]


def test_a_bias_behind_a_reshape_folds(net):
    x = net.reshape(linear(net, "Conv2d"), (30, 4))
    y = net.emit("Add", [net.emit("Mul", [x, net.random(4)]), net.random(4)], act_min=2.0)
    net.output(net.reshape(y, (1, 5, 6, 4)))
    assert net.after(FoldAffine()) == ["Conv2d", "Reshape", "Reshape"]
    assert net.graph.nodes[0].attrs["act_min"] == 2.0


def test_a_reshape_that_takes_the_channels_apart_stays_in_between(net):
    x = net.reshape(linear(net, "Conv2d"), (60, 2))
    net.output(net.emit("Mul", [x, net.random(2)]))
    assert net.after(FoldAffine()) == ["Conv2d", "Reshape", "Mul"]


def test_what_others_read_before_the_reshape_is_not_changed(net):
    y = linear(net, "Conv2d")
    net.output(net.emit("Mul", [net.reshape(y, (30, 4)), net.random(4)]), y)
    assert net.after(FoldAffine()) == ["Conv2d", "Reshape", "Mul"]
