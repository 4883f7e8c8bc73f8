"""`edgekit bench`: what a model costs on a device, without the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..device import bench as device_bench
from ..device.backend import backend_of, settings_of
from ..device.build import load_target
from ..device.link import PREFIX
from ..device.link.cycles import count_cycles
from ..errors import UserError
from .options import device_option, edge_argument, json_option, op_option, settings_option
from .output import findings, kib, people, print_json, table
from .values import DimOption


def _sizes(_: Any, __: Any, given: tuple[tuple[str, Any], ...]) -> dict[str, int]:
    for name, n in given:
        if not isinstance(n, int):
            raise click.BadParameter(f"{name}={n}: give one size")
    return dict(given)


@click.command(short_help="Count instructions, RAM and flash on a target.")
@edge_argument
@click.option(
    "--target", required=True, metavar="TARGET", help="Target name; `edgekit targets` lists them."
)
@device_option
@click.option("--kernels", default="", help="Kernel table. [default: the best one]")
@click.option(
    "--explore",
    is_flag=True,
    help="Accelerators: estimate all sizes for --board, without running the model.",
)
@click.option(
    "--board", metavar="BOARD", help="Board for --explore; an unknown name lists all boards."
)
@click.option(
    "--dim",
    "sizes",
    type=DimOption(),
    multiple=True,
    callback=_sizes,
    help="Size of a variable dimension. Repeatable. [default: the largest]",
)
@settings_option
@op_option
@json_option
def bench(
    model: Path,
    target: str,
    cpu: str | None,
    kernels: str,
    explore: bool,
    board: str | None,
    sizes: dict[str, int],
    settings: dict[str, str],
    as_json: bool,
) -> None:
    """Run MODEL.edge on the target's emulator; count instructions, RAM and flash.

    Instruction counts are exact and reproducible; they are not cycles. For an accelerator, shows
    where operators run and which tensors are transferred. With serial:PATH[@BAUD], counts cycles
    on a board.
    """
    if explore or board:
        _explore(model, target, board, explore and not (cpu or kernels or settings), as_json)
        return
    if target.startswith(PREFIX):
        if cpu or kernels or settings or sizes:
            raise UserError("--cpu, --kernels, --dim and --set do not apply to boards")
        _tell_cycles(model, target, as_json)
        return
    found = load_target(target)
    chosen, backend = settings_of(found, settings), backend_of(found)
    if backend is not None:
        if kernels or sizes:
            option = "--kernels" if kernels else "--dim"
            raise UserError(f"{option} does not apply to {target}")
        findings(backend.bench(model, cpu, chosen), as_json)
        return
    cost = device_bench.bench(model, target, cpu, kernels, sizes)
    if as_json:
        print_json(cost.to_json())
        return
    total, counted = cost.instructions_per_inference, found.counted
    table(
        f"{model} on {cost.target}{f' ({cost.cpu})' if cost.cpu else ''}",
        ("~name", "operator", f">{counted}", ">share", ">MACs", ">per MAC", ">MACs/byte"),
        [
            (
                op.name,
                op.operator,
                f"{op.instructions:,}",
                f"{op.instructions / max(1, total):.0%}",
                f"{op.macs:,}",
                f"{op.instructions / op.macs:.2f}" if op.macs else "",
                f"{op.macs / op.bytes_moved:.1f}" if op.macs else "",
            )
            for op in cost.ops
        ],
    )
    library = cost.flash["library"]
    flash = cost.flash["text"] + cost.flash["rodata"] + library
    stack = kib(cost.stack_bytes) if cost.stack_bytes else "not measured"
    beside = cost.session_bytes - cost.arena_bytes
    people.print(
        f"{total:,} {counted} per inference (not cycles), {cost.instructions_per_mac:.3f} per MAC\n"
        f"RAM {kib(cost.session_bytes + cost.stack_bytes)}: session {kib(cost.session_bytes)} "
        f"(arena + {kib(beside)}), stack {stack}\n"
        f"Flash {kib(flash + cost.flash['model'])}: runtime {kib(flash)} (C library and compiler "
        f"{kib(library)}), model {kib(cost.flash['model'])}"
    )


def _explore(model: Path, target: str, board: str | None, plain: bool, as_json: bool) -> None:
    if not plain or not board:
        raise UserError(
            "--explore requires --board and --board requires --explore, without other options"
        )
    backend = None if target.startswith(PREFIX) else backend_of(load_target(target))
    if backend is None:
        raise UserError(f"--explore applies to accelerators only, not to {target}")
    findings(backend.explore(model, board), as_json)


def _tell_cycles(model: Path, target: str, as_json: bool) -> None:
    counted = count_cycles(model, target)
    if as_json:
        print_json(counted.to_json())
        return
    total = max(1, counted.cycles_per_inference)
    table(
        f"{model} on {counted.target}",
        ("~name", "operator", ">cycles", ">share", ">MACs"),
        [
            (op.name, op.operator, f"{op.cycles:,}", f"{op.cycles / total:.0%}", f"{op.macs:,}")
            for op in counted.ops
        ],
    )
    people.print(f"{total:,} cycles per inference, counted by the board")
