"""docs/benchmarks.md: the part of it that a script writes, between its two marks."""

from __future__ import annotations

import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def write_part(script, text):
    """Replace what `script` wrote there last."""
    begin, end = f"<!-- {script}: begin -->", f"<!-- {script}: end -->"
    before, _, rest = PAGE.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{PAGE}: has no lines '{begin}' and '{end}' to write between")
    PAGE.write_text(f"{before}{begin}\n{text.rstrip()}\n{end}{after}")
