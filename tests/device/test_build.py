"""`edgekit build`, `bench` and `targets`: what they leave builds as it stands, numbers hold."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from edgekit import targets
from edgekit.toolkit.cli import main
from edgekit.toolkit.device.bench import bench
from edgekit.toolkit.device.build import build, compile_runtime
from edgekit.toolkit.device.process import find, run
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read

BARE = [n for n in targets.names() if targets.load(n).bare_metal]
ALLOWED = {"memcpy", "memset", "memmove"}


@pytest.mark.parametrize("sources", [False, True])
@pytest.mark.parametrize(
    "name", ["aarch64_linux", "cortex_m4", "cortex_m55", "cortex_m0plus", "cortex_m4_soft"]
)
def test_the_project_builds_as_it_stands(ready, model_file, tmp_path, name, sources):
    ready(name)
    path, _ = model_file("digits")
    built = build(path, name, tmp_path / "fw", sources=sources)
    assert {"main.c", "model_model.c", "model.edge", "CMakeLists.txt", "size.json"} <= set(
        built.files
    )
    assert ("libmodel.a" in built.files) != sources
    families = {targets.load(t).kernels for t in targets.names()}
    of_kernels = [
        Path(f) for f in built.files if Path(f).parts[0] == "src" and Path(f).parts[1] in families
    ]
    assert bool(of_kernels) == sources
    compiled = {f.parent for f in of_kernels if f.suffix == ".c"}
    compiled |= {folder.parent for folder in compiled}  # what the tables of a family share
    assert {f.parent for f in of_kernels} <= compiled, "headers that nothing includes"
    size = json.loads((tmp_path / "fw" / "size.json").read_text())
    assert set(size) >= {"text", "rodata", "data", "bss", "arena", "model"}
    assert size["model"] == (tmp_path / "fw" / "model.edge").stat().st_size
    toolchain = ["-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake"] * name.endswith("linux")
    for command in (
        ["cmake", "-B", "b", *toolchain],
        ["cmake", "--build", "b"],
    ):
        done = subprocess.run(
            command, cwd=tmp_path / "fw", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    if name.startswith("cortex_m4"):
        attributes = run([find("arm-none-eabi-readelf"), "-A", tmp_path / "fw/b/app"], "readelf")
        assert ("Tag_ABI_VFP_args" in attributes) == (name == "cortex_m4")
    if name == "cortex_m0plus":  # weak functions of ours stand for those of libgcc
        listed = run([find("arm-none-eabi-nm"), tmp_path / "fw" / "b" / "app"], "nm")
        assert re.search(r" W __aeabi_lmul\n", listed) and not re.search(r" T __aeabi_", listed)


@pytest.mark.parametrize("model", ["mlperf_kws_dscnn", "int16", "int16x4"])
@pytest.mark.parametrize("name", [n for n in BARE if n.startswith("cortex_m")])
def test_firmware_needs_no_library_and_little_flash(ready, model_file, tmp_path, name, model):
    ready(name)
    path, _ = model_file(model)
    built = build(path, name, tmp_path / "fw")
    assert set(built.undefined) <= ALLOWED
    assert built.size["data"] == built.size["bss"] == 0
    if model == "mlperf_kws_dscnn" and name in ("cortex_m0plus", "cortex_m4"):
        assert built.size["text"] <= 16 * 1024


@pytest.mark.parametrize("name", [n for n in BARE if n.startswith("cortex_m")])
def test_firmware_of_int16_has_no_kernels_of_int8(ready, model_file, name):
    target = ready(name)
    path, _ = model_file("int16x4")
    archive = compile_runtime(target, read(path.read_bytes()))
    linked = archive.library.parent / "reached.o"
    symbols = run([find("arm-none-eabi-nm"), "--defined-only", linked], "nm")
    assert re.search(r" ek_([a-z0-9]+_)?gemm_s16(_ref)?\n", symbols)
    heavy = "(?:pack_|unpack_)?(?:gemm|depthwise|row)"
    assert not re.findall(rf" (ek_(?:[a-z0-9]+_)?{heavy}_(?:s8|w4)(?:_ref)?)\n", symbols)


def test_bench_counts_the_same_at_every_run(ready, model_file):
    ready("cortex_m4")
    path, _ = model_file("digits")
    first, second = bench(path, "cortex_m4"), bench(path, "cortex_m4")
    assert first == second
    assert sum(op.instructions for op in first.ops) <= first.instructions_per_inference
    told = first.to_json()
    assert set(told) >= {
        "instructions_per_inference", "macs", "instructions_per_mac", "arena_bytes",
        "stack_bytes", "flash", "ops",
    }  # fmt: skip
    assert set(told["flash"]) == {"text", "rodata", "library", "model"}


def test_targets_lists_all_with_what_is_missing(capsys):
    assert main(["targets", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(targets.names())
    assert rows["cortex_m4"]["hardware"] == "never"


def test_check_on_a_device(ready, model_file, digits, capsys):
    ready("cortex_m4")
    path, _ = model_file("digits")
    command = ["check", path, "--float", digits / "digits.onnx", "--data", digits / "eval.npz"]
    more = ["--labels", "label", "--limit", "40", "--json"]
    answers = []
    for where in ([], ["--target", "cortex_m4"]):
        assert main([str(w) for w in [*command, *more, *where]]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    host, device = answers
    assert device["target"].startswith("cortex_m4")
    assert device["outputs"] == host["outputs"] and device["top1"] == host["top1"]


def test_an_unknown_target_is_refused_by_name(model_file, tmp_path):
    with pytest.raises(UserError, match="no target 'cortex_m5'"):
        build(model_file("digits")[0], "cortex_m5", tmp_path / "fw")


def test_a_missing_toolchain_names_the_package(model_file, tmp_path, monkeypatch):
    monkeypatch.setattr("edgekit.toolkit.device.process.find", lambda program: None)
    with pytest.raises(UserError, match="apt-get install gcc-arm-none-eabi"):
        build(model_file("digits")[0], "cortex_m4", tmp_path / "fw")
    assert not (tmp_path / "fw").exists()


def test_the_list_of_targets_fits_80_columns_in_a_pipe(capsys):
    assert main(["targets"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert max(map(len, told)) <= 80
    assert all(any(name in line for line in told) for name in targets.names())
