"""Every kernel table of the Cortex-M family against the reference, on QEMU's boards."""

import subprocess
from pathlib import Path

import pytest

from edgekit import targets
from edgekit.toolkit.device.process import find
from edgekit.toolkit.device.project import write_linker_script

ROOT = Path(__file__).parents[2]  # the harness lies beside the sources, not in the package
FAMILY = targets.FOLDER / "cortex_m"
CORES = ("cortex_m0plus", "cortex_m4", "cortex_m7", "cortex_m33", "cortex_m55")
KERNELS = (
    *("gemm_s8", "unpack_gemm_w4", "row_w4", "vecmat_s8", "gemm_s16", "row_w4_s16"),
    *("depthwise_s8", "depthwise_s16", "add_s8", "add_s16", "mul_s8", "lut_s8", "sum_s8", "max_s8"),
    *("copy", "mul_s16", "lut_s16", "channel_lut_s8", "channel_lut_s16", "prelu_s8"),
    *("quantize_f32_s8", "quantize_f32_s16"),
)
NEEDED = {
    "cmake": "cmake",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}
missing = [f"{program} ({package})" for program, package in NEEDED.items() if not find(program)]

pytestmark = pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def must(command):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module", params=CORES)
def board(request, tmp_path_factory):
    """A target and check_kernels compiled for it."""
    target, folder = targets.load(request.param), tmp_path_factory.mktemp(request.param)
    script = write_linker_script(folder, target)
    libraries = "-nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--gc-sections"
    must(
        [
            find("cmake"),
            *("-S", ROOT / "runtime_c", "-B", folder / "build"),
            "-DCMAKE_BUILD_TYPE=MinSizeRel",
            f"-DCMAKE_TOOLCHAIN_FILE={FAMILY / 'toolchain.cmake'}",
            f"-DEDGEKIT_TARGET={target.name}",
            "-DEDGEKIT_TARGETS=cortex_m",
            f"-DEDGEKIT_TARGETS_DIR={targets.FOLDER}",
            f"-DEDGEKIT_TABLES={';'.join(target.tables)}",
            "-DEDGEKIT_OPS=add_s8",
            "-DEDGEKIT_TESTS=ON",
            f"-DCMAKE_EXE_LINKER_FLAGS={libraries} -T{script}",
        ]
    )
    build = [find("cmake"), "--build", folder / "build", "--target", "check_kernels"]
    log = must([*build, "--parallel", "2"])
    ours = [line for line in log.splitlines() if "warning: " in line and "libc" not in line]
    assert not ours, log
    return target, next((folder / "build").rglob("check_kernels"))


def check(board, *arguments):
    target, program = board
    words = ",".join(f"arg={word}" for word in ("check_kernels", *arguments))
    command = [
        *(find("qemu-system-arm"), "-M", target.machine),
        *("-display", "none", "-monitor", "none", "-serial", "none"),
        *("-semihosting-config", f"enable=on,target=native,{words}", "-kernel", program),
    ]
    return subprocess.run(
        [str(w) for w in command], capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("seed", ["1", "4242"])
def test_every_table_agrees_with_the_reference(board, seed):
    done = check(board, seed, "--trials", "300")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    for table in board[0].tables:
        for kernel in KERNELS:
            assert f"{table} {kernel}: ok" in said
