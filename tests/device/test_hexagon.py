"""Models on Hexagon under qemu-hexagon: the host's bytes, and far fewer packets than scalar code.
What `edgekit build` leaves for a phone: a library that needs nothing and runs wherever it lies."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgekit import targets
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.format.describe import macs
from edgekit.toolkit.format.schema import OpKind
from edgekit.toolkit.runtime import Session

from .conftest import MLPERF

LOADER = Path(__file__).parent / "hexagon" / "load.c"
FAMILY = targets.FOLDER / "hexagon_hvx"
MODELS = ("digits", "int16", "int2", *MLPERF, "mobilenet_v1_025_224")

# The collection's loader leaves files to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("model", MODELS)
def test_the_dsp_answers_with_the_hosts_bytes(ready, model_file, model):
    target = ready("hexagon_hvx")
    path, feeds = model_file(model)
    session = Session(path)
    with Device(path.read_bytes(), target) as device:
        ran = device.run([session.to_raw(feed) for feed in feeds[:4]], count=True)
        # C and division are ours for programs, the phone's on a phone; nothing of an OS.
        calls = [u for u in device.archive.undefined if not u.startswith("__hexagon_")]
    assert set(calls) <= {"memcpy", "memset", "memmove"}
    for feed, answers in zip(feeds, ran.outputs, strict=False):
        wanted = session.run_raw(feed)
        for io, answer in zip(session.outputs, answers, strict=True):
            np.testing.assert_array_equal(answer, wanted[io.name])
    assert ran.instructions > sum(ran.op_instructions) > 0
    assert ran.stack_bytes < 32 << 10


@pytest.mark.parametrize("model", ["mlperf_ic_resnet8", "mobilenet_v1_025_224"])
def test_each_convolution_takes_a_twentieth_of_the_scalar_packets(ready, model_file, model):
    target = ready("hexagon_hvx")
    path, feeds = model_file(model)
    raw = [Session(path).to_raw(feeds[0])]
    packets = {}
    for table in ("", "ref"):
        with Device(path.read_bytes(), target, kernels=table) as device:
            ops, packets[table] = device.model.ops, device.run(raw, count=True).op_instructions
    # Were the packets all scalar code, at its best rate, they would not do a twentieth of the MACs.
    work = [macs(o.kind, o.params) for o in ops]
    rate = max(m / n for m, n in zip(work, packets["ref"], strict=True))
    assert rate * sum(packets[""]) <= 0.05 * sum(work)
    for op, fast, scalar in zip(ops, packets[""], packets["ref"], strict=True):
        if op.kind == OpKind.Conv2d:
            assert scalar >= 20 * fast, op


@pytest.mark.parametrize("sources", [False, True])
def test_the_library_needs_nothing_and_runs_where_it_is_loaded(
    ready, model_file, tmp_path, sources
):
    target = ready("hexagon_hvx")
    path, feeds = model_file("digits")
    out = tmp_path / "dsp"
    built = build(path, "hexagon_hvx", out, sources=sources)
    assert {"libedgekit_model.so", "run_model", "dsp/edgekit_fastrpc.idl"} <= set(built.files)
    assert ("libedgekit.a" in built.files) != sources
    ours = [name for name in built.files if name.startswith("src/")]
    assert not any("deploy" in name or "freestanding" in name for name in ours)
    library = out / "libedgekit_model.so"
    symbols = subprocess.run(
        ["llvm-nm-19", "-D", library], capture_output=True, text=True, check=True
    ).stdout
    assert sorted(re.findall(r" (\w) (\w+)$", symbols, re.M)) == [
        ("T", "edgekit_dsp_open"),
        ("T", "edgekit_dsp_run"),
        ("T", "edgekit_dsp_sizes"),
    ]
    session = Session(path)
    (raw,) = session.to_raw(feeds[0])
    (tmp_path / "in.bin").write_bytes(raw.tobytes())
    (wanted,) = session.run_raw(feeds[0]).values()
    for program in ([out / "run_model"], [_loader(target, out, tmp_path), library]):
        command = [target.emulator, *program, tmp_path / "in.bin", tmp_path / "out.bin"]
        subprocess.run(command, check=True, timeout=60)
        answer = (tmp_path / "out.bin").read_bytes()
        assert len(answer) % 128 == 0  # each output from a whole line on
        assert answer[: wanted.nbytes] == wanted.tobytes()


def _loader(target, project, folder):
    program = folder / "load"
    flags = "-mv66 -mhvx -mhvx-length=128B -ffreestanding -nostdlibinc -G0 -O2 -nostdlib -static"
    command = [target.compiler, *target.linker, *flags.split(), "-o", program, LOADER]
    command += ["-isystem", FAMILY / "include", f"-I{project / 'dsp'}", f"-I{project / 'world'}"]
    command += [FAMILY / source for source in target.world]
    subprocess.run([*command, f"-I{targets.FOLDER / 'runner'}"], check=True)
    return program
