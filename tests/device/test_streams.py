"""Models that stream answer with the same bytes on every target, step after step."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import edgekit
from edgekit import targets
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.runtime import Session

DEVICES = [name for name in targets.names() if targets.load(name).emulator.startswith("qemu")]
CHANNELS, STEPS, HIDDEN = 6, 20, 12


def save(path):
    """A convolution that looks ahead, an LSTM and a GRU behind it, and the input beside."""
    rng = np.random.default_rng(3)

    def weights(*shape):
        return rng.normal(0, 1 / np.sqrt(shape[-1]), shape).astype(np.float32)

    constants = {
        "w": weights(CHANNELS, CHANNELS, 3), "b": weights(CHANNELS),
        "lw": weights(1, 4 * HIDDEN, CHANNELS), "lr": weights(1, 4 * HIDDEN, HIDDEN),
        "gw": weights(1, 3 * HIDDEN, HIDDEN), "gr": weights(1, 3 * HIDDEN, HIDDEN),
        "gb": weights(1, 6 * HIDDEN), "last": weights(HIDDEN, CHANNELS),
        "one": np.array([1]),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["a"], pads=[1, 1]),
        helper.make_node("Relu", ["a"], ["a1"]),
        helper.make_node("Transpose", ["a1"], ["t"], perm=[2, 0, 1]),
        helper.make_node("LSTM", ["t", "lw", "lr"], ["l"], hidden_size=HIDDEN),
        helper.make_node("Squeeze", ["l", "one"], ["l1"]),
        helper.make_node(
            "GRU", ["l1", "gw", "gr", "gb"], ["g"], hidden_size=HIDDEN, linear_before_reset=1
        ),
        helper.make_node("Squeeze", ["g", "one"], ["g1"]),
        helper.make_node("MatMul", ["g1", "last"], ["m"]),
        helper.make_node("Transpose", ["m"], ["m1"], perm=[1, 2, 0]),
        helper.make_node("Add", ["m1", "x"], ["y"]),
    ]
    shape = (1, CHANNELS, STEPS)
    ends = [helper.make_tensor_value_info(n, 1, shape) for n in "xy"]
    arrays = [numpy_helper.from_array(a, n) for n, a in constants.items()]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], arrays)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return [{"x": rng.uniform(-1, 1.5, shape).astype(np.float32)} for _ in range(16)]


@pytest.fixture(scope="module")
def streaming(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streaming")
    samples = save(folder / "m.onnx")
    edgekit.quantize(folder / "m.onnx", samples, folder / "m.edge", stream=[("x", 2)])
    return folder / "m.edge", samples


@pytest.mark.parametrize("name", DEVICES)
def test_every_step_has_the_hosts_bytes(ready, streaming, name):
    path, samples = streaming
    session = Session(path, "ref")
    frames = [{"x": samples[0]["x"][..., i : i + 1]} for i in range(STEPS)]
    raw = [session.to_raw(frame) for frame in frames]
    wanted = [session.run_raw(frame)["y"] for frame in frames]
    assert len({w.tobytes() for w in wanted}) > STEPS // 2
    with Device(path.read_bytes(), ready(name)) as device:
        ran = device.run(raw)
    for (answer,), y in zip(ran.outputs, wanted, strict=True):
        np.testing.assert_array_equal(answer, y)
