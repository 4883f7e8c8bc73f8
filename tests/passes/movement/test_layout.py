"""Transposes are pushed through what works in any layout, where that removes them."""

import numpy as np
import pytest

from edgekit.toolkit.ir import Node, TensorType, Value, constant
from edgekit.toolkit.passes import DEFAULT, run_passes
from edgekit.toolkit.passes.axes import compose, inverse, works_in_any_layout
from edgekit.toolkit.passes.movement.layout import Layout
from edgekit.toolkit.passes.movement.merge_reshapes import MergeReshapes
from edgekit.toolkit.passes.movement.merge_transposes import MergeTransposes

PASSES = (MergeReshapes(), MergeTransposes(), Layout())


def test_permutations():
    perm = (2, 0, 3, 1)
    assert compose(perm, inverse(perm)) == (0, 1, 2, 3)
    x = np.arange(24).reshape(2, 3, 4, 1)
    assert np.array_equal(
        x.transpose(perm).transpose((1, 0, 2, 3)), x.transpose(compose(perm, (1, 0, 2, 3)))
    )


def between(net, middle, channels=4):
    """conv, NCHW, middle, NHWC, conv, as an ONNX model has it."""
    first = net.conv(net.input(1, 6, 5, 3), channels, 3)
    inner = middle(net.nchw(first))
    net.output(net.conv(net.nhwc(inner), 2))


def norm(n, x, axes):
    given = [x, n.random(4, 1, 1), None]
    return n.emit("LayerNorm", given, axes=axes, epsilon=1e-5, centered=True)


MIDDLES = {
    "unary": lambda n, x: n.emit("Tanh", [x]),
    "scalar": lambda n, x: n.emit("Add", [x, n.random()]),
    "channels": lambda n, x: n.emit("Mul", [x, n.random(4, 1, 1)]),
    "rows": lambda n, x: n.emit("Mul", [n.random(1, 1, x.shape[2], 1), x]),
    "whole": lambda n, x: n.emit("Sub", [x, n.random(*x.shape)]),
    "prelu": lambda n, x: n.emit("PRelu", [x, n.random(4, 1, 1)]),
    "instance norm": lambda n, x: norm(n, x, (2, 3)),
    "layer norm": lambda n, x: norm(n, x, (1,)),
    "twice": lambda n, x: n.emit("Add", [x, n.emit("Sigmoid", [x])]),
    "pad": lambda n, x: n.emit(
        "Pad", [x], before=(0, 1, 2, 0), after=(0, 0, 1, 3), mode="constant", value=0.5
    ),
    "slice": lambda n, x: n.emit(
        "Slice", [x], starts=(0, 3, 1, 0), sizes=(1, 2, 4, 3), steps=(1, -2, 1, 2)
    ),
    "softmax": lambda n, x: n.emit("Softmax", [x], axis=1),
    "concat": lambda n, x: n.emit("Concat", [x, n.emit("Abs", [x])], axis=1),
    "reduce": lambda n, x: n.emit("ReduceMax", [x], axes=(1,), keepdims=True),
    "gather": lambda n, x: n.emit("Gather", [x, n.constant(np.array([3, 0, 0], np.int32))], axis=1),
    "expand": lambda n, x: n.emit(
        "Expand", [n.emit("ReduceMax", [x], axes=(1,), keepdims=True)], shape=x.shape
    ),
}


@pytest.mark.parametrize("name", MIDDLES)
def test_what_works_in_any_layout_is_computed_in_nhwc(net, name):
    between(net, lambda x: MIDDLES[name](net, x))
    assert "Transpose" not in net.after(*PASSES)


def test_tables_of_channels_keep_the_last_axis():
    x, y = (Value(n, TensorType(np.dtype(np.int8), (1, 2, 3))) for n in "xy")
    tables = [constant(np.zeros((2, 256), np.int8), "t"), constant(np.zeros(3, np.uint8), "i")]
    assert works_in_any_layout(Node("Lut", [x, constant(np.zeros(256, np.int8), "t")], [y]))
    assert not works_in_any_layout(Node("Lut", [x, *tables], [y]))


def test_a_residual_block_is_one_region(net):
    x = net.nchw(net.conv(net.input(1, 6, 5, 3), 4))
    for _ in range(2):
        inner = net.nchw(net.conv(net.nhwc(net.relu(x)), 4, 3))
        x = net.relu(net.emit("Add", [x, inner]))
    net.output(net.conv(net.nhwc(x), 2))
    assert "Transpose" not in net.after(*PASSES)


def test_one_transpose_stays_at_an_nchw_input(net):
    image = net.emit("Mul", [net.input(1, 3, 6, 5), net.random(3, 1, 1)])
    net.output(net.dense(net.conv(net.nhwc(image), 4), 2))
    assert net.after(*PASSES).count("Transpose") == 1


def test_one_transpose_stays_at_an_nchw_output(net):
    parts = [net.nchw(net.conv(net.input(1, 6, 5, 3), c)) for c in (2, 1, 3)]
    net.output(net.emit("Concat", [net.emit("Sigmoid", [p]) for p in parts], axis=1))
    assert net.after(*PASSES)[-1] == "Transpose" and net.ops().count("Transpose") == 1


def test_a_small_operand_moves_instead_of_a_large_one(net):
    big = net.nchw(net.conv(net.input(1, 6, 5, 3), 8))
    scale = net.input(1, 8, 1, 1, name="scale")
    net.output(net.conv(net.nhwc(net.emit("Mul", [big, scale])), 2))
    transposes = [n for n in self_transposes(net.after(*PASSES), net)]
    assert [t.input(0).name for t in transposes] == ["scale"]


def self_transposes(_, net):
    return [n for n in net.graph.nodes if n.op == "Transpose"]


def test_a_computed_operand_of_lower_rank_is_aligned(net):
    big = net.nchw(net.conv(net.input(1, 6, 5, 3), 8))
    bias = net.input(8, 1, 1, name="bias")
    net.output(net.conv(net.nhwc(net.emit("Add", [big, bias])), 2))
    net.after(*PASSES)
    assert [t.input(0).shape for t in self_transposes(None, net)] == [(1, 8, 1, 1)]


def test_a_reduction_that_would_not_run_over_neighbours_stays(net):
    x = net.nchw(net.conv(net.input(2, 6, 5, 3), 4))
    y = net.emit("ReduceSum", [x], axes=(1, 2), keepdims=True)
    net.output(net.conv(net.nhwc(y), 2))
    assert net.after(*PASSES).count("Transpose") == 2


def test_operators_with_a_layout_of_their_own_are_not_touched(net):
    x = net.input(1, 4, 6, 5)
    y = net.emit("Softmax", [net.transpose(x, (0, 1, 3, 2))], axis=3)
    net.output(net.emit("MatMul", [y, x], transpose_b=False))
    assert net.after(*PASSES).count("Transpose") == 1


def test_a_pad_between_a_port_and_rows_of_weights_stays_where_it_is_put(net):
    """What a FullyConnected of rows cannot absorb is priced: else two layouts took turns."""
    x = net.input(1, 4, 12)
    padded = net.emit("Pad", [x], before=(0, 0, 2), after=(0, 0, 0), mode="constant", value=0.0)
    rows = net.emit("Transpose", [padded], perm=(2, 0, 1))
    net.output(net.emit("FullyConnected", [rows, net.random(8, 4), None]))
    assert net.after(*PASSES).count("Transpose") == 1


def test_layouts_do_not_take_turns_when_two_are_equally_cheap(net):
    """A local response norm and an RMS norm of channels: a Transpose left unread was priced."""
    y = net.relu(net.nchw(net.conv(net.nhwc(net.input(1, 1, 8, 8)), 16, 3)))
    rows = net.emit("Reshape", [net.emit("Mul", [y, y])], shape=(1, 1, 16, 8, 8))
    wide = {"before": (0, 0, 1, 0, 0), "after": (0, 0, 1, 0, 0), "mode": "constant", "value": 0.0}
    lines = net.emit("Reshape", [net.emit("Pad", [rows], **wide)], shape=(1, 1, 18, 64))
    window = {"kernel": (3, 1), "stride": (1, 1), "dilation": (1, 1), "pads": (0, 0, 0, 0)}
    near = net.emit(
        "AvgPool2d", [net.nhwc(lines)], **window, out_hw=(16, 64), count_include_pad=True
    )
    power = net.emit("Exp", [net.emit("Reshape", [net.nchw(near)], shape=(1, 16, 8, 8))])
    z = net.nhwc(net.emit("Div", [y, power]))
    size = net.emit("ReduceMean", [net.emit("Mul", [z, z])], axes=(3,), keepdims=True)
    scaled = net.emit("Mul", [z, net.emit("Sqrt", [size])])
    net.output(net.dense(net.emit("ReduceMax", [scaled], axes=(1, 2), keepdims=False), 4))
    (want,) = net.run().values()
    run_passes(net.graph, DEFAULT)
    (got,) = net.run().values()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_a_difference_from_its_own_transpose_keeps_it(net):
    """Both layouts of x - x^T have the Transpose: it was priced as if the other had none."""
    x = net.emit("MatMul", [net.input(1, 8, 5), net.random(1, 5, 8)], transpose_b=False)
    scaled = net.emit("Mul", [x, net.random()])
    net.output(net.emit("Sub", [scaled, net.transpose(scaled, (0, 2, 1))]))
    assert net.after(*PASSES) == ["MatMul", "Mul", "Transpose", "Sub"]


def test_regions_that_pass_values_to_and_fro_meet_in_one_layout(net):
    """Each changed to the other's layout in one round, and back in the next."""
    a = net.nchw(net.conv(net.input(1, 6, 5, 3), 4, 3))
    both = net.emit("Concat", [a, net.emit("Abs", [a])], axis=1)
    there = net.emit("Mul", [net.emit("Tanh", [net.nhwc(both)]), net.random(8)])
    back = net.emit("Add", [both, net.nchw(there)])
    one = net.emit("ReduceMax", [back], axes=(1,), keepdims=True)
    net.output(net.conv(net.nhwc(one), 4, 3))
    assert "Transpose" not in net.after(*PASSES)
