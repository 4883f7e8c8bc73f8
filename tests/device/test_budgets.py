"""A budget on a device is met if and only if `build` and the emulator say so."""

import json

import numpy as np
import pytest

import edgekit
from edgekit.toolkit.cli import main
from edgekit.toolkit.device import footprint as measuring
from edgekit.toolkit.device.bench import bench
from edgekit.toolkit.device.build import build
from edgekit.toolkit.errors import UserError

from .conftest import MLPERF, MODELS, _collection_samples

OF_DIGITS = (
    *("cortex_m0plus", "cortex_m4", "cortex_m7", "cortex_m33", "cortex_m55", "riscv32_imc"),
    *("aarch64_linux", "armv7_linux", "riscv64_linux", "hexagon_hvx"),
)


def fitted(onnx, samples, out, names, **limits):
    how = {"observer": "minmax", "targets": names}
    if limits:
        return edgekit.quantize(onnx, samples, out, budget=edgekit.Budget(**limits), **how)
    return edgekit.quantize(onnx, samples, out, on_low_accuracy="warn", **how)  # as with a budget


def on_the_device(path, name, folder):
    """(flash, RAM) by what the build wrote and the emulator saw."""
    build(path, name, folder / "fw", force=True)
    size = json.loads((folder / "fw" / "size.json").read_text())
    cost = bench(path, name)
    reserved = cost.session_bytes  # asked of the runtime there
    if name.startswith(("cortex_m", "riscv32")):
        reserved = size["arena"] + size["persistent"] + 12 * 4  # EK_SESSION_OVERHEAD
        assert cost.session_bytes <= reserved
    flash = sum(size[k] for k in ("model", "text", "rodata", "data", "library"))
    return flash, reserved + (cost.stack_bytes or 0)


def samples_of(name, digits):
    if name == "digits":
        image = np.load(digits / "eval.npz")["image"]
        return digits / "digits.onnx", [{"image": i[None]} for i in image[:8]]
    if not (MODELS / name).is_dir():
        pytest.skip(f"the model collection has no {name} here (set EDGEKIT_MODELS)")
    samples = _collection_samples(name)
    feeds = [{k: v[i : i + 1] for k, v in samples.items()} for i in range(8)]
    return MODELS / name / "model.onnx", feeds


@pytest.mark.parametrize(
    ("model", "name"),
    [*(("digits", name) for name in OF_DIGITS), (MLPERF[0], "cortex_m4")],
)
def test_met_is_what_the_build_and_the_emulator_say(ready, digits, tmp_path, model, name):
    ready(name)
    onnx, samples = samples_of(model, digits)
    out = tmp_path / "m.edge"
    (need,) = fitted(onnx, samples, out, [name]).targets
    flash, ram = on_the_device(out, name, tmp_path)
    seen = {out.read_bytes(): (flash, ram)}  # limits that are met leave the file as it was
    stack = need.stack_bytes or 0
    assert (need.model_bytes + need.code_bytes, need.session_bytes + stack) == (flash, ram)
    for limits in (
        {"flash": flash, "ram": ram},
        {"flash": flash, "ram": ram - 1},
        {"flash": flash - 1},
    ):
        done = fitted(onnx, samples, out, [name], **limits)
        if (file := out.read_bytes()) not in seen:
            seen[file] = on_the_device(out, name, tmp_path)
        taken = dict(zip(("flash", "ram"), seen[file], strict=True))
        assert done.mixed.met == all(taken[k] <= most for k, most in limits.items())
        assert done.targets[0].within == done.mixed.met
        if limits == {"flash": flash, "ram": ram}:
            assert done.mixed.met
            assert (done.mixed.chosen.file_bytes, done.mixed.chosen.arena_bytes) == (flash, ram)


def test_limits_hold_on_every_target_that_is_named(ready, digits, tmp_path):
    onnx, samples = samples_of("digits", digits)
    out, names = tmp_path / "m.edge", ["cortex_m4", "riscv32_imc"]
    for name in names:
        ready(name)
    needs = fitted(onnx, samples, out, names).targets
    assert [n.targets for n in needs] == [[name] for name in names]
    sizes = [n.model_bytes for n in needs]
    assert sizes[0] != sizes[1]
    most = fitted(onnx, samples, out, names, max_bytes=max(sizes))
    assert most.mixed.met and most.mixed.budget.targets == tuple(names)
    assert most.mixed.chosen.file_bytes == max(sizes)
    least = fitted(onnx, samples, out, names, max_bytes=min(sizes))
    within = [n.model_bytes <= min(sizes) for n in least.targets]
    assert [n.within for n in least.targets] == within
    assert least.mixed.met == all(within)


def test_the_command_says_what_the_device_takes(ready, digits, tmp_path, capsys):
    ready("cortex_m4")
    command = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz", "--limit", "8",
               "-o", tmp_path / "m.edge", "--observer", "minmax", "--target", "STM32F4",
               "--report", tmp_path / "r.html"]  # fmt: skip
    command = [str(w) for w in command]
    assert main([*command, "--ram", "8K", "--flash", "64K"]) == 0
    said = capsys.readouterr().err
    assert "Budget met (at most 65,536 bytes of flash, at most 8,192 bytes of RAM" in said
    assert "on cortex_m4" in said and "generic file" not in said
    (row,) = [line for line in said.splitlines() if "│ cortex_m4 " in line]
    assert "yes" in row and max(map(len, said.split("Bytes on the device")[1].splitlines())) <= 80
    page = (tmp_path / "r.html").read_text()
    assert "<b>met</b>" in page and "On the device" in page
    assert main([*command, "--ram", "3K", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert not told["mixed"]["budget_met"]
    assert told["mixed"]["budget"] == {"ram": 3072, "targets": ["cortex_m4"]}


def test_without_a_compiler_code_is_said_not_to_be_counted(digits, tmp_path, monkeypatch, capsys):
    def missing(*_):
        raise UserError("building for cortex_m4 needs some-gcc: install it")

    monkeypatch.setattr(measuring, "compile_runtime", missing)
    command = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz", "--limit", "4",
               "-o", tmp_path / "m.edge", "--observer", "minmax", "--target", "cortex_m4",
               "--flash", "30K"]  # fmt: skip
    assert main([str(w) for w in command]) == 0
    assert "code is not counted: building for cortex_m4 needs some-gcc" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ram", "8K"], "--target"),
        (["--target", "fpga_opencl", "--ram", "8K"], "accelerator"),
        (["--target", "cortex_m4", "--ram", "8K", "--max-arena", "4K"], "give one of them"),
        (["--target", "cortx_m4"], "did you mean 'cortex_m4'"),
    ],
)
def test_what_limits_no_device_is_refused(digits, tmp_path, capsys, words, said):
    command = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz",
               "-o", tmp_path / "m.edge"]  # fmt: skip
    assert main([*map(str, command), *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "m.edge").exists()
