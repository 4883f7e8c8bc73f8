"""Models with state, of one step or frame."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.onnx_import import load

HIDDEN, INPUTS = 12, 5

PAIRS = {"lstm": [("h0", "hn"), ("c0", "cn")], "cache": [("frames_in", "frames_out")]}


def saved(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(n, 1, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, 1, s) for n, s in outputs.items()],
        [numpy_helper.from_array(a.astype(np.float32), n) for n, a in dict(constants).items()],
    )
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.fixture
def lstm(tmp_path):
    """One step of an LSTM, and a Gemm of its hidden state."""
    rng = np.random.default_rng(2)
    constants = {
        "w": rng.normal(0, 0.5, (1, 4 * HIDDEN, INPUTS)),
        "r": rng.normal(0, 0.3, (1, 4 * HIDDEN, HIDDEN)),
        "last": rng.normal(0, 0.4, (HIDDEN, 3)),
    }
    nodes = [
        helper.make_node(
            "LSTM", ["x", "w", "r", "", "", "h0", "c0"], ["", "hn", "cn"], hidden_size=HIDDEN
        ),
        helper.make_node("MatMul", ["hn", "last"], ["y"]),
    ]
    state = (1, 1, HIDDEN)
    inputs = {"x": (1, 1, INPUTS), "h0": state, "c0": state}
    return saved(
        tmp_path / "lstm.onnx", nodes, inputs, {"y": (1, 1, 3), "hn": state, "cn": state}, constants
    )


@pytest.fixture
def cache(tmp_path):
    """A causal convolution over the last three frames, two of which are state."""
    rng = np.random.default_rng(4)
    constants = {"w": rng.normal(0, 0.5, (6, 4, 3)), "b": rng.normal(0, 1, 6)}
    nodes = [
        helper.make_node("Concat", ["frames_in", "x"], ["whole"], axis=2),
        helper.make_node("Conv", ["whole", "w", "b"], ["conv"]),
        helper.make_node("Relu", ["conv"], ["y"]),
        helper.make_node("Slice", ["whole", "one", "end", "two"], ["frames_out"]),
    ]
    path = saved(
        tmp_path / "cache.onnx",
        nodes,
        {"x": (1, 4, 1), "frames_in": (1, 4, 2)},
        {"y": (1, 6, 1), "frames_out": (1, 4, 2)},
        constants,
    )
    model = onnx.load(path)
    for name, value in {"one": 1, "end": 3, "two": 2}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.array([value]), name))
    onnx.save(model, path)
    return path


def frames(path, count, seed=0, low=-1.5):
    """Samples without state; lopsided, so that int8 has a zero point."""
    shape = next(p.shape for p in load(path).inputs if p.name == "x")
    rng = np.random.default_rng(seed)
    return [{"x": rng.uniform(low, 1.0, shape).astype(np.float32)} for _ in range(count)]
