"""The first line says whether the file is any good; a broken one is mended, or the status is 3."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.cli import main
from edgekit.toolkit.pipeline import quantize


@pytest.fixture(scope="module")
def cancelling(tmp_path_factory):
    """A network whose output is a small signal that rides on a large one for a while."""
    folder = tmp_path_factory.mktemp("cancelling")
    rng = np.random.default_rng(3)
    weights = {n: rng.normal(size=(8, 8)) for n in ("ws", "wl", "wy")} | {"k": np.array(40.0)}
    nodes = [
        helper.make_node("MatMul", ["x", "ws"], ["small"]),
        helper.make_node("MatMul", ["x", "wl"], ["unit"]),
        helper.make_node("Mul", ["unit", "k"], ["large"]),
        helper.make_node("Add", ["small", "large"], ["both"]),
        helper.make_node("Sub", ["both", "large"], ["left"]),
        helper.make_node("MatMul", ["left", "wy"], ["y"]),
    ]
    inits = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in weights.items()]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 8]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], inits)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / "m.onnx")
    np.savez(folder / "calib.npz", x=rng.normal(size=(32, 8)).astype(np.float32))
    return folder


def run(capsys, folder, *words):
    status = main(
        ["quantize", str(folder / "m.onnx"), "--calib", str(folder / "calib.npz"),
         "-o", str(folder / "m.edge"), "--observer", "minmax", "--rounding", "nearest", *words]
    )  # fmt: skip
    return status, capsys.readouterr()


def test_by_default_it_is_mended_and_the_cost_is_said(capsys, cancelling):
    status, said = run(capsys, cancelling)
    first, second = said.err.splitlines()[:2]
    assert status == 0 and first.startswith("good: matches the float model (SQNR ")
    assert "32 calibration samples" in first
    assert second.startswith("Promoted operators: ") and "arena +" in second
    assert "; int8 alone: broken, SQNR " in second


@pytest.mark.parametrize("effort", ["fast", "default"])
def test_the_first_remedy_for_a_first_look_is_a_whole_one(capsys, cancelling, effort):
    _, said = run(capsys, cancelling, "--on-low-accuracy", "warn", "--effort", effort)
    assert ("\nRemedies: --effort default " in said.err) == (effort == "fast")


@pytest.mark.parametrize(("how", "status"), [("warn", 0), ("fail", 3)])
def test_what_is_not_to_be_mended_is_called_broken(capsys, cancelling, how, status):
    done, said = run(capsys, cancelling, "--on-low-accuracy", how)
    assert done == status
    assert said.err.startswith("broken: does not match the float model; do not use it")
    assert "\ncause: " in said.err and "--on-low-accuracy promote" in said.err


def test_weights_of_4_bits_are_promoted_if_that_is_asked_for(capsys, cancelling):
    status, said = run(capsys, cancelling, "--weights", "int4")
    assert status == 0 and said.err.startswith("broken: ")
    status, said = run(capsys, cancelling, "--weights", "int4", "--on-low-accuracy", "promote")
    assert "\nPromoted operators: " in said.err


def test_the_json_has_verdict_and_cost(capsys, cancelling):
    _, said = run(capsys, cancelling, "--json")
    told = json.loads(said.out)
    assert told["quality"]["level"] == "good" and told["below_floor"] is False
    assert told["promotion"]["before"]["level"] == "broken"
    assert told["promotion"]["chosen"]["file_bytes"] == told["file_bytes"]
    assert set(told["quality"]["sqnr_db"]) == {"y"}


def test_check_gives_the_verdict_first(capsys, cancelling):
    edge = cancelling / "c.edge"
    done = quantize(
        cancelling / "m.onnx", cancelling / "calib.npz", edge,
        observer="minmax", rounding="nearest", on_low_accuracy="warn",
    )  # fmt: skip
    assert done.quality.level == "broken" and not done.below_floor
    words = ["check", edge, "--float", cancelling / "m.onnx", "--data", cancelling / "calib.npz"]
    assert main([str(w) for w in words]) == 0
    assert capsys.readouterr().err.startswith("broken: does not match")
    assert main([str(w) for w in [*words, "--json"]]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["level"] == told["quality"]["level"] == "broken"
    assert told["quality"]["samples"] == 32


@pytest.fixture(scope="module")
def pictures(tmp_path_factory, digits):
    folder = tmp_path_factory.mktemp("pictures")
    np.savez(folder / "pixels.npz", image=np.rint(np.load(digits / "calib.npz")["image"] * 255))
    one = np.load(digits / "calib.npz")["image"]
    one[17] *= 100
    np.savez(folder / "one.npz", image=one)
    return folder


def test_pixels_that_were_not_divided_are_refused(capsys, digits, pictures, tmp_path):
    words = ["quantize", digits / "digits.onnx", "--calib", pictures / "pixels.npz"]
    words += ["-o", tmp_path / "d.edge", "--observer", "minmax"]
    assert main([str(w) for w in words]) == 2
    said = capsys.readouterr().err
    assert "divide them by 255" in said and "--any-scale" in said and "pixels.npz" in said
    assert not (tmp_path / "d.edge").exists()
    assert main([str(w) for w in [*words, "--any-scale"]]) in (0, 3)
    assert "note: input 'image' looks wrongly scaled" in capsys.readouterr().err


def test_an_outlier_sample_is_named(capsys, digits, pictures, tmp_path):
    words = ["quantize", digits / "digits.onnx", "--calib", pictures / "one.npz"]
    words += ["-o", tmp_path / "d.edge", "--observer", "minmax", "--rounding", "nearest"]
    assert main([str(w) for w in words]) == 0
    said = capsys.readouterr().err
    assert said.startswith("good: ") and "127 calibration samples" in said.splitlines()[0]
    assert "one.npz, sample 17 is an outlier: '" in said and "ranges exclude it" in said


def test_the_report_begins_with_the_verdict(capsys, cancelling):
    page = cancelling / "report.html"
    _, said = run(capsys, cancelling, "--report", str(page))
    first = said.err.splitlines()[0]
    text = page.read_text()
    assert 0 < text.index(first[:40]) < text.index("<table>")
    assert "int8 alone: broken" in text
