"""Group normalizations as exporters write them, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.passes import DEFAULT, run_passes

from ..conftest import agrees

N, C, H, W = 1, 8, 5, 6


def group_norm(groups: int, opset: int = 17) -> onnx.ModelProto:
    """Conv, GroupNorm as PyTorch writes it, Conv."""
    rng = np.random.default_rng(0)
    given = {
        "w": rng.normal(size=(C, 3, 1, 1)), "v": rng.normal(size=(4, C, 1, 1)),
        "one": np.ones(groups), "zero": np.zeros(groups),
        "scale": rng.uniform(0.5, 2, (C, 1, 1)), "bias": rng.normal(size=(C, 1, 1)),
    }  # fmt: skip
    consts = [numpy_helper.from_array(v.astype(np.float32), k) for k, v in given.items()]
    shapes = {"grouped": (0, groups, -1), "back": (N, C, H, W)}
    consts += [numpy_helper.from_array(np.array(v), k) for k, v in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Reshape", ["a", "grouped"], ["b"]),
        helper.make_node("InstanceNormalization", ["b", "one", "zero"], ["c"]),
        helper.make_node("Reshape", ["c", "back"], ["d"]),
        helper.make_node("Mul", ["d", "scale"], ["e"]),
        helper.make_node("Add", ["e", "bias"], ["f"]),
        helper.make_node("Conv", ["f", "v"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "norm",
        [helper.make_tensor_value_info("x", 1, (N, 3, H, W))],
        [helper.make_tensor_value_info("y", 1, (N, 4, H, W))],
        consts,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize(("groups", "moves"), [(1, 0), (C, 0), (2, 2)])
def test_whole_groups_move_nothing(groups, moves):
    model = group_norm(groups)
    graph = load(model)
    run_passes(graph, DEFAULT)
    ops = [n.op for n in graph.nodes]
    assert ops.count("LayerNorm") == 1 and not {"Mul", "Add"} & set(ops)
    # The images of the ports are turned; nothing is between the convolutions.
    inner = ops[ops.index("Conv2d") : len(ops) - ops[::-1].index("Conv2d")]
    assert sum(op in ("Copy", "Transpose") for op in inner) == moves
    agrees(model, graph)
