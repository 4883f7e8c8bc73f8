"""A page of docs/: the part of it that a script writes, between its two marks."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def write_part(script, text, keys=0):
    """Replace what `script` wrote there last; with `keys`, only the rows of its tables that have
    the same first `keys` cells as rows of `text`."""
    path = DOCS / "benchmarks.md"
    begin, end = f"<!-- {script}: begin -->", f"<!-- {script}: end -->"
    before, _, rest = path.read_text().partition(begin)
    old, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{path}: has no lines '{begin}' and '{end}' to write between")
    if keys:
        text = merged(old.strip("\n"), text, keys)
    path.write_text(f"{before}{begin}\n{text.rstrip()}\n{end}{after}")


def merged(old, new, keys):
    """`old` with the table rows of `new`: in place of those of the same heading, titles and first
    `keys` cells, else at the end of their table."""
    lines = list(_keyed(old, keys))
    for key, line in _keyed(new, keys):
        if key is None:
            continue
        table = [i for i, (other, _) in enumerate(lines) if other and other[:2] == key[:2]]
        if not table:
            sys.exit(f"{key[0]}: there is no table with the columns {key[1]} yet: write all rows")
        same = [i for i in table if lines[i][0] == key]
        if same:
            lines[same[0]] = key, line
        else:
            lines.insert(table[-1] + 1, (key, line))
    return "\n".join(line for _, line in lines)


def _keyed(text, keys):
    """(heading, titles, first cells) of each table row, None of other lines; and the line."""
    heading = titles = ""
    for line in text.splitlines():
        key = None
        if line.startswith("#"):
            heading = line
        if not line.startswith("|"):
            titles = ""
        elif not titles:
            titles = line
        elif not line.startswith("| ---"):
            key = heading, titles, tuple(line.split("|")[1 : keys + 1])
        yield key, line
