"""The group of commands, and what happens to errors."""

from __future__ import annotations

import traceback
from io import StringIO
from typing import Any

import click

from ... import __version__
from ...calibration import CalibrationError
from ..errors import UserError
from .bench import bench
from .build import build
from .check import check
from .convert import convert
from .export import export
from .inspect import inspect
from .ops import ops
from .output import ReaderGoneError, abandon_unwritten, tell, writing
from .quantize import quantize
from .run import run
from .targets import targets
from .update import diff, pack, unpack

EXIT_USER, EXIT_BUG, EXIT_INTERRUPT = 2, 70, 130


class _Commands(click.Group):
    """Commands whose output may be full or closed; click has exit statuses of its own for that."""

    def make_context(self, *args: Any, **how: Any) -> click.Context:
        with writing():  # --help and --version do
            return super().make_context(*args, **how)

    def invoke(self, ctx: click.Context) -> Any:
        with writing():
            return super().invoke(ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="edgekit")
def cli() -> None:
    """Quantize ONNX models and run them on small devices with bit-identical results."""


for command in (
    quantize,
    convert,
    run,
    check,
    inspect,
    build,
    bench,
    export,
    pack,
    unpack,
    diff,
    targets,
    ops,
):
    cli.add_command(command)


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status.

    0; 2 for the user's mistakes, 3 for a budget that is not met or accuracy below the floor, 70
    for mistakes of ours, 130 after Ctrl-C. Output that nobody reads any more, as behind `| head`,
    is no mistake.
    """
    try:
        return _run(argv)
    finally:
        abandon_unwritten()


def _run(argv: list[str] | None) -> int:
    try:
        return cli.main(argv, prog_name="edgekit", standalone_mode=False) or 0
    except click.exceptions.Abort:
        tell("aborted")
        return EXIT_INTERRUPT
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as mistake:
        said = StringIO()
        mistake.show(said)
        tell(said.getvalue().rstrip("\n"))
        return mistake.exit_code
    except (UserError, CalibrationError) as mistake:
        tell(f"edgekit: {mistake}")
        return EXIT_USER
    except ReaderGoneError:
        return 0
    except Exception:
        tell("edgekit: internal error: a bug in edgekit, not in your files. Please report this:")
        tell(traceback.format_exc())
        return EXIT_BUG
