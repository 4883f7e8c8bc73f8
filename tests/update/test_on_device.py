"""The decoder of updates on emulated devices: the host's bytes, and no damaged page counts."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgekit import targets
from edgekit.runtime_c import SOURCE
from edgekit.toolkit.device.emulate import RUNNER
from edgekit.toolkit.device.project import write_linker_script
from edgekit.toolkit.update import made

CHECKSUM = 8
"""-EK_ERR_CHECKSUM."""
FLAGS = {
    "cortex_m4": "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16",
    "cortex_m0plus": "-mcpu=cortex-m0plus",
}
RANDOM = np.random.default_rng(7)
OLD = RANDOM.integers(0, 60, 3000, np.uint8).tobytes()
NEW = OLD[:1000] + b"between" + bytes(b ^ (i % 9 == 0) for i, b in enumerate(OLD[1000:]))


@pytest.fixture(scope="module", params=FLAGS)
def device(request, tmp_path_factory):
    """What runs the decoder on a target with files of these names, and gives the exit code."""
    if not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"):
        pytest.skip("needs arm-none-eabi-gcc and qemu-system-arm")
    target, folder = targets.load(request.param), tmp_path_factory.mktemp(request.param)
    source = SOURCE / "src" / "update"
    command = [
        *("arm-none-eabi-gcc", *FLAGS[request.param].split(), *["-mthumb", "-std=gnu11", "-Os"]),
        *["-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections"],
        *(f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'src'}", f"-I{RUNNER}"),
        *(f"-T{write_linker_script(folder, target)}", target.folder / "start.c"),
        *(Path(__file__).parent / "on_device.c", source / "update.c", source / "sha256.c"),
        *("-o", folder / "program"),
    ]
    built = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert built.returncode == 0, built.stderr

    def run(*names):
        arguments = ",".join(f"arg={name}" for name in ("run", *names))
        machine = [target.emulator, "-M", target.machine, *target.emulator_arguments]
        quiet = ["-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config"]
        command = [*machine, *quiet, f"enable=on,target=native,{arguments}", "-kernel", "program"]
        return subprocess.run(command, cwd=folder, timeout=120).returncode

    return folder, run


def test_updates_and_packs_have_the_hosts_bytes_and_no_damage_counts(device):
    folder, run = device
    (folder / "old").write_bytes(OLD)
    (folder / "none").write_bytes(b"")
    (folder / "update").write_bytes(made(NEW, OLD))
    (folder / "pack").write_bytes(made(NEW))
    for names in (("old", "update", "new"), ("none", "pack", "new")):
        assert run(*names) == 0
        back = (folder / "new").read_bytes()
        assert back[:-4] == NEW
        assert 100 < int.from_bytes(back[-4:], "little") < 700  # of the stack
    assert run("old", "update", "damaged") == CHECKSUM
    (folder / "cut").write_bytes(made(NEW, OLD)[:-9])
    assert run("old", "cut", "new") != 0
    assert run("none", "update", "new") != 0
