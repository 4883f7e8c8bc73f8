"""`edgekit targets`: what can be built for, and what is installed for it."""

from __future__ import annotations

from textwrap import fill

import click

from ..device.listing import listing
from .options import json_option
from .output import people, print_json, table


@click.command(short_help="List targets, toolchains and emulators.")
@json_option
def targets(as_json: bool) -> None:
    """List targets with their toolchain and emulator, or the packages to install."""
    rows = listing()
    if as_json:
        print_json([row.to_json() for row in rows])
        return
    table(
        "Targets",
        ("|target", "description", "toolchain", "emulator"),
        [
            (r.name, fill(r.description, 27), fill(r.toolchain, 13), fill(r.emulator, 14))
            for r in rows
        ],
    )
    for r in rows:
        if r.settings:
            defaults = ", ".join(f"{name}={s['default']}" for name, s in r.settings.items())
            people.print(f"Settings of {r.name} (--set KEY=VALUE), with defaults: {defaults}")
    tested = [r.name for r in rows if r.hardware != "never"]
    people.print(f"Tested on hardware: {', '.join(tested)}. All others run in emulators only.")
