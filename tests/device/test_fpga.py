"""The FPGA accelerator gives the host's bytes on every OpenCL device here, and says what it lacks.

Every wait of the backend has a limit, and every test another: a device that hangs ends its process.
"""

import faulthandler
import os
import subprocess
import sys
import threading
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from edgekit.targets.fpga_opencl import opencl
from edgekit.targets.fpga_opencl.accelerator import AcceleratedSession, Accelerator
from edgekit.targets.fpga_opencl.build import build_for_fpga
from edgekit.targets.fpga_opencl.config import Config, kernels
from edgekit.targets.fpga_opencl.estimate import estimate
from edgekit.targets.fpga_opencl.partition import on_accelerator, partition
from edgekit.toolkit.cli import main
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read, read_file
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Session

from ..bench import fpga_estimate
from . import fpga_layers
from .conftest import MLPERF

MODELS = (*MLPERF, "mobilenet_v1_025_224")
RUNS = (("pocl", False), ("intel-fpga-emulator", False), ("intel-fpga-emulator", True))
TEST_SECONDS = 300


@pytest.fixture(autouse=True)
def limit():
    faulthandler.dump_traceback_later(TEST_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@cache
def _opened(name, channels, config):
    device = opencl.choose(name)
    return Accelerator(device, kernels().encode(), config.options(channels))


def opened(name, channels=False, config=Config()):  # noqa: B008 (frozen)
    """The accelerator on a device, built once. Skips the test where there is no such device."""
    try:
        opencl.choose(name)
    except UserError as why:
        pytest.skip(f"{name}: {why} (docs/deploy-fpga.md says how to install it)")
    return _opened(name, channels, config)


def assert_same(model, accelerator, config, feeds=None, samples=3):
    """Outputs of the host and the device are equal; returns the device's statistics."""
    data, placed = partition(model, config)
    host = Session(write(model))
    rng = np.random.default_rng(7)
    feeds = feeds or [
        {io.name: rng.integers(-128, 128, io.shape, np.int8) for io in host.inputs}
        for _ in range(samples)
    ]
    with AcceleratedSession(data, accelerator) as session:
        for feed in feeds:
            wanted, got = host.run_raw(feed), session.run_raw(feed)
            for name in wanted:
                np.testing.assert_array_equal(got[name], wanted[name])
        stats = session.stats()
    assert [s.on_device for s in stats[:-1]] == [p.on_accelerator for p in placed]
    return stats


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("device", "channels"), RUNS)
def test_a_model_gives_the_hosts_bytes(model_file, device, channels, model):
    accelerator = opened(device, channels)
    path, feeds = model_file(model)
    stats = assert_same(read_file(path), accelerator, Config(), feeds[: 2 if channels else 10])
    assert sum(s.on_device for s in stats) >= len(stats) - 2  # all but softmax


@pytest.mark.parametrize("size", [(8, 8), (16, 4), (4, 16)])
@pytest.mark.parametrize(("device", "channels"), RUNS)
def test_every_shape_gives_the_hosts_bytes(device, channels, size):
    config = Config.sized(*size)
    accelerator = opened(device, channels, config)
    for name, model in fpga_layers.layers(np.random.default_rng(3)):
        try:
            stats = assert_same(model, accelerator, config, samples=2)
        except AssertionError as why:
            raise AssertionError(f"{name}: {why}") from why
        assert stats[0].on_device, name


def test_small_buffers_stream_weights_and_leave_what_does_not_fit_to_the_host():
    config = replace(Config(4, 4), line_words=64, weight_words=4, pool_words=16)
    accelerator = opened("pocl", config=config)
    there = []
    for _, model in fpga_layers.layers(np.random.default_rng(3)):
        stats = assert_same(model, accelerator, config, samples=1)
        there.append(stats[0].on_device)
    assert 3 < sum(there) < len(there)


def test_tensors_cross_only_where_the_placement_changes_sides():
    accelerator = opened("pocl")
    rng = np.random.default_rng(3)
    model = fpga_layers.conv(rng, 1, 9, 11, 5, 13, (3, 3), pads=(1, 1, 1, 1))
    device, home = assert_same(model, accelerator, Config())
    assert (device.to_device_bytes, device.to_host_bytes) == (9 * 11 * 5, 0)
    assert (home.to_device_bytes, home.to_host_bytes) == (0, 9 * 11 * 13)


@pytest.mark.parametrize(("device", "channels"), RUNS)
def test_a_saved_program_opens_again(device, channels):
    accelerator = opened(device, channels)
    model = fpga_layers.fully_connected(np.random.default_rng(3), 3, 37, 21)
    assert_same(model, accelerator, Config())
    binary = accelerator.binary()
    assert len(binary) > 1000
    with Accelerator(accelerator.device, binary) as again:
        assert again.config == accelerator.config
        assert_same(model, again, Config())


def test_the_placement_is_kept_in_the_file(model_file):
    model = read_file(model_file("digits")[0])
    data, placed = partition(model, Config())
    assert read(data).placement == tuple(p.on_accelerator for p in placed)
    assert any(read(data).placement)
    assert read(write(replace(read(data), placement=()))) == model


def test_a_wrong_placement_is_refused(model_file):
    accelerator = opened("pocl")
    model = read_file(model_file("digits")[0])
    everywhere = write(replace(model, placement=(True,) * len(model.ops)))
    host = [p.on_accelerator for p in on_accelerator(model, Config())].index(False)
    with pytest.raises(UserError, match=f"operator {host} is placed on the accelerator, which can"):
        AcceleratedSession(everywhere, accelerator)
    with pytest.raises(UserError, match=r"does not match its operators"):
        AcceleratedSession(write(replace(model, placement=(True,))), accelerator)
    small = replace(Config(), line_words=2)
    assert not any(p.on_accelerator for p in on_accelerator(model, small)[:1])


def test_no_driver_is_said(tmp_path):
    code = "from edgekit.targets.fpga_opencl.opencl import devices; devices()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OCL_ICD_VENDORS": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "no driver: no .icd file" in done.stderr or "no OpenCL loader" in done.stderr


def test_an_unknown_device_is_named_and_the_others_listed():
    opened("pocl")
    with pytest.raises(UserError, match=r"no OpenCL device 'nosuch' here; there are: .*Portable"):
        opencl.choose("nosuch")


def test_a_program_that_does_not_build_shows_the_compilers_words():
    device = opened("pocl").device
    with pytest.raises(UserError, match=r"(?s)do not build on this device.*nonsense"):
        Accelerator(device, b"__kernel void ek_info(nonsense x) {}\n")
    with pytest.raises(UserError, match=r"it has no ek_info"):
        Accelerator(device, b"__kernel void other(__global int *x) { *x = 1; }\n")
    with pytest.raises(UserError, match=r"refuses the program|not a binary|do not build"):
        Accelerator(device, b"\x00\x01\x02\x03" * 100)


def test_a_device_out_of_memory_is_said():
    device = opened("pocl").device
    model = fpga_layers.conv(np.random.default_rng(3), 1, 64, 64, 16, 64, (3, 3))
    data, _ = partition(model, Config())
    source = kernels().encode()
    small = Accelerator(device, source, Config().options(False), memory_bytes=50_000)
    with small, pytest.raises(UserError, match=r"out of memory: .* bytes for"):
        AcceleratedSession(data, small)


def test_a_device_that_is_too_slow_is_given_up():
    """In a process of its own: what belongs to a lost device is never waited for."""
    opened("pocl")
    code = f"""
import numpy as np, os, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import fpga_layers
from edgekit.targets.fpga_opencl import opencl
from edgekit.targets.fpga_opencl.accelerator import AcceleratedSession, Accelerator
from edgekit.targets.fpga_opencl.config import Config, kernels
from edgekit.targets.fpga_opencl.partition import partition
device = opencl.choose("pocl")
slow = kernels().encode().replace(b"uint received = 0;", b"uint received = 0;"
    b" for (volatile long i = 0; i < 3000000000000; i++) {{ }}", 1)
acc = Accelerator(device, slow, Config().options(False), seconds=1.0)
data, _ = partition(fpga_layers.conv(np.random.default_rng(3), 1, 4, 4, 4, 4, (1, 1)), Config())
session = AcceleratedSession(data, acc)
for _ in range(2):
    try:
        session.run_raw({{"in0": np.zeros((1, 4, 4, 4), np.int8)}})
    except Exception as why:
        print(why, flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "no answer from the device within 1 s" in done.stdout, done.stderr
    assert "failed before" in done.stdout


def test_check_and_bench_run_on_a_device(model_file, digits, capsys):
    opened("pocl")
    path, _ = model_file("digits")
    where = ["--target", "fpga_opencl", "--device", "pocl"]
    assert main(["bench", str(path), *where, "--json"]) == 0
    assert '"same_bytes": true' in capsys.readouterr().out
    data = [str(digits / "digits.onnx"), "--data", str(digits / "eval.npz"), "--limit", "3"]
    assert main(["check", str(path), "--float", *data, *where, "--set", "vec=4"]) == 0
    assert main(["bench", str(path), *where, "--set", "lanes=16", "--json"]) == 0
    assert '"lanes": 16' in capsys.readouterr().out


def test_build_leaves_a_project_that_builds_and_runs(model_file, tmp_path):
    path, _ = model_file("digits")
    done = build_for_fpga(path, tmp_path / "out", Config.sized(16, 8))
    assert {"edgekit.cl", "edgekit_config.h", "compile.sh", "libedgekit.a"} <= set(done.files)
    assert "#define EK_VEC 16\n" in (tmp_path / "out" / "edgekit_config.h").read_text()
    config = Config.sized(16, 8)
    device = opened("pocl", config=config).device.index

    def run(*command):
        done = subprocess.run(command, cwd=tmp_path / "out", capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    run("cmake", "-B", "build")
    run("cmake", "--build", "build")
    program = ("build/app", str(device), "edgekit.cl", "model.edge", config.options(False))
    got = [int(q) for q in run(*program).split()]
    host = Session(path)
    zeros = {io.name: np.full(io.shape, io.zero_point, np.int8) for io in host.inputs}
    assert got == host.run_raw(zeros)[host.outputs[0].name].ravel().tolist()


def test_more_multipliers_never_cost_cycles(model_file):
    model = read_file(model_file("digits")[0])
    cycles = [estimate(model, Config.sized(n, n)).cycles for n in (4, 8, 16, 32)]
    assert cycles == sorted(cycles, reverse=True)
    assert all(r.macs_per_cycle <= 64 for r in estimate(model, Config.sized(8, 8)).layers)


@pytest.mark.parametrize(
    ("model", "layers"), [("digits", 4), ("mlperf_kws_dscnn", 11), ("mlperf_ic_resnet8", 11)]
)
def test_the_estimate_counts_the_turns_of_the_kernels_loops(model_file, model, layers):
    device = opened("pocl").device
    config = Config.sized(16, 4)
    counting = Accelerator(device, fpga_estimate.counting_kernels(), config.options(False))
    stages, wrong = fpga_estimate.differences(read_file(model_file(model)[0]), config, counting)
    assert stages >= 6 * layers
    assert not wrong


def test_threads_share_an_accelerator_and_closing_waits(model_file):
    accelerator = opened("pocl")
    path, feeds = model_file("digits")
    data, _ = partition(read_file(path), Config())
    want = [Session(path).run_raw(feed) for feed in feeds[:4]]
    shared, wrong = AcceleratedSession(data, accelerator), []

    def work(session, i):
        for _ in range(5):
            got = session.run_raw(feeds[i])
            wrong.extend(name for name in got if not np.array_equal(got[name], want[i][name]))

    sessions = [shared, shared, AcceleratedSession(data, accelerator), shared]
    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(sessions, range(4), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    shared.close()
    for use in (lambda: shared.run(feeds[0]), shared.stats):
        with pytest.raises(UserError, match="the session on the device is closed"):
            use()
