"""A detector with its selection inside the graph: outputs of a fixed size, with a count."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.device.build import prepare
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.model_files import load
from edgekit.toolkit.quantize import calibrate, quantize_graph
from edgekit.toolkit.runtime import Session

ANCHORS, BEST, MOST = 64, 12, 10


def detector(rng):
    """Conv, heads of boxes and scores; the best by TopK, then NonMaxSuppression, then Gather."""
    heads = {"w": (8, 3, 3, 3), "wb": (4, 8, 1, 1), "ws": (1, 8, 1, 1)}
    constants = {n: rng.normal(size=s).astype(np.float32) * 0.4 for n, s in heads.items()}
    constants |= {
        n: np.array(v, np.int64)
        for n, v in (("boxes4", [1, 4, ANCHORS]), ("scores3", [1, 1, ANCHORS]), ("k", [BEST]),
                     ("line", [BEST]), ("most", [MOST]), ("two", 2), ("column", [1]))
    }  # fmt: skip
    constants["overlap"] = np.array([0.3], np.float32)
    steps = [
        ("Conv", "x w", "c", {"pads": [1, 1, 1, 1]}),
        ("Relu", "c", "r", {}),
        ("Conv", "r wb", "b0", {}),
        ("Conv", "r ws", "s0", {}),
        ("Reshape", "b0 boxes4", "b1", {}),
        ("Transpose", "b1", "b2", {"perm": [0, 2, 1]}),
        ("Reshape", "s0 scores3", "s1", {}),
        ("Sigmoid", "s1", "s2", {}),
        ("TopK", "s2 k", "best places", {"axis": 2}),
        ("Reshape", "places line", "which", {}),
        ("Gather", "b2 which", "boxes", {"axis": 1}),
        ("NonMaxSuppression", "boxes best most overlap", "kept", {}),
        ("Gather", "kept two", "left", {"axis": 1}),
        ("Gather", "boxes left", "found", {"axis": 1}),
    ]
    nodes = [helper.make_node(op, i.split(), o.split(), **a) for op, i, o, a in steps]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 8, 8))]
    outs = [("kept", TensorProto.INT64), ("found", TensorProto.FLOAT)]
    made = [onnx.numpy_helper.from_array(a, n) for n, a in constants.items()]
    outputs = [helper.make_tensor_value_info(n, t, None) for n, t in outs]
    graph = helper.make_graph(nodes, "detector", ports, outputs, made)
    opsets = [helper.make_opsetid("", 17)]
    return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets))


@pytest.fixture(scope="module")
def detector_file():
    """The quantized file and three inputs."""
    rng = np.random.default_rng(5)
    graph = load(detector(rng).SerializeToString(), finite=True)
    feeds = [{"x": rng.normal(size=(1, 3, 8, 8)).astype(np.float32)} for _ in range(3)]
    made, _ = quantize_graph(graph, calibrate(graph, feeds).extremes())
    return build_file(made), feeds


@pytest.mark.parametrize("name", ["cortex_m4", "aarch64_linux"])
def test_a_detector_selects_on_the_device_as_on_the_host(ready, name, detector_file):
    data, feeds = detector_file
    session, target = Session(data, "ref"), ready(name)
    wanted = [session.run_raw(feed) for feed in feeds]
    counts = [int(raw["kept.count"][0]) for raw in wanted]
    assert all(0 < many <= MOST for many in counts) and min(counts) < MOST, counts
    for raw, many in zip(wanted, counts, strict=True):
        assert raw["kept"].shape == (MOST, 3) and not raw["kept"][many:].any()
    with Device(prepare(data, target), target) as device:
        ran = device.run([session.to_raw(feed) for feed in feeds])
    for raw, answers in zip(wanted, ran.outputs, strict=True):
        for io, answer in zip(session.outputs, answers, strict=True):
            np.testing.assert_array_equal(answer, raw[io.name], err_msg=io.name)
