"""What only tools read: there for people, left out for devices, and not counted."""

import json

import numpy as np
import pytest

from edgekit import Session, quantize
from edgekit.toolkit.cli import main
from edgekit.toolkit.format.model import Provenance
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.strip import strip
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.inspection import describe


@pytest.fixture(scope="module")
def whole(tmp_path_factory, digits):
    out = tmp_path_factory.mktemp("strip") / "model.edge"
    images = np.load(digits / "eval.npz")["image"]
    quantize(digits / "digits.onnx", [{"image": i[None]} for i in images[:8]], out,
             observer="minmax")  # fmt: skip
    return out


def test_a_stripped_file_answers_alike_and_says_nothing_of_where_it_comes_from(whole, digits):
    data = whole.read_bytes()
    small = strip(data)
    feed = {"image": np.load(digits / "eval.npz")["image"][:1]}
    for a, b in zip(Session(data).run(feed).values(), Session(small).run(feed).values(),
                    strict=True):  # fmt: skip
        np.testing.assert_array_equal(a, b)
    model = read(small)
    assert model.provenance == Provenance() and not any(op.name for op in model.ops)
    assert b"edgekit" not in small and b"sha" not in small
    assert write(model) == strip(small) == small
    assert len(data) - len(small) > 300
    assert [io.name for io in model.inputs] == [io.name for io in read(data).inputs]
    assert [op.name for op in describe(small, "m").ops] == [f"#{i}" for i in range(len(model.ops))]


def test_the_limit_of_bytes_is_of_the_stripped_file(digits, tmp_path, capsys):
    out = tmp_path / "m.edge"
    command = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz", "-o", out,
               "--limit", "8", "--observer", "minmax", "--json"]  # fmt: skip
    command = [str(w) for w in command]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file_bytes"] == out.stat().st_size > told["counted_bytes"]
    assert main([*command, "--max-bytes", str(told["counted_bytes"])]) == 0
    again = json.loads(capsys.readouterr().out)["mixed"]
    assert again["budget_met"] and again["chosen"]["what"] == "all int8"
    assert again["chosen"]["file_bytes"] == told["counted_bytes"]
    assert main([*command, "--strip"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file_bytes"] == told["counted_bytes"] == out.stat().st_size
    assert read(out.read_bytes()).provenance == Provenance()


def test_layers_of_a_stripped_file_are_refused(digits, tmp_path, capsys):
    model, out = str(digits / "digits.onnx"), str(tmp_path / "m.edge")
    assert main(["convert", model, "-o", out, "--strip"]) == 0
    check = ["check", out, "--float", model, "--data", str(digits / "calib.npz")]
    assert main(check) == 0
    assert main([*check, "--layers"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "m.edge: operator names are missing" in said and "omit --layers" in said
