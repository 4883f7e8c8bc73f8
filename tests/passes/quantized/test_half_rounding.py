"""Casts to 16-bit floats in a graph to be quantized."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.passes.quantized.half_rounding import HalfRounding


@pytest.mark.parametrize("element", [10, 16])
def test_a_rounding_to_half_is_dropped(net, element):
    x = net.emit("Cast", [net.input(1, 4, 4, 2)], to=np.dtype(np.float32), element=element)
    net.output(net.conv(x, 3))
    assert HalfRounding().run(net.graph)
    assert [n.op for n in net.graph.nodes] == ["Conv2d"]


def test_casts_to_integers_stay(net):
    x = net.emit("Cast", [net.input(1, 4)], to=np.dtype(np.int32))
    net.output(net.emit("Cast", [x], to=np.dtype(np.float32)))
    assert not HalfRounding().run(net.graph)
