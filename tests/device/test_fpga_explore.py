"""`bench --explore`: sizes of the FPGA accelerator on boards, against the estimate of one size."""

import json
from dataclasses import replace

import numpy as np
import pytest

from edgekit.targets.fpga_opencl import explore as exploring
from edgekit.targets.fpga_opencl.boards import AMD, BOARDS, INTEL, board_of
from edgekit.targets.fpga_opencl.config import SIZES, Config
from edgekit.targets.fpga_opencl.estimate import estimate, resources
from edgekit.targets.fpga_opencl.explore import FILLED, explore
from edgekit.toolkit.cli import main
from edgekit.toolkit.format.reader import read_file


def on(monkeypatch, board, **facts):
    """A board like another, but for these facts."""
    made = replace(board_of(board), **facts)
    monkeypatch.setattr(exploring, "board_of", lambda _: made)


def test_blocks_are_those_of_the_families():
    """8 x 8: 64 products and 8 lanes; a 64-bit product is two DSP blocks or four slices."""
    c = Config.sized(8, 8)
    assert INTEL.multipliers(c) == resources(c).dsp_blocks == 32 + 8 * (2 + 2 + 2)
    assert AMD.multipliers(c) == 64 + 8 * (4 + 4 + 2)
    assert INTEL.memories(c) == resources(c).m20k_blocks == 39
    assert AMD.memories(c) < INTEL.memories(c)
    assert {b.family.vendor for b in BOARDS.values()} == {"Intel", "AMD"}
    assert all(b.source and 100e6 <= b.clock <= 400e6 for b in BOARDS.values())


def test_without_limits_of_memory_it_is_the_estimate(model_file, monkeypatch):
    path, _ = model_file("digits")
    on(monkeypatch, "a10gx", bandwidth=1e18)
    found, model = explore(path, "a10gx"), read_file(path)
    assert {(p.vec, p.lanes) for p in found.points} == {(v, n) for v in SIZES for n in SIZES}
    for p in found.points:
        alone = estimate(model, Config.sized(p.vec, p.lanes))
        assert p.cycles == alone.cycles
        assert [layer.bound for layer in p.layers] == [layer.bound for layer in alone.layers]


def test_a_slow_memory_sets_the_pace_by_the_bytes_that_must_move(model_file, monkeypatch):
    path, _ = model_file("digits")
    on(monkeypatch, "u250", bandwidth=1e6, clock=1e6)  # a byte a cycle
    found, model = explore(path, "u250"), read_file(path)
    best = next(p for p in found.points if (p.vec, p.lanes) == (8, 8))
    for op, layer in zip(model.ops, best.layers, strict=True):
        if layer.host:
            continue
        tensors = [model.tensors[i] for i in (op.inputs[0], op.outputs[0])]
        assert layer.bytes >= sum(np.prod(t.shape) for t in tensors)
        assert layer.bound == "memory" and layer.cycles == layer.bytes + 200
    assert best.bound == "memory"


@pytest.mark.parametrize("board", BOARDS)
def test_the_best_is_the_fastest_that_fits(model_file, board):
    found = explore(model_file("digits")[0], board)
    fitting = [p for p in found.points if p.fits]
    assert found.best.fits and found.best.cycles == min(p.cycles for p in fitting)
    for p in found.points:
        least = p.multipliers <= FILLED * found.multipliers
        assert p.fits == (least and p.memories <= FILLED * found.memories)
    front = list(found.front())
    for p in front:
        assert not [q for q in fitting if q.cycles <= p.cycles and q.multipliers < p.multipliers]
    assert front[0] == found.best


def test_the_command_names_the_bottleneck_of_each_layer(model_file, capsys):
    path = str(model_file("digits")[0])
    command = ["bench", path, "--target", "fpga_opencl", "--explore", "--board", "zcu104"]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "DSP48E2" in said.out + said.err and "--set vec=" in said.out + said.err
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    layers = told["points"][0]["layers"]
    assert {"window", "mac"} & {layer["bound"] for layer in layers}
    assert told["points"][0]["milliseconds"] == pytest.approx(
        told["points"][0]["cycles"] / told["clock_hz"] * 1e3, rel=0.01
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--target", "fpga_opencl", "--explore"], "--explore requires --board"),
        (["--target", "fpga_opencl", "--board", "s10"], "--board requires --explore"),
        (["--target", "fpga_opencl", "--explore", "--board", "de10"], "there are: a10gx, s10"),
        (["--target", "cortex_m4", "--explore", "--board", "s10"], "applies to accelerators only"),
        (
            ["--target", "fpga_opencl", "--explore", "--board", "s10", "--cpu", "x"],
            "without other options",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(model_file, capsys, more, said):
    assert main(["bench", str(model_file("digits")[0]), *more]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
