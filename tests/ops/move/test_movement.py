"""Views against numpy's own, their search in index sequences, and the runtime's Copy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.ir import Node, TensorType, Value
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops.move import movement

BACKEND_OPS = {
    "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Slice",
    "Split", "Expand", "Tile", "DepthToSpace", "SpaceToDepth",
}  # fmt: skip
PARAMETERS = {
    "Reshape": 1, "Squeeze": 1, "Unsqueeze": 1, "Dropout": 1, "Slice": 1, "Split": 1, "Expand": 1,
    "Tile": 1,
}  # fmt: skip
REFUSED = {
    "test_identity_sequence": "sequence",
    "test_identity_opt": "optional",
    "test_training_dropout": "training mode",
}


def test_backend(backend_case):
    backend_case.check()


def node(op: str, x_shape: tuple[int, ...], **attrs: object) -> Node:
    x = Value("x", TensorType(np.dtype(np.float32), x_shape))
    n = Node(op, [x], [], dict(attrs), "node")
    definition = next(o for o in movement.OPS if o.name == op)
    n.outputs = [Value("y", definition.infer(n)[0])]
    return n


CASES = [
    (node("Transpose", (2, 3, 4), perm=(2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    (node("Transpose", (), perm=()), lambda x: x),
    (node("Reshape", (2, 3, 4), shape=(6, 4)), lambda x: x.reshape(6, 4)),
    (
        node("Slice", (5, 6), starts=(4, 1), sizes=(2, 3), steps=(-2, 2)),
        lambda x: x[4::-2, 1:6:2][:2],
    ),
    (node("Expand", (3, 1), shape=(2, 3, 4)), lambda x: np.broadcast_to(x, (2, 3, 4))),
    (
        node("Copy", (24,), dims=(3, 4), strides=(-4, 1), offset=8, shape=(12,)),
        lambda x: x.reshape(6, 4)[2::-1],
    ),
]


@pytest.mark.parametrize(("n", "view"), CASES, ids=lambda c: getattr(c, "op", ""))
def test_index_map_reads_what_numpy_reads(n, view):
    x = np.arange(n.input(0).type.size).reshape(n.input(0).shape)
    want = view(x)
    assert np.array_equal(movement.index_map(n), want.ravel())
    assert movement.index_map(n).size == n.output.type.size


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-9, 9)), min_size=0, max_size=6),
    st.integers(0, 50),
)
def test_as_copy_finds_every_strided_view(dims, offset):
    index = np.array(offset)
    for d, s in dims:
        index = index[..., None] + np.arange(d) * s
    found = movement.as_copy(index.ravel())
    assert found is not None
    sizes, strides, start = found
    again = np.array(start)
    for d, s in zip(sizes, strides, strict=True):
        again = again[..., None] + np.arange(d) * s
    assert np.array_equal(again.ravel(), index.ravel())
    assert len(sizes) <= max(1, sum(d > 1 for d, _ in dims))


def test_as_copy_names_the_identity():
    assert movement.as_copy(np.arange(24)) == ((24,), (1,), 0)
    assert movement.as_copy(np.arange(1)) == ((1,), (1,), 0)


@pytest.mark.parametrize(
    "index", [[0, 1, 3, 4, 5], [0, 1, 5, 2], [0, 0, 1, 1, 2, 2, 4, 4], [0, 1, 2, 3, 9, 9, 9, 9]]
)
def test_as_copy_refuses_what_is_not_strided(index):
    assert movement.as_copy(np.array(index)) is None


def test_a_chain_becomes_one_copy():
    first = node("Transpose", (1, 3, 4, 5), perm=(0, 2, 3, 1))
    second = node(
        "Slice", (1, 4, 5, 3), starts=(0, 3, 0, 0), sizes=(1, 4, 5, 2), steps=(1, -1, 1, 1)
    )
    index = movement.index_map(first)[movement.index_map(second)]
    assert movement.as_copy(index) == ((4, 5, 2), (-5, 1, 20), 15)


@pytest.mark.parametrize("shape", [(7,), (2, 3)])
def test_copy_refuses_to_leave_its_input(shape):
    for attrs in (
        {"dims": (8,), "strides": (1,), "offset": 0, "shape": (8,)},
        {"dims": (2,), "strides": (-1,), "offset": 0, "shape": (2,)},
    ):
        with pytest.raises(ValueError, match="reads elements"):
            node("Copy", shape, **attrs)


def test_lowering_merges_neighbours():
    n = node("Transpose", (1, 8, 6, 3), perm=(0, 3, 1, 2))
    params = movement.OPS[0].lower(n, None).params  # a view needs no constants
    assert [params[f"dims.{i}"] for i in range(6)] == [1, 1, 1, 1, 3, 48]
    assert [params[f"strides.{i}"] for i in (4, 5)] == [1, 3]


SHAPES = [(1, 3, 40, 33), (1, 40, 33, 3), (2, 64, 5, 7), (3, 1, 2, 100), (1, 1, 1, 1), (35, 34)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_runtime_transposes(integers, shape):
    x = integers.value(shape)
    for perm in [(0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 2, 3), (0, 2, 1, 3)]:
        integers.agree(integers.node("Transpose", [x], perm=perm[: len(shape)] if len(shape) == 4
                                     else (1, 0)))  # fmt: skip


def test_the_runtime_takes_slices_and_flips(integers):
    x = integers.value((4, 9, 10, 3))
    for starts, sizes, steps in [
        ((0, 2, 1, 0), (4, 5, 8, 3), (1, 1, 1, 1)),
        ((3, 8, 9, 2), (2, 3, 10, 3), (-2, -4, -1, -1)),
        ((1, 0, 0, 1), (1, 9, 5, 1), (1, 1, 2, 1)),
    ]:
        integers.agree(integers.node("Slice", [x], starts=starts, sizes=sizes, steps=steps))


def test_the_runtime_repeats(integers):
    for shape, to in [((1, 5), (7, 5)), ((7, 1), (7, 50)), ((3, 1, 2, 1), (2, 3, 4, 2, 5))]:
        integers.agree(integers.node("Expand", [integers.value(shape)], shape=to))


def test_the_runtime_copies_six_dims(integers):
    attrs = {"dims": (2, 3, 2, 2, 3, 2), "strides": (1, -2, 30, 0, 7, 100), "offset": 40}
    integers.agree(integers.node("Copy", [integers.value((300,))], shape=(144,), **attrs))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_agrees_with_onnxruntime(run_onnx, mode):
    x = np.random.default_rng(0).normal(size=(2, 18, 4, 5)).astype(np.float32)
    run_onnx("DepthToSpace", {"x": x}, blocksize=3, mode=mode).agree(rtol=0)


def test_tiling_every_axis_takes_several_copies(run_onnx):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4, 1)
    run_onnx("Tile", {"x": x}, {"repeats": np.array([2, 3, 2, 3])}).agree(rtol=0)


def test_slices_count_from_the_end_and_past_it(run_onnx):
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    ranges = [
        ([-1, -10], [-100, 100], [2, 0], [-2, 1]),
        ([1], [-1], [1], [1]),
        ([9], [0], [2], [-3]),
    ]
    for values in ranges:
        constants = dict(zip(("s", "e", "a", "t"), map(np.array, values), strict=True))
        run_onnx("Slice", {"x": x}, constants).agree(rtol=0)


def test_a_split_has_uneven_parts(run_onnx):
    x = np.arange(21, dtype=np.float32).reshape(3, 7)
    run_onnx("Split", {"x": x}, outputs=3, axis=-1, num_outputs=3).agree(rtol=0)
    run_onnx("Split", {"x": x}, {"split": np.array([1, 4, 2])}, outputs=3, axis=1).agree(rtol=0)


def test_what_a_computed_shape_needs_is_said(run_onnx):
    x = np.zeros((2, 3), np.float32)
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    ports = [helper.make_tensor_value_info("x", 1, (2, 3)),
             helper.make_tensor_value_info("shape", 7, (2,))]  # fmt: skip
    graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("y", 1, None)])
    with pytest.raises(UnsupportedError, match="does not say the shape of output 0"):
        load(helper.make_model(graph))
    run_onnx("Reshape", {"x": x, "shape": np.array([3, 2])}).agree(0)
