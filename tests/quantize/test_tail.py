from __future__ import annotations

import numpy as np

from edgekit.toolkit.quantize.tail import float_tail


def test_box_decoding_is_a_tail(g):
    raw = g.conv(g.input("x", 1, 4, 4, 2), 4)
    offset = g.emit("Add", raw, g.const(np.arange(64).reshape(1, 4, 4, 4)), name="offset")
    size = g.emit("Exp", offset, name="size")
    graph = g.output(g.emit("Mul", offset, size, name="box"))
    assert float_tail(graph) == {"offset", "size", "box"}


def test_what_feeds_weights_is_not_a_tail(g):
    a = g.conv(g.input("x", 1, 4, 4, 2), 2)
    b = g.emit("Add", a, g.graph.inputs[0].value)
    assert float_tail(g.output(g.conv(b, 2))) == frozenset()


def test_softmax_movement_and_single_functions_need_no_float(g):
    a = g.conv(g.input("x", 1, 4, 4, 2), 2)
    b = g.emit("Softmax", g.emit("Reshape", a, shape=(16, 2)), axis=1)
    graph = g.output(b, g.emit("Sigmoid", g.emit("Mul", a, g.const(2.0))))
    assert float_tail(graph) == frozenset()
