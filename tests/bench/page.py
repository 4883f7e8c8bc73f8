"""A page of docs/: the part of it that a script writes, between its two marks."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def write_part(script, text):
    """Replace what `script` wrote there last."""
    path = DOCS / "benchmarks.md"
    begin, end = f"<!-- {script}: begin -->", f"<!-- {script}: end -->"
    before, _, rest = path.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{path}: has no lines '{begin}' and '{end}' to write between")
    path.write_text(f"{before}{begin}\n{text.rstrip()}\n{end}{after}")
