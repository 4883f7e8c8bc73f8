"""The commands do their job, and their JSON has the keys that are promised."""

import json
import shlex

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.cli import main
from edgekit.toolkit.cli.output import people, table
from edgekit.toolkit.format.reader import read


def run(capsys, *words):
    status = main([str(w) for w in words])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    return captured


def run_json(capsys, *words):
    return json.loads(run(capsys, *words, "--json").out)


def test_quantize_writes_a_file_a_report_and_json(capsys, digits, tmp_path):
    out, report = tmp_path / "d.edge", tmp_path / "r.html"
    told = run_json(
        capsys, "quantize", digits / "digits.onnx", "--calib", digits / "calib.npz",
        "-o", out, "--report", report, "--observer", "percentile",
    )  # fmt: skip
    assert told["output"] == str(out) and told["file_bytes"] == out.stat().st_size
    assert told["observer"] == "percentile" and told["samples"] == 128 and told["seconds"] > 0
    assert told["ops"]["Conv2d"] == {"int8": 3}
    assert all(set(n) == {"int8"} for n in told["ops"].values())
    (note,) = told["notes"]
    assert note.startswith("batch dimension 'N' fixed to 1")
    assert told["explanation"]["samples"] == 16
    page = report.read_text()
    assert "Where the accuracy goes" in page and "weights only" in page
    assert "probabilities" in page and "<svg" in page and "http" not in page


def test_quantize_says_nothing_on_stdout_without_json(capsys, digits, tmp_path):
    captured = run(
        capsys, "quantize", digits / "digits.onnx", "--calib", digits / "calib.npz",
        "-o", tmp_path / "d.edge", "--observer", "minmax",
    )  # fmt: skip
    assert captured.out == ""
    assert "arena" in captured.err
    words = " ".join(captured.err.split())
    assert "weights only" in words and "of the error: " in words and "edgekit check" in words
    assert len(captured.err.splitlines()) < 10


def test_quantize_says_how_to_check(capsys, digits, tmp_path):
    """The command can be copied, whatever the names and however wide the terminal. How pictures
    are scaled is in the file."""
    model = tmp_path / "a [b] :smile: ä.onnx"
    model.write_bytes((digits / "digits.onnx").read_bytes())
    looks = ["--scale", "0.5", "--std", "2", "--layout", "nchw", "--bgr"]
    words = ["quantize", model, "--calib", digits / "calib.npz", "--limit", 2, *looks]
    told = run(capsys, *words, "--observer", "minmax").err
    (line,) = [n for n in told.splitlines() if "edgekit check" in n]
    said = shlex.split(line.partition(": edgekit ")[2])
    assert said[:4] == ["check", str(model.with_suffix(".edge")), "--float", str(model)]
    assert said[4:] == ["--layers", "--data", "SAMPLES"]
    said[-1] = digits / "eval.npz"
    assert "cosine" in run(capsys, *said, "--limit", 2).err


@pytest.mark.parametrize("terminal", [False, True])
def test_tables_cut_nothing(capsys, monkeypatch, terminal):
    """A long name is whole in a pipe, and on a narrow terminal broken at the end of a line."""
    monkeypatch.setattr(type(people), "is_terminal", terminal)
    monkeypatch.setattr(type(people), "width", 80)
    name, numbers = "functional/" + 90 * "n" + "[end]", [f"{i}.25%" for i in range(8)]
    table("Title", ("tensor", *(f">share {i}" for i in range(8))), [(name, *numbers)])
    told = capsys.readouterr().err
    assert "…" not in told and all(n in told for n in numbers)
    if terminal:
        assert max(map(len, told.splitlines())) <= 80
        assert "".join(line.split(" ")[0] for line in told.splitlines()[1:]).endswith(name)
    else:
        assert name in told


@pytest.mark.parametrize("terminal", [False, True])
def test_the_middle_of_names_is_left_out_of_wide_tables(capsys, monkeypatch, terminal):
    monkeypatch.setattr(type(people), "is_terminal", terminal)
    monkeypatch.setattr(type(people), "width", 80)
    names = ["model/block_1/" + 280 * "n" + "/Conv_1", "model/block_1/" + 280 * "n" + "/Conv_2"]
    table("Title", ("~name", "operator", ">MACs"), [(n, "Conv2d", 7) for n in [*names, "short"]])
    told = capsys.readouterr().err
    assert max(map(len, told.splitlines())) <= 80
    cells = [line.strip("│┃ ").split()[0] for line in told.splitlines() if "Conv2d" in line]
    assert cells[2] == "short"
    for name, cell in zip(names, cells[:2], strict=True):
        head, _, tail = cell.partition("…")
        assert name.startswith(head) and name.endswith(tail) and len(tail) >= len("/Conv_1")


def test_the_same_inputs_give_the_same_bytes(capsys, digits, tmp_path):
    files = []
    for name in ("a.edge", "b.edge"):
        files.append(tmp_path / name)
        run(
            capsys, "quantize", digits / "digits.onnx", "--calib", digits / "calib.npz",
            "-o", files[-1], "--limit", 20,
        )  # fmt: skip
    assert files[0].read_bytes() == files[1].read_bytes()


def test_convert_keeps_floats(capsys, digits, tmp_path):
    out = tmp_path / "f.edge"
    told = run_json(capsys, "convert", digits / "digits.onnx", "-o", out)
    assert told["ops"]["Conv2d"] == {"float32": 3}
    checked = run_json(
        capsys, "check", out, "--float", digits / "digits.onnx",
        "--data", digits / "eval.npz", "--labels", "label", "--limit", 50,
    )  # fmt: skip
    assert checked["outputs"][0]["sqnr_db"] > 100
    assert checked["top1"]["agreement"] == 1


def test_check_compares_with_onnxruntime(capsys, digits, digits_edge):
    told = run_json(
        capsys, "check", digits_edge, "--float", digits / "digits.onnx",
        "--data", digits / "eval.npz", "--labels", "label", "--layers",
    )  # fmt: skip
    assert set(told) >= {"outputs", "top1", "samples", "oracle", "target", "layers"}
    assert set(told["outputs"][0]) == {"name", "sqnr_db", "cosine", "max_abs_error"}
    assert told["oracle"].startswith("onnxruntime")
    assert told["samples"] == 900
    assert told["outputs"][0]["sqnr_db"] > 35
    assert set(told["top1"]) == {"float", "edge", "agreement"}
    assert told["top1"]["edge"] > told["top1"]["float"] - 0.005
    wrong = sum(row["samples"] for row in told["mistakes"]["confusion"])
    assert wrong == round(900 * (1 - told["top1"]["edge"])) > 0
    assert all(row["label"] != row["edge"] for row in told["mistakes"]["confusion"])
    levels = [row["sqnr_db"] for row in told["mistakes"]["worst"]]
    assert len(levels) == 10 and levels == sorted(levels)
    known = [n["share"] for n in told["layers"] if n["share"] is not None]
    assert known == sorted(known, reverse=True)
    assert all(n["share"] is None for n in told["layers"][len(known) :])
    assert len([n for n in told["layers"] if n["sqnr_db"] is not None]) == 10
    assert [n["operator"] for n in told["layers"]].count("Input") == 1
    promised = (
        "name operator dtype sqnr_db weights_only_db activations_only_db local_db saturation "
        "range_use cause advice gain_db"
    )
    assert all(set(n) >= set(promised.split()) for n in told["layers"])
    assert sum(n["share"] or 0 for n in told["layers"]) == pytest.approx(1)
    costs = told["explanation"]
    assert costs["samples"] <= 32 and costs["sqnr_db"] < costs["weights_only_db"]


def test_check_explains_by_words(capsys, digits, digits_edge):
    captured = run(
        capsys, "check", digits_edge, "--float", digits / "digits.onnx",
        "--data", digits / "eval.npz", "--limit", 40, "--layers",
    )  # fmt: skip
    assert "of the error: " in captured.err and "weights only" in captured.err


def test_what_samples_are_like_is_noted(capsys, digits, tmp_path):
    image = np.load(digits / "calib.npz")["image"]
    np.savez(tmp_path / "bytes.npz", image=(image[:8] * 255).astype(np.uint8))
    captured = run(
        capsys, "quantize", digits / "digits.onnx", "--calib", tmp_path / "bytes.npz",
        "-o", tmp_path / "d.edge", "--observer", "minmax", "--any-scale",
        "--on-low-accuracy", "warn",
    )  # fmt: skip
    assert "note: input 'image': uint8 values" in " ".join(captured.err.split())


@pytest.mark.parametrize(
    "change, notes",
    [
        (lambda x: x[:1], ["only 1 calibration sample: "]),
        (lambda x: x[:3], ["only 3 calibration samples: "]),
        (lambda x: np.repeat(x[:1], 10, 0), ["all 10 samples are identical"]),
        (lambda x: np.zeros_like(x[:10]), ["input 'image' is 0 everywhere in every sample"]),
        (lambda x: -1e3 * x[:10] - 9, ["the float model gives the same answer for every sample"]),
        (lambda x: x[:10], []),
    ],
)
def test_what_samples_lack_is_noted(capsys, digits, tmp_path, change, notes):
    np.savez(tmp_path / "c.npz", image=change(np.load(digits / "calib.npz")["image"]))
    model, batch = digits / "digits.onnx", ["batch dimension 'N' fixed to 1"]
    if notes and "same answer" in notes[0]:
        batch = []
        model = tmp_path / "dead.onnx"
        nodes = [
            helper.make_node("Relu", ["image"], ["r"]),
            helper.make_node("GlobalAveragePool", ["r"], ["y"]),
        ]
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in (("image", [1, 1, 8, 8]), ("y", [1, 1, 1, 1]))
        ]
        onnx.save(
            helper.make_model(
                helper.make_graph(nodes, "g", ends[:1], ends[1:]),
                opset_imports=[helper.make_opsetid("", 17)],
                ir_version=8,
            ),
            model,
        )
    words = ["quantize", model, "--calib", tmp_path / "c.npz", "-o", tmp_path / "d.edge"]
    words += ["--report", tmp_path / "r.html"]
    told = run_json(capsys, *words, "--observer", "minmax")["notes"]
    notes = [*batch, *notes]
    assert (tmp_path / "r.html").read_text().count("Note: ") == len(notes)
    assert len(told) == len(notes)
    assert all(said.startswith(n) for said, n in zip(told, notes, strict=True))


@pytest.mark.parametrize(
    "rounding, held_out, judged",
    [
        ("nearest", None, ", cross-validated"),
        ("gptq", False, ", which ranges and weights are fitted to"),
        ("auto", True, ", cross-validated"),
    ],
)
def test_the_samples_that_the_sqnr_is_of_are_told(
    capsys, digits, tmp_path, rounding, held_out, judged
):
    image = np.tile(np.load(digits / "calib.npz")["image"], (3, 1, 1, 1))
    np.savez(tmp_path / "c.npz", image=image)
    words = ["quantize", digits / "digits.onnx", "--calib", tmp_path / "c.npz"]
    words += ["-o", tmp_path / "d.edge", "--observer", "minmax", "--rounding", rounding]
    told = run_json(capsys, *words)
    assert told["samples"] == 384 and told["kept_samples"] == 192
    assert told["held_out"] == held_out
    verdict, _, file = run(capsys, *words).err.splitlines()[:3]
    assert verdict.endswith(f" on 192 of the 384 calibration samples{judged})")
    assert file.startswith("Mean SQNR of outputs on 16 of these samples: written file ")
    assert file.count(" dB") == 3


def test_samples_are_counted_and_not_the_batches_they_come_in(capsys, digits, tmp_path):
    image = np.load(digits / "calib.npz")["image"][:40]
    np.savez(tmp_path / "c.npz", image=image)
    model, edge = digits / "digits.onnx", tmp_path / "d.edge"
    words = ["quantize", model, "--calib", tmp_path / "c.npz", "-o", edge, "--observer", "minmax"]
    words += ["--shape", "image=4,1,8,8", "--report", tmp_path / "r.html", "--rounding", "nearest"]
    told = run_json(capsys, *words)
    assert told["samples"] == told["kept_samples"] == told["explanation"]["samples"] == 40
    assert read(edge.read_bytes()).provenance.settings["samples"] == 40
    verdict, _, figures = run(capsys, *words).err.splitlines()[:3]
    assert (
        verdict.endswith(" on the 40 calibration samples, cross-validated)")
        and "; weights only " in figures
    )
    page = (tmp_path / "r.html").read_text()
    assert "<b>40</b><span>calibration samples" in page and "on 40 calibration samples" in page
    words = ["check", edge, "--float", model, "--data", tmp_path / "c.npz", "--layers"]
    told = run_json(capsys, *words)
    assert told["samples"] == told["explanation"]["samples"] == 40


def test_decisions_alike_are_told_in_one_line():
    from edgekit.toolkit.quantize import Decision, grouped

    alike = [Decision(f"n{i}", "Erf", "kept float", "it has no integer form") for i in range(5)]
    other = Decision("c", "Concat", "requantized input 'x'", "it has finer steps elsewhere")
    assert grouped([*alike, other]) == [
        "Erf 'n0', Erf 'n1' and 3 more: kept float: it has no integer form", str(other),
    ]  # fmt: skip


def test_layers_of_a_float_file_are_compared_without_an_explanation_of_rounding(
    capsys, digits, tmp_path
):
    run(capsys, "convert", digits / "digits.onnx", "-o", tmp_path / "f.edge")
    told = run_json(
        capsys, "check", tmp_path / "f.edge", "--float", digits / "digits.onnx",
        "--data", digits / "eval.npz", "--limit", 5, "--layers",
    )  # fmt: skip
    assert all(n["cause"] is None for n in told["layers"])


def test_inspect_tells_what_the_device_needs(capsys, digits_edge):
    told = run_json(capsys, "inspect", digits_edge)
    assert set(told) >= {
        "arena_bytes", "scratch_bytes", "weight_bytes", "file_bytes", "macs", "ops",
        "format_version",
    }  # fmt: skip
    assert told["macs"] == sum(op["macs"] for op in told["ops"]) == 145632
    assert set(told["ops"][0]) >= {"name", "operator", "dtype", "macs", "bytes_moved"}
    assert told["file_bytes"] - told["weight_bytes"] <= 4096 + 0.02 * told["weight_bytes"]
    assert told["arena_bytes"] >= told["arena_bound_bytes"] > 0
    views = [m["name"] for m in told["memory_map"] if m["name"].startswith("(")]
    assert views == ["(alias of image)", "(alias of mean)"]


def test_run_gives_outputs_by_onnx_name(capsys, digits, digits_edge, tmp_path):
    images = np.load(digits / "eval.npz")["image"]
    one, many = tmp_path / "one.npy", tmp_path / "many.npz"
    np.save(one, images[:1])
    np.savez(many, image=images[:7])
    out = tmp_path / "out.npz"
    run(capsys, "run", digits_edge, "--input", f"image={one}", "-o", out)
    single = np.load(out)["probabilities"]
    told = run_json(capsys, "run", digits_edge, "--input", many, "-o", out)
    several = np.load(out)["probabilities"]
    assert single.shape == (1, 10) and several.shape == (7, 10)
    assert single.dtype == several.dtype == np.float32
    np.testing.assert_array_equal(single[0], several[0])
    assert told["samples"] == 7 and told["outputs"][0]["shape"] == [7, 10]


@pytest.mark.parametrize("command", ["quantize", "convert", "run", "check", "inspect", "ops"])
def test_every_command_has_help(capsys, command):
    assert "Usage" in run(capsys, command, "--help").out


def test_ops_lists_what_is_read(capsys):
    rows = {row["onnx"]: row for row in run_json(capsys, "ops")}
    assert rows["Conv"]["int8"] and rows["Conv"]["float32"]
