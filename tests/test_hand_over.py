"""What the device hands over and is given: other bytes, the same answers."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgekit
from edgekit.toolkit.device.self_test import self_test
from edgekit.toolkit.format.reader import read

HandOver, UserError = edgekit.HandOver, edgekit.UserError


def network(channels, size=8):
    """Two convolutions; NCHW, as torch exports."""
    rng = np.random.default_rng(0)
    w = rng.normal(0, 0.3, (5, channels, 3, 3)).astype(np.float32)
    v = rng.normal(0, 0.3, (4, 5, 1, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "v"], ["y"]),
    ]
    ports = [
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, c, size, size - 1])]
        for n, c in (("x", channels), ("y", 4))
    ]
    init = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(v, "v")]
    graph = helper.make_graph(nodes, "g", *ports, init)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(channels, HandOver) -> the file's path, its samples, and the model."""
    folder = tmp_path_factory.mktemp("hand_over")

    def make(channels, chosen):
        model, edge = folder / "m.onnx", folder / "m.edge"
        onnx.save(network(channels), model)
        rng = np.random.default_rng(1)
        samples = [
            {"x": rng.uniform(-1, 2, (1, channels, 8, 7)).astype(np.float32)} for _ in range(8)
        ]
        edgekit.quantize(model, samples, edge, observer="minmax", hand_over=chosen)
        return edge, samples, model

    return make


NHWC = HandOver(input_layout={"": "nhwc"}, output_layout={"y": "nhwc"})
BYTES = HandOver({"x": "nhwc"}, {"": "uint8"}, {"": "nhwc"}, {"": "uint8"})


@pytest.mark.parametrize("channels", [1, 3])
def test_layouts_and_bytes_change_no_answer(made, channels):
    edge, samples, model = made(channels, HandOver())
    expected = [edgekit.Session(edge).run(s)["y"] for s in samples]
    assert [op.kind.name for op in read(edge.read_bytes()).ops].count("Copy") == (channels > 1) + 1
    for chosen, kinds in (
        (NHWC, ["Conv2d", "Conv2d"]),
        (BYTES, ["Lut", "Conv2d", "Conv2d", "Lut"]),
    ):
        edge, _, _ = made(channels, chosen)
        session = edgekit.Session(edge)
        assert [op.kind.name for op in read(edge.read_bytes()).ops] == kinds
        for sample, y in zip(samples, expected, strict=True):
            assert np.array_equal(session.run(sample)["y"], y)
        assert session.inputs[0].shape == (1, channels, 8, 7)
        assert session.inputs[0].held_shape == (1, 8, 7, channels)
        (raw,) = session.to_raw(samples[0])
        io = session.inputs[0]
        real = samples[0]["x"].transpose(0, 2, 3, 1)
        lowest = 0 if chosen is BYTES else -128
        q = np.clip(np.rint(real / np.float32(io.scale)) + io.zero_point, lowest, lowest + 255)
        assert raw.shape == io.held_shape and np.array_equal(raw, q)
        assert raw.dtype == (np.uint8 if chosen is BYTES else np.int8)
        assert all(self_test(edge.read_bytes()).checksums)
        report = edgekit.check(edge, model, samples, layers=True)
        assert report.outputs[0].sqnr_db > 30 and len(report.layers) > 1


@pytest.mark.parametrize("name", ["int16", "float32"])
def test_types_are_converted_in_the_file(made, name):
    edge, samples, model = made(3, HandOver(input_type={"": name}, output_type={"": name}))
    session = edgekit.Session(edge)
    assert session.inputs[0].dtype == session.outputs[0].dtype == np.dtype(name)
    (raw,) = session.to_raw(samples[0])
    if name == "float32":
        assert np.array_equal(raw, samples[0]["x"])
    assert edgekit.check(edge, model, samples).outputs[0].sqnr_db > 30


def test_what_cannot_be_handed_over_is_refused(made):
    with pytest.raises(UserError, match="no input 'z'; the model's are: x"):
        made(3, HandOver(input_type={"z": "int8"}))
    with pytest.raises(UserError, match="no type 'int4'; there are: uint8, int8, int16, float32"):
        made(3, HandOver(input_type={"": "int4"}))
    with pytest.raises(UserError, match="no layout 'hwc'; there are: nhwc, nchw"):
        made(3, HandOver(input_layout={"": "hwc"}))
