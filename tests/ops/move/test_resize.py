"""Resize: ONNX's node cases, onnxruntime, real arithmetic, and every kernel table."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops.move.resize import COORDINATES, ROUNDINGS, Axis, sources
from edgekit.toolkit.runtime import Session

BACKEND_OPS = {"Resize", "Upsample"}
PARAMETERS = {"Resize": 1, "Upsample": 1}
OTHERWISE = dict.fromkeys(
    (
        "test_resize_downsample_scales_cubic_align_corners",
        "test_resize_downsample_scales_linear_align_corners",
    ),
    "onnxruntime aligns to the last element of the output; the case to a fractional length",
)

SCALED = sorted(COORDINATES.keys() - {"tf_crop_and_resize"})
"""Coordinates that need no crop."""


def test_backend(backend_case):
    if backend_case.name in OTHERWISE:
        pytest.skip(OTHERWISE[backend_case.name])
    backend_case.check(1e-5, 1e-6)


def resize(run_onnx, x, axes, sizes=None, scales=None, **attrs):
    if sizes is not None:
        given = {"sizes": np.array(sizes, np.int64)}
    else:
        given = {"scales": np.array(scales, np.float32)}
    order = ["x", "", *(["", "sizes"] if sizes is not None else ["scales"])]
    return run_onnx("Resize", {"x": x}, given, order=order, axes=axes, **attrs)


@pytest.mark.parametrize("coordinates", SCALED)
@pytest.mark.parametrize("to", [(1, 1), (5, 20), (14, 22), (6, 13), (3, 4)], ids=str)
def test_linear_agrees_with_onnxruntime(run_onnx, coordinates, to):
    x = np.random.default_rng(6).normal(0, 3, (2, 3, 7, 11)).astype(np.float32)
    run = resize(run_onnx, x, [2, 3], to, mode="linear", coordinate_transformation_mode=coordinates)
    run.agree(1e-6)


@pytest.mark.parametrize("coordinates", SCALED)
@pytest.mark.parametrize("to", [(1, 1), (5, 20), (14, 22), (7, 13), (3, 4)], ids=str)
@pytest.mark.parametrize("more", [{}, {"cubic_coeff_a": -0.5}, {"exclude_outside": 1}], ids=str)
def test_cubic_agrees_with_onnxruntime(run_onnx, coordinates, to, more):
    x = np.random.default_rng(6).normal(0, 3, (2, 3, 7, 11)).astype(np.float32)
    attrs = {"coordinate_transformation_mode": coordinates, **more}
    resize(run_onnx, x, [2, 3], to, mode="cubic", **attrs).agree(1e-5)


@pytest.mark.parametrize("coordinates", SCALED)
@pytest.mark.parametrize("rounding", sorted(ROUNDINGS))
@pytest.mark.parametrize("to", [(1, 1), (5, 20), (14, 22), (6, 13), (3, 4)], ids=str)
def test_nearest_agrees_with_onnxruntime(run_onnx, coordinates, rounding, to):
    x = np.random.default_rng(6).normal(0, 3, (2, 3, 7, 11)).astype(np.float32)
    attrs = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    resize(run_onnx, x, [2, 3], to, mode="nearest", **attrs).agree(0)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("to", [(3, 4), (5, 20), (7, 2)], ids=str)
def test_antialias_agrees_with_onnxruntime(run_onnx, mode, outside, to):
    x = np.random.default_rng(6).normal(0, 3, (2, 3, 7, 11)).astype(np.float32)
    resize(
        run_onnx, x, [2, 3], to, mode=mode, antialias=1, exclude_outside=outside
    ).agree(1e-5)  # fmt: skip


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("shape", "axes", "to"),
    [((1, 2, 3, 4, 5), [2, 3, 4], (5, 3, 9)), ((2, 3, 4, 5), [0, 2], (3, 7)),
     ((2, 3, 4, 5), [1, 2, 3], (2, 6, 4)), ((2, 3, 4, 5), [0, 1, 2, 3], (1, 4, 8, 3))],
    ids=str,
)  # fmt: skip
def test_any_axes_agree_with_the_reference(mode, shape, axes, to):
    x = np.random.default_rng(6).normal(0, 3, shape).astype(np.float32)
    sizes = np.array([dict(zip(axes, to, strict=True)).get(i, d) for i, d in enumerate(shape)])
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode)
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", 1, shape)],
        [helper.make_tensor_value_info("y", 1, None)], [numpy_helper.from_array(sizes, "sizes")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    (want,) = ReferenceEvaluator(made).run(None, {"x": x})
    got = Session(build_file(load(made))).run({"x": x})["y"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("to", [(3, 20), (14, 12)], ids=str)
def test_the_aspect_ratio_is_kept(run_onnx, policy, to):
    x = np.random.default_rng(6).normal(0, 3, (1, 2, 7, 11)).astype(np.float32)
    resize(run_onnx, x, [2, 3], to, mode="linear", keep_aspect_ratio_policy=policy).agree(1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    "crop", [(0.1, 0.2, 0.8, 0.9), (-0.2, 0.5, 0.5, 1.3), (0.9, 0.7, 0.1, 0.2)]
)
def test_a_crop_agrees_with_onnxruntime(run_onnx, mode, crop):
    x = np.random.default_rng(6).normal(0, 3, (1, 2, 7, 11)).astype(np.float32)
    known = {"crop": np.array(crop, np.float32), "sizes": np.array([6, 9])}
    attrs = {"axes": [2, 3], "mode": mode, "extrapolation_value": 7.5}
    attrs["coordinate_transformation_mode"] = "tf_crop_and_resize"
    order = ["x", "crop", "", "sizes"]
    run_onnx("Resize", {"x": x}, known, order=order, **attrs).agree(1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("shape", "axes", "scales"),
    [
        ((1, 3, 6, 5), [2, 3], [2.0, 3.0]),
        ((1, 3, 6, 5), [2, 3], [1.0, 1.7]),
        ((1, 3, 6, 5), [2, 3], [0.6, 0.35]),
        ((1, 3, 6, 5), [2, 3], [1.0, 1.0]),
        ((2, 3, 8), [2], [2.5]),
        ((6, 5), [0, 1], [2.0, 1.5]),
    ],
    ids=str,
)
def test_scales_agree_with_onnxruntime(run_onnx, mode, shape, axes, scales):
    x = np.random.default_rng(7).normal(0, 3, shape).astype(np.float32)
    resize(run_onnx, x, axes, scales=scales, mode=mode).agree(1e-6)


def test_an_nhwc_model_needs_no_transposes(run_onnx):
    x = np.random.default_rng(8).normal(0, 3, (1, 4, 5, 3)).astype(np.float32)
    resize(run_onnx, x, [1, 2], sizes=[8, 10], mode="nearest").agree(0)
    graph = load(model(scales=[1, 2, 2, 1]))
    assert [n.op for n in graph.nodes] == ["Resize"]


def integer_node(integers, x, out_hw, mode, coordinates="half_pixel"):
    attrs = {"out_hw": out_hw, "mode": mode}
    for side, size, out in zip("hw", x.shape[1:3], out_hw, strict=True):
        axis = Axis(size, out, np.float32(out) / np.float32(size))
        lo, hi, weight = sources(axis, coordinates, "round_prefer_floor", mode == "linear")
        attrs |= {f"{side}_lo": lo, f"{side}_hi": hi, f"{side}_w": weight}
    return integers.node("Resize", [x], **attrs)


IMAGES = [
    ((1, 3, 4, 5), (6, 8)),
    ((2, 7, 6, 17), (5, 13)),
    ((1, 1, 1, 3), (4, 4)),
    ((1, 1, 9, 64), (1, 20)),
    ((1, 16, 16, 1), (1, 1)),
]


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners"])
@pytest.mark.parametrize(("shape", "out_hw"), IMAGES, ids=str)
def test_integers_are_the_same_on_all_kernels(integers, mode, coordinates, shape, out_hw):
    for x in (integers.value(shape), integers.value16(shape)):
        integers.agree(integer_node(integers, x, out_hw, mode, coordinates))


@pytest.mark.parametrize(("shape", "out_hw"), IMAGES, ids=str)
def test_integers_are_the_real_values_within_half_a_step(integers, shape, out_hw):
    for x, bits in ((integers.value(shape), 11), (integers.value16(shape), 15)):
        node = integer_node(integers, x, out_hw, "linear")
        data = integers.data(x)
        q, a = data.astype(np.float64), node.attrs
        wy, wx = a["h_w"].astype(np.float64)[:, None, None], a["w_w"].astype(np.float64)[:, None]
        rows = (1 - wy) * q[:, a["h_lo"]] + wy * q[:, a["h_hi"]]
        want = (1 - wx) * rows[:, :, a["w_lo"]] + wx * rows[:, :, a["w_hi"]]
        got = definition("Resize").integer(node, [data])[0]
        span = np.iinfo(data.dtype).max - np.iinfo(data.dtype).min
        assert np.abs(got - want).max() <= 0.5 + 2 * span / 2 ** (bits + 1)


def model(scales, shape=(1, 3, 4, 4), **attrs):
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], name="up", **attrs)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    given = numpy_helper.from_array(np.array(scales, np.float32), "scales")
    graph = helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name="y")], [given])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    return onnx.shape_inference.infer_shapes(made)


@pytest.mark.parametrize(
    ("message", "scales", "attrs"),
    [
        ("mode is sharp", [1, 1, 2, 2], {"mode": "sharp"}),
        ("antialias", [1, 1, 0.5, 0.5], {"mode": "nearest", "antialias": 1}),
        (
            "crop has 0 limits",
            [1, 1, 2, 2],
            {"coordinate_transformation_mode": "tf_crop_and_resize"},
        ),
    ],
)
def test_what_is_refused_says_why(message, scales, attrs):
    with pytest.raises(UnsupportedError, match=message):
        load(model(scales, **attrs))


def test_whole_weights_are_copied():
    graph = load(
        model([1, 1, 0.5, 0.5], mode="linear", coordinate_transformation_mode="asymmetric")
    )
    assert graph.nodes[1].attrs["mode"] == "nearest"


def test_a_resize_by_one_is_nothing():
    assert "Resize" not in [n.op for n in load(model([1, 1, 1, 1])).nodes]
