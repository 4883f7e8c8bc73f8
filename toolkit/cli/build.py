"""`edgekit build`: what a firmware project needs."""

from __future__ import annotations

from pathlib import Path

import click

from ..device import build as device_build
from ..device.backend import backend_of, settings_of
from ..device.build import ARENAS, load_target
from ..device.library import LAYOUTS
from ..errors import UserError
from .options import json_option, op_option, settings_option
from .output import findings, kib, people, print_json, table, tell_kept


@click.command(short_help="Generate a firmware project for a target.")
@click.argument(
    "models", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="MODEL.edge..."
)
@click.option(
    "--target", required=True, metavar="TARGET", help="Target name; `edgekit targets` lists them."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Output folder."
)
@click.option(
    "--layout",
    type=click.Choice(list(LAYOUTS)),
    help="Write a library of C sources for this build system instead of a CMake project.",
)
@click.option("--sources", is_flag=True, help="Write C sources instead of a compiled archive.")
@click.option(
    "--name",
    help="Name of the C symbols and files; with several models, of their library. [default: MODEL; "
    "several: models]",
)
@click.option(
    "--arena",
    type=click.Choice(ARENAS),
    default=ARENAS[0],
    show_default=True,
    help="Several models: one arena for all (they run one after another), or one arena each.",
)
@click.option(
    "--force", is_flag=True, help="Overwrite files that you edited or added since the last build."
)
@settings_option
@op_option
@json_option
def build(
    models: tuple[Path, ...],
    target: str,
    output: Path,
    layout: str | None,
    sources: bool,
    name: str | None,
    arena: str,
    force: bool,
    settings: dict[str, str],
    as_json: bool,
) -> None:
    """Generate a firmware project: the models, and the runtime with the operators they use."""
    found = load_target(target)
    chosen, backend = settings_of(found, settings), backend_of(found)
    if backend is not None:
        if sources or layout or name is not None:
            option = "--sources" if sources else "--layout" if layout else "--name"
            raise UserError(f"{option} applies to targets that are cross-compiled, not to {target}")
        if len(models) > 1:
            raise UserError(f"{target} runs one model; build each into its own folder")
        findings(backend.build(models[0], output, chosen, force=force), as_json)
        return
    done = device_build.build(
        models,
        target,
        output,
        sources=sources,
        name=name,
        force=force,
        layout=layout,
        arena=arena,
    )
    if as_json:
        print_json(done.to_json())
        return
    table(
        f"{done.output}: {done.target}",
        ("section", ">bytes", ""),
        [(name, size, kib(size)) for name, size in done.size.items()],
    )
    start = f"Start with {'main.c' if 'main.c' in done.files else 'CMakeLists.txt'}."
    if layout is not None:
        start = f"Start with example/main.c; {LAYOUTS[layout].start}."
    people.print(f"Wrote {len(done.files)} files to {done.output}. {start}")
    tell_kept(done.kept)
