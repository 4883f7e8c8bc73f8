"""Scale and shift in front of a linear operator go into its weights, where that is exact."""

import numpy as np
import pytest

from edgekit.toolkit.passes.fusion.fold_affine_forward import FoldAffineForward


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("pad", [0, 1])
def test_the_scale_folds_into_a_convolution(net, groups, pad):
    x = net.emit("Mul", [net.input(1, 6, 5, 4), net.random(4)])
    net.output(net.conv(x, 8, 3, pad=pad, groups=groups))
    assert net.after(FoldAffineForward()) == ["Conv2d"]


@pytest.mark.parametrize("pad, left", [(0, ["Conv2d"]), (1, ["Add", "Conv2d"])])
def test_the_shift_folds_only_without_padding(net, pad, left):
    x = net.emit("Add", [net.input(1, 6, 5, 4), net.random(4)])
    net.output(net.conv(x, 8, 3, pad=pad, groups=2))
    assert net.after(FoldAffineForward()) == left


def test_normalization_folds_into_a_fully_connected(net):
    x = net.emit("Mul", [net.emit("Sub", [net.input(3, 8), net.random(8)]), net.random(8)])
    net.output(net.dense(x, 4))
    assert net.after(FoldAffineForward()) == ["FullyConnected"]


def test_normalization_folds_through_a_reshape(net):
    x = net.emit("Add", [net.emit("Mul", [net.input(3, 5, 8), net.random(8)]), net.random(8)])
    net.output(net.dense(net.reshape(x, (15, 8)), 4))
    assert net.after(FoldAffineForward()) == ["Reshape", "FullyConnected"]


def test_features_that_a_reshape_joins_keep_their_scales(net):
    x = net.emit("Mul", [net.input(3, 5, 8), net.random(8)])
    net.output(net.dense(net.reshape(x, (3, 40)), 4))
    assert net.after(FoldAffineForward()) == ["Mul", "Reshape", "FullyConnected"]


def test_features_scaled_very_differently_keep_their_scales(net):
    scales = net.constant(np.float32([1, 100, 1, 1]))
    net.output(net.dense(net.emit("Mul", [net.input(2, 4), scales]), 4))
    assert net.after(FoldAffineForward()) == ["Mul", "FullyConnected"]


def test_what_others_read_stays(net):
    x = net.emit("Mul", [net.input(2, 4), net.random(4)])
    net.output(x, net.dense(x, 4))
    assert net.after(FoldAffineForward()) == ["Mul", "FullyConnected"]


def test_nothing_folds_through_a_clamp(net):
    x = net.emit("Mul", [net.input(2, 4), net.random(4)], act_min=0.0)
    net.output(net.dense(x, 4))
    assert net.after(FoldAffineForward()) == ["Mul", "FullyConnected"]


def test_no_shift_folds_into_a_transposed_convolution(net):
    """Its border is the sum of fewer taps, with padding or without."""
    x = net.emit("Add", [net.input(1, 6, 5, 4), net.random(4)])
    attrs = {"stride": (2, 2), "dilation": (1, 1), "pads": (0,) * 4, "groups": 1}
    w = net.random(4, 3, 3, 4)
    y = net.emit("ConvTranspose2d", [x, w, None], output_shape=(13, 11), **attrs)
    net.output(y)
    assert net.after(FoldAffineForward()) == ["Add", "ConvTranspose2d"]


def test_a_feature_that_becomes_many_stays(net):
    net.output(net.dense(net.emit("Mul", [net.input(3, 1), net.random(8)]), 4))
    assert net.after(FoldAffineForward()) == ["Mul", "FullyConnected"]


@pytest.mark.parametrize("side", range(4))
def test_no_shift_folds_where_one_side_is_padded(net, side):
    pads = tuple(int(i == side) for i in range(4))
    x = net.emit("Add", [net.input(1, 6, 5, 4), net.random(4)])
    net.output(net.conv(x, 8, 3, pads=pads))
    assert net.after(FoldAffineForward()) == ["Add", "Conv2d"]
