"""Small graphs, and the proof that a pass keeps what they compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.interpret import interpret
from edgekit.toolkit.ir import Array, Graph, Port, TensorType, Value
from edgekit.toolkit.onnx_import.builder import GraphBuilder
from edgekit.toolkit.passes import Pass, UntilQuiet
from edgekit.toolkit.passes._links import Links
from edgekit.toolkit.passes.cleanup.dead_code import DeadCode
from edgekit.toolkit.quantize import Options, quantize_graph
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.verify import verify


class Net(GraphBuilder):
    """A graph under construction; weights and data are random, with a fixed seed."""

    def __init__(self) -> None:
        super().__init__(Graph(), ())
        self.rng = np.random.default_rng(0)

    def input(self, *shape: int, name: str = "x") -> Value:
        value = Value(self.unique(name), TensorType(np.dtype(np.float32), shape))
        self.graph.inputs.append(Port(value.name, value, 1, shape))
        return value

    def output(self, *values: Value) -> Graph:
        for v in values:
            self.graph.outputs.append(Port(v.name, v, 1, v.shape))
        return self.graph

    def random(self, *shape: int) -> Value:
        return self.constant(self.rng.uniform(0.5, 1.5, shape).astype(np.float32))

    def conv(self, x: Value, channels: int, kernel: int = 1, **attrs: Any) -> Value:
        pad = attrs.pop("pad", kernel // 2)
        groups = attrs.get("groups", 1)
        w = self.random(channels, kernel, kernel, x.shape[3] // groups)
        given = {"stride": (1, 1), "dilation": (1, 1), "pads": (pad,) * 4, "groups": 1, **attrs}
        return self.emit("Conv2d", [x, w, self.random(channels)], **given)

    def dense(self, x: Value, n: int) -> Value:
        return self.emit("FullyConnected", [x, self.random(n, x.shape[-1]), self.random(n)])

    def relu(self, x: Value, high: float = np.inf) -> Value:
        return self.emit("Clip", [x], min=0.0, max=high)

    def nchw(self, x: Value) -> Value:
        return self.transpose(x, (0, 3, 1, 2))

    def nhwc(self, x: Value) -> Value:
        return self.transpose(x, (0, 2, 3, 1))

    def run(self) -> dict[str, Array]:
        rng = np.random.default_rng(1)
        feed = {p.name: rng.normal(size=p.shape).astype(np.float32) for p in self.graph.inputs}
        return Session(build_file(self.graph)).run(feed)

    def after(self, *passes: Pass) -> list[str]:
        """The operators left by the passes and dead code removal; results are the same."""
        before = self.run()
        verify(self.graph, "the test")
        UntilQuiet("test", (*passes, DeadCode())).run(self.graph)
        after = self.run()
        for name, want in before.items():
            np.testing.assert_allclose(after[name], want, rtol=1e-4, atol=1e-4)
        return self.ops()

    def ops(self) -> list[str]:
        return [n.op for n in self.graph.nodes]


def follow(links: Links) -> None:
    """Assert that `links` say what the graph is now."""
    fresh = Links(links.graph)
    for v in links.graph.values():
        assert links.producer(v) is fresh.producer(v)
        assert Counter(links.users(v)) == Counter(fresh.users(v))
        assert links.is_output(v) == fresh.is_output(v)
    assert all(links.has(node) for node in links.graph.nodes)


@pytest.fixture(autouse=True)
def links_follow_every_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(edit: Callable[..., Any]) -> Callable[..., Any]:
        def edited(self: Links, *args: Any, **attrs: Any) -> Any:
            made = edit(self, *args, **attrs)
            follow(self)
            return made

        return edited

    for name in ("emit", "replace", "redirect", "let_out", "rewire", "take_over"):
        monkeypatch.setattr(Links, name, checked(getattr(Links, name)))


@pytest.fixture
def net() -> Net:
    return Net()


@pytest.fixture
def nets() -> Callable[[], Net]:
    return Net


def agrees(model: onnx.ModelProto, graph: Graph) -> None:
    """Assert that `graph`, of `model` with one input x, computes what onnxruntime does.

    Quantized to int8 and int16 it is near, nothing stays float, and C's integers are numpy's.
    """
    session = Session(build_file(graph))
    truth = onnxruntime.InferenceSession(model.SerializeToString())
    rng = np.random.default_rng(4)
    (port,) = graph.inputs
    samples = [{"x": rng.normal(size=port.shape).astype(np.float32)} for _ in range(8)]
    ranges: dict[str, tuple[float, float]] = {}

    def see(_: int, name: str, x: Array) -> None:
        low, high = ranges.get(name, (0.0, 0.0))
        ranges[name] = min(low, float(x.min())), max(high, float(x.max()))

    for sample in samples:
        see(0, port.value.name, sample["x"])
        (got,) = session.run_layers(sample, see).values()
        np.testing.assert_allclose(got, truth.run(None, sample)[0], rtol=1e-4, atol=1e-4)
    for node in graph.nodes:
        if node.op == "Reshape":
            ranges[node.output.name] = ranges[node.input(0).name]
    for wide in (False, True):
        names = frozenset(ranges) if wide else frozenset()
        quantized, decisions = quantize_graph(graph, ranges, Options(wide=names))
        assert not [d for d in decisions if d.what.startswith("kept float")]
        edge = Session(build_file(quantized))
        given, out = quantized.inputs[0].value, quantized.outputs[0].value
        for sample in samples:
            assert given.quant is not None and out.quant is not None
            q = {given.name: given.quant.quantize(sample["x"])}
            (want,) = interpret(quantized, q).values()
            (got,) = edge.run(sample).values()
            np.testing.assert_array_equal(got, out.quant.dequantize(want))
            noise = np.mean((got - truth.run(None, sample)[0]) ** 2)
            assert noise < np.mean(got**2) / (5000 if wide else 500)


@pytest.fixture
def assert_agrees() -> Callable[[onnx.ModelProto, Graph], None]:
    return agrees
