"""`edgekit run` on one sample, on many, and on batches."""

import struct

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgekit
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.execution import run


@pytest.fixture
def batch_of_four(tmp_path):
    """y [4, 2] = x [4, 3] times w, and the sum of all of x."""
    w = np.arange(6, dtype=np.float32).reshape(3, 2)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["y"]),
            helper.make_node("ReduceSum", ["x"], ["all"], keepdims=0),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 2]),
            helper.make_tensor_value_info("all", TensorProto.FLOAT, []),
        ],
        [helper.make_tensor("w", TensorProto.FLOAT, w.shape, w.ravel())],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    edgekit.convert(tmp_path / "m.onnx", tmp_path / "m.edge")
    return tmp_path / "m.edge", w


@pytest.mark.parametrize("samples", [4, 8, 20])
def test_samples_run_in_batches(batch_of_four, tmp_path, samples):
    path, w = batch_of_four
    x = np.random.default_rng(0).random((samples, 3), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    done = run(path, [f"x={tmp_path / 'x.npy'}"], tmp_path / "out.npz")
    out = np.load(tmp_path / "out.npz")
    np.testing.assert_allclose(out["y"], x @ w, rtol=1e-6)
    sums = x.reshape(-1, 12).sum(1)
    np.testing.assert_allclose(out["all"], sums if samples > 4 else sums[0], rtol=1e-6)
    assert done.samples == (samples if samples > 4 else 1)


def test_whole_batches_may_have_an_axis_of_their_own(batch_of_four, tmp_path):
    path, w = batch_of_four
    x = np.random.default_rng(0).random((5, 4, 3), dtype=np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    run(path, [str(tmp_path / "x.npz")], tmp_path / "out.npz")
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["y"], x @ w, rtol=1e-6)


def test_samples_that_fill_no_batch_are_refused(batch_of_four, tmp_path):
    path, _ = batch_of_four
    np.save(tmp_path / "x.npy", np.zeros((6, 3), np.float32))
    with pytest.raises(
        UserError, match=r"'x': 6 samples for a model that takes 4 at a time; give a multiple of 4"
    ):
        run(path, [f"x={tmp_path / 'x.npy'}"])
    np.save(tmp_path / "x.npy", np.zeros((8, 5), np.float32))
    with pytest.raises(UserError, match=r"\[8, 5\]; give \[4, 3\] for one sample or \[N, 3\], N a"):
        run(path, [f"x={tmp_path / 'x.npy'}"])


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.png", b"\x89PNG\r\n\x1a\n rest", "x.png: is an image; run takes .npz and .npy"),
        ("x.jpg", b"\xff\xd8\xff rest", "x.jpg: is an image"),
        ("x.wav", b"RIFF rest", "x.wav: is a sound"),
        ("x.csv", b"1,2,3\n", "x.csv: is not an .npz or .npy; run takes .npz and .npy"),
        ("x.npz", b"PK rest", "x.npz: cannot be read as an .npz file"),
        ("x.npy", b"\x93NUMPY rest", "x.npy: cannot be read as an array"),
    ],
)
def test_other_files_than_arrays_are_told_what_is_taken(
    batch_of_four, tmp_path, name, content, says
):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=says) as told:
        run(batch_of_four[0], [f"x={tmp_path / name}"])
    assert "pickle" not in str(told.value)


def test_no_advice_of_numpys_to_allow_pickles(batch_of_four, tmp_path):
    """It comes with a header that is too long for safety, and with arrays of objects."""
    head = repr({"descr": "<f4", "fortran_order": False, "shape": (4, 3), "x": 1}) + " " * 20000
    long = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(head)) + head.encode()
    (tmp_path / "x.npy").write_bytes(long)
    with pytest.raises(UserError, match="cannot be read as an array") as told:
        run(batch_of_four[0], [f"x={tmp_path / 'x.npy'}"])
    assert "allow" not in str(told.value).lower()
    for save in (lambda a: np.save(tmp_path / "x.npy", a), lambda a: np.savez(tmp_path / "x", x=a)):
        save(np.array([{}, {}], object))
        for path in tmp_path.glob("x.np?"):
            with pytest.raises(UserError) as told:
                run(batch_of_four[0], [f"x={path}" if path.suffix == ".npy" else str(path)])
            assert "allow" not in str(told.value).lower()


@pytest.mark.parametrize("fortran", [False, True])
def test_an_array_is_held_against_a_limit_before_it_is_read(batch_of_four, tmp_path, fortran):
    head = {"descr": "<f4", "fortran_order": fortran, "shape": (1 << 40, 3)}
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, head)
    says = r"x.npy: shape \(1099511627776, 3\) of float32 are 13,194,139,533,312 bytes, and at most"
    with pytest.raises(UserError, match=says):
        run(batch_of_four[0], [f"x={tmp_path / 'x.npy'}"])


def test_arrays_that_are_no_inputs_are_not_read(batch_of_four, tmp_path):
    path, w = batch_of_four
    x = np.ones((4, 3), np.float32)
    np.savez(tmp_path / "x.npz", x=x, other=np.array([{}], object))
    run(path, [str(tmp_path / "x.npz")], tmp_path / "out.npz")
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["y"], x @ w, rtol=1e-6)
