"""What a file takes on each target is what the build and the device say."""

import json

import numpy as np
import pytest

from edgekit import quantize, targets
from edgekit.toolkit.cli import main
from edgekit.toolkit.device.build import prepare
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.strip import strip
from edgekit.toolkit.needs import needs
from edgekit.toolkit.quantize import Budget
from edgekit.toolkit.runtime import Model


@pytest.fixture(scope="module")
def small(tmp_path_factory, digits):
    out = tmp_path_factory.mktemp("needs") / "model.edge"
    images = np.load(digits / "eval.npz")["image"]
    quantize(digits / "digits.onnx", [{"image": i[None]} for i in images[:8]], out,
             observer="minmax")  # fmt: skip
    return out.read_bytes()


def test_every_target_that_is_built_for_is_there_with_its_own_sizes(small):
    found = {name: need for need in needs(small, Budget(max_bytes=1)) for name in need.targets}
    assert set(found) == {n for n in targets.names() if targets.load(n).emulator}
    for name, need in found.items():
        built = strip(prepare(small, targets.load(name)))
        Model(built)  # verifies
        assert need.model_bytes == len(built) and not need.within
        assert need.arena_bytes == read(built).memory.arena_bytes
        if targets.load(name).plan:  # EK_SESSION_OVERHEAD of a 32-bit core
            assert need.session_bytes == need.arena_bytes + 12 * 4
        else:
            assert need.session_bytes is None
    assert found["cortex_m4"].model_bytes > len(small)


def test_the_budget_is_said_to_be_of_the_generic_file(digits, tmp_path, capsys):
    """Between the generic arena and that of a target: met, and the target marked."""
    onnx, out = digits / "digits.onnx", tmp_path / "m.edge"
    command = ["quantize", onnx, "--calib", digits / "calib.npz", "-o", out, "--limit", "8"]
    command = [str(w) for w in [*command, "--observer", "minmax", "--report", tmp_path / "r.html"]]
    assert main([*command, "--max-bytes", "1M", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    need = next(n for n in told["targets"] if "cortex_m4" in n["targets"])
    assert need["within"] and need["model_bytes"] > told["counted_bytes"]
    assert main([*command, "--max-bytes", str(told["counted_bytes"])]) == 0
    said = capsys.readouterr().err
    assert "Budget met for the generic file" in said
    (row,) = [line for line in said.splitlines() if "cortex_m4 " in line]
    assert f"{need['model_bytes']:,}" in row and "NO" in row
    assert max(map(len, said.split("Bytes of this file")[1].splitlines())) <= 80
    page = (tmp_path / "r.html").read_text()
    assert "met for the generic file" in page and f"{need['model_bytes']:,}" in page


def test_without_a_limit_of_bytes_targets_are_not_planned_for(digits, tmp_path, capsys):
    command = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz", "--limit", "4",
               "-o", tmp_path / "m.edge", "--observer", "minmax", "--json"]  # fmt: skip
    assert main([str(w) for w in command]) == 0
    assert json.loads(capsys.readouterr().out)["targets"] == []
