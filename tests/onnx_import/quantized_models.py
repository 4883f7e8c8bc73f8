"""Small quantized models, and what onnxruntime says of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.describe import op_counts
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.model_files import load
from edgekit.toolkit.quantize import as_given
from edgekit.toolkit.runtime import Session

RNG = np.random.default_rng(3)
"""Starts anew for each test (conftest.py), whichever run before it."""
START = RNG.bit_generator.state

EXACT = "session.x64quantprecision", "1"
"""Lets no sums of onnxruntime's int8 saturate on x86-64 without VNNI."""

SATURATE = frozenset(
    ("QLinearConv", "QLinearMatMul", "QGemm", "MatMulInteger", "ConvInteger",
     "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "MatMulIntegerToFloat")
)  # fmt: skip


class Maker:
    """A small ONNX model, node by node."""

    def __init__(self, opset: int = 17) -> None:
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []

    def input(self, *shape: int, dtype: int = TensorProto.FLOAT) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def const(self, array: Any, dtype: Any = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def node(self, op: str, *inputs: str, domain: str = "", outputs: int = 1, **attrs: Any) -> str:
        names = [f"{op}{len(self.nodes)}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attrs))
        return names[0]

    def qdq(self, x: str, scale: Any, zero: Any, dtype: Any = np.uint8, **attrs: Any) -> str:
        s, z = self.const(scale), self.const(zero, dtype)
        q = self.node("QuantizeLinear", x, s, z, **attrs)
        return self.node("DequantizeLinear", q, s, z, **attrs)

    def weights(self, shape: tuple[int, ...], scale: Any, zero: Any, dtype: Any, **a: Any) -> str:
        info = ml_dtypes.iinfo(dtype)
        q = RNG.integers(max(info.min, -127), info.max + 1, shape).astype(dtype)
        inputs = self.const(q, dtype), self.const(scale), self.const(zero, dtype)
        return self.node("DequantizeLinear", *inputs, **a)

    def model(self, *outputs: str, dtype: int = TensorProto.FLOAT) -> onnx.ModelProto:
        outs = [helper.make_tensor_value_info(name, dtype, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "g", self.inputs, outs, self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def exact(model: onnx.ModelProto, feed: dict[str, Any]) -> Any:
    """The outputs of onnxruntime, with exact sums: by default some of its kernels saturate."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    levels, content = onnxruntime.GraphOptimizationLevel, model.SerializeToString()
    if any(n.op_type in SATURATE for n in model.graph.node):
        options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED
        options.add_session_config_entry(*EXACT)
        try:
            return onnxruntime.InferenceSession(content, options).run(None, feed)
        except Exception:  # what it makes of QLinearConv of int8, it cannot run
            options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(content, options).run(None, feed)


class Ran:
    """A model through `convert` and the C runtime beside onnxruntime."""

    def __init__(self, model: onnx.ModelProto, feed: dict[str, Any]) -> None:
        graph, self.decisions = as_given(load(model.SerializeToString()))
        data = build_file(graph)
        self.ops = op_counts(read(data))
        self.ours = list(Session(data).run(feed).values())
        self.theirs = exact(model, feed)

    def within(self, step: float, part: float) -> Ran:
        """No value is off by more than a step, and at most this part of them by one."""
        for ours, theirs in zip(self.ours, self.theirs, strict=True):
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            off = np.rint(np.abs(ours.astype(np.float64) - theirs) / step)
            assert off.max() <= 1
            assert np.mean(off > 0) <= part
        return self

    def integers(self) -> Ran:
        """Nothing runs in float."""
        assert not [op for op, of in self.ops.items() if "float32" in of], self.ops
        return self


def image(*shape: int) -> dict[str, Any]:
    return {"x0": RNG.normal(size=shape).astype(np.float32)}
