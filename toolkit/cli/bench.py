"""`edgekit bench`: what a model costs on a device, without the device."""

from __future__ import annotations

from pathlib import Path

import click

from ..device import bench as device_bench
from ..device.build import load_target
from .fpga import bench_report, config_of
from .options import edge_argument, fpga_options, json_option
from .output import kib, people, print_json, table


@click.command()
@edge_argument
@click.option("--target", required=True, metavar="TARGET", help="As `edgekit targets` lists them.")
@click.option(
    "--cpu",
    "--device",
    "cpu",
    help="The emulator's -cpu, for targets that choose kernels at run time; or the OpenCL device.",
)
@click.option("--kernels", default="", help="Kernel table to use; the best by default.")
@fpga_options
@json_option
def bench(
    model: Path,
    target: str,
    cpu: str | None,
    kernels: str,
    vec: int | None,
    lanes: int | None,
    as_json: bool,
) -> None:
    """Run MODEL.edge on the target's emulator and count instructions, RAM and flash.

    Instructions are exact and the same at every run; they are not cycles.
    """
    config = config_of(load_target(target), vec, lanes)
    if config is not None:
        bench_report(model, cpu, config, as_json)
        return
    cost = device_bench.bench(model, target, cpu, kernels)
    if as_json:
        print_json(cost.to_json())
        return
    total, counted = cost.instructions_per_inference, load_target(target).counted
    table(
        f"{model} on {cost.target}{f' ({cost.cpu})' if cost.cpu else ''}",
        ("~name", "operator", f">{counted}", ">share", ">MACs", ">per MAC"),
        [
            (
                op.name,
                op.operator,
                f"{op.instructions:,}",
                f"{op.instructions / max(1, total):.0%}",
                f"{op.macs:,}",
                f"{op.instructions / op.macs:.2f}" if op.macs else "",
            )
            for op in cost.ops
        ],
    )
    flash = cost.flash["text"] + cost.flash["rodata"]
    stack = kib(cost.stack_bytes) if cost.stack_bytes else "not measured"
    beside = cost.session_bytes - cost.arena_bytes
    people.print(
        f"{total:,} {counted} per inference (not cycles), {cost.instructions_per_mac:.3f} per MAC\n"
        f"RAM {kib(cost.session_bytes + cost.stack_bytes)}: session {kib(cost.session_bytes)} "
        f"(arena + {kib(beside)}), stack {stack}\n"
        f"flash: runtime {kib(flash)}, model {kib(cost.flash['model'])}"
    )
