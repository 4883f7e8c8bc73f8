"""Parts that one Copy can read."""

from __future__ import annotations

import pytest

from edgekit.toolkit.passes.movement.merge_movement import MergeMovement
from edgekit.toolkit.passes.movement.merge_parts import MergeParts

ORDER = [(0, 0), (1, 0), (0, 1), (1, 1)]


def every_second(net, x, at):
    n, h, w, c = x.shape
    attrs = {"starts": (0, *at, 0), "sizes": (n, h // 2, w // 2, c), "steps": (1, 2, 2, 1)}
    return net.emit("Slice", [x], **attrs)


def merged(net, x, order=ORDER):
    return net.emit("Concat", [every_second(net, x, at) for at in order], axis=3)


@pytest.mark.parametrize("channels", [1, 3])
def test_patches_are_one_copy(net, channels):
    x = net.relu(net.input(1, 6, 8, channels))
    net.output(net.conv(merged(net, x), 4))
    assert net.after(MergeParts()) == ["Clip", "Copy", "Conv2d"]


def test_the_layout_of_the_input_goes_along(net):
    x = net.nhwc(net.input(1, 3, 6, 8))
    net.output(net.conv(merged(net, x), 4))
    assert net.after(MergeParts(), MergeMovement()) == ["Copy", "Conv2d"]


@pytest.mark.parametrize("order", [ORDER[:3], [ORDER[i] for i in (0, 1, 3, 2)]])
def test_no_strided_view_stays(net, order):
    net.output(merged(net, net.input(1, 6, 8, 3), order))
    assert "Concat" in net.after(MergeParts())


def test_parts_of_two_tensors_or_read_by_others_stay(net):
    x, y = net.input(1, 6, 8, 3), net.input(1, 6, 8, 3, name="y")
    parts = [every_second(net, v, (0, 0)) for v in (x, y)]
    net.output(net.emit("Concat", parts, axis=3))
    part = every_second(net, net.relu(x), (0, 0))
    net.output(net.emit("Concat", [part, every_second(net, net.relu(x), (1, 0))], axis=3), part)
    assert net.after(MergeParts()).count("Concat") == 2


def test_whole_tensors_stay_apart(net):
    x = net.relu(net.input(1, 4, 4, 2))
    net.output(net.emit("Concat", [x, net.emit("Neg", [x])], axis=3))
    assert "Concat" in net.after(MergeParts())


def test_a_constant_beside_a_part_stays(net):
    part = net.emit("Slice", [net.input(1, 4)], starts=(0, 0), sizes=(1, 2), steps=(1, 2))
    net.output(net.emit("Concat", [part, net.random(1, 3)], axis=1))
    assert net.after(MergeParts()) == ["Slice", "Concat"]
