"""Budgets, labels and metrics on the command line."""

import numpy as np
import pytest
from PIL import Image

from edgekit.toolkit import pipeline
from edgekit.toolkit.cli import main
from edgekit.toolkit.format.strip import strip

from .test_commands import run, run_json


def test_quantize_meets_a_budget(capsys, digits, tmp_path):
    out, report = tmp_path / "d.edge", tmp_path / "r.html"
    told = run_json(
        capsys, "quantize", digits / "digits.onnx", "--calib", digits / "calib.npz",
        "-o", out, "--report", report, "--observer", "minmax", "--min-sqnr", "50dB",
        "--max-drop", "0.2%", "--eval", digits / "eval.npz", "--labels", "label",
    )  # fmt: skip
    mixed = told["mixed"]
    assert mixed["budget_met"] and mixed["budget"] == {"max_drop": "0.2%", "min_sqnr": 50.0}
    assert mixed["chosen"] in mixed["pareto"] and mixed["chosen"]["drop"] <= 0.2
    assert mixed["chosen"]["file_bytes"] == told["counted_bytes"] < out.stat().st_size
    assert set(mixed["nodes"].values()) <= {"int16", "float32"} and mixed["nodes"]
    assert told["sqnr_db"] >= 50 > mixed["int8"]["sqnr_db"]
    provenance = run_json(capsys, "inspect", out)["provenance"]
    assert (
        '"max_drop": "0.2%"' in provenance["options"] and "samples_sha256" in provenance["options"]
    )
    page = report.read_text()
    assert "at most 0.2 points lost, at least 50 dB: " in page and "top1 lost points" in page
    assert "Metric: top1 on 900 samples: float " in page


def test_a_budget_that_is_not_met_is_exit_status_3(capsys, digits, tmp_path):
    out = tmp_path / "d.edge"
    words = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz", "-o", out,
             "--observer", "minmax", "--max-bytes", "1K"]  # fmt: skip
    assert main([str(w) for w in words]) == 3
    told = capsys.readouterr().err
    assert "calibration samples, cross-validated)\n" in told
    assert "NOT met (a file of at most 1,024 bytes)" in told and out.exists()
    size = len(strip(out.read_bytes()))
    assert f"(file {size:,} bytes, {size - 1024:,} above the limit)" in told and " lost" not in told


METRIC = """
import numpy as np

def likelihood(outputs, references, data):
    rows = outputs["probabilities"].reshape(len(data["label"]), -1)
    assert references["probabilities"].shape == outputs["probabilities"].shape
    print("on stdout is JSON alone")
    return float(np.mean(np.log(rows[np.arange(len(rows)), data["label"]] + 1e-3)))
"""


def test_quantize_and_check_by_a_metric_of_the_users_own(capsys, digits, tmp_path):
    path, out = tmp_path / "mine.py", tmp_path / "d.edge"
    path.write_text(METRIC)
    model, evaluation = digits / "digits.onnx", digits / "eval.npz"
    own = ["--metric", f"{path}:likelihood"]
    told = run_json(
        capsys, "quantize", model, "--calib", digits / "calib.npz", "-o", out,
        "--observer", "minmax", "--max-drop", "0.1234567%", "--eval", evaluation, *own,
    )  # fmt: skip
    found = told["mixed"]["metric"]
    assert told["mixed"]["budget_met"] and found["name"] == "mine.py:likelihood"
    assert told["mixed"]["budget"]["max_drop"] == "0.1234567%"
    assert found["samples"] == found["of"] == 900 and found["float"] < 0
    assert found["drop_percent"] == pytest.approx(told["mixed"]["chosen"]["drop"], abs=1e-9)
    options = run_json(capsys, "inspect", out)["provenance"]["options"]
    assert "mine.py:likelihood" in options and str(tmp_path) not in options
    words = ["check", out, "--float", model, "--data", evaluation, *own]
    checked = run_json(capsys, *words)["metric"]
    assert checked["float"] == pytest.approx(found["float"], abs=1e-6)
    assert checked["edge"] == pytest.approx(found["edge"], abs=1e-6)
    assert "mine.py:likelihood on 900 samples" in " ".join(run(capsys, *words).err.split())
    first = run_json(capsys, *words, "--limit", 50)["metric"]
    assert first["samples"] == first["of"] == 50


def test_class_folders_are_labels(capsys, digits, digits_edge, tmp_path):
    """Pictures in a folder a class give top-1 unasked, as the same arrays with labels do."""
    data = np.load(digits / "eval.npz")
    pixels = np.rint(data["image"][:60, 0] * 255).astype(np.uint8)
    order = []
    for label in range(10):
        (tmp_path / "digits" / str(label)).mkdir(parents=True)
    for at, (picture, label) in enumerate(zip(pixels, data["label"], strict=False)):
        Image.fromarray(picture).save(tmp_path / "digits" / str(label) / f"{at:02}.png")
        order.append((label, at))
    rows = [at for _, at in sorted(order)]
    np.savez(
        tmp_path / "same.npz",
        image=pixels[rows, None].astype(np.float32) / 255,
        label=data["label"][rows],
    )
    words = ("check", digits_edge, "--float", digits / "digits.onnx", "--data")
    folders = run_json(capsys, *words, tmp_path / "digits")
    arrays = run_json(capsys, *words, tmp_path / "same.npz", "--labels", "label")
    assert folders["top1"] == arrays["top1"]
    assert folders["samples"] == 60 and folders["top1"]["float"] > 0.9

    words = ("quantize", digits / "digits.onnx", "--effort", "fast", "-o", tmp_path / "q.edge")
    made = run_json(capsys, *words, "--calib", tmp_path / "digits")
    checked = run_json(capsys, "check", tmp_path / "q.edge", "--float",
                       digits / "digits.onnx", "--data", tmp_path / "digits")  # fmt: skip
    assert made["answers"]["top1"] == checked["top1"] and made["answers"]["mistakes"]["worst"]
    named = run_json(capsys, *words, "--calib", tmp_path / "same.npz", "--labels", "label")
    assert named["answers"]["top1"] == made["answers"]["top1"]
    assert not any("label" in note for note in named["notes"])
    assert run_json(capsys, *words, "--calib", tmp_path / "same.npz")["answers"] is None


def test_folders_that_are_no_classes_are_said_not_to_be(capsys, digits, digits_edge, tmp_path):
    for name in ("monday", "tuesday"):
        (tmp_path / name).mkdir()
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / name / "a.png")
    words = ("check", digits_edge, "--float", digits / "digits.onnx", "--data", tmp_path)
    told = run_json(capsys, *words)
    assert "top1" not in told
    (note,) = told["notes"]
    assert "2 class names (monday, tuesday)" in note and "has 10 classes" in note


def test_labels_of_a_dict_are_those_of_the_file(capsys, digits, digits_edge):
    arrays = dict(np.load(digits / "eval.npz"))
    arrays["label"] = arrays["label"].astype(np.float32)[:, None]
    model, data = digits / "digits.onnx", digits / "eval.npz"
    by_file = pipeline.check(digits_edge, model, data, labels="label", limit=100)
    by_dict = pipeline.check(digits_edge, model, arrays, labels="label", limit=100)
    assert by_file.samples == by_file.top1.samples == 100
    assert by_dict.to_json() == by_file.to_json() and by_file.metric is None


def test_a_metric_by_name(capsys, digits, digits_edge):
    words = ["check", digits_edge, "--float", digits / "digits.onnx", "--data", digits / "eval.npz"]
    by_name = run_json(capsys, *words, "--metric", "top1", "--labels", "label")
    top1 = run_json(capsys, *words, "--labels", "label")["top1"]
    assert by_name["metric"]["unit"] == "points" and "top1" not in by_name
    assert by_name["metric"]["edge"] == pytest.approx(100 * top1["edge"])
    assert run_json(capsys, *words, "--metric", "cosine")["metric"]["float"] == pytest.approx(1)


def test_arrays_that_are_no_inputs_are_ignored_and_noted(capsys, digits, tmp_path):
    image = np.load(digits / "calib.npz")["image"][:20]
    np.savez(tmp_path / "c.npz", image=image, label=np.arange(20) % 10, y=np.zeros((20, 3)))
    words = ["quantize", digits / "digits.onnx", "--calib", tmp_path / "c.npz"]
    words += ["-o", tmp_path / "d.edge", "--observer", "minmax", "--rounding", "nearest"]
    notes = run_json(capsys, *words)["notes"]
    assert notes[0] == "ignored arrays 'label', 'y': not inputs of the model"
    told = run_json(capsys, *words, "--max-drop", "100%", "--labels", "label")["notes"]
    assert told == notes[1:]
