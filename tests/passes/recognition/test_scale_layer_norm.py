"""What scales and shifts a layer normalization behind it, also behind a Reshape and a Transpose."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.passes import DEFAULT, run_passes
from edgekit.toolkit.passes.cleanup.dead_code import DeadCode
from edgekit.toolkit.passes.fusion.fuse_activation import FuseActivation
from edgekit.toolkit.passes.movement.merge_reshapes import MergeReshapes
from edgekit.toolkit.passes.recognition.scale_layer_norm import ScaleLayerNorm
from edgekit.toolkit.passes.recognition.splits import common_split, split_array, split_axes

PASSES = ScaleLayerNorm(), MergeReshapes(), FuseActivation(), DeadCode()


def norm(net, x, **attrs):
    return net.emit("LayerNorm", [x, None, None], axes=(1,), epsilon=1e-5, centered=True, **attrs)


@pytest.mark.parametrize("op", ["Mul", "Add", "Sub", "Div"])
def test_what_is_behind_is_taken_in(net, op):
    y = net.emit("Add", [norm(net, net.input(2, 8)), net.random(8)])
    y = net.emit(op, [net.emit(op, [y, net.random(8)]), net.random(2, 1)])
    net.output(net.emit("Clip", [y], min=0.0, max=1.0))
    assert net.after(*PASSES) == ["LayerNorm"]
    assert net.graph.nodes[0].attrs["act_max"] == 1.0


@pytest.mark.parametrize("op", ["Sub", "Div"])
def test_a_constant_less_or_over_it_stays(net, op):
    net.output(net.emit(op, [net.random(8), norm(net, net.input(2, 8))]))
    assert net.after(*PASSES) == ["LayerNorm", op]


def test_a_clamp_in_between_stays_in_between(net):
    y = net.relu(norm(net, net.input(2, 8)))
    net.output(net.emit("Add", [y, net.random(8)]))
    assert net.after(*PASSES) == ["LayerNorm", "Add"]


def test_one_that_is_read_twice_keeps_what_is_behind(net):
    y = norm(net, net.input(2, 8))
    net.output(net.emit("Mul", [y, net.random(8)]), y)
    assert net.after(*PASSES) == ["LayerNorm", "Mul"]


def test_a_scale_that_widens_the_result_stays(net):
    net.output(net.emit("Mul", [norm(net, net.input(2, 1, 8)), net.random(2, 3, 8)]))
    assert net.after(*PASSES) == ["LayerNorm", "Mul"]


@pytest.mark.parametrize(
    ("shapes", "split"),
    [
        (((1, 4, 72), (8, 36)), (4, 2, 36)),
        (((2, 3, 4), (6, 4)), (2, 3, 4)),
        (((1, 1), (1,)), ()),
        (((5,), (1, 5, 1)), (5,)),
        (((2, 3), (3, 2)), None),
        (((4, 6), (8, 3)), (4, 2, 3)),
    ],
)
def test_shapes_have_axes_in_common(shapes, split):
    assert common_split(*shapes) == split


def test_what_is_split_is_where_it_was():
    shape, split = (1, 4, 72), (4, 2, 36)
    for axes, made in (((2,), (1, 2)), ((1, 2), (0, 1, 2)), ((0,), ())):
        assert split_axes(shape, split, axes) == made
    rng = np.random.default_rng(0)
    for given in ((72,), (4, 1), (1, 1, 1), (1, 4, 72), ()):
        array = rng.normal(size=given)
        made = split_array(array, shape, split)
        want = np.broadcast_to(array, shape).reshape(split)
        np.testing.assert_array_equal(np.broadcast_to(made, split), want)


def grouped(net, groups=4, channels=8, scale=True):
    """A normalization over groups of the channels of [1, channels, 3, 5], reshaped back to that."""
    x = net.reshape(net.input(1, channels, 3, 5), (1, groups, channels // groups * 15))
    given = [net.random(groups, 1), net.random(1)] if scale else [None, None]
    y = net.emit("LayerNorm", [x, *given], axes=(2,), epsilon=1e-5, centered=True)
    return net.reshape(y, (1, channels, 3, 5))


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 8])
def test_constants_of_channels_behind_groups(net, groups, scale):
    y = net.emit("Mul", [grouped(net, groups, scale=scale), net.random(8, 1, 1)])
    y = net.emit("Sub", [y, net.random(1, 8, 1, 1)])
    net.output(net.emit("Clip", [y], min=0.0, max=np.inf))
    assert net.after(*PASSES) == ["Reshape", "LayerNorm", "Reshape"]
    norm = net.graph.nodes[1]
    assert norm.input(1).const.size == 8 and norm.attrs["act_min"] == 0.0


@pytest.mark.parametrize("op", ["Mul", "Add", "Sub", "Div"])
@pytest.mark.parametrize("shape", [(8,), (1,), (5, 8), (3, 1, 8)])
def test_a_transpose_between(net, op, shape):
    y = net.nhwc(grouped(net))
    net.output(net.emit(op, [y, net.random(*shape)]))
    assert net.after(*PASSES) == ["Reshape", "LayerNorm", "Reshape", "Transpose"]


def test_a_transpose_alone_between(net):
    y = net.emit("LayerNorm", [net.input(2, 3, 4), None, None], axes=(1, 2), epsilon=1e-5,
                 centered=False)  # fmt: skip
    net.output(net.emit("Mul", [net.random(4, 3), net.transpose(y, (0, 2, 1))]))
    assert "Mul" not in net.after(*PASSES)


@pytest.mark.parametrize("kind", ["over", "read twice", "clamped", "wider", "across", "computed"])
def test_what_cannot_go_before_a_reshape_stays(net, kind):
    if kind == "across":
        x = net.input(2, 3)
        y = net.emit("LayerNorm", [x, None, None], axes=(1,), epsilon=1e-5, centered=True)
        net.output(net.emit("Mul", [net.reshape(y, (3, 2)), net.random(3, 1)]))
    elif kind == "clamped":
        y = net.relu(norm(net, net.input(2, 8)))
        net.output(net.emit("Mul", [net.reshape(y, (2, 2, 4)), net.random(2, 1)]))
    else:
        y = grouped(net)
        shape = (6, 8, 1, 1) if kind == "wider" else (8, 1, 1)
        c = net.input(8, 1, 1, name="c") if kind == "computed" else net.random(*shape)
        z = net.emit("Div", [c, y]) if kind == "over" else net.emit("Mul", [y, c])
        net.output(z, *[y] * (kind == "read twice"))
    assert net.after(*PASSES)[-1] in ("Mul", "Div")


def network(kind):
    """Convolutions and GroupNorm as torch exports it, on an image of [1, 3, 6, 6]."""
    rng, nodes, constants = np.random.default_rng(3), [], {}

    def add(op, *inputs, **attrs):
        given = []
        for v in inputs:
            if not isinstance(v, str):
                constants[f"c{len(constants)}"] = np.asarray(v)
                v = f"c{len(constants) - 1}"
            given.append(v)
        nodes.append(helper.make_node(op, given, [f"{op}{len(nodes)}"], **attrs))
        return nodes[-1].output[0]

    def normal(*shape):
        return rng.normal(size=shape).astype(np.float32)

    def conv(x, channels, n):
        return add("Conv", x, normal(n, channels, 3, 3) / 4, normal(n), pads=[1] * 4)

    def norm(x, groups):
        y = add("Reshape", x, np.array([0, groups, -1]))
        one, none = (np.full(groups, v, np.float32) for v in (1, 0))
        y = add("InstanceNormalization", y, one, none, epsilon=1e-5)
        y = add("Mul", add("Reshape", y, np.array([1, 8, 6, 6])), 1 + normal(8, 1, 1) / 3)
        return add("Add", y, normal(8, 1, 1))

    x = conv("x", 3, 8)
    y = norm(x, 4)
    if kind == "relu":
        y = conv(add("Relu", y), 8, 4)
    elif kind == "silu":
        y = conv(add("Mul", y, add("Sigmoid", y)), 8, 4)
    elif kind == "residual":
        y = add("Relu", add("Add", norm(conv(add("Relu", y), 8, 8), 2), x))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 3, 6, 6])],
        [helper.make_tensor_value_info(y, 1, None)],
        [numpy_helper.from_array(a, n) for n, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("kind", ["relu", "silu", "residual", "output"])
def test_group_norm_as_torch_exports_it(kind, assert_agrees):
    model = network(kind)
    graph = load(model)
    run_passes(graph, DEFAULT)
    found = [n.op for n in graph.nodes]
    norms = 2 if kind == "residual" else 1
    assert found.count("LayerNorm") == norms and found.count("Add") == norms - 1
    assert found.count("Mul") == (kind == "silu")
    assert_agrees(model, graph)


def test_a_clamp_in_front_of_movement_stays_in_between(net):
    y = net.reshape(norm(net, net.input(2, 6), act_max=0.5), (3, 4))
    net.output(net.emit("Mul", [y, net.random(4)]))
    assert "Mul" in net.after(*PASSES)
