"""MatMul against ONNX, onnxruntime, and its integers against every kernel table."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.ir import Node, QuantParams
from edgekit.toolkit.model_files import load
from edgekit.toolkit.ops import definition, is_view
from edgekit.toolkit.ops.matmul.mat_mul import MAX_K, MAX_K16
from edgekit.toolkit.runtime import Session

from ..conftest import graph_of, rounded

REGRESSOR = """
<ir_version: 8, opset_import: ["" : 17]>
regressor (float[1,3] x) => (float[1,1] y)
<float[3] w = {1, 2, 3}, float[1] b = {4}, int64[2] shape = {-1, 1}> {
  products = MatMul (x, w)
  sums = Add (products, b)
  y = Reshape (sums, shape)
}
"""
"""As skl2onnx writes a TweedieRegressor."""

BACKEND_OPS = {"MatMul", "Einsum"}

SHAPES = [
    ((1, 1), (1, 1)),
    ((5, 17), (17, 9)),
    ((3, 7, 64), (3, 64, 33)),
    ((3, 7, 65), (65, 4)),
    ((7, 16), (3, 16, 20)),
    ((2, 2, 9, 31), (2, 2, 31, 16)),
    ((3, 20, 64), (3, 64, 33)),  # more rows than any table takes one by one
    ((19, 65), (65, 4)),
    ((21, 16), (3, 16, 20)),
]


def test_backend(backend_case):
    backend_case.check(1e-5, 1e-5)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (1, 3, 4, 5)),
        ((1, 2, 3, 4), (2, 4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
    ],
)
@pytest.mark.parametrize("fixed", [(), ("a",), ("b",)])
def test_float_is_that_of_onnxruntime(run_onnx, a, b, fixed):
    rng = np.random.default_rng(6)
    tensors = {"a": rng.normal(size=a).astype(np.float32)}
    tensors["b"] = rng.normal(size=b).astype(np.float32)
    run_onnx(
        "MatMul",
        {k: v for k, v in tensors.items() if k not in fixed},
        {k: v for k, v in tensors.items() if k in fixed},
        order=["a", "b"],
    ).agree()


SUMS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("bhnd,bhmd->bhnm", (2, 3, 5, 4), (2, 3, 6, 4)),
    ("bhdn,bhde->bhen", (2, 3, 4, 5), (2, 3, 4, 6)),
    ("bthd,hdo->bto", (2, 5, 3, 4), (3, 4, 6)),
    ("nhwc,hkc->nhwk", (2, 3, 4, 5), (3, 6, 5)),
    ("bhwc,wkc", (2, 3, 4, 5), (4, 6, 5)),
    ("bnc,bc->bn", (2, 5, 4), (2, 4)),
    ("bn,bc->bnc", (2, 5), (2, 4)),
    ("i,i->", (7,), (7,)),
    ("...ij,jk->...ik", (2, 3, 4, 5), (5, 6)),
    ("...d,...d->...", (2, 3, 4), (2, 3, 4)),
    ("b i d, b j d -> b j i", (2, 5, 4), (1, 6, 4)),
    ("abc,cd->db", (2, 3, 4), (4, 5)),
]


@pytest.mark.parametrize("fixed", [(), ("a",), ("b",)])
@pytest.mark.parametrize(("equation", "a", "b"), SUMS)
def test_sums_by_letters_are_those_of_onnxruntime(run_onnx, equation, a, b, fixed):
    rng = np.random.default_rng(6)
    tensors = {n: rng.normal(size=s).astype(np.float32) for n, s in (("a", a), ("b", b))}
    run_onnx(
        "Einsum",
        {k: v for k, v in tensors.items() if k not in fixed},
        {k: v for k, v in tensors.items() if k in fixed},
        order=["a", "b"],
        equation=equation,
    ).agree()


def test_a_constant_vector_makes_one_fully_connected_with_a_bias():
    graph = load(onnx.parser.parse_model(REGRESSOR).SerializeToString())
    assert [n.op for n in graph.nodes if not is_view(n)] == ["FullyConnected"]
    x = np.array([[3, 4, 5]], np.float32)
    assert Session(build_file(graph)).run({"x": x})["y"].tolist() == [[30]]


@pytest.mark.parametrize("equation", ["bhdn,bhd,bn->bhn", "bhdn,bhe,bk->ehdnk", "bhdn,bhd,bn"])
def test_sums_of_three_and_of_one(run_onnx, equation):
    rng = np.random.default_rng(6)
    last = 6 if "bk" in equation else 5
    shapes = {"a": (2, 3, 4, 5), "b": (2, 3, 4), "c": (2, last)}
    tensors = {n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()}
    run_onnx("Einsum", tensors, equation=equation).agree()
    for one in ("bhdn->nbh", "...n->n...", "bhdn->", "bhdn"):
        run_onnx("Einsum", {"a": tensors["a"]}, equation=one).agree()


@pytest.mark.parametrize(
    ("equation", "b"), [("iji->ji", None), ("iji->", None), ("iji,ik->jk", (3, 2))]
)
def test_diagonals_are_taken(run_onnx, equation, b):
    feed = {"a": np.arange(36, dtype=np.float32).reshape(3, 4, 3)}
    feed |= {} if b is None else {"b": np.ones(b, np.float32)}
    run_onnx("Einsum", feed, equation=equation).agree()


@pytest.mark.parametrize(("op", "constant"), [("MatMul", 0), ("MatMul", 1), ("Gemm", 1)])
def test_products_of_whole_numbers_are_refused(run_onnx, op, constant):
    x, w = np.ones((2, 3), np.int64), np.ones((3, 4), np.int64)
    feed, constants = ({"x": x}, {"w": w}) if constant else ({"x": x, "w": w}, {})
    with pytest.raises(UnsupportedError, match="its input is int32; it takes float32"):
        run_onnx(op, feed, constants, order=["x", "w"], opset=13)


def test_a_diagonal_of_two_sizes_is_refused(run_onnx):
    with pytest.raises(UnsupportedError, match="axis i has 3 and 4 elements"):
        run_onnx("Einsum", {"a": np.zeros((3, 4), np.float32)}, equation="ii->i")


def int8_node(integers, a, b, zeros, transpose_b=False) -> Node:
    k = a[-1]
    x, y = integers.value(a, 0.05, zeros[0]), integers.value(b, 0.04, zeros[1])
    # Zero points off the middle make the mean of the sums large: room for it.
    spread = 60 * np.sqrt(k) + abs(zeros[0] * zeros[1]) * k / 100
    out = QuantParams((0.05 * 0.04 * float(spread),), 3)
    return integers.node("MatMul", [x, y], out, transpose_b=transpose_b)


@pytest.mark.parametrize("zeros", [(0, 0), (-128, 7), (5, -128), (127, 127)])
def test_the_integer_reference_is_the_sum_it_says(integers, zeros):
    node = int8_node(integers, (2, 3, 11), (2, 11, 4), zeros)
    a, b = (integers.data(v) for v in node.inputs)
    acc = (a.astype(int) - zeros[0]) @ (b.astype(int) - zeros[1])
    want = rounded(acc, 0.05 * 0.04 / node.output.quant.scalar, node.output.quant)
    np.testing.assert_array_equal(definition("MatMul").integer(node, [a, b])[0], want)


@pytest.mark.parametrize("zeros", [(0, 0), (-128, 7), (5, -1), (-3, -128), (127, 127)])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_kernels_give_the_bytes_of_the_reference(integers, a, b, transpose_b, zeros):
    shape = (*b[:-2], b[-1], b[-2]) if transpose_b else b
    got = integers.agree(int8_node(integers, a, shape, zeros, transpose_b))
    assert got.size < 50 or len(np.unique(got)) > 10


@pytest.mark.parametrize("zeros", [(-128, -128), (127, 127), (-128, 127)])
def test_worst_inputs_at_the_largest_sums(integers, zeros):
    x, y = integers.value((2, MAX_K), 0.05, zeros[0]), integers.value((MAX_K, 2), 0.04, zeros[1])
    node = integers.node("MatMul", [x, y], QuantParams((9e4,), 3), transpose_b=False)
    assert definition("MatMul").accumulator_problem(node) is None
    for fill_a, fill_b in ((-128, -128), (127, 127), (-128, 127), (127, -128)):
        feed = {x: np.full(x.shape, fill_a, np.int8), y: np.full(y.shape, fill_b, np.int8)}
        integers.agree(node, feed)


def test_sums_that_would_leave_32_bits_are_refused(integers):
    op = definition("MatMul")
    long = integers.node(
        "MatMul", [integers.value((1, MAX_K + 1)), integers.value((MAX_K + 1, 1))], None
    )
    assert "has room for" in op.accumulator_problem(long)
    narrow = integers.node(
        "MatMul", [integers.value((4, 400)), integers.value((400, 4))], QuantParams((1e-7,))
    )
    assert "leaves 32 bits" in op.accumulator_problem(narrow)


def int16_node(integers, a, b, transpose_b=False, out=None) -> Node:
    x, y = integers.value16(a, 0.002), integers.value16(b, 0.001)
    quant = out or QuantParams.int16(0.002 * 0.001 * 30000 * float(np.sqrt(a[-1])))
    return integers.node("MatMul", [x, y], quant, transpose_b=transpose_b)


def test_the_int16_reference_is_the_sum_it_says(integers):
    node = int16_node(integers, (2, 3, 11), (2, 11, 4))
    a, b = (integers.data(v) for v in node.inputs)
    ratio = 0.002 * 0.001 / node.output.quant.scalar
    want = rounded(a.astype(int) @ b.astype(int), ratio, node.output.quant)
    np.testing.assert_array_equal(definition("MatMul").integer(node, [a, b])[0], want)


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_int16_kernels_give_the_bytes_of_the_reference(integers, a, b, transpose_b):
    shape = (*b[:-2], b[-1], b[-2]) if transpose_b else b
    got = integers.agree(int16_node(integers, a, shape, transpose_b))
    assert got.size < 50 or np.mean(np.abs(got) < 32767) > 0.6


def test_worst_int16_inputs_at_the_largest_sums(integers):
    out = QuantParams.int16(0.002 * 0.001 * 32768 * MAX_K16 * 1.3)
    node = int16_node(integers, (3, MAX_K16), (MAX_K16, 3), out=out)
    x, y = node.inputs
    assert definition("MatMul").accumulator_problem(node) is None
    for fill_a, fill_b in ((-32768, -32768), (32767, 32767), (-32768, 32767), (32767, -32768)):
        feed = {x: np.full(x.shape, fill_a, np.int16), y: np.full(y.shape, fill_b, np.int16)}
        assert 20000 < abs(int(integers.agree(node, feed)[0, 0])) < 32767


def test_int16_sums_beyond_2_39_are_refused(integers):
    long = int16_node(integers, (1, MAX_K16 + 1), (MAX_K16 + 1, 1))
    assert "has room for 511" in definition("MatMul").accumulator_problem(long)
    with pytest.raises(ValueError, match="has room for"):
        build_file(graph_of(long))
