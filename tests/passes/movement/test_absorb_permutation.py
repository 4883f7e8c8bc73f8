"""A FullyConnected reads permuted features by permuted weights."""

from edgekit.toolkit.passes.movement.absorb_permutation import AbsorbPermutation
from edgekit.toolkit.passes.movement.merge_reshapes import MergeReshapes

PASSES = (AbsorbPermutation(), MergeReshapes())


def test_a_flattened_nchw_image(net):
    image = net.nchw(net.input(2, 3, 4, 5))
    net.output(net.dense(net.reshape(image, (2, 60)), 7))
    assert net.after(*PASSES) == ["Reshape", "FullyConnected"]


def test_rows_that_are_reordered_stay(net):
    net.output(net.dense(net.transpose(net.input(3, 4), (1, 0)), 2))
    assert net.after(*PASSES) == ["Transpose", "FullyConnected"]


def test_features_that_are_dropped_stay(net):
    part = net.emit("Slice", [net.input(2, 6)], starts=(0, 0), sizes=(2, 3), steps=(1, 2))
    net.output(net.dense(part, 2))
    assert net.after(*PASSES) == ["Slice", "FullyConnected"]


def test_rows_that_are_dropped_stay(net):
    part = net.emit("Slice", [net.input(4, 6)], starts=(0, 0), sizes=(2, 6), steps=(1, 1))
    net.output(net.dense(part, 2))
    assert net.after(*PASSES) == ["Slice", "FullyConnected"]
