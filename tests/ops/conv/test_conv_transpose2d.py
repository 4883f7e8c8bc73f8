"""ConvTranspose2d: floats as ONNX has them, and every kernel table as the integer reference."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest

import edgekit
from edgekit.toolkit.ir import Node, QuantParams, Value, constant
from edgekit.toolkit.ops import definition

from ..conftest import activation, output_of, rounded

BACKEND_OPS = {"ConvTranspose"}
PARAMETERS = {"ConvTranspose": 1}
GAPS = """
<ir_version: 8, opset_import: ["" : 17]>
gaps (float[1,2,3,4] x) => (float[1,3,8,11] y) {
  c = ConvTranspose <strides: ints = [3,3]> (x, w, b)
  y = Clip (c, low, high)
}
"""
WIDE = pytest.mark.parametrize("wide", [False, True], ids=["int8", "int16"])


def test_backend(backend_case):
    backend_case.check(1e-5, 1e-5)


@pytest.mark.parametrize(
    ("shape", "weights", "attrs"),
    [
        ((1, 3, 5, 6), (3, 4, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((2, 3, 5, 6), (3, 4, 2, 2), {"strides": [2, 2]}),
        ((1, 3, 5, 6), (3, 4, 3, 3), {"strides": [2, 3], "output_padding": [1, 2]}),
        ((1, 3, 5, 6), (3, 4, 3, 2), {"dilations": [2, 3], "strides": [2, 2]}),
        ((1, 3, 5, 6), (3, 4, 3, 3), {"dilations": [2, 2], "strides": [4, 3]}),
        ((1, 3, 5, 6), (3, 4, 2, 1), {"strides": [3, 4]}),
        ((1, 6, 5, 6), (6, 2, 4, 4), {"group": 3, "strides": [2, 2], "pads": [1, 0, 2, 1]}),
        ((1, 6, 5, 6), (6, 1, 3, 3), {"group": 6, "strides": [2, 2]}),
        ((1, 3, 9), (3, 4, 5), {"strides": [3], "pads": [1, 2]}),
        ((1, 3, 5, 6), (3, 4, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 3, 5, 6), (3, 4, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ((1, 3, 5, 6), (3, 4, 4, 4), {"strides": [3, 2], "output_shape": [14, 13]}),
        (
            (1, 3, 5, 6),
            (3, 4, 4, 4),
            {"strides": [2, 2], "output_shape": [9, 11], "auto_pad": "SAME_UPPER"},
        ),
    ],
)
def test_float_is_that_of_onnxruntime(run_onnx, shape, weights, attrs):
    rng = np.random.default_rng(4)
    outputs = weights[1] * attrs.get("group", 1)
    x, w, b = (rng.normal(size=s).astype(np.float32) for s in (shape, weights, (outputs,)))
    run_onnx("ConvTranspose", {"x": x}, {"w": w, "b": b}, **attrs).agree()
    run_onnx("ConvTranspose", {"x": x}, {"w": w}, **attrs).agree()


@pytest.mark.parametrize("bias", [[0.1, -2.0, 3.0], None])
def test_floats_are_clamped_where_no_tap_falls(tmp_path, bias):
    rng = np.random.default_rng(5)
    model = onnx.parser.parse_model(GAPS)
    constants = {"w": rng.normal(size=(2, 3, 2, 2)), "b": np.array(bias or [0.0] * 3)}
    constants |= {"low": np.array(-0.5 if bias else 0.25), "high": np.array(0.5)}
    for name, array in constants.items():
        tensor = onnx.numpy_helper.from_array(array.astype(np.float32), name)
        model.graph.initializer.append(tensor)
    onnx.save(model, tmp_path / "gaps.onnx")
    edgekit.convert(tmp_path / "gaps.onnx", tmp_path / "gaps.edge")
    x = rng.normal(size=(1, 2, 3, 4)).astype(np.float32)
    (want,) = onnxruntime.InferenceSession(tmp_path / "gaps.onnx").run(None, {"x": x})
    got = edgekit.Session(tmp_path / "gaps.edge").run({"x": x})["y"]
    np.testing.assert_allclose(got, want, atol=1e-6)
    assert set(got[0, :, 2, 2]) <= ({np.float32(0.1), -0.5, 0.5} if bias else {0.25})


def up_node(
    rng, shape, weights, *, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0), extra=(0, 0),
    groups=1, zero=5, wide=False, **act,
):  # fmt: skip
    n, kh, kw, _ = weights
    k = int(np.prod(weights[1:]))
    x = activation(shape, zero, wide)
    scales = tuple(float(s) for s in rng.uniform(0.2, 1.8, n) * 0.5 / np.sqrt(k))
    w = constant(rng.integers(-127, 128, weights).astype(np.int8), "w", QuantParams(scales, axis=0))
    most = 3000 << (8 if wide else 0)
    b = constant(rng.integers(-most, most, n).astype(np.int32), "b")
    size = tuple(
        (d - 1) * s + (k - 1) * dil + 1 + e - p - q
        for d, s, k, dil, e, p, q in zip(
            shape[1:3], stride, (kh, kw), dilation, extra, pads[:2], pads[2:], strict=True
        )
    )
    attrs = {
        "stride": stride, "dilation": dilation, "pads": pads, "output_shape": size,
        "groups": groups, **act,
    }  # fmt: skip
    node = Node("ConvTranspose2d", [x, w, b], [], attrs, "up")
    quant = output_of(0.9, -7, wide)
    node.outputs = [Value("out", definition("ConvTranspose2d").infer(node)[0], quant=quant)]
    return node


@WIDE
def test_the_integer_reference_is_the_sum_it_says(integers, wide):
    node = up_node(
        integers.rng, (1, 3, 4, 4), (6, 3, 2, 2), stride=(2, 3), dilation=(1, 2),
        pads=(1, 1, 0, 1), extra=(1, 0), groups=2, wide=wide,
    )  # fmt: skip
    x, w, b = integers.data(node.input(0)), node.input(1).const, node.input(2).const
    got = definition("ConvTranspose2d").integer(node, [x, w, b])[0]
    want = np.zeros_like(got)
    qx, qy = node.input(0).quant, node.output.quant
    ratio = qx.scalar * np.array(node.input(1).quant.scale) / qy.scalar
    for y, xx, o in itertools.product(*map(range, got.shape[1:])):
        acc = int(b[o])
        for ky, kx, iy, ix in itertools.product(range(3), range(2), range(3), range(4)):
            if iy * 2 - 1 + ky == y and ix * 3 - 1 + kx * 2 == xx:
                part = x[0, iy, ix, o // 3 * 2 : o // 3 * 2 + 2].astype(int) - qx.zero_point
                acc += int(part @ w[o, ky, kx].astype(int))
        want[0, y, xx, o] = rounded(np.array(acc), float(ratio[o]), qy)
    np.testing.assert_array_equal(got, want)
    assert np.mean(np.abs(got) < qy.qmax) > 0.8


SHAPES = [
    ((3, 3), {"stride": (2, 2), "pads": (1, 1, 1, 1)}),
    ((2, 2), {"stride": (2, 2)}),
    ((4, 4), {"stride": (2, 2), "pads": (1, 1, 1, 1)}),
    ((3, 3), {}),
    ((1, 1), {"stride": (2, 3), "extra": (1, 2)}),
    ((2, 5), {"stride": (3, 2), "extra": (2, 1), "pads": (0, 1, 1, 0)}),
    ((3, 3), {"stride": (4, 3), "dilation": (2, 2), "pads": (2, 0, 1, 1)}),
    ((3, 2), {"stride": (2, 2), "dilation": (2, 4)}),
    ((1, 5), {"stride": (1, 4), "pads": (0, 3, 0, 2)}),
]


@WIDE
@pytest.mark.parametrize(("kernel", "attrs"), SHAPES)
@pytest.mark.parametrize(("channels", "outputs"), [(1, 1), (3, 5), (16, 8), (33, 20)])
def test_kernels_give_the_bytes_of_the_reference(integers, channels, outputs, kernel, attrs, wide):
    weights = (outputs, *kernel, channels)
    integers.agree(up_node(integers.rng, (2, 4, 5, channels), weights, wide=wide, **attrs))


@WIDE
@pytest.mark.parametrize(("kernel", "attrs"), SHAPES)
@pytest.mark.parametrize(("groups", "per_in", "per_out"), [(2, 5, 3), (6, 1, 1), (3, 4, 8)])
def test_grouped_kernels_give_the_bytes_of_the_reference(
    integers, groups, per_in, per_out, kernel, attrs, wide
):
    shape, weights = (2, 4, 5, groups * per_in), (groups * per_out, *kernel, per_in)
    integers.agree(up_node(integers.rng, shape, weights, groups=groups, wide=wide, **attrs))


@pytest.mark.parametrize("zero", [-128, 127])
def test_absent_taps_are_zero(integers, zero):
    integers.agree(up_node(integers.rng, (1, 3, 3, 4), (4, 3, 3, 4), stride=(2, 2), zero=zero))


@WIDE
def test_an_activation_is_a_clamp_in_the_output(integers, wide):
    node = up_node(integers.rng, (1, 3, 3, 4), (4, 1, 1, 4), stride=(2, 2), act_min=0.0, wide=wide)
    assert integers.agree(node).min() == node.output.quant.zero_point
