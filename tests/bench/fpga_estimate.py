"""The FPGA estimate: the design-space table, and its model against a hand-written array, counted.

    python tests/bench/fpga_estimate.py table MODEL.edge...
    python tests/bench/fpga_estimate.py loops MODEL.edge...  (needs PoCL)
    python tests/bench/fpga_estimate.py array                (needs verilator and yosys)

`table` prints estimated cycles for VEC x LANES. `loops` counts how often the loops of the OpenCL
kernels turn when a model runs, and compares every stage of every layer with the estimate. `array`
simulates tests/bench/fpga/mac_array.v with Verilator on layers of the MLPerf Tiny models,
compares sums with numpy and cycles with the estimate's multiplier stage, and counts cells with
yosys (ECP5: MULT18X18D has one product).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgekit.targets.fpga_opencl import opencl
from edgekit.targets.fpga_opencl.accelerator import AcceleratedSession, Accelerator
from edgekit.targets.fpga_opencl.config import Config, kernels
from edgekit.targets.fpga_opencl.estimate import estimate, resources
from edgekit.targets.fpga_opencl.loops import loops_of
from edgekit.toolkit.format.model import EdgeModel
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.format.writer import write

HERE = Path(__file__).parent / "fpga"
SIZES = ((4, 4), (8, 8), (16, 8), (8, 16), (16, 16), (32, 16), (32, 32))
LAYERS = {  # name: (output channels, pixels, products of a pixel)
    "kws pointwise": (64, 125, 64),
    "ic 3x3x16": (16, 1024, 144),
    "ad 640 -> 128": (128, 1, 640),
    "vww pointwise": (16, 576, 16),
}


def design_space(files: list[str]) -> list[tuple[str, list[int]]]:
    """Estimated cycles of each model, in the order of SIZES."""
    return [
        (Path(f).stem, [estimate(read_file(f), Config.sized(v, n)).cycles for v, n in SIZES])
        for f in files
    ]


_PASS = "for (uint i = 0; i < pass; i++)"
_TURNS = {  # kernel: heads of loops, and what stands for one turn in each
    "ek_read": ("parts; part++) {",),
    "ek_window": (_PASS, "for (uint i = 0; i < loads || i < emits; i++) {"),
    "ek_mac": (
        "for (uint k = 0; k < steps; k++) kept",
        "for (uint i = 0; i < in || i < out; i++) {",
        "const ek_word x = EK_RECEIVE(ek_taps, received);\n                    ek_weight w;",
        "const ek_word x = EK_RECEIVE(ek_taps, received);\n                ek_sum acc;",
        "const ek_word y = EK_RECEIVE(ek_taps, received);",
    ),
    "ek_requant": ("for (uint i = 0; i < count; i++) {",),
    "ek_pool": (_PASS, "x < in_w; x++) {", "kx < kernel_w; kx++) {"),
    "ek_write": ("for (uint i = 0; i < count; i++) {",),
}


def counting_kernels() -> bytes:
    """edgekit.cl in which each stage prints how often its innermost loops turned."""
    parts = kernels().split("__kernel ")
    for i, part in enumerate(parts):
        name = next((n for n in _TURNS if f"EK_TASK void {n}(" in part), None)
        if name is None:
            continue
        text = part.replace("\n{\n", "\n{\n    uint turns = 0;\n", 1)
        for head in _TURNS[name]:
            assert head in text, (name, head)
            if "++)" in head:
                text = text.replace(head, head.replace("++)", "++, turns++)"))
            else:
                text = text.replace(head, f"{head} turns++;")
        say = f'printf("turns {name[3:]} %u\\n", turns);'
        text = text.replace(") return;", f") {{ {say} return; }}")
        end = text.find("\n}\n")
        parts[i] = text[:end] + f"\n    {say}" + text[end:]
    return "__kernel ".join(parts).encode()


def counted(model: EdgeModel, op: int, accelerator: Accelerator) -> dict[str, int]:
    """Turns of each stage's loops when operator `op` alone runs on the device."""
    alone = replace(model, placement=tuple(i == op for i in range(len(model.ops))))
    with tempfile.TemporaryFile() as printed, AcceleratedSession(write(alone), accelerator) as s:
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(printed.fileno(), 1)
        try:
            s.run({io.name: np.zeros(io.shape, io.onnx_dtype) for io in s.inputs})
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        printed.seek(0)
        turns: dict[str, int] = {}
        for stage, n in re.findall(r"turns (\w+) (\d+)", printed.read().decode()):
            turns[stage] = turns.get(stage, 0) + int(n)
    return turns


def differences(
    model: EdgeModel, config: Config, accelerator: Accelerator
) -> tuple[int, list[str]]:
    """How many stages of layers were counted, and in words those that the estimate gets wrong."""
    stages, wrong = 0, []
    for i, (op, expected) in enumerate(zip(model.ops, loops_of(model, config), strict=True)):
        if isinstance(expected, str):
            continue
        for stage, turns in counted(model, i, accelerator).items():
            stages += 1
            if turns != expected[stage]:
                wrong.append(f"{op.name} {stage}: {turns} turns, estimate {expected[stage]}")
    return stages, wrong


def _print_loops(files: list[str]) -> None:
    config = Config.sized()
    device = opencl.choose("pocl")
    accelerator = Accelerator(device, counting_kernels(), config.options(False))
    for f in files:
        stages, wrong = differences(read_file(f), config, accelerator)
        print(f"{Path(f).stem}: {stages} stages counted, {len(wrong)} differ", *wrong, sep="\n  ")


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, capture_output=True, text=True, timeout=900
    )
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def build_simulator(folder: Path, vec: int, lanes: int) -> Path:
    """The array with a driver, as a program."""
    flags = f"-DVEC={vec} -DLANES={lanes} -O2"
    _run(
        *("verilator", "--cc", "--exe", "--build", "-O3", "-Wno-fatal", "-CFLAGS", flags),
        *("--top-module", "mac_array", f"-GVEC={vec}", f"-GLANES={lanes}"),
        *("--Mdir", folder / "obj", HERE / "mac_array.v", HERE / "simulate.cpp"),
        cwd=folder,
    )
    return folder / "obj" / "Vmac_array"


def simulate(
    program: Path, vec: int, lanes: int, layer: tuple[int, int, int]
) -> tuple[int, int, bool]:
    """(cycles counted, cycles of the estimate's loops, sums right) for one layer."""
    channels, pixels, k = layer
    tiles, steps = -(-channels // lanes), -(-k // vec)
    rng = np.random.default_rng(5)
    x = np.zeros((pixels, steps * vec), np.int8)
    w = np.zeros((tiles * lanes, steps * vec), np.int8)
    x[:, :k] = rng.integers(-128, 128, (pixels, k))
    w[:channels, :k] = rng.integers(-127, 128, (channels, k))
    folder = program.parent
    packed = w.reshape(tiles, lanes, steps, vec).transpose(0, 2, 1, 3)
    (folder / "taps").write_bytes(np.concatenate([x] * tiles).tobytes())
    (folder / "weights").write_bytes(np.ascontiguousarray(packed).tobytes())
    files = [folder / name for name in ("taps", "weights", "sums")]
    cycles = int(_run(program, str(pixels), str(steps), str(tiles), *files))
    got = np.fromfile(files[2], np.int32).reshape(tiles, pixels, lanes).transpose(1, 0, 2)
    wanted = x.astype(np.int32) @ w.astype(np.int32).T
    right = np.array_equal(got.reshape(pixels, -1), wanted)
    return cycles, tiles * pixels * steps, right


def cells(vec: int, lanes: int) -> dict[str, int]:
    """Cells of the array on an ECP5, by kind."""
    script = (
        f"read_verilog {HERE / 'mac_array.v'}; "
        f"chparam -set VEC {vec} -set LANES {lanes} mac_array; "
        "synth_ecp5 -top mac_array; stat"
    )
    text = _run("yosys", "-p", script).rsplit("Number of cells", 1)[-1]
    wanted = ("LUT4", "MULT18X18D", "TRELLIS_FF", "DP16KD", "CCU2C")
    return {n: int(c) for n, c in re.findall(r"^\s+(\w+)\s+(\d+)", text, re.M) if n in wanted}


def _print_array() -> None:
    print(
        "| VEC x LANES | layer | simulated | loops | MAC/cycle | sums |\n|---|---|---|---|---|---|"
    )
    for vec, lanes in ((4, 4), (8, 8), (16, 8)):
        with tempfile.TemporaryDirectory() as folder:
            program = build_simulator(Path(folder), vec, lanes)
            for name, layer in LAYERS.items():
                cycles, loops, right = simulate(program, vec, lanes, layer)
                rate = layer[0] * layer[1] * layer[2] / cycles
                print(
                    f"| {vec} x {lanes} | {name} | {cycles} | {loops} | {rate:.2f} "
                    f"| {'exact' if right else 'WRONG'} |"
                )
    print("\n| VEC x LANES | products | estimated DSP blocks | cells |\n|---|---|---|---|")
    for vec, lanes in ((4, 4), (8, 8), (16, 8)):
        print(f"| {vec} x {lanes} | {vec * lanes} | {vec * lanes // 2} | {cells(vec, lanes)} |")


def _print_table(files: list[str]) -> None:
    head = [f"{v} x {n}" for v, n in SIZES]
    print("| model | " + " | ".join(head) + " |\n|" + "---|" * (len(head) + 1))
    for name, cycles in design_space(files):
        print(f"| {name} | " + " | ".join(f"{c:,}" for c in cycles) + " |")
    found = [resources(Config.sized(v, n)) for v, n in SIZES]
    print("| DSP blocks | " + " | ".join(f"{r.dsp_blocks:,}" for r in found) + " |")
    print("| M20K blocks | " + " | ".join(f"{r.m20k_blocks:,}" for r in found) + " |")


if __name__ == "__main__":
    if sys.argv[1:] == ["array"]:
        _print_array()
    elif sys.argv[1:2] == ["loops"] and len(sys.argv) > 2:
        _print_loops(sys.argv[2:])
    elif sys.argv[1:2] == ["table"] and len(sys.argv) > 2:
        _print_table(sys.argv[2:])
    else:
        raise SystemExit(__doc__)
