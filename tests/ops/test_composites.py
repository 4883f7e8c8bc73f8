"""Operators built of others, and parameters computed at run time: onnxruntime agrees on them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator

from edgekit.toolkit.errors import UserError

RNG = np.random.default_rng(0)
SETTINGS = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceProd")


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("axes", [(0,), (-1,), (1, 2), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_are_computed(run_onnx, op, axes, keepdims):
    run_onnx(op, {"x": floats(3, 3, 3), "axes": ints(*axes)}, keepdims=keepdims).agree()


PARAMETERS = [
    ("Reshape", (2, 6), {"shape": ints(3, 4)}, {}),
    ("Reshape", (2, 6), {"shape": ints(0, -1, 3)}, {}),
    ("Expand", (3, 1), {"shape": ints(2, 1, 4)}, {}),
    ("Tile", (2, 3), {"repeats": ints(3, 2)}, {}),
    ("Squeeze", (1, 3, 1, 2), {"axes": ints(-2)}, {}),
    ("Unsqueeze", (3, 2), {"axes": ints(0, -1)}, {}),
    ("Split", (7, 2), {"sizes": ints(3, 4)}, {"outputs": 2}),
    ("ConstantOfShape", None, {"shape": ints(2, 3)}, {}),
]


@pytest.mark.parametrize(("op", "shape", "parameters", "more"), PARAMETERS, ids=str)
def test_shapes_are_computed(run_onnx, op, shape, parameters, more):
    feed = {} if shape is None else {"x": floats(*shape)}
    run_onnx(op, feed | parameters, **more).agree(0)


@SETTINGS
@given(data=st.data())
def test_slices_are_computed(run_onnx, data):
    axes = data.draw(st.sampled_from([(0,), (1,), (-1, 0), (1, 2), (2, 0, 1)]))
    parts = []
    for axis in axes:
        d = (4, 5, 6)[axis]
        step = data.draw(st.sampled_from([-3, -1, 1, 2]))
        starts, ends = st.integers(-d - 2, d + 2), st.integers(-d - 2, d + 2)
        pair = st.tuples(starts, ends).filter(
            lambda p, d=d, step=step: len(range(d)[p[0] : p[1] : step]) > 0
        )
        parts.append((*data.draw(pair), step))
    starts, ends, steps = (ints(*column) for column in zip(*parts, strict=True))
    feed = {"x": floats(4, 5, 6), "starts": starts, "ends": ends}
    run_onnx("Slice", feed | {"axes": ints(*axes), "steps": steps}).agree(0)
    order = ["x", "starts", "ends", "axes", "steps"]
    run_onnx("Slice", feed, {"axes": ints(*axes), "steps": steps}, order=order).agree(0)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("pads", [(1, 2, 2, 0), (0, 3, 1, 3), (0, 0, 0, 0)])
def test_pads_are_computed(run_onnx, mode, pads):
    feed = {"x": floats(4, 5), "pads": ints(*pads)}
    run_onnx("Pad", feed, mode=mode).agree(0)
    value = {"value": np.array(2.5, np.float32)}
    if mode == "constant":
        run_onnx("Pad", feed | value).agree(0)
        negative = {"x": floats(4, 5), "pads": ints(-1, 2, 1, -2)}
        run_onnx("Pad", negative | value).agree(0)


@pytest.mark.parametrize(
    ("start", "limit", "step"), [(0, 5, 1), (10, -3, -4), (2.5, 4.0, 0.5), (1, 8, 3)]
)
def test_ranges_are_computed(run_onnx, start, limit, step):
    kind = np.float32 if isinstance(start, float) else np.int64
    feed = {k: np.array(v, kind) for k, v in (("a", start), ("b", limit), ("c", step))}
    run_onnx("Range", feed).agree(0)


BAD = [
    ("ReduceSum", {"x": floats(3, 4, 5), "axes": ints(1)}, ints(0)),
    ("Reshape", {"x": floats(2, 6), "shape": ints(3, 4)}, ints(4, 3)),
    ("Expand", {"x": floats(3, 1), "shape": ints(3, 4)}, ints(3, 5)),
    ("Unsqueeze", {"x": floats(3, 2), "axes": ints(0)}, ints(1)),
    ("Tile", {"x": floats(3, 2), "repeats": ints(2, 1)}, ints(1, 2)),
]


@pytest.mark.parametrize(("op", "feed", "other"), BAD, ids=[b[0] for b in BAD])
def test_a_parameter_that_gives_another_shape_stops_the_run(make_session, op, feed, other):
    session, want = make_session(op, feed)
    name = list(feed)[1]
    np.testing.assert_allclose(session.run(feed)["y0"], want[0], rtol=1e-5)
    with pytest.raises(UserError, match="out of range"):
        session.run({**feed, name: other})


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [-5, -1, 0, 2, 7])
@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_triangles(run_onnx, upper, k, kind):
    x = RNG.integers(-9, 9, (2, 4, 5)).astype(kind)
    run_onnx("Trilu", {"x": x}, {"k": np.array(k)}, upper=upper).agree(0)
    run_onnx("Trilu", {"x": x, "k": np.array(k)}, upper=upper).agree(0)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_one_hot(run_onnx, axis, kind):
    indices = np.array([[1, -3, 4], [0, 9, -6]]).astype(kind)
    values = {"values": np.array([-1, 3], np.float32)}
    depth = {"depth": np.array(5, kind)}
    run_onnx("OneHot", {"i": indices} | depth | values, axis=axis).agree(0)
    run_onnx("OneHot", {"i": indices}, depth | values, axis=axis).agree(0)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_hardmax(run_onnx, axis):
    x = RNG.integers(0, 3, (4, 5, 3)).astype(np.float32)
    run_onnx("Hardmax", {"x": x}, axis=axis).agree(0)


@pytest.mark.parametrize(("positive", "negative"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_infinities(run_onnx, positive, negative):
    x = np.array([1, np.inf, -np.inf, np.nan, -3e38], np.float32)
    run_onnx("IsInf", {"x": x}, detect_positive=positive, detect_negative=negative).agree(0)


def test_shrink(run_onnx):
    run_onnx("Shrink", {"x": floats(3, 7)}, lambd=0.4, bias=0.25).agree()


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_determinants(run_onnx, n):
    run_onnx("Det", {"x": floats(3, n, n)}).agree(1e-4)


@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0)])
def test_sequences_are_reversed(run_onnx, time, batch):
    feed = {"x": floats(4, 4, 3), "lengths": ints(1, 4, 2, 3)}
    run_onnx("ReverseSequence", feed, time_axis=time, batch_axis=batch).agree(0)


@pytest.mark.parametrize("kind", [np.int64, np.int32])
@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders(run_onnx, kind, fmod):
    x = RNG.integers(-50, 50, (3, 40)).astype(kind)
    y = RNG.choice([-7, -3, -1, 1, 2, 5, 60], (3, 40)).astype(kind)
    run_onnx("Mod", {"x": x, "y": y}, fmod=fmod).agree(0)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(5, 6, 9), (1, 2, 1)])
def test_running_sums(run_onnx, exclusive, reverse, axis, shape):
    attrs = {"exclusive": exclusive, "reverse": reverse}
    at = {"axis": np.array(axis)}
    run_onnx("CumSum", {"x": floats(*shape)}, at, **attrs).agree()
    whole = RNG.integers(-99, 99, shape).astype(np.int32)
    run_onnx("CumSum", {"x": whole} | at, **attrs).agree(0)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, -1])
def test_lp_norms(run_onnx, p, axis):
    x = floats(4, 5)
    run_onnx("LpNormalization", {"x": x}, p=p, axis=axis).agree()


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("shape", [(1, 2, 9), (2, 3, 8, 7)])
def test_lp_pools(run_onnx, p, shape):
    rank = len(shape) - 2
    attrs = {"kernel_shape": [3] * rank, "strides": [2] * rank, "pads": [1] * 2 * rank}
    run_onnx("LpPool", {"x": floats(*shape)}, p=p, **attrs).agree()
    run_onnx("GlobalLpPool", {"x": floats(*shape)}, p=p).agree()


CONVOLUTIONS = [
    ((1, 4, 9), (6, 2, 3), {"group": 2, "pads": [1, 2], "strides": [2]}),
    ((2, 3, 8, 7), (4, 3, 3, 2), {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 2, 1]}),
    ((1, 2, 7, 6), (2, 1, 3, 3), {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"pads": [0, 1, 0, 1, 1, 1]}),
]


@pytest.mark.parametrize(("shape", "weights", "attrs"), CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("bias", [0, 1])
def test_weights_of_convolutions_are_computed(run_onnx, shape, weights, attrs, bias):
    feed = {"x": floats(*shape), "w": floats(*weights)}
    feed |= {"b": floats(weights[0])} if bias else {}
    run_onnx("Conv", feed, **attrs).agree()


TRANSPOSED = [
    ((1, 4, 5), (4, 3, 3), {"strides": [2], "pads": [1, 0], "output_padding": [1]}),
    ((2, 4, 4, 3), (4, 2, 3, 2), {"group": 2, "strides": [3, 2], "pads": [0, 1, 2, 0]}),
    ((1, 2, 4, 4), (2, 2, 2, 2), {"dilations": [2, 1], "strides": [1, 3]}),
    ((1, 2, 3, 3), (2, 1, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ((1, 2, 3, 2, 4), (2, 3, 2, 3, 2), {"strides": [2, 1, 2], "pads": [0, 1, 0, 1, 0, 1]}),
]


@pytest.mark.parametrize(("shape", "weights", "attrs"), TRANSPOSED, ids=str)
@pytest.mark.parametrize("fixed", [True, False])
def test_weights_of_transposed_convolutions_are_computed(run_onnx, shape, weights, attrs, fixed):
    feed, w = {"x": floats(*shape)}, {"w": floats(*weights)}
    run_onnx("ConvTranspose", feed if fixed else feed | w, w if fixed else None, **attrs).agree()


@pytest.mark.parametrize("heads", [(4, 4), (4, 2)])
@pytest.mark.parametrize("causal", [0, 1])
def test_attention(run_onnx, heads, causal):
    q, kv = heads
    feed = {"q": floats(2, q, 3, 8), "k": floats(2, kv, 5, 8), "v": floats(2, kv, 5, 6)}
    run_onnx("Attention", feed, opset=23, is_causal=causal).agree()


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_grids_are_sampled(run_onnx, make_session, mode, padding, corners):
    attrs = {"padding_mode": padding, "align_corners": corners}
    grid = RNG.uniform(-1.6, 1.6, (2, 4, 5, 2)).astype(np.float32)
    x = floats(2, 3, 6, 7)
    if mode == "cubic":
        node = helper.make_node("GridSample", ["x", "g"], ["y"], mode=mode, **attrs)
        (want,) = ReferenceEvaluator(node).run(None, {"x": x, "g": grid})
        session, _ = make_session("GridSample", {"x": x, "g": grid}, mode=mode, **attrs)
        found = session.run({"x": x, "g": grid})["y0"]
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
        return
    run_onnx("GridSample", {"x": x, "grid": grid}, mode=mode, opset=20, **attrs).agree(1e-4)
    grid = RNG.uniform(-1.3, 1.3, (1, 2, 3, 4, 3)).astype(np.float32)
    feed = {"x": floats(1, 2, 4, 5, 3), "grid": grid}
    run_onnx("GridSample", feed, mode=mode, opset=20, **attrs).agree(1e-4)


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "pytorch_half_pixel"])
@pytest.mark.parametrize("scale", [0.6, 1.5, 3.0])
def test_scales_are_computed(run_onnx, mode, coordinates, scale):
    scales = {"scales": np.array([1, 1, scale, 1.25], np.float32)}
    attrs = {"mode": mode, "coordinate_transformation_mode": coordinates}
    attrs |= {"nearest_mode": "floor"} if coordinates == "asymmetric" else {}
    order = ["x", "", "scales"]
    run_onnx("Resize", {"x": floats(1, 2, 5, 8)} | scales, order=order, **attrs).agree(1e-4)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_sizes_are_computed(run_onnx, mode):
    feed = {"x": floats(1, 2, 5, 8), "sizes": ints(1, 2, 9, 4)}
    run_onnx("Resize", feed, order=["x", "", "", "sizes"], mode=mode).agree(1e-4)
