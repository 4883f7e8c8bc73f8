"""`edgekit build`: what a firmware project needs."""

from __future__ import annotations

from pathlib import Path

import click

from ..device import build as device_build
from ..device.backend import backend_of, settings_of
from ..device.build import load_target
from ..device.library import LAYOUTS
from ..errors import UserError
from .options import edge_argument, json_option, settings_option
from .output import findings, kib, people, print_json, table, tell_kept


@click.command(short_help="Generate a firmware project for a target.")
@edge_argument
@click.option(
    "--target", required=True, metavar="TARGET", help="Target name; `edgekit targets` lists them."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Output folder."
)
@click.option(
    "--layout",
    type=click.Choice(list(LAYOUTS)),
    help="Write a library of C files for this build system, without flags per file. "
    "[default: a CMake project for the target]",
)
@click.option("--sources", is_flag=True, help="Write C sources instead of a compiled archive.")
@click.option("--name", help="Prefix of the model's C symbols and files. [default: MODEL]")
@click.option(
    "--force", is_flag=True, help="Overwrite files that were edited since the last build."
)
@settings_option
@json_option
def build(
    model: Path,
    target: str,
    output: Path,
    layout: str | None,
    sources: bool,
    name: str | None,
    force: bool,
    settings: dict[str, str],
    as_json: bool,
) -> None:
    """Generate a firmware project: MODEL.edge and the runtime with the operators it uses."""
    found = load_target(target)
    chosen, backend = settings_of(found, settings), backend_of(found)
    if backend is not None:
        if sources or layout or name is not None:
            option = "--sources" if sources else "--layout" if layout else "--name"
            raise UserError(f"{option} applies to targets that are cross-compiled, not to {target}")
        findings(backend.build(model, output, chosen, force=force), as_json)
        return
    done = device_build.build(
        model, target, output, sources=sources, name=name, force=force, layout=layout
    )
    if as_json:
        print_json(done.to_json())
        return
    table(
        f"{done.output}: {done.target}",
        ("what", ">bytes", ""),
        [(name, size, kib(size)) for name, size in done.size.items()],
    )
    start = f"Start with {'main.c' if 'main.c' in done.files else 'CMakeLists.txt'}."
    if layout is not None:
        start = f"Start with example/main.c; {LAYOUTS[layout].start}."
    people.print(f"Wrote {len(done.files)} files to {done.output}. {start}")
    tell_kept(done.kept)
