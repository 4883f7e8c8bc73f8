"""Tensors stored as float16, computed in float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import edgekit
from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.float16 import halved
from edgekit.toolkit.format.model import NUMPY_OF
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import OpKind
from edgekit.toolkit.numerics import FLOAT, HALF
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops import ALL
from edgekit.toolkit.runtime import Session

DIGITS = Path(__file__).parents[1] / "docs" / "examples" / "digits"

HEAVY = {
    "Conv": ((6, 4, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "depthwise": ((4, 1, 3, 3), {"pads": [0, 1, 2, 1], "group": 4}),
    "grouped": ((6, 2, 3, 2), {"group": 2, "dilations": [2, 1]}),
    "ConvTranspose": ((4, 3, 3, 3), {"strides": [2, 2]}),
    "gaps": ((4, 3, 2, 2), {"strides": [3, 3]}),
    "pointwise": ((5, 4, 1, 1), {}),
}


TRANSPOSED = ("ConvTranspose", "gaps")


def model_of(weights, attrs, op="Conv", element=1, relu=True):
    rng = np.random.default_rng(0)
    channels = weights[1] if op == "ConvTranspose" else weights[0]
    dtype = helper.tensor_dtype_to_np_dtype(element)
    given = {"w": rng.normal(size=weights), "b": rng.normal(size=channels)}
    nodes = [helper.make_node(op, ["x", "w", "b"], ["c" if relu else "y"], **attrs)]
    if relu:
        given |= {"low": np.array(-0.4), "high": np.array(0.9)}
        nodes.append(helper.make_node("Clip", ["c", "low", "high"], ["y"]))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", element, (2, 4, 7, 6))],
        [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(a.astype(dtype), n) for n, a in given.items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(made)


@pytest.mark.parametrize("name", HEAVY)
def test_sums_are_those_of_rounded_operands(name, tmp_path):
    """To a rounding of the result: what goes in is rounded, what is summed is not."""
    model = model_of(*HEAVY[name], op="ConvTranspose" if name in TRANSPOSED else "Conv")
    for t in model.graph.initializer:
        array = onnx.numpy_helper.to_array(t)
        t.CopyFrom(onnx.numpy_helper.from_array(array.astype("e").astype("f"), t.name))
    x = np.random.default_rng(1).normal(size=(2, 4, 7, 6)).astype(np.float32)
    onnx.save(model, tmp_path / "m.onnx")
    edgekit.convert(tmp_path / "m.onnx", tmp_path / "m.edge", float16=True)
    data = (tmp_path / "m.edge").read_bytes()
    assert {NUMPY_OF[t.dtype] for t in read(data).tensors} == {FLOAT, HALF}
    assert not [op for op in read(data).ops if op.kind == OpKind.Unary], "clamped by the sums"
    got = Session(data).run({"x": x})["y"]
    rounded = x.astype(np.float16).astype(np.float32)
    (want,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": rounded})
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=2**-10, atol=1e-5)


def test_a_float16_model_keeps_its_ports():
    model = model_of(*HEAVY["Conv"], element=10, relu=False)
    data = build_file(halved(load(model)))
    assert {NUMPY_OF[t.dtype] for t in read(data).tensors} == {HALF}
    x = np.random.default_rng(1).normal(size=(2, 4, 7, 6)).astype(np.float16)
    got = Session(data).run({"x": x})["y"]
    assert got.dtype == np.float16
    want = Session(build_file(load(model))).run({"x": x})["y"]
    np.testing.assert_allclose(got.astype("d"), want.astype("d"), rtol=2**-9, atol=1e-3)


def test_all_operators_with_float32_run(tmp_path):
    """Those without a float16 form between casts: the test's models have most of them."""
    path, x = tmp_path / "digits.edge", np.load(DIGITS / "eval.npz")
    done = edgekit.convert(DIGITS / "digits.onnx", path, float16=True)
    whole = edgekit.convert(DIGITS / "digits.onnx", tmp_path / "f.edge")
    assert done.file_bytes < 0.6 * whole.file_bytes
    (name,) = [io.name for io in edgekit.Session(path).inputs]
    session = onnxruntime.InferenceSession(DIGITS / "digits.onnx")
    for sample in x[name][:16]:
        (want,) = session.run(None, {name: sample[None]})
        (got,) = edgekit.Session(path).run({name: sample[None]}).values()
        np.testing.assert_allclose(got, want, atol=1e-2)  # logits have steps of 2^-7


def test_movements_keep_float16():
    for name in ("Transpose", "Reshape", "Slice", "Concat", "Pad", "Gather", "Where"):
        assert HALF in ALL[name].reals, name


def test_a_constant_beyond_float16_is_refused():
    model = model_of(*HEAVY["pointwise"])
    w = next(t for t in model.graph.initializer if t.name == "w")
    w.CopyFrom(onnx.numpy_helper.from_array(np.full((5, 4, 1, 1), 1e5, np.float32), "w"))
    with pytest.raises(UserError, match="holds 100000, beyond float16's 65504"):
        halved(load(model))
