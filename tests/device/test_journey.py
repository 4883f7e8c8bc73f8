"""What a firmware engineer does and gets wrong: odd paths, missing tools, models of all sorts."""

import json
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgekit import convert, quantize
from edgekit.toolkit.cli import main
from edgekit.toolkit.device import process
from edgekit.toolkit.device.build import build, compile_runtime, load_target
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.retarget import retarget
from edgekit.toolkit.runtime import Model, Session

DEVICES = ["aarch64_linux", "armv7_linux", "cortex_m0plus", "cortex_m4", "cortex_m55"]
DOTPROD = ["--kernels", "aarch64_dotprod"]
PLANS = ["cortex_m0plus", "cortex_m4", "cortex_m55"]


def compile_project(folder, *more):
    for command in (["cmake", "-B", "b", *more], ["cmake", "--build", "b"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def write_model(path, nodes, inputs, outputs, weights):
    def ports(shapes):
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]

    constants = [onnx.numpy_helper.from_array(v, k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs), constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)


@pytest.fixture
def branching(tmp_path):
    """Two inputs; two outputs, of which one is the other seen in another shape, one float."""
    rng = np.random.default_rng(3)
    weights = {
        "w": rng.normal(size=(8, 3, 3, 3)).astype(np.float32),
        "v": rng.normal(size=(8, 8, 3, 3)).astype(np.float32),
        "shape": np.array([1, 64, 8]),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Add", ["b", "y"], ["c"]),
        helper.make_node("Conv", ["c", "v"], ["d"], pads=[1, 1, 1, 1]),
        helper.make_node("Transpose", ["d"], ["e"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["e", "shape"], ["flat"]),
        helper.make_node("Softmax", ["flat"], ["probabilities"], axis=2),
    ]
    write_model(
        tmp_path / "model.onnx",
        nodes,
        {"x": [1, 3, 8, 8], "y": [1, 8, 8, 8]},
        {"flat": [1, 64, 8], "probabilities": [1, 64, 8]},
        weights,
    )
    feeds = [
        {
            "x": rng.normal(size=(1, 3, 8, 8)).astype(np.float32),
            "y": rng.normal(size=(1, 8, 8, 8)).astype(np.float32),
        }
        for _ in range(8)
    ]
    quantize(tmp_path / "model.onnx", feeds, tmp_path / "model.edge", observer="minmax")
    return tmp_path / "model.edge", feeds


@pytest.mark.parametrize("name", DEVICES)
def test_several_inputs_and_outputs_give_the_hosts_bytes(ready, branching, name):
    target = ready(name)
    path, feeds = branching
    session = Session(path)
    with Device(path.read_bytes(), target) as device:
        answers = device.run([session.to_raw(feed) for feed in feeds]).outputs
    for feed, got in zip(feeds, answers, strict=True):
        for a, b in zip(got, session.run_raw(feed).values(), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", PLANS)
def test_a_packed_file_needs_no_more_memory_for_views(branching, name):
    """An output that is a view was once alive from the start, and took everything over."""
    path, _ = branching
    data = path.read_bytes()
    generic = read(data)
    packed = retarget(data, generic, load_target(name).plan)
    Model(packed)  # verifies
    assert read(packed).memory.arena_bytes <= generic.memory.arena_bytes + 4096


@pytest.mark.parametrize("name", ["aarch64_linux", "cortex_m4", "cortex_m0plus"])
def test_a_float_model_runs_within_its_tolerance(ready, digits, tmp_path, name):
    target = ready(name)
    convert(digits / "digits.onnx", tmp_path / "f.edge")
    session = Session(tmp_path / "f.edge")
    feed = {"image": np.load(digits / "eval.npz")["image"][:1]}
    with Device((tmp_path / "f.edge").read_bytes(), target) as device:
        (got,) = device.run([session.to_raw(feed)]).outputs
    np.testing.assert_allclose(got[0], next(iter(session.run(feed).values())), atol=1e-5)


@pytest.mark.parametrize("sources", [False, True])
@pytest.mark.parametrize("name", ["armv7_linux", "cortex_m4"])
def test_paths_may_hold_spaces(ready, model_file, tmp_path, monkeypatch, name, sources):
    ready(name)
    work, temporary = tmp_path / "my firmware", tmp_path / "tmp, of mine"
    work.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    path = work / "a model.edge"
    path.write_bytes(model_file("digits")[0].read_bytes())
    if not sources:
        assert main(["bench", str(path), "--target", name, "--json"]) == 0
    build(path, name, work / "f w", sources=sources)
    compile_project(work / "f w", "-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake")


@pytest.mark.parametrize("name", ["aarch64_linux", "armv7_linux"])
def test_the_program_on_linux_runs(ready, model_file, tmp_path, name):
    """Its session holds what the kernels pack, which no constant in main.c could say."""
    target = ready(name)
    build(model_file("digits")[0], name, tmp_path / "app")
    compile_project(tmp_path / "app", "-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake")
    assert "ndk.cmake" in {p.name for p in (tmp_path / "app").iterdir()} or name == "armv7_linux"
    assert subprocess.run([target.emulator, tmp_path / "app/b/app"], check=False).returncode == 0


def test_run_on_a_device_writes_the_hosts_outputs(ready, model_file, digits, tmp_path):
    ready("cortex_m4")
    np.savez(tmp_path / "in.npz", image=np.load(digits / "eval.npz")["image"][:5])
    answers = []
    for where in ([], ["--target", "cortex_m4"]):
        out = tmp_path / f"{len(where)}.npz"
        command = ["run", model_file("digits")[0], "--input", tmp_path / "in.npz", "-o", out]
        assert main([str(w) for w in [*command, *where]]) == 0
        answers.append(dict(np.load(out)))
    host, device = answers
    assert host.keys() == device.keys()
    for name in host:
        np.testing.assert_array_equal(host[name], device[name])


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["bench", "--target", "x86_64"], "x86_64 is the host"),
        (["bench", "--target", "cortex_m4", "--cpu", "cortex-a53"], "--cpu does not apply to"),
        (["bench", "--target", "cortex_m4", "--kernels", "neon"], "there are: ref, cortex_m_dsp"),
        (["bench", "--target", "aarch64_linux", "--cpu", "cortex-z80"], "has no -cpu 'cortex-z80'"),
        (
            [
                "bench",
                "--target",
                "aarch64_linux",
                "--cpu",
                "cortex-a53",
                "--kernels",
                "aarch64_dotprod",
            ],
            "cannot execute the kernels 'aarch64_dotprod'",
        ),
    ],
)
def test_what_a_target_has_not_is_said(ready, model_file, capsys, command, says):
    if command[2] != "x86_64":
        ready(command[2])
    assert main([command[0], str(model_file("digits")[0]), *command[1:]]) == 2
    assert says in capsys.readouterr().err


def test_a_cpu_goes_with_a_target(model_file, digits, capsys):
    command = ["run", model_file("digits")[0], "--input", digits / "eval.npz", "--cpu", "cortex-a7"]
    assert main([str(w) for w in command]) == 2
    assert "--target" in capsys.readouterr().err


def test_a_model_too_large_for_the_emulated_board_is_refused_with_bytes(ready, tmp_path):
    target = ready("cortex_m4")
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    shape = {"x": [1, 3000, 1000, 1]}
    write_model(tmp_path / "m.onnx", nodes, shape, {"y": shape["x"]}, {})
    convert(tmp_path / "m.onnx", tmp_path / "m.edge")
    with pytest.raises(UserError, match=r"bytes of RAM too little for this model"):
        Device((tmp_path / "m.edge").read_bytes(), target)


def test_a_folder_that_cannot_be_written_is_said_and_left_alone(ready, model_file, tmp_path):
    ready("cortex_m4")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="cannot be written"):
        build(model_file("digits")[0], "cortex_m4", tmp_path / "file" / "fw")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_compiler_without_its_c_library_names_the_packages(ready, model_file, monkeypatch):
    target = ready("cortex_m4")
    monkeypatch.setattr("edgekit.toolkit.device.build._compiled", {})

    def run(command, what, **more):
        printed = "x.c:1:10: fatal error: string.h: No such file or directory"
        raise process.ProgramFailedError("compiling failed", printed)

    monkeypatch.setattr("edgekit.toolkit.device.build.run", run)
    with pytest.raises(UserError, match=r"install it: apt-get install .*libnewlib-arm-none-eabi"):
        compile_runtime(target, read(model_file("digits")[0].read_bytes()))


def test_a_program_that_takes_too_long_is_ended():
    with pytest.raises(UserError, match="took more than"):
        process.run(["sleep", "5"], "sleeping", limit=0.1)


def test_targets_are_readable_in_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["targets", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert main(["targets"]) == 0
    told = capsys.readouterr().err
    assert all(name in told for name in names)
