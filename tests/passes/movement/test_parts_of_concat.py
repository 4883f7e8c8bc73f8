"""Slices of a Concat read their part alone."""

from __future__ import annotations

import pytest

from edgekit.toolkit.passes.movement.parts_of_concat import PartsOfConcat


def cut(net, x, axis, start, stop, step=1):
    starts, sizes, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    starts[axis], sizes[axis], steps[axis] = start, (stop - start) // step, step
    attrs = {"starts": tuple(starts), "sizes": tuple(sizes), "steps": tuple(steps)}
    return net.emit("Slice", [x], **attrs)


def joined(net, *counts, size=6):
    parts = [net.relu(net.input(1, n, size, name=f"x{n}")) for n in counts]
    return net.emit("Concat", parts, axis=1)


def test_parts_are_read_alone(net):
    x = joined(net, 4, 3)
    net.output(net.emit("Neg", [cut(net, x, 1, 0, 4)]), net.emit("Neg", [cut(net, x, 1, 4, 7)]))
    assert net.after(PartsOfConcat()) == ["Clip", "Clip", "Neg", "Neg"]


def test_neighbours_stay_joined(net):
    x = joined(net, 4, 3, 2)
    net.output(net.emit("Neg", [cut(net, x, 1, 4, 9)]))
    assert net.after(PartsOfConcat()) == ["Clip", "Clip", "Concat", "Neg"]


def test_boxes_and_classes_of_several_scales(net):
    """As in the heads of YOLOv8."""
    scales = []
    for i, size in enumerate((4, 2)):
        parts = [net.relu(net.input(1, n, size, size, name=f"x{i}{n}")) for n in (8, 3)]
        x = net.emit("Concat", parts, axis=1)
        scales.append(net.emit("Reshape", [x], shape=(1, 11, size * size)))
    x = net.emit("Concat", scales, axis=2)
    boxes, classes = cut(net, x, 1, 0, 8), cut(net, x, 1, 8, 11)
    net.output(net.emit("Neg", [boxes]), net.emit("Neg", [classes]))
    ops = net.after(PartsOfConcat())
    assert "Slice" not in ops
    assert ops.count("Concat") == 2
    assert ops.count("Reshape") == 4


@pytest.mark.parametrize(
    ("axis", "start", "stop", "step"), [(1, 0, 3, 1), (1, 2, 7, 1), (2, 0, 3, 1), (1, 0, 4, 2)]
)
def test_other_slices_stay(net, axis, start, stop, step):
    x = joined(net, 4, 3)
    net.output(net.emit("Neg", [cut(net, x, axis, start, stop, step)]))
    assert net.after(PartsOfConcat()).count("Slice") == 1


def test_what_others_read_stays(net):
    x = joined(net, 4, 3)
    net.output(net.emit("Neg", [cut(net, x, 1, 0, 4)]), net.emit("Neg", [x]))
    assert net.after(PartsOfConcat()).count("Slice") == 1


def test_an_axis_that_is_reshaped_stays(net):
    x = net.emit("Reshape", [joined(net, 4, 4)], shape=(1, 2, 4, 6))
    net.output(net.emit("Neg", [cut(net, x, 1, 0, 1)]))
    assert net.after(PartsOfConcat()).count("Slice") == 1
