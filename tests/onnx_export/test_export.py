"""Exported models run in onnxruntime and give the integers of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.cli.main import main
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.model_files import load
from edgekit.toolkit.onnx_export import export
from edgekit.toolkit.quantize import Options, as_given, calibrate, quantize_graph
from edgekit.toolkit.runtime import Session

from ..onnx_import.quantized_models import EXACT, RNG, Maker, image

LEVELS = onnxruntime.GraphOptimizationLevel


def check(m: Maker, feed: dict[str, Any], tmp_path: Path, **options: Any) -> onnx.ModelProto:
    """Quantize, export, and compare onnxruntime's outputs with ours."""
    graph = load(m.model(m.nodes[-1].output[0]).SerializeToString(), finite=True)
    known = calibrate(graph, [feed, image(*feed["x0"].shape)])
    made, _ = quantize_graph(graph, known.extremes(), Options(**options))
    edge = tmp_path / "m.edge"
    edge.write_bytes(build_file(made))
    return compare(edge, feed)


def compare(edge: Path, feed: dict[str, Any]) -> onnx.ModelProto:
    done = export(edge)
    model = onnx.load(done.output)
    onnx.checker.check_model(model, full_check=True)
    session = Session(edge)
    ours = session.run(feed)
    for level in (LEVELS.ORT_DISABLE_ALL, LEVELS.ORT_ENABLE_ALL):
        how = onnxruntime.SessionOptions()
        how.graph_optimization_level = level
        how.add_session_config_entry(*EXACT)
        theirs = onnxruntime.InferenceSession(done.output, how).run(None, feed)
        for io, got in zip(session.outputs, theirs, strict=True):
            off = np.rint(np.abs(ours[io.name] - got) / (io.scale or 1e-4))
            assert got.shape == ours[io.name].shape
            assert off.max() <= 1 and np.mean(off > 0) <= 0.02
    return model


def ops(model: onnx.ModelProto) -> set[str]:
    return {n.op_type for n in model.graph.node}


def convolutions() -> Maker:
    m = Maker()
    w = [RNG.normal(size=s) * 0.3 for s in ((6, 3, 3, 3), (6, 1, 3, 3), (8, 3, 1, 1), (10, 72))]
    y = m.node("Conv", m.input(1, 3, 8, 8), m.const(w[0]), m.const(RNG.normal(size=6)),
               pads=[1, 1, 1, 1])  # fmt: skip
    z = m.node(
        "Conv", m.node("Relu", y), m.const(w[1]), group=6, pads=[2, 2, 2, 2], dilations=[2, 2]
    )
    y = m.node("Add", m.node("HardSwish", z), y)
    y = m.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    y = m.node("Conv", y, m.const(w[2]), group=2)
    y = m.node("AveragePool", y, kernel_shape=[2, 2], pads=[0, 0, 1, 1])
    y = m.node("Slice", m.node("Transpose", y, perm=[0, 2, 3, 1]), *ints(m, [0], [3], [1]))
    y = m.node("Reshape", y, m.const([1, -1], np.int64))
    w3 = RNG.normal(size=(10, 3 * 4 * 8)) * 0.2
    y = m.node("Gemm", y, m.const(w3), m.const(RNG.normal(size=10)), transB=1)
    m.node("Softmax", y, axis=-1)
    return m


def ints(m: Maker, *values: list[int]) -> list[str]:
    return [m.const(v, np.int64) for v in values]


def test_a_network_of_convolutions(tmp_path: Path) -> None:
    model = check(convolutions(), image(1, 3, 8, 8), tmp_path)
    assert {"Conv", "Gemm", "MaxPool", "AveragePool", "QuantizeLinear"} <= ops(model)
    kinds = {t.data_type for t in model.graph.initializer}
    assert {onnx.TensorProto.INT8, onnx.TensorProto.INT32} <= kinds


def test_int16_activations(tmp_path: Path) -> None:
    m = Maker()
    y = m.node(
        "Gemm", m.input(4, 24), m.const(RNG.normal(size=(24, 8))), m.const(RNG.normal(size=8))
    )
    name = m.node("Relu", y)
    check(m, image(4, 24), tmp_path, wide=frozenset({name, "x0"}))


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Max", "MatMul"])
def test_two_tensors(op: str, tmp_path: Path) -> None:
    m = Maker()
    x = m.input(2, 8, 8)
    m.node(op, m.node("Tanh", x), m.node("Abs", x))
    check(m, image(2, 8, 8), tmp_path)


def test_reductions_and_concatenations(tmp_path: Path) -> None:
    m = Maker()
    x = m.input(2, 7, 64)  # means of an odd count have no ties
    a = m.node("ReduceMean", x, axes=[1], keepdims=1)
    b = m.node("ReduceMax", x, axes=[1], keepdims=1)
    m.node("Concat", a, b, axis=1)
    check(m, image(2, 7, 64), tmp_path)


def test_weights_of_four_bits_are_int8_ones(tmp_path: Path) -> None:
    m = Maker()
    name = m.node("Gemm", m.input(4, 64), m.const(RNG.normal(size=(64, 8))))
    check(m, image(4, 64), tmp_path, precision={name: "int4"}, weight_group=32)


def test_what_came_quantized_goes_as_it_came(tmp_path: Path) -> None:
    m = Maker()
    x = m.qdq(m.input(1, 8), 0.03, 120)
    y = m.node("MatMul", x, m.weights((8, 3), np.float32(0.01), 0, np.int8))
    y = m.qdq(y, 0.05, 9)
    graph, _ = as_given(load(m.model(y).SerializeToString()))
    edge = tmp_path / "m.edge"
    edge.write_bytes(build_file(graph))
    model = compare(edge, image(1, 8))
    found = [onnx.numpy_helper.to_array(t) for t in model.graph.initializer]
    scales = {float(a) for a in found if a.dtype == np.float32 and a.ndim == 0}
    assert {float(np.float32(0.03)), float(np.float32(0.05))} <= scales


def test_what_has_no_form_is_named(tmp_path: Path) -> None:
    m = Maker()
    edge = tmp_path / "m.edge"
    edge.write_bytes(build_file(load(m.model(m.node("Exp", m.input(2, 3))).SerializeToString())))
    with pytest.raises(UserError, match=r"Unary 'Exp0\.0' cannot be exported"):
        export(edge)
    assert not (tmp_path / "m-qdq.onnx").exists()


def test_the_command_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    m = Maker()
    y = m.qdq(m.node("Relu", m.qdq(m.input(1, 8), 0.03, 120)), 0.03, 0)
    graph, _ = as_given(load(m.model(y).SerializeToString()))
    edge, out = tmp_path / "m.edge", tmp_path / "out.onnx"
    edge.write_bytes(build_file(graph))
    assert main(["export", str(edge), "-o", str(out)]) == 0
    onnx.checker.check_model(str(out))
    assert main(["export", str(out)]) == 2


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_borders(mode: str, tmp_path: Path) -> None:
    m = Maker()
    x = m.node("Relu", m.input(1, 3, 6, 6))
    widths = m.const([0, 0, 1, 2, 0, 0, 2, 1], np.int64)
    m.node("Pad", x, widths, *([m.const(0.7)] if mode == "constant" else []), mode=mode)
    check(m, image(1, 3, 6, 6), tmp_path)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resizing(mode: str, tmp_path: Path) -> None:
    m = Maker()
    scales = m.const([1, 1, 3, 1.7])  # few results lie in the middle between two integers
    m.node("Resize", m.node("Relu", m.input(2, 3, 6, 6)), "", scales, mode=mode)
    check(m, image(2, 3, 6, 6), tmp_path)


@pytest.mark.parametrize(
    "attrs",
    [
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
        {"strides": [2, 1], "pads": [1, 0, 0, 1]},
        {"dilations": [2, 1]},
    ],
)
def test_transposed_convolutions(attrs: dict[str, Any], tmp_path: Path) -> None:
    m = Maker()
    w, bias = m.const(RNG.normal(size=(3, 5, 3, 3)) * 0.3), m.const(RNG.normal(size=5))
    m.node("ConvTranspose", m.input(1, 3, 6, 6), w, bias, **attrs)
    check(m, image(1, 3, 6, 6), tmp_path)


def test_slopes_of_channels(tmp_path: Path) -> None:
    m = Maker()
    x = m.input(2, 5, 6, 6)
    m.node("PRelu", x, m.const(RNG.uniform(-0.3, 0.9, (5, 1, 1))))
    model = check(m, image(2, 5, 6, 6), tmp_path)
    assert "PRelu" in ops(model)


def test_a_table_for_each_channel(tmp_path: Path) -> None:
    m = Maker()
    x, w = m.input(2, 5, 6, 6), m.const(RNG.uniform(0.5, 1.5, (5, 1, 1)))
    m.node("Tanh", m.node("Mul", x, w))
    model = check(m, image(2, 5, 6, 6), tmp_path)
    assert "Gather" in ops(model)
