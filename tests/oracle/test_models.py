"""Whole integer models: the runtime gives the bytes of docs/arithmetic.md, written once more."""

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.schema import ScatterFn
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value, constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.quantize import Options, quantize_graph
from edgekit.toolkit.runtime import Session

from . import arithmetic as oracle


class Net:
    """A float graph in the making; `net(op, *inputs, **attrs)` appends a node."""

    def __init__(self, seed, *shape):
        self.rng = np.random.default_rng(seed)
        self.x = Value("x", TensorType(np.dtype(np.float32), shape))
        self.graph = Graph([], [Port("x", self.x, 1, shape)])

    def __call__(self, op, *inputs, **attrs):
        name = f"{op}{len(self.graph.nodes)}"
        node = Node(op, list(inputs), [], attrs, name)
        kinds = definition(op).infer(node)
        node.outputs = [Value(f"{name}.{i}" if i else name, t) for i, t in enumerate(kinds)]
        self.graph.nodes.append(node)
        return node.output if len(kinds) == 1 else node.outputs

    def weights(self, *shape):
        n = len(self.graph.nodes)
        return constant(self.rng.normal(0, 0.4, shape).astype(np.float32), f"w{n}.{len(shape)}")

    def conv(self, x, channels, kernel=3, stride=1, groups=1, **act):
        w = self.weights(channels, kernel, kernel, x.shape[-1] // groups)
        pads = (kernel // 2,) * 4
        given = {"stride": (stride,) * 2, "dilation": (1, 1), "pads": pads, "groups": groups}
        return self("Conv2d", x, w, self.weights(channels), **given, **act)

    def pool(self, op, x, kernel, pads=(0, 0, 0, 0), counted=False):
        size = tuple(x.shape[1 + i] + pads[i] + pads[2 + i] - kernel + 1 for i in (0, 1))
        attrs = {"count_include_pad": counted} if op == "AvgPool2d" else {}
        window = {"kernel": (kernel,) * 2, "stride": (1, 1), "dilation": (1, 1)}
        return self(op, x, **window, pads=pads, out_hw=size, **attrs)

    def dense(self, x, n):
        return self("FullyConnected", x, self.weights(n, x.shape[-1]), self.weights(n))

    def norm(self, x, centered=True):
        n = x.shape[-1]
        attrs = {"axes": (len(x.shape) - 1,), "epsilon": 1e-3, "centered": centered}
        return self("LayerNorm", x, self.weights(n), self.weights(n), **attrs)

    def done(self, *outputs):
        code = {"int32": 6, "float32": 1}
        self.graph.outputs = [Port(v.name, v, code[v.dtype.name], v.shape) for v in outputs]
        return self.graph


def mobile(seed):
    net = Net(seed, 1, 6, 5, 3)
    a = net.conv(net.x, 6, 3, stride=2, act_min=0.0, act_max=6.0)
    b = net.conv(a, 6, 3, groups=6, act_min=0.0)
    c = net("Add", net.conv(b, 6, 1), a)
    return net.done(net("Softmax", net.dense(net("Reshape", c, shape=(1, 54)), 7), axis=1))


def gate(seed):
    net = Net(seed, 1, 4, 4, 4)
    a = net.conv(net.x, 4, 1)
    s = net("Mul", a, net("Sigmoid", a))
    pooled = net("ReduceMean", s, axes=(1, 2), keepdims=True)
    return net.done(net("Sub", net("Mul", s, net("Tanh", pooled)), net.x, act_max=1.5))


def pools(seed):
    net = Net(seed, 1, 5, 4, 3)
    a = net.conv(net.x, 4, 3, groups=1)
    parts = [net.pool("AvgPool2d", a, 3, (1, 1, 1, 1), counted) for counted in (False, True)]
    return net.done(net("Concat", net.pool("MaxPool2d", a, 3, (1, 1, 1, 1)), *parts, axis=3))


def attention(seed):
    net = Net(seed, 1, 6, 9)
    a = net("Add", net.x, net.dense(net.norm(net.x), 9))
    b = net.norm(net("Transpose", a, perm=(0, 2, 1)), centered=False)
    return net.done(net("Softmax", net("Mul", b, b), axis=1), a)


def quotients(seed):
    """By a positive number of each channel, and by a negative one of each row."""
    net = Net(seed, 1, 6, 9)
    by = constant(net.rng.uniform(0.5, 1.5, 9).astype(np.float32), "by")
    a = net("Div", net.dense(net.x, 9), by)
    b = net("Div", net.x, constant(net.rng.uniform(-1.5, -0.5, (6, 1)).astype(np.float32), "b"))
    return net.done(net("Add", a, b), a)


def selected(seed):
    """The largest of a map, where they are, and what takes their places; with places that meet."""
    net = Net(seed, 1, 5, 4, 3)
    a = net("Reshape", net.conv(net.x, 6, 3), shape=(20, 6))
    largest, _ = net("TopK", a, axis=1, k=4, smallest=False)
    flat = net("Reshape", a, shape=(120,))
    smallest, places = net("TopK", flat, axis=0, k=9, smallest=True)
    rows = net("Reshape", a, shape=(120, 1))
    new = net("Reshape", net.dense(net("Reshape", smallest, shape=(1, 9)), 9), shape=(9, 1))
    written = net("Scatter", rows, places, new, fn=ScatterFn.Replace)
    return net.done(written, largest, places)


@pytest.mark.parametrize("precision", ["int8", "int16", "mixed"])
@pytest.mark.parametrize("make", [mobile, gate, pools, attention, quotients, selected])
@pytest.mark.parametrize("seed", range(3))
def test_the_runtime_computes_what_the_page_says(make, precision, seed):
    graph = make(seed)
    rng = np.random.default_rng(seed)
    names = [v.name for v in graph.values() if v.const is None]
    ranges = {n: (-float(rng.uniform(1, 3)), float(rng.uniform(1, 3))) for n in names}
    chosen = {"int8": [], "int16": names, "mixed": [n for n in names if rng.random() < 0.5]}
    options = Options(wide=frozenset(chosen[precision]))
    quantized, decisions = quantize_graph(graph, ranges, options)
    assert not [d for d in decisions if d.what.startswith("kept float")]
    session = Session(build_file(quantized))
    limits = np.iinfo(session.inputs[0].dtype)
    low, high = max(limits.min, -32767), limits.max
    for extreme in (False, True):
        x = rng.choice([low, high], graph.inputs[0].shape)
        x = x if extreme else rng.integers(low, high + 1, x.shape)
        feed = {"x": x.astype(session.inputs[0].dtype)}
        found = session.run_raw(feed)
        for name, wanted in oracle.run(quantized, feed).items():
            np.testing.assert_array_equal(found[name].ravel(), wanted.ravel(), err_msg=name)
            assert extreme or np.unique(wanted).size > 3, "saturated values show nothing"
