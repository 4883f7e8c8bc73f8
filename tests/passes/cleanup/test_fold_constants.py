"""Movement of constants is done when the model is built."""

import numpy as np

from edgekit.toolkit.ir import Node, QuantParams, TensorType, Value, constant
from edgekit.toolkit.passes.cleanup.fold_constants import FoldConstants


def test_movement_of_a_constant_is_a_constant(net):
    c = net.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
    turned = net.emit("Transpose", [c], perm=(1, 0))
    part = net.emit("Slice", [turned], starts=(0, 0), sizes=(3, 1), steps=(1, 1))
    flat = net.emit("Reshape", [part], shape=(3,))
    net.output(net.emit("Add", [net.input(3), flat]))
    assert net.after(FoldConstants()) == ["Add"]
    assert net.graph.nodes[0].input(1).const.tolist() == [0, 1, 2]


def test_an_output_stays_computed(net):
    c = net.constant(np.ones((2, 3), np.float32))
    net.output(net.emit("Transpose", [c], perm=(1, 0)))
    assert net.after(FoldConstants()) == ["Transpose"]


def test_what_is_moved_keeps_its_scale(net):
    quant = QuantParams((0.25,), 3)
    c = constant(np.arange(6, dtype=np.int8).reshape(2, 3), "c", quant)
    turned = Value("turned", TensorType(np.dtype(np.int8), (3, 2)), quant=quant)
    real = Value("real", TensorType(np.dtype(np.float32), (3, 2)))
    net.graph.nodes = [
        Node("Transpose", [c], [turned], {"perm": (1, 0)}, "turned"),
        Node("Dequantize", [turned], [real], {}, "real"),
    ]
    net.output(real)
    assert net.after(FoldConstants()) == ["Dequantize"]
    assert net.graph.nodes[0].input(0).quant == quant
