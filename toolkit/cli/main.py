"""The group of commands, and what happens to errors."""

from __future__ import annotations

import sys
import traceback

import click

from ... import __version__
from ...calibration import CalibrationError
from ..errors import UserError
from .bench import bench
from .build import build
from .check import check
from .convert import convert
from .inspect import inspect
from .ops import ops
from .quantize import quantize
from .run import run
from .targets import targets

EXIT_USER, EXIT_BUG = 2, 70


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="edgekit")
def cli() -> None:
    """Quantize ONNX models and run them, bit for bit the same, on small devices."""


for command in (quantize, convert, run, check, inspect, build, bench, targets, ops):
    cli.add_command(command)


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status.

    0; 2 for the user's mistakes, 3 for a budget that is not met, 70 for mistakes of ours.
    """
    try:
        return cli.main(argv, prog_name="edgekit", standalone_mode=False) or 0
    except click.exceptions.Abort:
        click.echo("aborted", err=True)
        return 130
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as mistake:
        mistake.show()
        return mistake.exit_code
    except (UserError, CalibrationError) as mistake:
        click.echo(f"edgekit: {mistake}", err=True)
        return EXIT_USER
    except BrokenPipeError:
        return 0
    except Exception:
        click.echo(
            "edgekit: this is a bug in edgekit, not in your files; please report what follows",
            err=True,
        )
        traceback.print_exc(file=sys.stderr)
        return EXIT_BUG
