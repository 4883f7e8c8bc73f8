"""A Pad becomes the padding of what is behind it, only where that means the same."""

import numpy as np
import pytest

from edgekit.toolkit.passes.fusion.fuse_pad import FusePad

POOL = {"kernel": (3, 3), "stride": (2, 2), "dilation": (1, 1)}


def pad(net, x, before=(0, 1, 1, 0), after=(0, 1, 1, 0), value=0.0, mode="constant"):
    return net.emit("Pad", [x], before=before, after=after, mode=mode, value=value)


def pool(net, op, x, pads=(0, 0, 0, 0), out=None, **attrs):
    room = [x.shape[1 + i] + pads[i] + pads[2 + i] - 3 for i in (0, 1)]
    out = out or tuple(r // 2 + 1 for r in room)
    if op == "AvgPool2d":
        attrs.setdefault("count_include_pad", False)
    return net.emit(op, [x], pads=pads, out_hw=out, **POOL, **attrs)


def test_zeros_become_padding_of_a_convolution(net):
    x = pad(net, net.input(1, 7, 6, 3), (0, 1, 0, 0), (0, 2, 1, 0))
    net.output(net.conv(x, 4, 3, pad=1))
    assert net.after(FusePad()) == ["Conv2d"]
    assert net.graph.nodes[0].attrs["pads"] == (2, 1, 3, 2)


@pytest.mark.parametrize(
    "how",
    [
        {"value": 1.0},
        {"mode": "edge"},
        {"before": (0, 0, 0, 1)},
        {"before": (1, 0, 0, 0)},
        {"after": (1, 0, 0, 0)},
        {"after": (0, 0, 0, 1)},
    ],
    ids=str,
)
def test_other_borders_stay(net, how):
    net.output(net.conv(pad(net, net.input(1, 7, 6, 3), **how), 4, 3))
    assert net.after(FusePad()) == ["Pad", "Conv2d"]


@pytest.mark.parametrize("op", ["AvgPool2d", "MaxPool2d"])
@pytest.mark.parametrize("how", [{"before": (0, 1, 1, 2)}, {"after": (0, 1, 1, 2)}], ids=str)
def test_channels_that_a_border_adds_stay_in_front_of_a_pool(net, op, how):
    value = -np.inf if op == "MaxPool2d" else 0.0
    net.output(pool(net, op, pad(net, net.input(1, 7, 7, 3), value=value, **how)))
    assert net.after(FusePad()) == ["Pad", op]


def test_a_border_that_others_read_stays(net):
    x = pad(net, net.input(1, 7, 6, 3))
    net.output(x, net.conv(x, 4, 3))
    assert net.after(FusePad()) == ["Pad", "Conv2d"]


def test_zeros_count_in_an_average(net):
    net.output(pool(net, "AvgPool2d", pad(net, net.input(1, 7, 7, 3))))
    assert net.after(FusePad()) == ["AvgPool2d"]
    assert net.graph.nodes[0].attrs["count_include_pad"]


def test_an_average_that_leaves_out_its_own_padding_keeps_the_border(net):
    net.output(pool(net, "AvgPool2d", pad(net, net.input(1, 7, 7, 3)), (1, 1, 1, 1)))
    assert net.after(FusePad()) == ["Pad", "AvgPool2d"]


def test_an_average_whose_windows_leave_the_border_keeps_it(net):
    net.output(pool(net, "AvgPool2d", pad(net, net.input(1, 6, 6, 3)), out=(4, 4)))
    assert net.after(FusePad()) == ["Pad", "AvgPool2d"]


def test_minus_infinity_never_wins_a_maximum(net):
    net.output(pool(net, "MaxPool2d", pad(net, net.input(1, 7, 7, 3), value=-np.inf)))
    assert net.after(FusePad()) == ["MaxPool2d"]


def test_zero_never_wins_over_values_clamped_at_zero(net):
    x = pad(net, net.relu(net.input(1, 7, 7, 3)))
    net.output(pool(net, "MaxPool2d", x))
    assert net.after(FusePad()) == ["Clip", "MaxPool2d"]


def test_zero_may_win_over_other_values(net):
    net.output(pool(net, "MaxPool2d", pad(net, net.input(1, 7, 7, 3))))
    assert net.after(FusePad()) == ["Pad", "MaxPool2d"]


def test_a_window_of_nothing_but_border_keeps_it(net):
    x = pad(net, net.relu(net.input(1, 7, 7, 3)), (0, 3, 3, 0), (0, 3, 3, 0))
    net.output(pool(net, "MaxPool2d", x))
    assert net.after(FusePad()) == ["Clip", "Pad", "MaxPool2d"]
