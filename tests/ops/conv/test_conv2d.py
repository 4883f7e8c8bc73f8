"""Conv2d: floats as ONNX has them, integers by brute force, and every kernel table as these."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.ir import Node, QuantParams, Value, constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops.conv.conv2d import is_depthwise

from ..conftest import activation, graph_of, output_of, rounded

BACKEND_OPS = {"Conv"}
PARAMETERS = {"Conv": 1}

WIDE = pytest.mark.parametrize("wide", [False, True], ids=["int8", "int16"])


def test_backend(backend_case):
    backend_case.check(1e-5, 1e-5)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_auto_pad_is_that_of_onnxruntime(run_onnx, auto_pad, stride):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 10, 11)).astype(np.float32)
    w = rng.normal(size=(5, 3, 3, 4)).astype(np.float32)
    run_onnx("Conv", {"x": x}, {"w": w}, auto_pad=auto_pad, strides=[stride, stride]).agree()


@pytest.mark.parametrize(
    ("shape", "weights", "attrs"),
    [
        ((1, 6, 9, 8), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
        ((1, 40, 9, 8), (40, 1, 5, 3), {"group": 40, "pads": [2, 0, 1, 3], "strides": [2, 1]}),
        ((2, 3, 5, 5), (3, 1, 3, 3), {"group": 3, "pads": [2, 2, 2, 2], "dilations": [2, 2]}),
        ((1, 6, 9, 8), (12, 1, 3, 3), {"group": 6}),
        ((1, 6, 9, 8), (9, 2, 3, 3), {"group": 3, "pads": [0, 1, 2, 0]}),
        ((1, 8, 30), (4, 8, 5), {"pads": [2, 1], "strides": [2]}),
        ((1, 8, 30), (8, 1, 5), {"group": 8, "dilations": [3]}),
        ((1, 3, 17, 19), (7, 3, 3, 3), {"dilations": [3, 2], "pads": [4, 0, 1, 9]}),
        ((3, 5, 6, 6), (4, 5, 1, 1), {"strides": [2, 2]}),
        ((2, 5, 6, 6), (4, 5, 1, 1), {"pads": [1, 0, 0, 2]}),
        ((2, 4, 5, 6, 7), (6, 4, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
        ((2, 4, 5, 6, 7), (6, 2, 3, 1, 2), {"group": 2, "strides": [2, 1, 2]}),
        ((1, 4, 7, 6, 7), (4, 1, 2, 3, 3), {"group": 4, "dilations": [3, 1, 2]}),
        ((2, 4, 5, 6, 7), (6, 4, 1, 3, 3), {"strides": [1, 2, 2], "pads": [0, 1, 0, 0, 1, 2]}),
        ((2, 4, 5, 6, 7), (6, 4, 2, 1, 1), {"auto_pad": "SAME_UPPER"}),
    ],
)
def test_float_is_that_of_onnxruntime(run_onnx, shape, weights, attrs):
    rng = np.random.default_rng(2)
    x, w, b = (rng.normal(size=s).astype(np.float32) for s in (shape, weights, weights[:1]))
    run_onnx("Conv", {"x": x}, {"w": w, "b": b}, **attrs).agree()
    run_onnx("Conv", {"x": x}, {"w": w}, **attrs).agree()


def test_a_computed_bias_is_added(run_onnx):
    rng = np.random.default_rng(3)
    x, w, b = (rng.normal(size=s).astype(np.float32) for s in ((1, 2, 4, 4), (3, 2, 3, 3), (3,)))
    run_onnx("Conv", {"x": x, "b": b}, {"w": w}, order=["x", "w", "b"]).agree()
    x, w = x.reshape(1, 2, 2, 2, 4), w[..., None]
    run_onnx("Conv", {"x": x, "b": b}, {"w": w[:, :, :2, :2]}, order=["x", "w", "b"]).agree()


@pytest.mark.parametrize(
    ("shapes", "attrs", "message"),
    [
        ({"x": (1, 2, 4, 4, 4, 4)}, {"w": (3, 2, 3, 3, 3, 3)}, "convolves over 4 axes"),
        ({"x": (1, 2, 2, 4, 4)}, {"w": (3, 2, 3, 3, 3)}, "does not fit 2 once"),
    ],
)
def test_what_cannot_be_served_is_said(run_onnx, shapes, attrs, message):
    feed = {k: np.zeros(s, np.float32) for k, s in shapes.items()}
    constants = {k: np.zeros(s, np.float32) for k, s in attrs.items()}
    with pytest.raises(UnsupportedError, match=message):
        run_onnx("Conv", feed, constants)


def conv_node(
    rng, shape, weights, *, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0), groups=1, zero=5,
    bias=True, out=None, wide=False, **act,
):  # fmt: skip
    """A Conv2d with per-channel weights whose results spread over the range; int16 where `wide`."""
    n = weights[0]
    k = int(np.prod(weights[1:]))
    x = activation(shape, zero, wide)
    scales = tuple(float(s) for s in rng.uniform(0.2, 1.8, n) * 0.25 / np.sqrt(k))
    w = constant(rng.integers(-127, 128, weights).astype(np.int8), "w", QuantParams(scales, axis=0))
    most = 3000 << (8 if wide else 0)
    b = constant(rng.integers(-most, most, n).astype(np.int32), "b") if bias else None
    attrs = {"stride": stride, "dilation": dilation, "pads": pads, "groups": groups, **act}
    node = Node("Conv2d", [x, w, b], [], attrs, "conv")
    quant = out or output_of(0.9, -7, wide)
    node.outputs = [Value("out", definition("Conv2d").infer(node)[0], quant=quant)]
    return node


def brute_force(node, x):
    """One output after the other, in Python integers."""
    w, b = node.input(1).const, node.inputs[2]
    qx, qw, qy = node.input(0).quant, node.input(1).quant, node.output.quant
    (sh, sw), (dh, dw) = node.attrs["stride"], node.attrs["dilation"]
    top, left = node.attrs["pads"][:2]
    channels, kh, kw, per_group = w.shape
    out = np.zeros(node.output.shape, qy.dtype)
    for at in itertools.product(*map(range, out.shape)):
        n, y, xx, o = at
        acc = 0 if b is None else int(b.const[o])
        base = o // (channels // node.attrs["groups"]) * per_group
        for i, j, c in itertools.product(range(kh), range(kw), range(per_group)):
            iy, ix = y * sh - top + i * dh, xx * sw - left + j * dw
            if 0 <= iy < x.shape[1] and 0 <= ix < x.shape[2]:
                acc += int(w[o, i, j, c]) * (int(x[n, iy, ix, base + c]) - qx.zero_point)
        out[at] = rounded(np.array(acc), qx.scalar * qw.scale[o] / qy.scalar, qy)
    return out


BRUTE = [
    ((1, 5, 6, 3), (4, 3, 3, 3), {"pads": (1, 1, 1, 1)}),
    ((2, 5, 4, 4), (6, 3, 2, 2), {"groups": 2, "stride": (2, 1), "dilation": (1, 2)}),
    ((1, 4, 5, 3), (3, 3, 3, 1), {"groups": 3, "pads": (2, 0, 1, 1), "stride": (1, 2)}),
]


@WIDE
@pytest.mark.parametrize(("shape", "weights", "attrs"), BRUTE)
def test_the_integer_reference_is_the_sum_it_says(integers, shape, weights, attrs, wide):
    node = conv_node(integers.rng, shape, weights, wide=wide, **attrs)
    x = integers.data(node.input(0))
    got = definition("Conv2d").integer(node, [x, *[v.const for v in node.inputs[1:]]])[0]
    np.testing.assert_array_equal(got, brute_force(node, x))
    assert np.mean(np.abs(got) < node.output.quant.qmax) > 0.8, "saturated values show nothing"


CHANNELS = [1, 3, 8, 17, 33]
WINDOWS = [
    ((1, 1), {}),
    ((1, 1), {"stride": (2, 2)}),
    ((1, 1), {"pads": (1, 2, 0, 1)}),
    ((3, 3), {"pads": (1, 1, 1, 1)}),
    ((3, 3), {"pads": (0, 0, 1, 1), "stride": (2, 2)}),
    ((1, 4), {"pads": (0, 2, 0, 1)}),
    ((1, 3), {"pads": (1, 1, 1, 1), "stride": (2, 2)}),
    ((5, 1), {"pads": (2, 0, 2, 0), "dilation": (2, 1)}),
    ((3, 2), {"pads": (5, 4, 3, 6), "dilation": (2, 3), "stride": (3, 1)}),
    ((7, 6), {}),
]


@WIDE
@pytest.mark.parametrize(("kernel", "attrs"), WINDOWS)
@pytest.mark.parametrize("out_channels", [1, 4, 21])
@pytest.mark.parametrize("channels", CHANNELS)
def test_kernels_give_the_bytes_of_the_reference(
    integers, channels, out_channels, kernel, attrs, wide
):
    weights = (out_channels, *kernel, channels)
    integers.agree(conv_node(integers.rng, (2, 7, 9, channels), weights, wide=wide, **attrs))


@WIDE
@pytest.mark.parametrize(("kernel", "attrs"), WINDOWS)
@pytest.mark.parametrize("channels", [2, 3, 8, 16, 31, 64, 100])
def test_depthwise_kernels_give_the_bytes_of_the_reference(integers, channels, kernel, attrs, wide):
    shape, weights = (2, 7, 9, channels), (channels, *kernel, 1)
    node = conv_node(integers.rng, shape, weights, groups=channels, wide=wide, **attrs)
    assert is_depthwise(node)
    integers.agree(node)


@WIDE
@pytest.mark.parametrize(("kernel", "attrs"), WINDOWS)
@pytest.mark.parametrize(("groups", "per_in", "per_out"), [(2, 5, 3), (3, 1, 2), (4, 8, 16)])
def test_grouped_kernels_give_the_bytes_of_the_reference(
    integers, groups, per_in, per_out, kernel, attrs, wide
):
    shape, weights = (2, 7, 9, groups * per_in), (groups * per_out, *kernel, per_in)
    integers.agree(conv_node(integers.rng, shape, weights, groups=groups, wide=wide, **attrs))


@pytest.mark.parametrize("zero", [-128, -1, 127])
@pytest.mark.parametrize("groups", [1, 6])
def test_padding_is_the_zero_point(integers, zero, groups):
    node = conv_node(
        integers.rng, (1, 4, 4, 6), (6, 3, 3, 6 // groups), groups=groups, zero=zero,
        pads=(2, 2, 2, 2), bias=False,
    )  # fmt: skip
    integers.agree(node)


@WIDE
@pytest.mark.parametrize("groups", [1, 4])
def test_an_activation_is_a_clamp_in_the_output(integers, groups, wide):
    node = conv_node(
        integers.rng, (1, 5, 5, 4), (4, 3, 3, 4 // groups), groups=groups,
        act_min=0.0, act_max=30.0, wide=wide,
    )  # fmt: skip
    got, quant = integers.agree(node), node.output.quant
    assert got.min() == quant.zero_point
    assert got.max() == round(30 / quant.scalar) + quant.zero_point


@WIDE
def test_a_window_outside_the_image_reads_only_padding(integers, wide):
    pads = (3, 3, 3, 3)
    integers.agree(
        conv_node(integers.rng, (1, 1, 1, 5), (5, 1, 1, 1), groups=5, pads=pads, wide=wide)
    )
    pads = (4, 4, 4, 4)
    integers.agree(conv_node(integers.rng, (1, 1, 1, 3), (5, 2, 2, 3), pads=pads, wide=wide))


def test_sums_that_would_leave_32_bits_are_refused(integers):
    fine = conv_node(integers.rng, (1, 3, 3, 64), (2, 3, 3, 64))
    narrow = conv_node(integers.rng, (1, 3, 3, 64), (2, 3, 3, 64), out=QuantParams((1e-7,)))
    conv = definition("Conv2d")
    assert conv.accumulator_problem(fine) is None
    assert "leaves 32 bits" in conv.accumulator_problem(narrow)
    with pytest.raises(ValueError, match="channel 0"):
        build_file(graph_of(narrow))


def test_the_bound_on_sums_is_reached_and_not_passed(integers):
    """Worst inputs at the largest allowed left shift still give the reference's bytes."""
    node = conv_node(integers.rng, (1, 1, 2, 8), (4, 1, 1, 8), bias=False, zero=-128)
    scale = 0.05
    while definition("Conv2d").accumulator_problem(node) is None:
        scale /= 2
        node.output.quant = QuantParams((scale,), 0)
    node.output.quant = QuantParams((scale * 2,), 0)
    for fill in (-128, 127):
        integers.agree(node, {node.input(0): np.full((1, 1, 2, 8), fill, np.int8)})


COLUMNS = [
    {},
    {"stride": (2, 1)},
    {"stride": (3, 2)},
    {"dilation": (3, 1)},
    {"pads": (1, 0, 1, 0)},
]


@WIDE
@pytest.mark.parametrize("attrs", COLUMNS)
@pytest.mark.parametrize("groups", [1, 12])
def test_kernels_agree_on_an_image_of_one_column(integers, wide, groups, attrs):
    shape, weights = (2, 19, 1, 12), (12, 3, 1, 12 // groups)
    integers.agree(conv_node(integers.rng, shape, weights, groups=groups, wide=wide, **attrs))


def test_an_image_of_one_column_is_written_as_one_line(integers):
    node = conv_node(integers.rng, (2, 19, 1, 12), (12, 5, 1, 1), groups=12, stride=(2, 1))
    written = read(build_file(graph_of(node))).ops[0].params
    assert [written[f"geometry.{side}_h"] for side in ("in", "out", "kernel", "stride")] == [1] * 4
    assert [written[f"geometry.{side}_w"] for side in ("in", "out", "kernel", "stride")] == [
        19,
        8,
        5,
        2,
    ]


def test_a_depthwise_convolution_without_padding_copies_no_lines(integers):
    node = conv_node(integers.rng, (1, 20, 20, 16), (16, 3, 3, 1), groups=16, stride=(2, 2))
    padded = conv_node(integers.rng, (1, 20, 20, 16), (16, 3, 3, 1), groups=16, pads=(1, 1, 1, 1))
    assert read(build_file(graph_of(node))).memory.scratch_bytes < 20 * 16
    assert read(build_file(graph_of(padded))).memory.scratch_bytes < 20 * 16 * 6


def test_the_file_counts_the_multiplications(integers):
    node = conv_node(integers.rng, (1, 8, 8, 4), (6, 3, 3, 4), pads=(1, 1, 1, 1))
    assert read(build_file(graph_of(node))).memory.macs == 64 * 6 * 36
