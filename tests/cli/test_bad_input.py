"""Bad input: a clear error, exit code 2, nothing written."""

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.cli import main
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.pipeline import quantize


def test_a_missing_model(quantize_refused, tmp_path):
    assert "missing.onnx" in quantize_refused(tmp_path / "missing.onnx")


def test_a_file_that_is_not_onnx(quantize_refused, tmp_path):
    path = tmp_path / "text.onnx"
    path.write_text("hello, I am not a model\n" * 20)
    assert "text.onnx" in quantize_refused(path)


def test_a_truncated_model(quantize_refused, digits, tmp_path):
    path = tmp_path / "half.onnx"
    whole = (digits / "digits.onnx").read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:size])
        assert "half.onnx" in quantize_refused(path)


def test_a_missing_calibration_folder(quantize_refused, tmp_path):
    assert "nowhere" in quantize_refused(None, tmp_path / "nowhere")


def test_an_empty_calibration_folder(quantize_refused, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "empty" in quantize_refused(None, tmp_path / "empty")


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.zeros((4, 1, 9, 8), np.float32), "shape"),
        (np.zeros((4, 8, 8, 1), np.float32), "shape"),
        (np.zeros((4, 1, 8, 8), np.complex64), "complex64"),
        (np.full((4, 1, 8, 8), np.nan, np.float32), "NaN"),
        (np.full((4, 1, 8, 8), np.inf, np.float32), "inf"),
        (np.zeros((0, 1, 8, 8), np.float32), "0 samples"),
    ],
)
def test_samples_that_do_not_fit(quantize_refused, tmp_path, array, says):
    np.savez(tmp_path / "bad.npz", image=array)
    told = quantize_refused(None, tmp_path / "bad.npz")
    assert "image" in told and says in told


def test_an_unknown_input_name(quantize_refused, tmp_path):
    np.savez(tmp_path / "bad.npz", picture=np.zeros((4, 1, 8, 8), np.float32))
    told = quantize_refused(None, tmp_path / "bad.npz")
    assert "picture" in told and "image" in told


def test_a_damaged_npz(quantize_refused, digits, tmp_path):
    (tmp_path / "bad.npz").write_bytes((digits / "calib.npz").read_bytes()[:3000])
    assert "bad.npz" in quantize_refused(None, tmp_path / "bad.npz")


def model(nodes, inputs, outputs):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_all_unsupported_operators_are_named_at_once(quantize_refused, tmp_path):
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["x"], ["r"], name="fine"),
        helper.make_node("RoiAlign", ["r", "r", "r"], ["b"], name="second"),
    ]
    onnx.save(model(nodes, {"x": [1, 3, 3]}, {"a": [1, 3, 3], "b": None}), tmp_path / "m.onnx")
    np.savez(tmp_path / "c.npz", x=np.zeros((2, 3, 3), np.float32))
    told = quantize_refused(tmp_path / "m.onnx", tmp_path / "c.npz")
    assert "2 problem" in told
    assert "RandomNormalLike 'first'" in told and "RoiAlign 'second'" in told and "fine" not in told


@pytest.mark.parametrize("rank", [9, 12])
def test_a_rank_that_the_runtime_does_not_open(refused, tmp_path, rank):
    shape = [1] * (rank - 1) + [3]
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    onnx.save(model(nodes, {"x": shape}, {"y": shape}), tmp_path / "m.onnx")
    assert f"input 'x' has {rank} dimensions" in refused("convert", tmp_path / "m.onnx")
    wide = [helper.make_node("Unsqueeze", ["x", "a"], ["y"])]
    graph = model(wide, {"x": [3]}, {"y": shape})
    axes = np.arange(rank - 1)
    graph.graph.initializer.append(onnx.numpy_helper.from_array(axes, "a"))
    onnx.save(graph, tmp_path / "m.onnx")
    told = refused("convert", tmp_path / "m.onnx")
    assert f"output 'y': it has {rank} dimensions; at most 8" in told


def test_a_tensor_inside_whose_rank_the_runtime_does_not_open(refused, tmp_path):
    nodes = [
        helper.make_node("Reshape", ["x", "nine"], ["r"]),
        helper.make_node("Add", ["r", "c"], ["t"]),
        helper.make_node("Reshape", ["t", "one"], ["y"]),
    ]
    proto = model(nodes, {"x": [512]}, {"y": [512]})
    constants = {"nine": np.full(9, 2), "one": np.array([512]), "c": np.ones((2, 1) * 4 + (2,))}
    for name, array in constants.items():
        array = array.astype(np.float32 if name == "c" else np.int64)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(proto, tmp_path / "m.onnx")
    assert "'r' [2, 2, 2, 2, 2, 2, 2, 2, 2] has 9 dimensions" in refused(
        "convert", tmp_path / "m.onnx"
    )


def test_a_file_that_the_runtime_refuses_is_a_bug_and_is_not_written(
    monkeypatch, capsys, digits, tmp_path
):
    monkeypatch.setattr("edgekit.toolkit.pipeline.build_file", lambda *_: b"no such file" * 99)
    told = ["convert", str(digits / "digits.onnx"), "-o", str(tmp_path / "m.edge")]
    assert main(told) == 70
    assert "the runtime rejects the generated file" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def relu_twice(change):
    proto = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [1, 4]}, {"y": [1, 4]})
    change(proto)
    return proto


def _recursive(proto):
    opsets = [helper.make_opsetid("own", 1)]
    inner = helper.make_node("F", ["a"], ["b"], domain="own")
    proto.functions.append(helper.make_function("own", "F", ["a"], ["b"], [inner], opsets))
    proto.graph.node[0].op_type, proto.graph.node[0].domain = "F", "own"
    proto.opset_import.extend(opsets)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.graph.output.append(m.graph.output[0]), "two outputs are named 'y'"),
        (lambda m: m.graph.ClearField("output"), "the model has no outputs"),
        (_recursive, "must not be recursive"),
    ],
)
def test_a_model_that_onnx_forbids(refused, tmp_path, change, says):
    onnx.save(relu_twice(change), tmp_path / "m.onnx")
    told = refused("convert", tmp_path / "m.onnx")
    assert "m.onnx" in told and says in told


def test_a_symbolic_dimension_asks_for_shape_where_the_samples_do_not_fit(
    quantize_refused, tmp_path
):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    onnx.save(model(nodes, {"x": [1, "T", 4]}, {"y": [1, "T", 4]}), tmp_path / "m.onnx")
    np.savez(tmp_path / "c.npz", x=np.zeros((2, 5, 3), np.float32))
    told = quantize_refused(tmp_path / "m.onnx", tmp_path / "c.npz")
    assert "--shape x=1," in told


def test_an_unwritable_place(refused, digits, tmp_path):
    told = refused(
        "quantize", digits / "digits.onnx", "--calib", digits / "calib.npz",
        "-o", tmp_path / "no" / "such" / "out.edge",
    )  # fmt: skip
    assert "no/such" in told


def test_an_output_that_is_an_input(quantize_refused, refused, digits, digits_edge, tmp_path):
    """The command must not destroy what it reads."""
    model, calib = tmp_path / "m.onnx", tmp_path / "c.npz"
    model.write_bytes((digits / "digits.onnx").read_bytes())
    calib.write_bytes((digits / "calib.npz").read_bytes())
    for out in (model, calib):
        assert "overwritten" in refused("quantize", model, "--calib", calib, "-o", out)
    assert "overwritten" in refused("convert", model, "-o", model)
    for out in (tmp_path / "out.edge", model, calib):
        assert "overwritten" in quantize_refused(model, calib, "--report", out)
    metric = tmp_path / "mine.py"
    metric.write_text("def metric(outputs, references, data):\n    return 1\n")
    judged = ["--metric", metric, "--max-drop", "1", "--eval", digits / "eval.npz"]
    assert "overwritten" in quantize_refused(model, calib, *judged, "--report", metric)
    assert "overwritten" in refused("quantize", model, "--calib", calib, *judged, "-o", metric)
    for out in (digits_edge, calib):
        assert "overwritten" in refused("run", digits_edge, "--input", calib, "-o", out)
    array = tmp_path / "image.npy"
    np.save(array, np.load(calib)["image"])
    assert "overwritten" in refused("run", digits_edge, "--input", f"image={array}", "-o", array)


def test_a_float_model_that_is_another(refused, digits, digits_edge, tmp_path):
    onnx.save(
        model([helper.make_node("Relu", ["x"], ["y"])], {"x": [1, 4]}, {"y": [1, 4]}),
        tmp_path / "m.onnx",
    )
    data = digits / "eval.npz"
    told = refused("check", digits_edge, "--float", tmp_path / "m.onnx", "--data", data)
    assert "its inputs are x" in told and "image" in told


def test_a_report_of_samples_that_can_be_read_once_is_refused_before_the_work(digits, tmp_path):
    image = np.load(digits / "calib.npz")["image"]
    samples = ({"image": x} for x in image)
    with pytest.raises(UserError, match="pass a list, not a generator"):
        quantize(digits / "digits.onnx", samples, tmp_path / "a.edge", report=tmp_path / "r.html")
    assert len(list(samples)) >= len(image) - 1 and not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_file(digits, tmp_path):
    """A limit on file sizes stands in for the full disk: the write fails half-way."""
    out = tmp_path / "out.edge"
    out.write_bytes(b"old")

    # Set behind the import, which may rebuild an editable install, and its logs are larger.
    code = """
import resource, signal, sys
import edgekit.toolkit.pipeline
from edgekit.toolkit.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(main())
"""
    done = subprocess.run(
        [
            sys.executable, "-c", code, "convert", digits / "digits.onnx", "-o", out,
        ],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "out.edge: cannot be written" in done.stderr
    assert out.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("command", ["inspect", "run", "check"])
def test_a_corrupted_file(refused, digits, digits_edge, tmp_path, command):
    whole = digits_edge.read_bytes()
    more = {
        "inspect": [],
        "run": ["--input", digits / "eval.npz"],
        "check": ["--float", digits / "digits.onnx", "--data", digits / "eval.npz"],
    }[command]
    path = tmp_path / "bad.edge"
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for data in (b"", b"\0" * 64, whole[: len(whole) // 2], bytes(flipped)):
        path.write_bytes(data)
        assert "bad.edge" in refused(command, path, *more)


@pytest.mark.parametrize(
    "command",
    ["inspect", "run --input {digits}/eval.npz", "build --target cortex_m4 -o {tmp}/fw",
     "bench --target cortex_m4", "check --float {digits}/digits.onnx --data {digits}/eval.npz"],
)  # fmt: skip
def test_an_onnx_model_instead_of_an_edge_file(refused, digits, tmp_path, command):
    name, *options = command.format(digits=digits, tmp=tmp_path).split()
    told = refused(name, digits / "digits.onnx", *options)
    assert "digits.onnx is an ONNX model; quantize it first: edgekit quantize " in told


@pytest.mark.parametrize("command", ["quantize --calib {digits}/calib.npz", "convert"])
def test_an_edge_file_instead_of_an_onnx_model(refused, digits, digits_edge, command):
    name, *options = command.format(digits=digits).split()
    told = refused(name, digits_edge, *options)
    assert "is an .edge file already; give the ONNX model" in told and "edgekit inspect" in told


def test_an_option_in_the_wrong_form(refused, digits, digits_edge):
    assert "NAME=1,3,224,224" in refused("convert", digits / "digits.onnx", "--shape", "image:1,1")
    assert "no input 'picture'" in refused("run", digits_edge, "--input", "picture=x.npy")


def test_a_bug_of_ours_is_not_put_on_the_user(monkeypatch, capsys, digits_edge):
    def broken(*_):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("edgekit.toolkit.inspection.read", broken)
    assert main(["inspect", str(digits_edge)]) == 70
    assert "bug in edgekit" in capsys.readouterr().err
