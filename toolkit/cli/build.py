"""`edgekit build`: what a firmware project needs."""

from __future__ import annotations

from pathlib import Path

import click

from ..device import build as device_build
from .options import edge_argument, json_option
from .output import kib, people, print_json, table


@click.command()
@edge_argument
@click.option("--target", required=True, metavar="TARGET", help="As `edgekit targets` lists them.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write into."
)
@click.option("--sources", is_flag=True, help="Plain C files instead of a compiled archive.")
@json_option
def build(model: Path, target: str, output: Path, sources: bool, as_json: bool) -> None:
    """Cross-compile the runtime for a target, with the operators that MODEL.edge uses."""
    done = device_build.build(model, target, output, sources=sources)
    if as_json:
        print_json(done.to_json())
        return
    table(
        f"{done.output}: {done.target}",
        ("what", ">bytes", ""),
        [(name, size, kib(size)) for name, size in done.size.items()],
    )
    people.print(f"{len(done.files)} files; main.c is where to start")
