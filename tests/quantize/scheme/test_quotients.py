"""Quotients of two tensors: integers where the divisor keeps off 0."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.describe import op_counts
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.model_files import load
from edgekit.toolkit.quantize import Options, calibrate, quantize_graph
from edgekit.toolkit.runtime import Session

LINEAR_ATTENTION = """
<ir_version: 8, opset_import: ["" : 17]>
attention (float[1,10,12] x) => (float[1,10,12] y, float[1,10,12] unit) {
  one = Constant <value_float = 1.0> ()
  least = Constant <value_float = 1e-12> ()
  e = Elu (x)
  k = Add (e, one)
  t = Transpose <perm = [0,2,1]> (k)
  kv = MatMul (t, x)
  s = ReduceSum <keepdims = 1> (k, last)
  a = MatMul (k, kv)
  y = Div (a, s)
  n = ReduceL2 <axes = [2]> (a)
  m = Clip (n, least)
  unit = Div (a, m)
}
"""


def model() -> onnx.ModelProto:
    made = onnx.parser.parse_model(LINEAR_ATTENTION)
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2]), "last"))
    return onnx.shape_inference.infer_shapes(made)


@pytest.mark.parametrize("wide", [False, True])
def test_integers_are_near_onnxruntime(wide: bool) -> None:
    rng = np.random.default_rng(2)
    feeds = [{"x": rng.normal(size=(1, 10, 12)).astype(np.float32)} for _ in range(8)]
    proto = model()
    graph = load(proto.SerializeToString(), finite=True)
    ranges = calibrate(graph, feeds).extremes()
    options = Options(wide=frozenset(ranges)) if wide else Options()
    made, decisions = quantize_graph(graph, ranges, options)
    assert not [d for d in decisions if d.what == "kept float"]
    data = build_file(made)
    counts = op_counts(read(data))
    assert set(counts["Binary"]) == {"int16" if wide else "int8"}
    assert not [op for op, of in counts.items() if "float32" in of]
    session, truth = Session(data), onnxruntime.InferenceSession(proto.SerializeToString())
    noise = signal = np.zeros(2)
    for feed in feeds:
        got, want = session.run(feed), truth.run(None, feed)
        noise = noise + [np.sum((g - w) ** 2) for g, w in zip(got.values(), want, strict=True)]
        signal = signal + [np.sum(w**2) for w in want]
    decibels = 10 * np.log10(signal / noise)
    assert decibels.min() > (60 if wide else 28), decibels


def test_a_divisor_near_zero_stays_float() -> None:
    rng = np.random.default_rng(2)
    near = [{"x": rng.normal(m, 1, (1, 10, 12)).astype(np.float32)} for m in (-5, 0, 3)]
    graph = load(model().SerializeToString(), finite=True)
    _, decisions = quantize_graph(graph, calibrate(graph, near).extremes())
    (why,) = [d.why for d in decisions if d.node == "y"]
    assert "its divisor is as small as" in why
