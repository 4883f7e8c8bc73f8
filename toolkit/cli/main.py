"""The group of commands, and what happens to errors."""

from __future__ import annotations

import gc
import os
import traceback
from importlib import import_module
from io import StringIO
from typing import Any

import click

from ... import __version__
from ..errors import UserError
from .output import ReaderGoneError, abandon_unwritten, tell, writing

EXIT_USER, EXIT_BUG, EXIT_INTERRUPT = 2, 70, 130


_HOMES = {
    "bench": "bench",
    "build": "build",
    "check": "check",
    "convert": "convert",
    "diff": "update",
    "export": "export",
    "inspect": "inspect",
    "ops": "ops",
    "pack": "update",
    "quantize": "quantize",
    "run": "run",
    "targets": "targets",
    "unpack": "update",
}
"""The module of each command. Only that of the command that runs is imported."""


class _Commands(click.Group):
    """Commands whose output may be full or closed; click has exit statuses of its own for that."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_HOMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # For a misspelt name click suggests one of self.commands: then all are needed.
        for name in [cmd_name] if cmd_name in _HOMES else _HOMES:
            if name not in self.commands:
                self.add_command(_imported(name))
        return super().get_command(ctx, cmd_name)

    def make_context(self, *args: Any, **how: Any) -> click.Context:
        with writing():  # --help and --version do
            return super().make_context(*args, **how)

    def invoke(self, ctx: click.Context) -> Any:
        with writing():
            return super().invoke(ctx)


def _imported(name: str) -> click.Command:
    """What is imported stays: the garbage collector need not look through it. NumPy's threads would
    spin: its products are small, or ours run in threads."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    try:
        command: click.Command = getattr(import_module(f".{_HOMES[name]}", __package__), name)
    finally:
        gc.freeze()
        gc.enable()
    return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="edgekit")
def cli() -> None:
    """Quantize ONNX models and run them on small devices with bit-identical results."""


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
    except ReaderGoneError:
        return 0
    except Exception as mistake:
        from ...calibration import CalibrationError  # takes numpy, which --version need not

        if isinstance(mistake, UserError | CalibrationError):
            tell(f"edgekit: {mistake}")
            return EXIT_USER
        tell("edgekit: internal error: a bug in edgekit, not in your files. Please report this:")
        tell(traceback.format_exc())
        return EXIT_BUG
