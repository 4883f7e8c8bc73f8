"""Every kernel table of the Arm Linux targets against the reference, under QEMU, on CPUs that have
more and more of the instructions: the best table of each is chosen at run time."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgekit import targets

ROOT = Path(__file__).parents[2]
CMAKE = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
TRIALS = os.environ.get("EDGEKIT_TRIALS", "300")

CPUS = {
    "aarch64_linux": {
        "cortex-a53": ["aarch64_neon"],
        "neoverse-n1": ["aarch64_neon", "aarch64_dotprod"],
        "max,sve=off": ["aarch64_neon", "aarch64_dotprod", "aarch64_i8mm"],
    },
    "armv7_linux": {"cortex-a7": ["armv7_neon"], "cortex-a15": ["armv7_neon"]},
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """check_kernels of a target, built once."""
    built = {}

    def program(name):
        target = targets.load(name)
        for tool in (CMAKE, shutil.which(target.compiler), shutil.which(target.emulator)):
            if tool is None:
                pytest.skip(f"needs CMake, {target.packages} and {target.emulator_package}")
        if name not in built:
            folder = tmp_path_factory.mktemp(name)
            configure = [
                CMAKE,
                *("-S", ROOT / "runtime_c", "-B", folder),
                "-DEDGEKIT_TESTS=ON",
                "-DCMAKE_BUILD_TYPE=Release",
                f"-DCMAKE_TOOLCHAIN_FILE={target.folder / 'toolchain.cmake'}",
                f"-DEDGEKIT_TARGETS={target.kernels}",
            ]
            make = [CMAKE, "--build", folder, "--target", "check_kernels", "-j", "2"]
            for command in (configure, make):
                done = subprocess.run(command, capture_output=True, text=True)
                assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
                assert "warning:" not in done.stdout + done.stderr, done.stdout + done.stderr
            built[name] = next(folder.rglob("check_kernels"))
        return target, built[name]

    return program


def check(target, program, cpu, *arguments):
    command = [target.emulator, "-cpu", cpu, program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize(("name", "cpu"), [(t, cpu) for t, cpus in CPUS.items() for cpu in cpus])
def test_every_table_that_a_cpu_can_run_agrees_with_the_reference(programs, name, cpu):
    target, program = programs(name)
    done = check(target, program, cpu, "20261121", "--trials", TRIALS)
    assert done.returncode == 0, done.stdout + done.stderr
    refused = [t for t in target.tables if f"{t}: this CPU cannot run it" in done.stdout]
    assert [t for t in target.tables if t not in refused] == CPUS[name][cpu]
    for table in CPUS[name][cpu]:
        assert f"{table} gemm_s8: ok" in done.stdout


@pytest.mark.parametrize("name", CPUS)
def test_the_target_names_the_tables_of_its_build(programs, name):
    target, program = programs(name)
    done = check(target, program, target.cpus[-1], "1", "--table", "nosuch")
    assert done.returncode == 2
    assert done.stdout.strip().endswith(f"there are: ref {' '.join(target.tables)}")
