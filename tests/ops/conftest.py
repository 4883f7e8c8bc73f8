"""Runners that operator tests share: ONNX's own node cases, onnxruntime, and integers against C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.ir import Array, Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops import definition
from edgekit.toolkit.runtime import Session, kernel_tables

from .. import fixed_point_oracle as oracle
from ..conformance.cases import all_cases

_ONNX_CODE = {"float32": 1, "int32": 6, "int16": 5, "int8": 3, "uint8": 2}
_SERVED = {onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL}


@dataclass
class BackendCase:
    """A node test of the ONNX backend suite, its parameters turned into initializers."""

    name: str
    model: onnx.ModelProto
    feed: dict[str, Array]
    want: dict[str, Array]
    refusal: str | None = None
    """Part of the message with which the importer refuses it."""

    def run(self) -> dict[str, Array]:
        return Session(build_file(load(self.model))).run(self.feed)

    def check(self, rtol: float = 0.0, atol: float = 0.0) -> None:
        """It is refused as it should be, or its outputs have ONNX's types, shapes and values."""
        if self.refusal is not None:
            with pytest.raises(UserError, match=self.refusal):
                self.run()
            return
        found = self.run()
        assert found.keys() == self.want.keys()
        for name, got in found.items():
            want = self.want[name]
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol, atol)


def _cases(
    ops: set[str], parameters: Mapping[str, int], refused: Mapping[str, str]
) -> Iterator[BackendCase]:
    for case in all_cases():
        if case.suite != "node" or len(case.model.graph.node) != 1:
            continue
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        graph = model.graph
        ports = [*graph.input, *graph.output]
        if graph.node[0].op_type not in ops:
            continue
        if any(p.type.tensor_type.elem_type not in _SERVED for p in ports):
            continue
        inputs, outputs = case.data_sets[0]
        feed = {p.name: np.asarray(v) for p, v in zip(graph.input, inputs, strict=True)}
        want = {p.name: np.asarray(v) for p, v in zip(graph.output, outputs, strict=True)}
        for p in list(graph.input)[parameters.get(graph.node[0].op_type, len(graph.input)) :]:
            graph.initializer.append(numpy_helper.from_array(feed.pop(p.name), p.name))
            graph.input.remove(p)
        refusal = next((why for part, why in refused.items() if part in case.name), None)
        yield BackendCase(case.name, model, feed, want, refusal)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`backend_case` takes the cases of the module's BACKEND_OPS.

    PARAMETERS: operator -> its first input that must be constant. REFUSED: part of a case's name ->
    part of the message.
    """
    if "backend_case" in metafunc.fixturenames:
        m = metafunc.module
        found = _cases(set(m.BACKEND_OPS), getattr(m, "PARAMETERS", {}), getattr(m, "REFUSED", {}))
        metafunc.parametrize("backend_case", list(found), ids=lambda c: c.name)


@dataclass
class OnnxRun:
    """One ONNX node run by us and by onnxruntime."""

    ours: list[Array]
    theirs: list[Array]

    def agree(self, rtol: float = 1e-5) -> None:
        for a, b in zip(self.ours, self.theirs, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            largest = max(float(np.abs(b[np.isfinite(b)]).max(initial=0)), 1e-30)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * largest)


@pytest.fixture
def run_onnx() -> Callable[..., OnnxRun]:
    """run_onnx(op, {name: array}, constants={name: array}, outputs=1, domain="", **attrs)."""

    def run(
        op: str,
        feed: dict[str, Array],
        constants: dict[str, Array] | None = None,
        order: list[str] | None = None,
        outputs: int = 1,
        domain: str = "",
        opset: int = 21,
        **attrs: Any,
    ) -> OnnxRun:
        constants = constants or {}
        names = [f"y{i}" for i in range(outputs)]
        node = helper.make_node(op, order or [*feed, *constants], names, domain=domain, **attrs)
        code = helper.np_dtype_to_tensor_dtype
        graph = helper.make_graph(
            [node],
            "graph",
            [helper.make_tensor_value_info(n, code(a.dtype), a.shape) for n, a in feed.items()],
            [onnx.ValueInfoProto(name=n) for n in names],
            [numpy_helper.from_array(a, n) for n, a in constants.items()],
        )
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        model = onnx.shape_inference.infer_shapes(model)
        for port in model.graph.output:  # onnx does not infer all that it checks
            if not port.type.HasField("tensor_type"):
                port.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        try:
            theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
        except Exception:
            Session(build_file(load(model))).run(feed)  # which should refuse it in its own words
            raise
        for port, result in zip(model.graph.output, theirs, strict=True):
            kind = helper.make_tensor_value_info(port.name, code(result.dtype), result.shape)
            port.CopyFrom(kind)
        ours = Session(build_file(load(model))).run(feed)
        return OnnxRun([ours[n] for n in names], list(theirs))

    return run


@pytest.fixture
def make_session() -> Callable[..., tuple[Session, list[Array]]]:
    """make_session(op, feed, **attrs): a session of one node, and onnxruntime's outputs y0, .. of
    the feed, whose shapes the model declares."""

    def make(op: str, feed: dict[str, Array], **attrs: Any) -> tuple[Session, list[Array]]:
        code = helper.np_dtype_to_tensor_dtype
        node = helper.make_node(op, list(feed), ["y0"], **attrs)
        ports = [helper.make_tensor_value_info(n, code(a.dtype), a.shape) for n, a in feed.items()]
        graph = helper.make_graph(
            [node], "graph", ports, [helper.make_empty_tensor_value_info("y0")]
        )
        opsets = [helper.make_opsetid("", 22)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        model = onnx.shape_inference.infer_shapes(model)
        want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
        kind = helper.make_tensor_value_info("y0", code(want[0].dtype), want[0].shape)
        model.graph.output[0].CopyFrom(kind)
        return Session(build_file(load(model))), list(want)

    return make


@dataclass
class Integers:
    """Builds integer nodes; compares every kernel table with the operator's integer reference."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def value(self, shape: tuple[int, ...], scale: float = 0.05, zero: int = 0) -> Value:
        kind = TensorType(np.dtype(np.int8), shape)
        return Value(f"x{self.rng.integers(1 << 30)}", kind, quant=QuantParams((scale,), zero))

    def value16(self, shape: tuple[int, ...], scale: float = 0.001) -> Value:
        kind = TensorType(np.dtype(np.int16), shape)
        return Value(f"x{self.rng.integers(1 << 30)}", kind, quant=QuantParams.int16(scale))

    def plain(self, kind: type[np.generic], shape: tuple[int, ...]) -> Value:
        """An int32 or uint8 value, which has no quantization."""
        return Value(f"x{self.rng.integers(1 << 30)}", TensorType(np.dtype(kind), shape))

    def const(self, shape: tuple[int, ...], scale: float = 0.05, zero: int = 0) -> Value:
        q = self.rng.integers(-128, 128, shape).astype(np.int8)
        return constant(q, f"c{self.rng.integers(1 << 30)}", QuantParams((scale,), zero))

    def node(
        self, op: str, inputs: list[Value], out: QuantParams | None = None, **attrs: Any
    ) -> Node:
        y = Value("out", inputs[0].type, quant=out or inputs[0].quant)
        node = Node(op, list(inputs), [y], attrs, op)
        y.type, *more = definition(op).infer(node)
        node.outputs += [Value(f"out{i}", kind, quant=y.quant) for i, kind in enumerate(more, 1)]
        return node

    def data(self, v: Value) -> Array:
        """Extremes one time in four, else uniform: all that the type holds."""
        if v.dtype == np.float32:
            return self.rng.normal(0, 3, v.shape).astype(np.float32)
        limits = np.iinfo(v.dtype)
        q = self.rng.integers(limits.min, limits.max + 1, v.shape)
        edge = self.rng.choice(np.array([limits.min, limits.max]), v.shape)
        return np.where(self.rng.random(v.shape) < 0.25, edge, q).astype(v.dtype)

    def agree(self, node: Node, feed: dict[Value, Array] | None = None) -> Array:
        """The result, of several the first, which all agree on."""
        data = feed or {v: self.data(v) for v in dict.fromkeys(node.dynamic_inputs)}
        operands = [None if v is None else v.const if v.const is not None else data[v]
                    for v in node.inputs]  # fmt: skip
        wanted = definition(node.op).integer(node, operands)
        file = build_file(graph_of(node))
        for table in kernel_tables():
            got = Session(file, table).run_raw({v.name: a for v, a in data.items()})
            for v, want in zip(node.outputs, wanted, strict=True):
                np.testing.assert_array_equal(got[v.name], want, err_msg=f"kernels {table}")
        return wanted[0]


def activation(shape: tuple[int, ...], zero: int, wide: bool) -> Value:
    """An input "x" of scale 0.05; int16 where `wide`, of as many finer steps."""
    if wide:
        return Value(
            "x", TensorType(np.dtype(np.int16), shape), quant=QuantParams.int16(0.05 / 256)
        )
    return Value("x", TensorType(np.dtype(np.int8), shape), quant=QuantParams((0.05,), zero))


def output_of(scale: float, zero: int, wide: bool) -> QuantParams:
    return QuantParams.int16(scale / 256) if wide else QuantParams((scale,), zero)


def rounded(acc: Array, ratio: float, out: QuantParams) -> Array:
    """The requantization of accumulators, in the arithmetic of `out`, by the tests' own oracle."""
    if out.dtype == np.int16:
        return oracle.requantized16(acc, ratio, out.qmin, out.qmax)
    return oracle.requantized(acc, ratio, out.zero_point, out.qmin, out.qmax)


@pytest.fixture
def integers() -> Integers:
    return Integers()


def graph_of(node: Node) -> Graph:
    """The graph that is just this node."""

    def port(name: str, v: Value) -> Port:
        return Port(name, v, _ONNX_CODE[v.dtype.name], v.shape)

    inputs = [port(v.name, v) for v in dict.fromkeys(node.dynamic_inputs)]
    return Graph([node], inputs, [port(v.name, v) for v in node.outputs])
