"""How commands talk: tables and progress for people on stderr, JSON for machines on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, Literal

import click
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..progress import Progress as Show

people = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
"""Says names as they are, and lines whole: what it shows of a command can be copied."""

WIDEST = 4096


def print_json(data: Any) -> None:
    """One JSON document on stdout; NaN and infinities, which JSON has not, as null."""

    def clean(x: Any) -> Any:
        if isinstance(x, float) and (x != x or x in (float("inf"), float("-inf"))):
            return None
        if isinstance(x, dict):
            return {k: clean(v) for k, v in x.items()}
        return [clean(v) for v in x] if isinstance(x, list | tuple) else x

    click.echo(json.dumps(clean(data), indent=2))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; a column named '>...' is right-aligned, it and '|...' are never broken.

    On a terminal too narrow for it, without frames and with long cells on several lines; into a
    file or pipe, which is read elsewhere, as wide as it is.
    """
    t = Table(title=title, title_justify="left", header_style="bold")
    for c in columns:
        justify: Literal["left", "right"] = "right" if c.startswith(">") else "left"
        t.add_column(c.lstrip(">|"), justify=justify, no_wrap=c[:1] in ">|", overflow="fold")
    for row in rows:
        t.add_row(*(str(cell) for cell in row))
    t.width = Measurement.get(people, people.options.update(max_width=WIDEST), t).maximum
    if people.is_terminal and t.width > people.width:
        t.box, t.padding, t.width = None, (0, 1, 0, 0), people.width
    people.print(t)


@contextmanager
def progress(quiet: bool = False) -> Iterator[Show]:
    """A progress bar per stage, gone when its stage is over.

    What code of the user's prints meanwhile goes to stderr: stdout is for --json.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=people,
        transient=True,
        disable=quiet or not people.is_terminal,
    )
    tasks: dict[str, Any] = {}

    def report(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            for old in tasks.values():
                bar.update(old, visible=False)
            tasks[stage] = bar.add_task(stage, total=total)
        bar.update(tasks[stage], completed=done, total=total)

    with redirect_stdout(sys.stderr), bar:
        yield report


def kib(n: int) -> str:
    """Bytes in words: "30.2 KiB"."""
    return f"{n} B" if n < 1024 else f"{n / 1024:.1f} KiB"
