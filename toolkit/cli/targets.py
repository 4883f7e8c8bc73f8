"""`edgekit targets`: what can be built for, and what is installed for it."""

from __future__ import annotations

import click

from ..device.listing import listing
from .options import json_option
from .output import print_json, table


@click.command()
@json_option
def targets(as_json: bool) -> None:
    """List the targets: kernels, toolchain and emulator found, or the packages to install."""
    rows = listing()
    if as_json:
        print_json([row.to_json() for row in rows])
        return
    table(
        "Targets",
        ("|target", "what it is", "toolchain", "emulator", "on hardware"),
        [
            (
                r.name,
                r.description,
                r.toolchain,
                r.emulator,
                r.hardware,
            )
            for r in rows
        ],
    )
