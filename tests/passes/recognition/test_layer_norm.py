"""Layer normalization written out, as torch, tensorflow and jax export it."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.passes import DEFAULT, run_passes
from edgekit.toolkit.passes.cleanup.common_subexpressions import CommonSubexpressions
from edgekit.toolkit.passes.cleanup.dead_code import DeadCode
from edgekit.toolkit.passes.fusion.fuse_activation import FuseActivation
from edgekit.toolkit.passes.recognition.layer_norm import LayerNormParts
from edgekit.toolkit.passes.recognition.scale_layer_norm import ScaleLayerNorm
from edgekit.toolkit.runtime import Session

PASSES = CommonSubexpressions(), LayerNormParts(), ScaleLayerNorm(), FuseActivation(), DeadCode()


def number(n, value):
    return n.constant(np.array(value, np.float32))


def square(n, v, power):
    return n.emit("Pow", [v, number(n, 2)]) if power else n.emit("Mul", [v, v])


def mean(n, v, axes, keepdims=True):
    m = n.emit("ReduceMean", [v], axes=axes, keepdims=keepdims)
    return n.reshape(m, [1 if i in axes else d for i, d in enumerate(v.shape)])


def inverse(n, variance, how, swap=False, epsilon=1e-5):
    """1 / sqrt(variance + epsilon)."""
    e = number(n, epsilon)
    total = n.emit("Add", [e, variance] if swap else [variance, e])
    if how == "power":
        return n.emit("Pow", [total, number(n, -0.5)])
    root = n.emit("Pow", [total, number(n, 0.5)]) if how == "half" else n.emit("Sqrt", [total])
    if how == "one over":
        return n.emit("Div", [number(n, 1), root])
    return n.emit("Reciprocal", [root])


def both(n, op, a, b, swap):
    return n.emit(op, [b, a] if swap else [a, b])


@pytest.mark.parametrize("axes", [(2,), (1, 2), (1,)])
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("twice", [False, True])
def test_as_torch_exports_it(net, axes, power, twice, swap):
    x = net.input(2, 3, 4)
    d = net.emit("Sub", [x, mean(net, x, axes)])
    again = net.emit("Sub", [x, mean(net, x, axes, keepdims=False)]) if twice else d
    e = number(net, 1e-5)
    total = both(net, "Add", mean(net, square(net, again, power), axes, not swap), e, swap)
    y = net.emit("Div", [d, net.emit("Sqrt", [total])])
    y = both(net, "Mul", y, net.random(4), swap)
    net.output(both(net, "Add", y, net.random(3, 4), swap))
    assert net.after(*PASSES) == ["LayerNorm"]
    assert net.graph.nodes[0].attrs["centered"]


@pytest.mark.parametrize("how", ["reciprocal", "power", "half", "one over"])
@pytest.mark.parametrize("moments", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("swap", [False, True])
def test_as_tensorflow_exports_it(net, how, moments, scaled, swap):
    """x * k + (bias - mean * k)."""
    x = net.input(5, 6)
    m = mean(net, x, (1,))
    d = net.emit("Sub", [x, m])
    variance = mean(net, square(net, x if moments else d, False), (1,))
    if moments:
        variance = net.emit("Sub", [variance, square(net, m, True)])
    k = inverse(net, variance, how, swap)
    k = both(net, "Mul", k, net.random(6), swap) if scaled else k
    rest = net.emit("Sub", [net.random(6), both(net, "Mul", m, k, swap)])
    net.output(both(net, "Add", both(net, "Mul", x, k, swap), rest, swap))
    assert net.after(*PASSES) == ["LayerNorm"]


def jax_variance(n, x, m, axes, limit, swap):
    """max(0, mean(x * x) - mean(x)^2) without the axes, then with them, of size 1."""
    squares = n.emit("ReduceMean", [square(n, x, False)], axes=axes, keepdims=False)
    variance = both(n, "Max", n.emit("Sub", [squares, square(n, m, False)]), limit, swap)
    return n.reshape(variance, [1 if i in axes else d for i, d in enumerate(x.shape)])


@pytest.mark.parametrize("axes", [(2,), (1,), (1, 2)])
@pytest.mark.parametrize("swap", [False, True])
def test_as_jax_exports_it(net, axes, swap):
    x = net.input(2, 3, 4)
    m = net.emit("ReduceMean", [x], axes=axes, keepdims=False)
    variance = jax_variance(net, x, m, axes, number(net, 0), swap)
    d = net.emit("Sub", [x, net.reshape(m, variance.shape)])
    k = both(net, "Mul", inverse(net, variance, "reciprocal"), net.random(3, 4), swap)
    net.output(net.emit("Add", [both(net, "Mul", d, k, swap), net.random(3, 4)]))
    assert net.after(*PASSES) == ["LayerNorm"]
    assert net.graph.nodes[0].attrs["centered"] and len(net.graph.nodes[0].inputs) == 3


def test_a_variance_that_is_limited_or_shaped_otherwise_is_none(net):
    x = net.input(3, 3)
    m = net.emit("ReduceMean", [x], axes=(1,), keepdims=False)
    variance = jax_variance(net, x, m, (1,), number(net, 0.5), False)
    d = net.emit("Sub", [x, net.reshape(m, [3, 1])])
    net.output(net.emit("Mul", [d, inverse(net, variance, "reciprocal")]))
    variance = net.reshape(jax_variance(net, x, m, (1,), number(net, 0), False), [1, 3])
    net.output(net.emit("Mul", [d, inverse(net, variance, "reciprocal")]))
    assert "LayerNorm" not in net.after(*PASSES)


@pytest.mark.parametrize("how", ["reciprocal", "power", "half", "one over"])
@pytest.mark.parametrize("swap", [False, True])
def test_without_a_mean(net, how, swap):
    x = net.input(2, 3, 8)
    y = both(net, "Mul", x, inverse(net, mean(net, square(net, x, swap), (2,)), how), swap)
    net.output(both(net, "Mul", net.random(8), y, swap))
    assert net.after(*PASSES) == ["LayerNorm"]
    assert not net.graph.nodes[0].attrs["centered"]


def test_a_norm_of_what_was_centered_before(net):
    """The square is of x - mean(x), and so is what is divided."""
    x = net.input(2, 8)
    d = net.emit("Sub", [x, mean(net, x, (1,))])
    total = net.emit("Add", [mean(net, square(net, d, False), (1,)), number(net, 1e-3)])
    net.output(net.emit("Div", [d, net.emit("Sqrt", [total])]), d)
    assert net.after(*PASSES) == ["ReduceMean", "Sub", "LayerNorm"]


def parts(net, x, other=None, axes=(1,), epsilon=1e-5):
    d = net.emit("Sub", [x, mean(net, x if other is None else other, (1,))])
    variance = mean(net, square(net, d, False), axes)
    return net.emit("Mul", [d, inverse(net, variance, "reciprocal", epsilon=epsilon)])


@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_what_is_centered_otherwise_is_normalized_only(net, axes):
    x, other = net.input(3, 3), net.input(3, 3)
    net.output(parts(net, x, other if axes == (1,) else None, axes))
    assert net.after(*PASSES) == ["ReduceMean", "Sub", "LayerNorm"]
    assert not net.graph.nodes[-1].attrs["centered"]


def test_without_an_epsilon_it_stays(net):
    net.output(parts(net, net.input(3, 3), epsilon=0.0))
    assert "LayerNorm" not in net.after(*PASSES)


def test_a_computed_scale_stays_behind(net):
    x = net.input(3, 3)
    net.output(net.emit("Mul", [parts(net, x), x]))
    assert net.after(*PASSES) == ["LayerNorm", "Mul"]


ONE_EACH = [1, 4, 1]


def written_out(style, norms=2):
    """A model as exporters write it: normalizations, each before a MatMul with weights."""
    rng, nodes, constants, x = np.random.default_rng(0), [], {}, "x"

    def add(op, *inputs, **attrs):
        name = f"{op}{len(nodes)}"
        given = []
        for v in inputs:
            if not isinstance(v, str):
                dtype = (
                    np.int64 if np.ndim(v) == 1 and op in ("Reshape", "ReduceSum") else np.float32
                )
                constants[f"c{len(constants)}"] = np.asarray(v, dtype)
                v = f"c{len(constants) - 1}"
            given.append(v)
        nodes.append(helper.make_node(op, given, [name], **attrs))
        return name

    def total(v):
        return add("Mul", add("ReduceSum", v, [2], keepdims=0), 1 / 8)

    def mean(v):
        return add("ReduceMean", v, axes=[-1])

    for _ in range(norms):
        scale, bias = rng.uniform(0.5, 2, 8), rng.normal(size=8)
        if style == "torch":
            d = add("Sub", x, mean(x))
            root = add("Sqrt", add("Add", mean(add("Pow", d, 2.0)), 1e-5))
            y = add("Add", add("Mul", add("Div", d, root), scale), bias)
        elif style == "jax":
            m, squares = total(x), total(add("Mul", x, x))
            variance = add("Max", 0.0, add("Sub", squares, add("Mul", m, m)))
            lines = add("Reshape", add("Reshape", m, ONE_EACH), ONE_EACH)
            root = add("Sqrt", add("Add", add("Reshape", variance, ONE_EACH), 1e-6))
            k = add("Mul", add("Reciprocal", root), scale)
            y = add("Add", add("Mul", add("Sub", x, lines), k), bias)
        elif style == "tensorflow":
            m = mean(x)
            d = add("Sub", x, m)
            total = add("Add", mean(add("Mul", d, d)), 1e-3)
            k = add("Mul", add("Reciprocal", add("Sqrt", total)), scale)
            y = add("Add", add("Mul", x, k), add("Sub", bias, add("Mul", m, k)))
        else:
            root = add("Sqrt", add("Add", mean(add("Pow", x, 2.0)), 1e-6))
            y = add("Mul", scale, add("Mul", x, add("Div", 1.0, root)))
        x = add("Add", add("MatMul", y, rng.normal(size=(8, 8))), rng.normal(size=8))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 4, 8])],
        [helper.make_tensor_value_info(x, 1, [1, 4, 8])],
        [numpy_helper.from_array(a, n) for n, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("style", ["torch", "tensorflow", "jax", "llama"])
def test_all_passes_together_leave_layer_norms_and_weights(style):
    model = written_out(style)
    x = np.random.default_rng(1).normal(size=(1, 4, 8)).astype(np.float32)
    graph = load(model)
    run_passes(graph, DEFAULT)
    assert [n.op for n in graph.nodes] == ["LayerNorm", "FullyConnected"] * 2
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    got = next(iter(Session(build_file(graph)).run({"x": x}).values()))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def pooled(net, x, **given):
    """[N, H, W, C] -> [N, 1, 1, C]."""
    attrs = {"kernel": x.shape[1:3], "stride": (1, 1), "dilation": (1, 1), "pads": (0, 0, 0, 0)}
    attrs |= {"out_hw": (1, 1), "count_include_pad": False} | given
    return net.emit("AvgPool2d", [x], **attrs)


@pytest.mark.parametrize("moments", [False, True])
@pytest.mark.parametrize("stride", [1, 4])
def test_means_of_images_are_pools(net, moments, stride):
    x = net.input(2, 4, 5, 3)
    m = pooled(net, x, stride=(stride, stride))
    d = net.emit("Sub", [x, m])
    variance = pooled(net, square(net, x if moments else d, False))
    if moments:
        variance = net.emit("Sub", [variance, square(net, m, False)])
    net.output(net.emit("Mul", [d, inverse(net, variance, "one over")]))
    assert net.after(*PASSES) == ["LayerNorm"]
    assert net.graph.nodes[0].attrs["axes"] == (1, 2)


@pytest.mark.parametrize("given", [{"kernel": (4, 4)}, {"dilation": (1, 2), "kernel": (4, 3)}])
def test_a_pool_of_a_part_is_no_mean(net, given):
    x = net.input(2, 4, 5, 3)
    d = net.emit("Sub", [x, pooled(net, x, **given)])
    root = inverse(net, pooled(net, square(net, d, False)), "reciprocal")
    net.output(net.emit("Mul", [d, root]))
    assert net.after(*PASSES) == ["AvgPool2d", "Sub", "LayerNorm"]
    assert not net.graph.nodes[-1].attrs["centered"]


def of_images(axes, keepdims, behind, rng):
    """A convolution (or nothing), a normalization over `axes` written out, and a convolution."""
    nodes, constants = [], {}

    def add(op, *inputs, **attrs):
        given = []
        for v in inputs:
            if not isinstance(v, str):
                constants[f"c{len(constants)}"] = np.asarray(v, np.float32)
                v = f"c{len(constants) - 1}"
            given.append(v)
        nodes.append(helper.make_node(op, given, [f"{op}{len(nodes)}"], **attrs))
        return nodes[-1].output[0]

    def conv(x):
        return add("Conv", x, rng.normal(size=(4, 4, 3, 3)) / 4, rng.normal(size=4), pads=[1] * 4)

    def mean(v):
        m = add("ReduceMean", v, axes=axes, keepdims=keepdims)
        constants["shape"] = np.array([1 if i in axes else d for i, d in enumerate([1, 4, 5, 6])])
        return m if keepdims else add("Reshape", m, "shape")

    x = conv("x") if behind else "x"
    d = add("Sub", x, mean(x))
    y = add("Div", d, add("Sqrt", add("Add", mean(add("Mul", d, d)), 1e-5)))
    y = add("Mul", y, rng.uniform(0.5, 2, (5, 6)))
    y = conv(add("Add", y, rng.normal(size=(4, 1, 1))))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 4, 5, 6])],
        [helper.make_tensor_value_info(y, 1, None)],
        [numpy_helper.from_array(a, n) for n, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize(
    ("axes", "keepdims"), [((2, 3), 1), ((2, 3), 0), ((1, 2), 1), ((1, 2, 3), 1), ((1,), 1)]
)
def test_over_axes_of_images(axes, keepdims, behind, assert_agrees):
    model = of_images(axes, keepdims, behind, np.random.default_rng(2))
    graph = load(model)
    run_passes(graph, DEFAULT)
    found = [n.op for n in graph.nodes if n.op not in ("Transpose", "Reshape", "Copy")]
    assert found == ["Conv2d"] * behind + ["LayerNorm", "Conv2d"]
    assert_agrees(model, graph)
