"""`edgekit inspect`: what is in a file."""

from __future__ import annotations

from pathlib import Path

import click

from .. import inspection
from .options import edge_argument, json_option, op_option
from .output import kib, people, print_json, table


@click.command(short_help="Show operators, memory map and sizes of a file.")
@edge_argument
@op_option
@json_option
def inspect(model: Path, as_json: bool) -> None:
    """Show operators, quantization, memory map and sizes of MODEL.edge."""
    found = inspection.inspect(model)
    if as_json:
        print_json(found.to_json())
        return
    table(
        f"{model}: {len(found.ops)} operators, {found.macs:,} MACs",
        ("~name", "operator", "dtype", ">MACs", ">MACs/byte", "output", ">scale", ">zero"),
        [
            (
                o.name,
                o.operator,
                o.dtype,
                f"{o.macs:,}",
                f"{o.macs / o.bytes_moved:.1f}" if o.macs else "",
                "x".join(map(str, o.shape)),
                f"{o.scale:.6g}" if o.scale else "",
                o.zero_point if o.scale else "",
            )
            for o in found.ops
        ],
    )
    table(
        "Memory map of the arena",
        ("~tensor", ">offset", ">bytes", ">first step", ">last step"),
        [(m.name, m.offset, m.bytes, m.first, m.last) for m in found.memory_map],
    )
    bound = found.arena_bound_bytes
    people.print(
        f"arena {kib(found.arena_bytes)} (lower bound for this order: {kib(bound)}), "
        f"scratch at most {kib(found.scratch_bytes)}\n"
        f"file {kib(found.file_bytes)}: weights and tables {kib(found.weight_bytes)}, "
        f"the rest {kib(found.file_bytes - found.weight_bytes)}\n"
        f"format version {found.format_version}, target {found.target}, written by {found.producer}"
    )
