"""What the toolkit asks of the FPGA accelerator, as toolkit/device/backend.py has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...toolkit.device.backend import Findings, Setting, Settings, Table
from .bench import bench_on_fpga
from .boards import board_of
from .build import build_for_fpga
from .config import SIZES, Config
from .estimate import Estimate
from .explore import FILLED, Exploration, explore
from .opencl import OpenClSession, devices


def _size(word: str) -> int:
    if word not in map(str, SIZES):
        raise ValueError(f"must be one of {', '.join(map(str, SIZES))}")
    return int(word)


class _Backend:
    settings = (
        Setting("vec", "multiply-accumulates per lane and cycle", 8, _size),
        Setting("lanes", "output channels per cycle", 8, _size),
    )

    def devices(self) -> str:
        return "; ".join(d.name for d in devices())

    def session(
        self, source: str | Path, device: str | None, settings: Settings, max_memory: int | None
    ) -> OpenClSession:
        return OpenClSession(source, device, Config.sized(**settings), max_memory=max_memory)

    def bench(self, model: str | Path, device: str | None, settings: Settings) -> Findings:
        cost = bench_on_fpga(model, device, Config.sized(**settings))
        rows = [
            (
                op.name,
                op.operator,
                "device" if op.on_device else "host",
                f"{op.to_device_bytes:,}",
                f"{op.to_host_bytes:,}",
                f"{op.seconds * 1e3:.2f}",
                f"{layer.cycles:,}" if layer.cycles else "",
            )
            for op, layer in zip(cost.ops, cost.estimate.layers, strict=True)
        ]
        columns = (
            "~name", "operator", "where", ">to device", ">to host", ">ms here", ">est. cycles",
        )  # fmt: skip
        same = "Outputs match the host bit for bit" if cost.same_bytes else "MISMATCH with the host"
        return Findings(
            cost.to_json(),
            (Table(f"{model} on {cost.device}", columns, rows),),
            (
                f"{same}; {cost.seconds * 1e3:.1f} ms on {cost.device}, without compiling the "
                "kernels (not FPGA time)",
                f"Estimated {cost.estimate.cycles:,} cycles per inference, "
                f"{cost.estimate.macs_per_cycle:.1f} MAC per cycle",
            ),
        )

    def explore(self, model: str | Path, board: str) -> Findings:
        found = explore(model, board)
        return Findings(found.to_json(), (_space(found), _slowest(found)), _choice(found, model))

    def build(
        self, model: str | Path, output: str | Path, settings: Settings, *, force: bool
    ) -> Findings:
        config = Config.sized(**settings)
        done = build_for_fpga(model, output, config, force=force)
        crossing = sum(c["bytes"] for c in done.crossings)
        title = f"{done.output}: {config.vec} x {config.lanes}"
        return Findings(
            done.to_json(),
            (_cycles(title, done.estimate),),
            (
                *_costs(done.estimate),
                f"{sum(p.on_accelerator for p in done.placed)} of {len(done.placed)} operators on "
                f"the accelerator; {len(done.crossings)} tensors are transferred ({crossing:,} "
                "bytes)",
                "compile.sh has the aoc and v++ command lines (untested)",
            ),
            done.kept,
        )


def _space(found: Exploration) -> Table:
    family = board_of(found.board).family
    columns = (
        ">vec", ">lanes", f">{family.multiplier}", f">{family.memory}", ">est. cycles", ">ms",
        "mostly bound by",
    )  # fmt: skip
    rows = [
        (
            str(p.vec),
            str(p.lanes),
            f"{p.multipliers:,} ({p.multipliers / found.multipliers:.0%})",
            f"{p.memories:,} ({p.memories / found.memories:.0%})",
            f"{p.cycles:,}",
            f"{p.milliseconds:.3f}",
            p.bound,
        )
        for p in found.front()
    ]
    title = f"{found.title}, {found.clock_hz / 1e6:.0f} MHz assumed: the fastest for their size"
    return Table(title, columns, rows)


def _slowest(found: Exploration) -> Table:
    best = found.best
    columns: Columns = {
        **_WHAT,
        ">share": lambda layer: f"{layer.cycles / best.cycles:.0%}" if layer.cycles else "",
        "bound by": lambda layer: layer.bound,
        ">bytes moved": lambda layer: _count(layer.bytes),
        ">MACs per cycle": lambda layer: f"{layer.macs_per_cycle:.1f}" if layer.cycles else "",
        **_WHY,
    }
    return _by_layer(f"{best.vec} x {best.lanes}, the fastest that fits", best.layers, columns)


def _choice(found: Exploration, model: str | Path) -> tuple[str, ...]:
    best, fit = found.best, sum(p.fits for p in found.points)
    return (
        f"{fit} of {len(found.points)} sizes fit into {FILLED:.0%} of the board",
        f"Memory: {found.bandwidth / 1e9:.1f} GB/s. Figures: {found.source}",
        f"Estimates, see docs/deploy-fpga.md. Next: edgekit build {model} --target fpga_opencl "
        f"--set vec={best.vec} --set lanes={best.lanes} -o DIR",
    )


def _cycles(title: str, found: Estimate) -> Table:
    columns: Columns = {
        **_WHAT,
        "bound by": lambda layer: layer.bound,
        ">MACs": lambda layer: _count(layer.macs),
        ">per cycle": lambda layer: f"{layer.macs_per_cycle:.1f}" if layer.macs else "",
        **_WHY,
    }
    return _by_layer(title, found.layers, columns)


Columns = Mapping[str, Callable[[Any], str]]
"""The cells of a layer, by the title of the column."""


def _count(n: int) -> str:
    return f"{n:,}" if n else ""


_WHAT: Columns = {
    "~name": lambda layer: layer.name,
    "operator": lambda layer: layer.operator,
    ">est. cycles": lambda layer: _count(layer.cycles),
}
_WHY: Columns = {"on the host because": lambda layer: layer.host}


def _by_layer(title: str, layers: Sequence[Any], columns: Columns) -> Table:
    rows = [tuple(cell(layer) for cell in columns.values()) for layer in layers]
    return Table(title, tuple(columns), rows)


def _costs(found: Estimate) -> tuple[str, str]:
    r = found.resources
    return (
        f"{found.cycles:,} cycles for {found.macs:,} MACs: {found.macs_per_cycle:.1f} of "
        f"{r.macs_per_cycle} a cycle",
        f"{r.dsp_blocks} DSP blocks, {r.memory_bits:,} bits on chip ({r.m20k_blocks} M20K); "
        "estimates, see docs/deploy-fpga.md",
    )


BACKEND = _Backend()
