from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.interpret import interpret
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value, constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.quantize import quantize_graph
from edgekit.toolkit.runtime import Session, kernel_tables

FLOAT = np.dtype(np.float32)
RNG = np.random.default_rng(11)


class Net:
    """A float graph in the making; `net(op, *inputs, **attrs)` appends a node."""

    def __init__(self, *shape: int) -> None:
        self.x = Value("x", TensorType(FLOAT, shape))
        self.graph = Graph([], [Port("x", self.x, 1, shape)])

    def __call__(self, op, *inputs, **attrs):
        name = f"{op}{len(self.graph.nodes)}"
        node = Node(op, list(inputs), [], attrs, name)
        node.outputs = [Value(name, t) for t in definition(op).infer(node)]
        self.graph.nodes.append(node)
        return node.output

    def weights(self, *shape, scale=0.3):
        return constant(RNG.normal(size=shape).astype(np.float32) * np.float32(scale), f"w{shape}")

    def conv(self, x, channels, kernel=3, stride=1, groups=1, **act):
        pads = (kernel // 2,) * 4
        w = self.weights(channels, kernel, kernel, x.shape[-1] // groups)
        limits = {"act_min": -np.inf, "act_max": np.inf} | act
        given = {"stride": (stride, stride), "dilation": (1, 1), "pads": pads, "groups": groups}
        return self("Conv2d", x, w, self.weights(channels), **given, **limits)

    def done(self, *outputs):
        self.graph.outputs = [
            Port(v.name, v, 1 if v.dtype == FLOAT else 6, v.shape) for v in outputs
        ]
        return self.graph


def mobile_block():
    net = Net(1, 9, 9, 8)
    a = net.conv(net.x, 16, 1, act_min=0.0, act_max=6.0)
    b = net.conv(a, 16, 3, stride=2, groups=16, act_min=0.0, act_max=6.0)
    return net.done(net.conv(b, 8, 1))


def residual_with_gate():
    net = Net(1, 8, 8, 6)
    a = net.conv(net.x, 6)
    swish = net("Mul", a, net("Sigmoid", a))
    pooled = net(
        "AvgPool2d", swish, kernel=(8, 8), stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0),
        out_hw=(1, 1), count_include_pad=False,
    )  # fmt: skip
    gate = net("HardSigmoid", net.conv(pooled, 6, 1), alpha=0.2, beta=0.5)
    return net.done(net("Add", net("Mul", swish, gate), net.x, act_min=0.0))


def branches():
    net = Net(1, 8, 8, 4)
    a, b = net.conv(net.x, 4, act_min=0.0), net.conv(net.x, 6)
    pooled = net(
        "MaxPool2d", b, kernel=(3, 3), stride=(1, 1), dilation=(1, 1), pads=(1, 1, 1, 1),
        out_hw=(8, 8), count_include_pad=False,
    )  # fmt: skip
    both = net("Concat", a, pooled, axis=3)
    moved = net("Transpose", both, perm=(0, 3, 1, 2))
    return net.done(net("Reshape", moved, shape=(1, 640)), net.conv(a, 2))


def classifier():
    net = Net(1, 24)
    w, b = net.weights(10, 24), net.weights(10)
    logits = net("FullyConnected", net.x, w, b, act_min=-np.inf, act_max=np.inf)
    p = net("Softmax", logits, axis=1)
    return net.done(p, net("ArgMax", p, axis=1, keepdims=0, select_last_index=0))


@pytest.mark.parametrize("kernels", kernel_tables())
@pytest.mark.parametrize("make", [mobile_block, residual_with_gate, branches, classifier])
def test_every_kernel_table_gives_the_bytes_of_the_definition(make, kernels):
    graph = make()
    ranges = {v.name: (-2.5, 3.0) for v in graph.values() if v.const is None}
    q, decisions = quantize_graph(graph, ranges)
    assert not [d for d in decisions if d.what == "kept float"]
    session = Session(build_file(q), kernels)
    port = q.inputs[0]
    for extreme in (False, True):
        values = (
            RNG.choice([-128, 127], port.shape) if extreme else RNG.integers(-128, 128, port.shape)
        )
        feed = {port.name: values.astype(np.int8)}
        want, got = interpret(q, feed), session.run_raw(feed)
        assert want.keys() == got.keys()
        for name in want:
            np.testing.assert_array_equal(got[name], want[name], err_msg=name)


def test_borders_are_integers_too_but_floats_between_are_refused():
    net = Net(1, 8)
    other = net("Div", net.weights(1, 8, scale=1.0), net.x)
    graph = net.done(net("Div", other, net.x))
    q, _ = quantize_graph(graph, {v.name: (-1.0, 1.0) for v in graph.values() if v.const is None})
    with pytest.raises(ValueError, match="in float32"):
        interpret(q, {"x": np.ones((1, 8), np.float32)})


def test_inputs_of_another_type_or_shape_are_refused():
    q, _ = quantize_graph(
        g := mobile_block(), {v.name: (-1.0, 1.0) for v in g.values() if v.const is None}
    )
    with pytest.raises(ValueError, match="must be int8"):
        interpret(q, {"x": np.zeros((1, 9, 9, 8), np.float32)})
    with pytest.raises(ValueError, match="'x' is missing"):
        interpret(q, {})
