"""Recurrent layers give only what is read."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.format.schema import RecurrentOutput
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.passes import DEFAULT, run_passes

GIVEN = {
    "y": RecurrentOutput.Hidden,
    "h": RecurrentOutput.LastHidden,
    "c": RecurrentOutput.LastCell,
}


@pytest.mark.parametrize("read", ["y", "h", "c", "yc", "hc", "yhc"])
def test_what_is_read_stays(read):
    shapes = {"w": (1, 12, 2), "r": (1, 12, 3)}
    graph = helper.make_graph(
        [helper.make_node("LSTM", ["x", "w", "r"], ["y", "h", "c"], hidden_size=3)],
        "graph",
        [helper.make_tensor_value_info("x", 1, (4, 1, 2))],
        [helper.make_tensor_value_info(n, 1, None) for n in read],
        [numpy_helper.from_array(np.ones(s, np.float32), n) for n, s in shapes.items()],
    )
    loaded = load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    run_passes(loaded, DEFAULT)
    (node,) = (n for n in loaded.nodes if n.op == "Recurrent")
    assert node.attrs["gives"] == tuple(GIVEN[n] for n in read)
    assert len(node.outputs) == len(read)
