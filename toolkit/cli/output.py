"""How commands talk: tables and progress for people on stderr, JSON for machines on stdout."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, Literal

import click
from rich.console import Console

from ..errors import UserError
from ..progress import Progress as Show
from ..progress import silent

if TYPE_CHECKING:
    from rich.table import Table

    from ..device.backend import Findings

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What makes a terminal do something: names in files of strangers may hold it."""

_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def plain(text: str) -> str:
    """The text with control characters, but tabs and ends of lines, as escapes: \\x1b."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class _People(Console):
    def print(self, *objects: Any, **how: Any) -> None:
        super().print(*(plain(o) if isinstance(o, str) else o for o in objects), **how)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))  # not an exit of rich's own


people = _People(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
"""Says names as they are, and lines whole: what it shows of a command can be copied."""

WIDEST = 4096
WIDTH = 80
"""Columns that tables have in a file or pipe, if names cut to SHORTEST allow it."""
SHORTEST = 24


class ReaderGoneError(Exception):
    """Nobody reads the output any more, as behind `| head`."""


@contextmanager
def writing() -> Iterator[None]:
    """Turn what a full or closed output raises into UserError and ReaderGoneError."""
    try:
        yield
    except BrokenPipeError as why:
        raise ReaderGoneError from why
    except OSError as why:
        if why.filename is not None or why.errno not in _UNWRITTEN:
            raise
        raise UserError(
            f"cannot write: {why.strerror}; free some space for the output and temporary files"
        ) from why


def tell(text: str) -> None:
    """A message on stderr, which may be full as well."""
    with suppress(OSError):
        click.echo(plain(text), err=True)


def abandon_unwritten() -> None:
    """Drop what an output did not take: Python would try again when it ends, and complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


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

    Cells of a column '~...' are names: where the table is too wide, their middles are left out. On
    a terminal that is still too narrow, without frames and with long cells on several lines; into
    a file or pipe, which is read elsewhere, as wide as it is.
    """
    cells = [[plain(str(cell)) for cell in row] for row in rows]
    room = people.width if people.is_terminal else WIDTH
    t, needed = _table(title, columns, cells, WIDEST)
    if needed > room and "~" in {c[:1] for c in columns}:
        longest = max((len(r[i]) for r in cells for i, c in enumerate(columns) if c[0] == "~"))
        t, needed = _table(title, columns, cells, max(longest - (needed - room), SHORTEST))
    t.width = needed
    if people.is_terminal and needed > room:
        t.box, t.padding, t.width = None, (0, 1, 0, 0), room
    people.print(t)


def findings(found: Findings, as_json: bool) -> None:
    """What an accelerator's backend found or wrote."""
    if as_json:
        print_json(found.json)
        return
    for one in found.tables:
        table(one.title, one.columns, one.rows)
    for line in found.lines:
        people.print(line)
    tell_kept(found.kept)


def tell_kept(kept: Sequence[str]) -> None:
    """Which files of the user's a build left alone."""
    if kept:
        people.print(f"Kept your edits: {', '.join(kept)} (--force overwrites)")


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], name: int
) -> tuple[Table, int]:
    """The table with names of at most `name` characters, and its width."""
    from rich.measure import Measurement
    from rich.table import Table

    t = Table(title=plain(title), title_justify="left", header_style="bold")
    for c in columns:
        justify: Literal["left", "right"] = "right" if c.startswith(">") else "left"
        t.add_column(c.lstrip(">|~"), justify=justify, no_wrap=c[:1] in ">|", overflow="fold")
    for row in rows:
        cells = zip(columns, row, strict=True)
        t.add_row(*(elided(cell, name) if c[:1] == "~" else cell for c, cell in cells))
    return t, Measurement.get(people, people.options.update(max_width=WIDEST), t).maximum


def elided(name: str, most: int) -> str:
    """The name in at most so many characters, 3 or more: its ends tell it from others."""
    if len(name) <= most:
        return name
    head = (most - 1) // 2
    return f"{name[:head]}…{name[head + 1 - most :]}"


@contextmanager
def progress(quiet: bool = False) -> Iterator[Show]:
    """A progress bar per stage, gone when its stage is over.

    What code of the user's prints meanwhile goes to stderr: stdout is for --json.
    """
    if quiet or not people.is_terminal:
        with redirect_stdout(sys.stderr):
            yield silent
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    bar = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=people,
        transient=True,
    )
    tasks: dict[str, Any] = {}

    def report(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            for old in tasks.values():
                bar.update(old, visible=False)
            tasks[stage] = bar.add_task(plain(stage), total=total)
        bar.update(tasks[stage], completed=done, total=total)

    with redirect_stdout(sys.stderr), bar:
        yield report


def kib(n: int) -> str:
    """Bytes in words: "30.2 KiB"."""
    return f"{n} B" if n < 1024 else f"{n / 1024:.1f} KiB"
