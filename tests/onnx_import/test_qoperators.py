"""Operators on integers and onnxruntime's own: each beside onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime.quantization as ort_quantization
import pytest
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType

from .quantized_models import RNG, Maker, Ran, image

MS = "com.microsoft"


class Integers(Maker):
    """A model whose inputs and outputs are float, with integers between."""

    def q(self, shape: tuple[int, ...], dtype: Any = np.uint8, scale: float = 0.0313) -> list[str]:
        """A quantized input: the integers, their scale and zero point."""
        s, z = self.const(scale), self.const(120 if dtype == np.uint8 else -4, dtype)
        return [self.node("QuantizeLinear", self.input(*shape), s, z), s, z]

    def grid(self, scale: float, zero: int, dtype: Any = np.uint8) -> list[str]:
        return [self.const(scale), self.const(zero, dtype)]

    def weight(
        self, shape: tuple[int, ...], scale: Any, dtype: Any = np.int8, high: int | None = None
    ) -> list[str]:
        high = np.iinfo(dtype).max if high is None else high
        low = -high if dtype == np.int8 else 0
        q = RNG.integers(low, high + 1, shape).astype(dtype)
        zero = np.full_like(scale, 0 if dtype == np.int8 else 117)
        return [self.const(q, dtype), self.const(scale), self.const(zero, dtype)]

    def real(self, y: str, grid: list[str]) -> Any:
        return self.model(self.node("DequantizeLinear", y, *grid))


CHANNELS = np.linspace(0.003, 0.006, 5).astype(np.float32)


@pytest.mark.parametrize("scale", [np.float32(0.004), CHANNELS])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_qlinear_conv(scale: Any, dtype: Any) -> None:
    m = Integers()
    x, w, y = m.q((2, 4, 8, 8)), m.weight((5, 4, 3, 3), scale, dtype), m.grid(0.05, 110)
    bias = m.const(RNG.integers(-2000, 2000, 5), np.int32)
    conv = m.node("QLinearConv", *x, *w, *y, bias, pads=[1, 1, 0, 0], strides=[2, 1])
    Ran(m.real(conv, y), image(2, 4, 8, 8)).within(0.05, 0.02).integers()


def test_qlinear_conv_with_channels_last() -> None:
    """onnxruntime has it too, but its sums saturate where larger weights meet no VNNI."""
    m = Integers()
    w = m.weight((5, 4, 3, 3), 2 * CHANNELS, high=64)
    x, y = m.q((1, 8, 8, 4)), m.grid(0.05, 110)
    conv = m.node("QLinearConv", *x, *w, *y, domain=MS, channels_last=1)
    Ran(m.real(conv, y), image(1, 8, 8, 4)).within(0.05, 0.02).integers()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_qlinear_matmul(dtype: Any) -> None:
    m = Integers()
    x, y = m.q((3, 16, 24)), m.grid(0.05, 110)
    w = m.weight((24, 5), np.float32(0.004), dtype)
    Ran(m.real(m.node("QLinearMatMul", *x, *w, *y), y), image(3, 16, 24)).within(0.05, 0.02)


def test_qlinear_matmul_of_two_computed_tensors() -> None:
    m = Integers()
    a, b, y = m.q((16, 24)), m.q((24, 8), scale=0.021), m.grid(0.11, 110)
    ran = Ran(m.real(m.node("QLinearMatMul", *a, *b, *y), y), image(16, 24) | second(24, 8))
    ran.within(0.11, 0.02).integers()


def second(*shape: int) -> dict[str, Any]:
    return {"x1": RNG.normal(size=shape).astype(np.float32)}


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("scale", [np.float32(0.004), CHANNELS])
def test_qgemm(turned: int, scale: Any) -> None:
    m = Integers()
    x, y = m.q((16, 24)), m.grid(0.05, 110)
    w = m.weight((5, 24) if turned else (24, 5), scale)
    bias = m.const(RNG.integers(-2000, 2000, 5), np.int32)
    gemm = m.node("QGemm", *x, *w, bias, *y, domain=MS, transB=turned, alpha=1.0)
    Ran(m.real(gemm, y), image(16, 24)).within(0.05, 0.02).integers()


def test_qgemm_without_a_grid_gives_floats() -> None:
    m = Integers()
    w = m.weight((24, 5), np.float32(0.004))
    gemm = m.node("QGemm", *m.q((16, 24)), *w, domain=MS)
    ran = Ran(m.model(gemm), image(16, 24))
    np.testing.assert_allclose(ran.ours[0], ran.theirs[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_two_tensors(op: str) -> None:
    m = Integers()
    a, b, y = m.q((16, 24)), m.q((16, 24), scale=0.0207), m.grid(0.0411, 110)
    ran = Ran(m.real(m.node(op, *a, *b, *y, domain=MS), y), image(16, 24) | second(16, 24))
    ran.within(0.0411, 0.02).integers()


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("QLinearSigmoid", {}),
        ("QLinearLeakyRelu", {"alpha": 0.1}),
        ("QLinearSoftmax", {"axis": -1, "opset": 13}),
        ("QLinearSoftmax", {"axis": 1, "opset": 11}),
        ("QLinearAveragePool", {"kernel_shape": [3, 3], "strides": [2, 2]}),
        ("QLinearGlobalAveragePool", {"channels_last": 0}),
        ("QLinearGlobalAveragePool", {"channels_last": 1}),
    ],
)
def test_one_tensor(op: str, attrs: dict[str, Any]) -> None:
    m = Integers()
    x, y = (
        m.q((2, 3, 8, 8)),
        m.grid(1 / 256 if "Softmax" in op else 0.0113, 0 if "Soft" in op else 110),
    )
    node = m.node(op, *x, *y, domain=MS, **attrs)
    Ran(m.real(node, y), image(2, 3, 8, 8)).within(0.0113, 0.1).integers()


def test_qlinear_concat() -> None:
    m = Integers()
    a, b, y = m.q((4, 8)), m.q((4, 8), scale=0.0207), m.grid(0.0313, 120)
    node = m.node("QLinearConcat", *y, *a, *b, domain=MS, axis=1)
    Ran(m.real(node, y), image(4, 8) | second(4, 8)).within(0.0313, 0.02).integers()


def test_qlinear_where() -> None:
    m = Integers()
    a, b, y = m.q((4, 8)), m.q((4, 8), scale=0.0207), m.grid(0.0313, 120)
    condition = m.const(RNG.random((4, 8)) < 0.5, np.bool_)
    node = m.node("QLinearWhere", condition, *a, *b, *y, domain=MS)
    Ran(m.real(node, y), image(4, 8) | second(4, 8)).within(0.0313, 0.02)


@pytest.mark.parametrize("op", ["ConvInteger", "MatMulInteger"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_int32_products(op: str, dtype: Any) -> None:
    shape, weights = ((1, 4, 8, 8), (5, 4, 3, 3)) if op == "ConvInteger" else ((6, 24), (24, 5))
    m = Integers()
    x, _, zero = m.q(shape)
    w, _, w_zero = m.weight(weights, np.float32(1), dtype)
    y = m.node(op, x, w, zero, w_zero)
    ran = Ran(m.model(m.node("Cast", y, to=TensorProto.FLOAT)), image(*shape))
    np.testing.assert_allclose(ran.ours[0], ran.theirs[0], rtol=1e-5, atol=0.02)


def test_dynamic_quantize_linear() -> None:
    m = Maker()
    x = m.input(6, 24)
    m.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], ["q", "s", "z"]))
    y = m.node("DequantizeLinear", "q", "s", "z")
    for feed in (image(6, 24), {"x0": np.zeros((6, 24), np.float32)}):
        Ran(m.model(y), feed).within(0.02, 0)


@pytest.mark.parametrize("bias", [False, True])
def test_dynamic_quantize_matmul(bias: bool) -> None:
    m = Integers()
    inputs = [m.input(6, 24), *m.weight((24, 5), CHANNELS)]
    inputs += [m.const(RNG.normal(size=5))] if bias else []
    y = m.node("DynamicQuantizeMatMul", *inputs, domain=MS)
    ran = Ran(m.model(y), image(6, 24))
    np.testing.assert_allclose(ran.ours[0], ran.theirs[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("per_channel", [False, True])
def test_dynamic_quantize_lstm_has_the_real_weights(per_channel: bool) -> None:
    """Against onnxruntime, which rounds the inputs and hidden states to 8 bits besides."""
    m, (inputs, hidden) = Integers(), (6, 5)
    given = [m.input(7, 1, inputs), "", "", m.const(RNG.normal(size=(2, 8 * hidden))), *[""] * 4]
    for at, rows in ((1, inputs), (2, hidden)):
        q = RNG.integers(-127, 128, (2, rows, 4 * hidden))
        size = (2, 4 * hidden) if per_channel else (2,)
        given[at] = m.const(q, np.int8)
        given += [m.const(RNG.uniform(0.003, 0.01, size)), m.const(np.zeros(size), np.int8)]
    how = {"direction": "bidirectional", "hidden_size": hidden, "domain": MS, "outputs": 3}
    m.node("DynamicQuantizeLSTM", *given, **how)
    ran = Ran(m.model(*m.nodes[-1].output), image(7, 1, inputs))
    for ours, theirs in zip(ran.ours, ran.theirs, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.03)
        assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.999


def test_matmul_integer_to_float() -> None:
    m = Integers()
    (x, xs, xz), (w, ws, wz) = m.q((6, 24)), m.weight((24, 5), CHANNELS)
    y = m.node("MatMulIntegerToFloat", x, w, xs, ws, xz, wz, domain=MS)
    ran = Ran(m.model(y), image(6, 24))
    np.testing.assert_allclose(ran.ours[0], ran.theirs[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("k", [64, 48])
def test_matmul_of_four_bit_blocks(zeros: bool, k: int) -> None:
    n, block, m = 6, 32, Maker()
    blocks = -(-k // block)
    b = m.const(RNG.integers(0, 256, (n, blocks, block // 2)), np.uint8)
    inputs = [m.input(3, k), b, m.const(RNG.uniform(0.01, 0.02, n * blocks))]
    if zeros:
        inputs.append(m.const(RNG.integers(0, 256, n * -(-blocks // 2)), np.uint8))
    y = m.node("MatMulNBits", *inputs, domain=MS, K=k, N=n, bits=4, block_size=block)
    ran = Ran(m.model(y), image(3, k))
    np.testing.assert_allclose(ran.ours[0], ran.theirs[0], rtol=1e-4, atol=1e-4)


FLOATS: list[tuple[str, list[tuple[int, ...]], dict[str, Any]]] = [
    ("FusedConv", [(5, 4, 3, 3), (5,)], {"activation": "Relu"}),
    ("FusedConv", [(5, 4, 3, 3), (5,)], {"activation": "LeakyRelu", "activation_params": [0.2]}),
    ("FusedConv", [(5, 4, 3, 3)], {"activation": "Clip", "activation_params": [-0.5, 0.7]}),
    ("FusedGemm", [(24, 5), (5,)], {"activation": "Relu"}),
    ("FusedGemm", [(24, 5), (5,)], {"activation": "LeakyRelu", "activation_alpha": 0.3}),
    ("FusedMatMul", [(24, 5)], {"alpha": 0.5}),
    ("FusedMatMul", [(5, 24)], {"transB": 1}),
    ("Gelu", [], {}),
    ("BiasGelu", [(24,)], {}),
    ("FastGelu", [(24,)], {}),
    ("QuickGelu", [], {"alpha": 1.5}),
    ("SkipLayerNormalization", [(6, 24), (24,), (24,)], {"epsilon": 1e-5}),
    ("SkipLayerNormalization", [(6, 24), (24,), (24,), (24,)], {"epsilon": 1e-5}),
    ("SkipSimplifiedLayerNormalization", [(6, 24), (24,)], {"epsilon": 1e-5}),
]


@pytest.mark.parametrize(("op", "constants", "attrs"), FLOATS)
def test_fused_floats(op: str, constants: list[tuple[int, ...]], attrs: dict[str, Any]) -> None:
    shape = (1, 4, 8, 8) if "Conv" in op else (1, 6, 24) if "Skip" in op else (6, 24)
    m = Maker()
    if "Skip" in op:
        constants = [shape, *constants[1:]]
    inputs = [m.input(*shape), *(m.const(RNG.normal(size=s)) for s in constants)]
    ran = Ran(m.model(m.node(op, *inputs, domain=MS, **attrs)), image(*shape))
    np.testing.assert_allclose(ran.ours[0], ran.theirs[0], rtol=1e-4, atol=1e-4)


class Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, shape: tuple[int, ...]) -> None:
        self.left = [image(*shape) for _ in range(4)]

    def get_next(self) -> dict[str, Any] | None:
        return self.left.pop() if self.left else None


def float_network() -> Maker:
    m = Maker()
    y = m.node("Conv", m.input(1, 3, 8, 8), m.const(RNG.normal(size=(6, 3, 3, 3)) * 0.3))
    y = m.node("Relu", y)
    w = m.const(RNG.normal(size=(6, 1, 3, 3)) * 0.3)
    y = m.node("Conv", y, w, group=6, pads=[1, 1, 1, 1])
    y = m.node("AveragePool", y, kernel_shape=[6, 6])
    y = m.node("Reshape", y, m.const([1, 6], np.int64))
    y = m.node("Gemm", y, m.const(RNG.normal(size=(6, 5))), m.const(RNG.normal(size=5)))
    m.node("Softmax", y, axis=-1)
    return m


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("layout", [QuantFormat.QDQ, QuantFormat.QOperator])
@pytest.mark.parametrize(
    ("activation", "weight"),
    [
        (QuantType.QUInt8, QuantType.QUInt8),
        (QuantType.QInt8, QuantType.QInt8),
        (QuantType.QUInt8, QuantType.QInt8),
    ],
)
def test_what_onnxruntime_quantizes(
    tmp_path: Path, layout: Any, activation: Any, weight: Any, per_channel: bool
) -> None:
    m = float_network()
    out = tmp_path / "q.onnx"
    ort_quantization.quantize_static(
        m.model(m.nodes[-1].output[0]), out, Samples((1, 3, 8, 8)), quant_format=layout,
        activation_type=activation, weight_type=weight, per_channel=per_channel,
    )  # fmt: skip
    ran = Ran(onnx.load(out), image(1, 3, 8, 8)).integers()
    assert not ran.decisions
    assert np.abs(ran.ours[0] - ran.theirs[0]).max() <= 4 / 256


def test_what_onnxruntime_quantizes_dynamically(tmp_path: Path) -> None:
    m = float_network()
    given, out = tmp_path / "f.onnx", tmp_path / "q.onnx"
    onnx.save(m.model(m.nodes[-1].output[0]), given)
    ort_quantization.quantize_dynamic(given, out, weight_type=QuantType.QInt8)
    ran = Ran(onnx.load(out), image(1, 3, 8, 8))
    np.testing.assert_allclose(ran.ours[0], ran.theirs[0], rtol=1e-3, atol=1e-3)
