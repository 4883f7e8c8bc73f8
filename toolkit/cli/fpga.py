"""What `build` and `bench` say for the FPGA accelerator."""

from __future__ import annotations

from pathlib import Path

from ...targets import Target
from ..device.fpga_bench import bench_on_fpga
from ..device.fpga_build import build_for_fpga
from ..errors import UserError
from ..fpga import Config
from ..fpga.estimate import Estimate
from .output import people, print_json, table


def config_of(target: Target, vec: int | None, lanes: int | None) -> Config | None:
    """The accelerator's configuration; None for other targets. Raises UserError."""
    if target.accelerator:
        return Config.sized(8 if vec is None else vec, 8 if lanes is None else lanes)
    if vec is not None or lanes is not None:
        raise UserError(f"--vec and --lanes apply to FPGA targets only, not to {target.name}")
    return None


def tell_kept(kept: list[str]) -> None:
    """Which files of the user's a build left alone."""
    if kept:
        people.print(f"kept, because it was edited: {', '.join(kept)} (--force overwrites it)")


def build_report(
    model: Path, output: Path, config: Config, sources: bool, force: bool, as_json: bool
) -> None:
    if sources:
        raise UserError("--sources is for targets that are cross-compiled; the kernels are source")
    done = build_for_fpga(model, output, config, force=force)
    if as_json:
        print_json(done.to_json())
        return
    _estimate(f"{done.output}: {config.vec} x {config.lanes}", done.estimate)
    crossing = sum(c["bytes"] for c in done.crossings)
    people.print(
        f"{sum(p.on_accelerator for p in done.placed)} of {len(done.placed)} operators on the "
        f"accelerator; {len(done.crossings)} tensors cross, {crossing:,} bytes\n"
        "compile.sh has the aoc and v++ command lines (untested)"
    )
    tell_kept(done.kept)


def bench_report(model: Path, device: str | None, config: Config, as_json: bool) -> None:
    cost = bench_on_fpga(model, device, config)
    if as_json:
        print_json(cost.to_json())
        return
    table(
        f"{model} on {cost.device}",
        ("~name", "operator", "where", ">to device", ">to host", ">ms here", ">est. cycles"),
        [
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
        ],
    )
    same = "Outputs match the host bit for bit" if cost.same_bytes else "MISMATCH with the host"
    people.print(
        f"{same}; {cost.seconds * 1e3:.1f} ms on {cost.device}, without compiling the kernels "
        "(not FPGA time)\n"
        f"Estimated {cost.estimate.cycles:,} cycles per inference, "
        f"{cost.estimate.macs_per_cycle:.1f} MAC per cycle"
    )


def _estimate(title: str, found: Estimate) -> None:
    table(
        title,
        (
            "~name",
            "operator",
            ">est. cycles",
            "bound by",
            ">MACs",
            ">per cycle",
            "on the host because",
        ),
        [
            (
                layer.name,
                layer.operator,
                f"{layer.cycles:,}" if layer.cycles else "",
                layer.bound,
                f"{layer.macs:,}" if layer.macs else "",
                f"{layer.macs_per_cycle:.1f}" if layer.macs else "",
                layer.host,
            )
            for layer in found.layers
        ],
    )
    r = found.resources
    people.print(
        f"{found.cycles:,} cycles for {found.macs:,} MACs: {found.macs_per_cycle:.1f} of "
        f"{r.macs_per_cycle} a cycle\n"
        f"{r.dsp_blocks} DSP blocks, {r.memory_bits:,} bits on chip ({r.m20k_blocks} M20K); "
        "estimates, see docs/deploy-fpga.md"
    )
