"""`edgekit build`: what a firmware project needs."""

from __future__ import annotations

from pathlib import Path

import click

from ..device import build as device_build
from ..device.build import load_target
from ..errors import UserError
from .fpga import build_report, config_of, tell_kept
from .options import edge_argument, fpga_options, json_option
from .output import kib, people, print_json, table


@click.command()
@edge_argument
@click.option("--target", required=True, metavar="TARGET", help="As `edgekit targets` lists them.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write into."
)
@click.option("--sources", is_flag=True, help="Plain C files instead of a compiled archive.")
@click.option(
    "--name", help="Prefix of the C symbols and file names of the model. [default: MODEL]"
)
@click.option("--force", is_flag=True, help="Overwrite files that changed since the last build.")
@fpga_options
@json_option
def build(
    model: Path,
    target: str,
    output: Path,
    sources: bool,
    name: str | None,
    force: bool,
    vec: int | None,
    lanes: int | None,
    as_json: bool,
) -> None:
    """Cross-compile the runtime for a target, with the operators that MODEL.edge uses."""
    config = config_of(load_target(target), vec, lanes)
    if config is not None:
        if name is not None:
            raise UserError("--name is for targets that are cross-compiled")
        build_report(model, output, config, sources, force, as_json)
        return
    done = device_build.build(model, target, output, sources=sources, name=name, force=force)
    if as_json:
        print_json(done.to_json())
        return
    table(
        f"{done.output}: {done.target}",
        ("what", ">bytes", ""),
        [(name, size, kib(size)) for name, size in done.size.items()],
    )
    start = "main.c" if "main.c" in done.files else "CMakeLists.txt"
    people.print(f"{len(done.files)} files; {start} is where to start")
    tell_kept(done.kept)
