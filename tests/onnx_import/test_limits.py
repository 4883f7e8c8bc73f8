"""onnx runs in a process of its own: what brings it down, or grows without end, is refused."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.errors import UnsupportedError, UserError
from edgekit.toolkit.onnx_import import limits, load, onnx_child, onnx_process
from edgekit.toolkit.onnx_import.onnx_process import Onnx, OnnxError

node = helper.make_node


@pytest.fixture
def relu(make_model):
    return make_model([node("Relu", ["x"], ["y"])], {"x": (1, 4)}, ["y"])


def test_a_question_without_end_is_given_up(relu):
    load(relu)
    os.kill(onnx_process._shared._process.pid, signal.SIGSTOP)
    limited = Onnx("m.onnx")
    limited._seconds = 0.5
    with pytest.raises(UserError, match=r"^m\.onnx: the shape inference of onnx took more than"):
        limited.infer_shapes(relu)
    assert load(relu).nodes[0].op == "Clip"


def test_memory_without_end_is_given_up(make_model, monkeypatch, relu):
    monkeypatch.setattr(onnx_process, "CHILD_BYTES", 1 << 30)
    tile = make_model([node("Tile", ["c", "n"], ["y"])], {"c": (1,), "n": (1,)}, ["y"], infer=False)
    many = [np.ones(1, np.float32), np.array([1 << 33])]
    with pytest.raises(UserError, match=r"at Tile.* needed more than .* GiB of memory"):
        Onnx("m.onnx").fold(tile, many)
    assert load(relu).nodes[0].op == "Clip"


def test_a_crash_is_the_models_and_the_next_one_is_read(relu):
    load(relu)
    process = onnx_process._shared._process
    os.kill(process.pid, signal.SIGSEGV)
    process.wait()
    with pytest.raises(UserError, match=r"the checker of onnx crashed \(SIGSEGV\)"):
        load(relu)
    assert load(relu).nodes[0].op == "Clip"


def test_what_onnx_raises_comes_back_by_name(relu):
    relu.graph.node[0].input[0] = "nobody"
    with pytest.raises(OnnxError, match="nobody") as why:
        Onnx("m").check(relu)
    assert why.value.kind == "ValidationError"


def test_folded_constants_are_limited_in_sum(make_model, monkeypatch):
    monkeypatch.setattr(onnx_process, "FOLDED_BYTES", 10_000)
    nodes = [node("ConstantOfShape", ["dims"], [name]) for name in "abc"]
    nodes += [node("Sum", ["x", "a", "b", "c"], ["y"])]
    model = make_model(nodes, {"x": (1000,)}, ["y"], {"dims": np.array([1000])})
    with pytest.raises(UnsupportedError, match="constant of 4000 bytes; 2000 are left"):
        load(model)


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 30), (1 << 31, 2), (1 << 29,)])
def test_an_input_without_bounds_is_refused(make_model, shape):
    model = make_model([node("Relu", ["x"], ["y"])], {"x": shape}, ["y"])
    with pytest.raises(UserError, match=r"input 'x' of shape .* elements; the limit is"):
        load(model)


@pytest.mark.parametrize("count", [1 << 31, 1 << 40])
def test_a_tensor_without_bounds_is_refused(make_model, count):
    """`passes` would list the places of its elements one by one."""
    nodes = [node("Expand", ["x", "n"], ["e"]), node("ReduceSum", ["e"], ["y"])]
    model = make_model(nodes, {"x": (1,)}, ["y"], {"n": np.array([count])})
    with pytest.raises(UnsupportedError, match=f"Expand 'e': .*has {count} elements; the limit"):
        load(model)


def test_an_input_of_shapes_without_bounds_is_refused(make_model):
    """Shape inference would count up what it holds: 136 bytes of ONNX, seven gigabytes."""
    model = make_model(
        [node("Expand", ["x", "s"], ["y"])], {"x": (1,), "s": (1 << 32,)}, ["y"],
        types={"s": TensorProto.INT64}, infer=False,
    )  # fmt: skip
    with pytest.raises(UserError, match="input 's' of shape 4294967296"):
        load(model)


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("edgekit.toolkit.onnx_import.source.FILE_BYTES", limits.MIB)
    path = tmp_path / "m.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UserError, match=r"m\.onnx: is larger than 1,048,576 bytes"):
        load(path)


def external(make_model, tmp_path, rows, length=True):
    """A model whose weights lie in a file of zeros that takes no room."""
    model = make_model([node("MatMul", ["x", "w"], ["y"])], {"x": (1, rows)}, ["y"], infer=False)
    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[rows, 64])
    w.data_location = TensorProto.EXTERNAL
    w.external_data.add(key="location", value="m.data")
    if length:
        w.external_data.add(key="length", value=str(rows * 256))
    model.graph.initializer.append(w)
    with (tmp_path / "m.data").open("wb") as file:
        file.truncate(1 << 42 if not length else rows * 256)
    onnx.save(model, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_external_data_without_bounds_is_refused_before_it_is_read(make_model, tmp_path):
    path = external(make_model, tmp_path, 1 << 25)
    with pytest.raises(UserError, match="its external data takes 8192 MiB; at most 4096 MiB"):
        load(path)


def test_external_data_is_read_as_far_as_its_shape_goes(make_model, tmp_path):
    (fc,) = load(external(make_model, tmp_path, 64, length=False)).nodes
    assert fc.input(1).shape == (64, 64)


def test_onnx_is_never_handed_the_weights(make_model, tmp_path, monkeypatch):
    """More than 2 GiB of them do not fit into one message of protobuf."""
    sent = []
    ask = onnx_process._shared.ask

    def listen(header, parts, seconds):
        sent.extend(map(len, parts))
        return ask(header, parts, seconds)

    monkeypatch.setattr(onnx_process._shared, "ask", listen)
    load(external(make_model, tmp_path, 1 << 12))
    assert sent and max(sent) < 1000


def test_the_checker_runs_without_the_rest_of_onnx(digits, monkeypatch):
    """As onnx's Python runs it, which serves where its C++ has other functions."""
    path = digits / "digits.onnx"
    parts, strict = [path.read_bytes()], {"strict": True}
    direct = onnx_child._check({}, parts), onnx_child._infer(strict, parts)
    monkeypatch.setattr(onnx_child, "_cpp", object)
    assert direct == (onnx_child._check({}, parts), onnx_child._infer(strict, parts))
    code = """
import sys, onnx_child
onnx_child._infer({}, [open(sys.argv[1], "rb").read()])
sys.exit("numpy" in sys.modules)
"""
    command, folder = [sys.executable, "-c", code, str(path)], Path(onnx_child.__file__).parent
    assert subprocess.run(command, cwd=folder, check=False).returncode == 0
