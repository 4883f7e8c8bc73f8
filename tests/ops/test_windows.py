"""Images that are read where indices, boxes or offsets say, and windows that are put back."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session

BACKEND_OPS = {"Col2Im", "MaxUnpool", "RoiAlign", "DeformConv", "AffineGrid"}
PARAMETERS = {"Col2Im": 1, "MaxUnpool": 2, "AffineGrid": 1}
RNG = np.random.default_rng(4)


def test_backend(backend_case):
    backend_case.check(1e-3, 1e-7)  # what the cases allow: those of RoiAlign have four digits


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def reference(op, feed, constants=None, opset=22, **attrs):
    """The first output of a node, ours and the reference evaluator's."""
    constants = constants or {}
    node = helper.make_node(op, [*feed, *constants], ["y"], **attrs)
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in feed.items()
    ]
    known = [helper.make_tensor(n, 7, a.shape, a) for n, a in constants.items()]
    graph = helper.make_graph(
        [node], "g", inputs, [helper.make_tensor_value_info("y", 1, None)], known
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    (want,) = ReferenceEvaluator(made).run(None, feed)
    return Session(build_file(load(made))).run(feed)["y"], want


@pytest.mark.parametrize(
    ("image", "block", "attrs"),
    [
        ((7, 9), (3, 2), {"strides": [2, 3], "pads": [1, 0, 2, 1]}),
        ((6, 6), (2, 3), {"dilations": [2, 2]}),
        ((9,), (3,), {"strides": [2]}),
        ((4, 5, 6), (2, 1, 3), {"strides": [1, 2, 2], "pads": [0, 1, 1, 1, 0, 0]}),
    ],
    ids=str,
)
def test_windows_are_added_up(image, block, attrs):
    axes = len(image)
    pads, strides = attrs.get("pads", [0] * 2 * axes), attrs.get("strides", [1] * axes)
    reach = [
        (k - 1) * d + 1 for k, d in zip(block, attrs.get("dilations", [1] * axes), strict=True)
    ]
    counts = [
        (d + pads[i] + pads[axes + i] - reach[i]) // strides[i] + 1 for i, d in enumerate(image)
    ]
    x = floats(2, 3 * np.prod(block), np.prod(counts))
    known = {"image": np.array(image), "block": np.array(block)}
    got, want = reference("Col2Im", {"x": x}, known, **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "attrs"),
    [
        ((2, 3, 8, 6), {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ((1, 2, 7, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 2, 9, 9), {"kernel_shape": [3, 2], "dilations": [2, 3], "storage_order": 1}),
        ((2, 2, 11), {"kernel_shape": [4], "strides": [3], "pads": [1, 2], "ceil_mode": 1}),
        ((1, 2, 4, 5, 6), {"kernel_shape": [2, 2, 3], "strides": [2, 2, 2]}),
    ],
    ids=str,
)
def test_maxima_have_indices(run_onnx, shape, attrs):
    x = np.round(floats(*shape) * 3)  # with elements that are equal
    run_onnx("MaxPool", {"x": x}, outputs=2, **attrs).agree(0)


def test_a_pool_of_padding_alone_has_no_index(run_onnx):
    attrs = {"kernel_shape": [1], "pads": [1, 0]}
    with pytest.raises(UserError, match="window of padding alone"):
        run_onnx("MaxPool", {"x": floats(1, 1, 3)}, outputs=2, **attrs)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_maxima_of_small_integers(run_onnx, kind):
    x = RNG.integers(np.iinfo(kind).min, np.iinfo(kind).max, (1, 2, 5, 7)).astype(kind)
    run_onnx("MaxPool", {"x": x}, kernel_shape=[2, 3], pads=[1, 1, 1, 1]).agree(0)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "output_half_pixel"])
def test_boxes_agree_with_onnxruntime(run_onnx, mode, coordinates):
    corners = RNG.uniform(-3, 14, (5, 2)).astype(np.float32)
    boxes = np.concatenate([corners, corners + RNG.uniform(0, 12, (5, 2)).astype(np.float32)], 1)
    feed = {"x": floats(2, 3, 9, 11), "boxes": boxes, "images": np.array([0, 1, 1, 0, 1])}
    run_onnx(
        "RoiAlign", feed, mode=mode, coordinate_transformation_mode=coordinates, output_height=3,
        output_width=2, sampling_ratio=2, spatial_scale=0.7,
    ).agree(1e-5)  # fmt: skip


def test_boxes_with_as_many_samples_as_they_are_large_are_refused(run_onnx):
    feed = {"x": floats(1, 1, 4, 4), "boxes": floats(1, 4), "images": np.array([0])}
    with pytest.raises(UserError, match="sampling_ratio"):
        run_onnx("RoiAlign", feed)


@pytest.mark.parametrize(
    "attrs",
    [
        {"strides": [2, 1], "pads": [1, 0, 1, 2], "offset_group": 2},
        {"dilations": [2, 1], "group": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("is_constant", [False, True])
def test_deformed_windows_agree_with_the_reference(attrs, is_constant):
    groups, parts = attrs.get("group", 1), attrs.get("offset_group", 1)
    x, w = floats(2, 4, 6, 5), floats(4, 4 // groups, 3, 2)
    reach = [(k - 1) * d + 1 for k, d in zip((3, 2), attrs.get("dilations", [1, 1]), strict=True)]
    pads, strides = attrs.get("pads", [0] * 4), attrs.get("strides", [1, 1])
    out = [(d + pads[i] + pads[2 + i] - reach[i]) // strides[i] + 1 for i, d in enumerate((6, 5))]
    feed = {
        "x": x, "w": w, "offset": floats(2, parts * 12, *out), "b": floats(4),
        "mask": floats(2, parts * 6, *out),
    }  # fmt: skip
    if is_constant:
        node = helper.make_node("DeformConv", [*feed], ["y"], **attrs)
        ports = [helper.make_tensor_value_info(n, 1, a.shape) for n, a in feed.items() if n != "w"]
        graph = helper.make_graph(
            [node], "g", ports, [helper.make_tensor_value_info("y", 1, None)],
            [helper.make_tensor("w", 1, w.shape, w.ravel())],
        )  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        (want,) = ReferenceEvaluator(made).run(None, {n: a for n, a in feed.items() if n != "w"})
        del feed["w"]
        got = Session(build_file(load(made))).run(feed)["y"]
    else:
        got, want = reference("DeformConv", feed, **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [(2, 3, 4, 5), (1, 2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("corners", [0, 1])
def test_grids_of_a_known_size_agree_with_the_reference(size, corners):
    axes = len(size) - 2
    feed = {"theta": floats(size[0], axes, axes + 1)}
    got, want = reference("AffineGrid", feed, {"size": np.array(size)}, align_corners=corners)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
