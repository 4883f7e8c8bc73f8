"""Chains of movement are one Copy, or nothing."""

from edgekit.toolkit.passes.movement.merge_movement import MergeMovement
from edgekit.toolkit.passes.movement.merge_reshapes import MergeReshapes

PASSES = (MergeReshapes(), MergeMovement())


def test_depth_to_space_is_one_copy(net):
    x = net.nchw(net.input(1, 4, 5, 9))
    y = net.transpose(net.reshape(x, (1, 1, 3, 3, 4, 5)), (0, 1, 4, 2, 5, 3))
    net.output(net.reshape(y, (1, 1, 12, 15)))
    assert net.after(*PASSES) == ["Copy"]


def test_a_channel_shuffle_is_one_copy_for_each_reader(net):
    x = net.nchw(net.emit("Abs", [net.input(1, 4, 5, 6)]))
    y = net.reshape(net.transpose(net.reshape(x, (3, 2, 20)), (1, 0, 2)), (2, 1, 3, 4, 5))
    halves = []
    for i in (0, 1):
        start, size = (i, 0, 0, 0, 0), (1, 1, 3, 4, 5)
        half = net.emit("Slice", [y], starts=start, sizes=size, steps=(1,) * 5)
        halves.append(net.conv(net.nhwc(net.reshape(half, (1, 3, 4, 5))), 2))
    net.output(net.emit("Concat", halves, axis=3))
    assert sorted(net.after(*PASSES)) == ["Abs", "Concat", "Conv2d", "Conv2d", "Copy", "Copy"]


def test_a_start_that_two_readers_need_whole_is_computed_once(net):
    x = net.transpose(net.emit("Abs", [net.input(4, 5)]), (1, 0))
    parts = [net.emit("Exp", [net.reshape(x, shape)]) for shape in ((20,), (2, 10))]
    net.output(net.dense(parts[0], 2), net.dense(parts[1], 2))
    assert net.after(*PASSES).count("Transpose") == 1 and net.ops().count("Copy") == 0


def test_there_and_back_is_nothing(net):
    x = net.emit("Abs", [net.input(2, 6)])
    y = net.transpose(net.reshape(net.transpose(x, (1, 0)), (2, 3, 2)), (2, 0, 1))
    net.output(net.emit("Exp", [net.reshape(y, (2, 6))]))
    assert net.after(*PASSES) == ["Abs", "Exp"]


def test_a_slice_of_everything_is_a_reshape(net):
    part = net.emit("Slice", [net.input(2, 6)], starts=(0, 0), sizes=(2, 6), steps=(1, 1))
    net.output(net.emit("Abs", [part]))
    assert net.after(*PASSES) == ["Abs"]


def test_what_is_no_strided_view_stays_in_parts(net):
    x = net.emit("Slice", [net.input(3, 4)], starts=(0, 0), sizes=(3, 3), steps=(1, 1))
    y = net.emit("Slice", [net.reshape(x, (9,))], starts=(1,), sizes=(7,), steps=(1,))
    net.output(net.emit("Abs", [y]))
    assert net.after(*PASSES) == ["Slice", "Copy", "Abs"]


def test_expand_and_reshape_are_one_copy(net):
    x = net.emit("Expand", [net.input(3, 1)], shape=(3, 4))
    net.output(net.emit("Abs", [net.reshape(x, (12,))]))
    assert net.after(*PASSES) == ["Copy", "Abs"]
