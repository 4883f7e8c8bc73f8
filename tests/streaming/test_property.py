"""Random causal networks: frame by frame gives what the whole sequence gives, to the byte."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

import edgekit
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.runtime import Session, kernel_tables
from edgekit.toolkit.streaming import Playback

from .conftest import saved

T = 48
KINDS = (
    "conv", "conv", "depthwise", "strided", "pool", "average", "residual", "concat", "norm", "lstm",
    "gru", "relu", "swish", "crop", "pad", "transpose", "softmax",
)  # fmt: skip


class Network:
    """An ONNX model that grows at its end: [1, channels, length] each."""

    def __init__(self, seed, channels):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.made = [], {}, 0
        self.end, self.channels, self.length = "x", channels, T
        self.inputs = {"x": (1, channels, T)}

    def constant(self, array, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array, dtype)
        return name

    def put(self, op, inputs, **attrs):
        self.made += 1
        name = f"v{self.made}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        return name

    def weights(self, *shape):
        fan = np.prod(shape[1:])
        return self.constant(self.rng.normal(0, 1.2 / np.sqrt(fan), shape))

    def conv(self, draw, stride=1, groups=1):
        kernel, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        extent = (kernel - 1) * dilation
        before = draw(st.integers(0, extent))
        after = draw(st.integers(0, extent - before))
        if self.length + before + after - extent < 12 * stride:
            return
        out = self.channels if groups > 1 else draw(st.integers(2, 5))
        w = self.weights(out, self.channels // groups, kernel)
        bias = self.constant(self.rng.normal(0, 0.3, out))
        self.end = self.put(
            "Conv", [self.end, w, bias], pads=[before, after], strides=[stride],
            dilations=[dilation], group=groups,
        )  # fmt: skip
        self.length = (self.length + before + after - extent - 1) // stride + 1
        self.channels = out

    def pool(self, draw, op):
        kernel, stride = draw(st.integers(2, 4)), draw(st.integers(1, 2))
        before = draw(st.integers(0, kernel - 1)) if op == "MaxPool" else 0
        if (self.length + before - kernel) // stride + 1 < 12:
            return
        self.end = self.put(
            op, [self.end], kernel_shape=[kernel], strides=[stride], pads=[before, 0]
        )
        self.length = (self.length + before - kernel) // stride + 1

    def branch(self, draw):
        """The end, and a convolution of it as long, which may look ahead."""
        x, kernel = self.end, draw(st.integers(1, 5))
        ahead = draw(st.integers(0, kernel - 1))
        w = self.weights(self.channels, self.channels, kernel)
        return x, self.put("Conv", [x, w], pads=[kernel - 1 - ahead, ahead])

    def recurrent(self, draw, op):
        hidden, gates = draw(st.integers(2, 5)), {"LSTM": 4, "GRU": 3}[op]
        x = self.put("Transpose", [self.end], perm=[2, 0, 1])
        w = self.weights(1, gates * hidden, self.channels)
        r = self.constant(self.rng.normal(0, 0.4, (1, gates * hidden, hidden)))
        b = self.constant(self.rng.normal(0, 0.3, (1, 2 * gates * hidden)))
        y = self.put(op, [x, w, r, b], hidden_size=hidden)
        axis = self.constant([1], np.int64)
        self.end = self.put("Transpose", [self.put("Squeeze", [y, axis])], perm=[1, 2, 0])
        self.channels = hidden

    def add(self, kind, draw):
        if kind == "conv":
            self.conv(draw)
        elif kind == "depthwise" and self.channels > 1:
            self.conv(draw, groups=self.channels)
        elif kind == "strided":
            self.conv(draw, stride=2)
        elif kind in ("pool", "average"):
            self.pool(draw, "MaxPool" if kind == "pool" else "AveragePool")
        elif kind == "residual":
            self.end = self.put("Add", list(self.branch(draw)))
        elif kind == "concat":
            self.end = self.put("Concat", list(self.branch(draw)), axis=1)
            self.channels *= 2
        elif kind == "norm":
            x = self.put("Transpose", [self.end], perm=[0, 2, 1])
            scale = self.constant(self.rng.uniform(0.5, 1.5, self.channels))
            self.end = self.put("Transpose", [self.put("LayerNormalization", [x, scale])],
                                perm=[0, 2, 1])  # fmt: skip
        elif kind in ("lstm", "gru"):
            self.recurrent(draw, kind.upper())
        elif kind == "swish":
            self.end = self.put("Mul", [self.end, self.put("Sigmoid", [self.end])])
        elif kind == "crop" and self.length > 20:
            start, stop = draw(st.integers(0, 3)), draw(st.integers(0, 3))
            ends = [self.constant([v], np.int64) for v in (start, self.length - stop, 2)]
            self.end = self.put("Slice", [self.end, *ends])
            self.length -= start + stop
        elif kind == "pad":
            before = draw(st.integers(0, 3))
            pads = self.constant([0, 0, before, 0, 0, draw(st.integers(0, 2))], np.int64)
            self.end = self.put("Pad", [self.end, pads])
            self.length += int(self.constants[pads][2] + self.constants[pads][5])
        elif kind == "softmax":
            self.end = self.put("Softmax", [self.end], axis=1)
        else:
            self.end = self.put("Relu", [self.end])

    def save(self, path):
        y = self.put("Mul", [self.end, self.constant([0.75])])
        self.nodes[-1].output[0] = "y"
        assert y
        saved(path, self.nodes, self.inputs, {"y": (1, self.channels, self.length)}, {})
        import onnx
        from onnx import numpy_helper

        model = onnx.load(path)
        for name, array in self.constants.items():
            model.graph.initializer.append(numpy_helper.from_array(array, name))
        onnx.save(model, path)


@st.composite
def networks(draw):
    network = Network(draw(st.integers(0, 2**31)), draw(st.integers(1, 4)))
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6)):
        network.add(kind, draw)
    return network


def assert_same(whole, part, tables=(None,)):
    play = Playback(read_file(part).provenance.settings["stream"])
    for seed in range(2):
        shape = Session(whole).inputs[0].shape
        x = np.random.default_rng(seed).uniform(-1, 1.3, shape).astype(np.float32)
        truth = Session(whole).run({"x": x})
        for table in tables:
            session = Session(part, table)
            found = play.joined([session.run(step) for step in play.steps({"x": x})])
            for name, y in found.items():
                np.testing.assert_array_equal(y, play.shown(truth)[name])


SLOW = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@SLOW
@given(network=networks(), multiple=st.sampled_from([None, 1, 2, 3]))
def test_float_networks(network, multiple):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        network.save(path / "m.onnx")
        edgekit.convert(path / "m.onnx", path / "w.edge")
        edgekit.convert(path / "m.onnx", path / "s.edge", stream=[("", 2)])
        if multiple:
            frames = read_file(path / "s.edge").provenance.settings["stream"]["frames"]
            edgekit.convert(
                path / "m.onnx", path / "s.edge", stream=[("x", 2)], frames=frames * multiple
            )
        assert_same(path / "w.edge", path / "s.edge")


@settings(SLOW, max_examples=12)
@given(network=networks())
def test_integer_networks(network):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        network.save(path / "m.onnx")
        rng = np.random.default_rng(7)
        samples = [
            {"x": rng.uniform(-1, 1.3, network.inputs["x"]).astype(np.float32)} for _ in range(4)
        ]
        for name, stream in (("w", ()), ("s", [("", 2)])):
            edgekit.quantize(
                path / "m.onnx", samples, path / f"{name}.edge", stream=stream, observer="minmax",
                rounding="nearest", on_low_accuracy="warn",
            )  # fmt: skip
        assert_same(path / "w.edge", path / "s.edge", kernel_tables())
