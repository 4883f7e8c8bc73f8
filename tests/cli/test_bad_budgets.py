"""Bad labels, metrics and budgets: a clear error, exit code 2, nothing written."""

import re

import numpy as np
import onnx
import pytest
from onnx import helper

from edgekit.toolkit.cli import main

from .test_bad_input import model


def test_labels_that_are_in_no_npz(refused, digits, digits_edge, tmp_path):
    np.savetxt(tmp_path / "eval.csv", np.zeros((2, 64)), delimiter=",")
    told = refused(
        "check", digits_edge, "--float", digits / "digits.onnx",
        "--data", tmp_path / "eval.csv", "--labels", "label",
    )  # fmt: skip
    assert "labels 'label': not found; labels are an array of an .npz" in told


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda y: y + 1, "are out of range for output 'probabilities' (0 to 9)"),
        (lambda y: y - 1, "first -1 at sample"),
        (lambda y: y[:-1], "eval.npz: there are 900 samples and 899 labels 'y'"),
        (lambda y: y + 0.5, "eval.npz, labels 'y': 900 of 900 are not 64-bit integers"),
    ],
)
def test_labels_that_are_no_classes_of_the_model(
    refused, quantize_refused, digits, digits_edge, tmp_path, change, says
):
    """Nothing would be right, of either model: a drop of 0 that meets every budget."""
    data, arrays = tmp_path / "eval.npz", np.load(digits / "eval.npz")
    np.savez(data, image=arrays["image"], y=change(arrays["label"]))
    told = refused(
        "check", digits_edge, "--float", digits / "digits.onnx", "--data", data, "--labels", "y"
    )
    assert says in told and data.name in told
    judged = ["--max-drop", "1", "--eval", data, "--labels", "y", "--observer", "minmax"]
    told = quantize_refused(None, None, *judged)
    assert says in told and data.name in told
    told = quantize_refused(None, None, *judged, "--metric", "mae", "--labels", "z")
    assert "eval.npz: labels 'z': no such array in the samples; found: 'y'" in told


def test_labels_for_an_output_that_names_no_class(refused, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 3, 4)).astype(np.float32)
    node = helper.make_node("Relu", ["x"], ["y"])
    onnx.save(model([node], {"x": [1, 3, 4]}, {"y": [1, 3, 4]}), tmp_path / "m.onnx")
    np.savez(tmp_path / "c.npz", x=x)
    np.savez(tmp_path / "d.npz", x=x, label=np.zeros(8, int))
    words = ["quantize", tmp_path / "m.onnx", "--calib", tmp_path / "c.npz"]
    assert main([str(w) for w in words]) == 0
    told = refused(
        "check", tmp_path / "m.edge", "--float", tmp_path / "m.onnx",
        "--data", tmp_path / "d.npz", "--labels", "label",
    )  # fmt: skip
    assert "output 'y' [1, 3, 4] does not give one class per sample" in told and "--metric" in told


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--max-drop", "some", "write it as 0.5%"),
        ("--max-drop", "-1%", "from 0 to 100"),
        ("--min-sqnr", "loud", "write it as 0.5dB"),
        ("--min-sqnr", "nan", "write it as 0.5dB"),
        ("--max-bytes", "0", "1.5M"),
        ("--max-bytes", "-3K", "1.5M"),
        ("--max-arena", "12T", "1.5M"),
        ("--max-arena", "infK", "1.5M"),
    ],
)
def test_a_budget_without_meaning(quantize_refused, option, value, says):
    told = quantize_refused(None, None, option, value)
    assert value in told and says in told


def test_samples_to_judge_by_but_nothing_to_judge(quantize_refused, digits):
    more = ["--eval", digits / "eval.npz", "--min-sqnr", "30"]
    assert "--max-drop" in quantize_refused(None, None, *more)


def test_labels_to_judge_by_that_are_not_there(quantize_refused, digits):
    assert "'label': no such array" in quantize_refused(None, None, "--labels", "label")
    more = ["--max-drop", "1%", "--eval", digits / "eval.npz", "--labels", "nothing"]
    assert "'nothing'" in quantize_refused(None, None, "--observer", "minmax", *more)


def test_a_metric_that_goes_wrong_is_the_users(quantize_refused, digits, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def metric(outputs, references, data):\n    return data['truth'].mean()\n")
    more = ["--max-drop", "1%", "--eval", digits / "eval.npz", "--metric", path]
    told = quantize_refused(None, None, "--observer", "minmax", *more)
    assert "mine.py:metric: line 2: KeyError: 'truth'; data has" in told and "label" in told
    assert "--max-drop" in quantize_refused(None, None, "--metric", "top1")
    path.write_text("import random\ndef metric(o, r, d): return random.random()\n")
    told = quantize_refused(None, None, "--observer", "minmax", *more)
    assert "mine.py:metric" in told and "seed random numbers" in told


def test_a_model_above_the_limit_on_memory(refused, digits, digits_edge, capsys):
    image = ["--input", digits / "eval.npz"]
    told = refused("run", digits_edge, *image, "--max-memory", "1K")
    assert re.search(r"digits.edge: needs \d+\.\d KiB of memory to run; the limit is 1.0 KiB", told)
    assert "--max-memory 1M" in told
    data = ["--float", digits / "digits.onnx", "--data", digits / "eval.npz"]
    assert "the limit is 1.0 KiB" in refused("check", digits_edge, *data, "--max-memory", "1K")
    assert main(["run", str(digits_edge), *map(str, image), "--max-memory", "1M"]) == 0
