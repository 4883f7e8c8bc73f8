"""The reports of cppcheck's MISRA addon on runtime_c, counted by rule, and the table of MISRA.md.

python tests/runtime/misra.py           print what is reported: rule, file, line
python tests/runtime/misra.py --write   put today's counts into runtime_c/MISRA.md
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "runtime_c"
PAGE = RUNTIME / "MISRA.md"
ROW = re.compile(r"^\| (D?\d+\.\d+) \| (\w+) \| (\d+) \| (.+) \|$", re.MULTILINE)
GUARD = re.compile(r"(?:/\*.*?\*/\s*)*#ifndef (\w+)\n#define \1\n", re.DOTALL)
TYPED = "element.h"


def reports() -> set[tuple[str, str, int]]:
    """(rule, file, line) of every report. Bodies of several element types are read in each."""
    sources = sorted((RUNTIME / "src").rglob("*.c"))
    typed = [s for s in sources if f'"{TYPED}"' in s.read_text()]
    found = _checked(sources, "s8", coded=True)
    found |= _checked(typed, "s16", coded=True) | _checked(typed, "f32", coded=False)
    return found | {("D4.10", name, 1) for name in _without_guard()}


def _checked(sources: list[Path], element: str, coded: bool) -> set[tuple[str, str, int]]:
    cache = ROOT / "build" / "cppcheck" / element
    cache.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [
            *("cppcheck", "--addon=misra", "--quiet", "--std=c11", "--platform=unix64"),
            *("-Iinclude", "-Isrc", f"-DEK_ELEMENT={element}", *(["-DEK_CODED"] if coded else [])),
            *("--template={id} {file} {line}", f"--cppcheck-build-dir={cache}"),
            *(str(s.relative_to(RUNTIME)) for s in sources),
        ],
        cwd=RUNTIME,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = re.findall(r"^misra-c2012-(\S+) (\S+) (\d+)$", done.stderr, re.MULTILINE)
    return {(rule, file, int(line)) for rule, file, line in lines}


def _without_guard() -> list[str]:
    """Directive 4.10, which the addon does not check: headers that may be included twice."""
    headers = sorted(RUNTIME.rglob("*.h"))
    return [str(h.relative_to(RUNTIME)) for h in headers if not GUARD.match(h.read_text())]


def counts(found: set[tuple[str, str, int]]) -> dict[str, int]:
    return dict(Counter(rule for rule, _, _ in found))


def recorded() -> dict[str, int]:
    """The deviations that MISRA.md records, by rule."""
    return {rule: int(count) for rule, _, count, _ in ROW.findall(PAGE.read_text())}


def _write(found: dict[str, int]) -> None:
    def row(old: re.Match[str]) -> str:
        count = found.get(old[1], 0)
        return f"| {old[1]} | {old[2]} | {count} | {old[4]} |" if count else ""

    text = ROW.sub(row, PAGE.read_text())
    PAGE.write_text(re.sub(r"\|\n\n+\|", "|\n|", text))
    for rule in sorted(found.keys() - recorded().keys()):
        print(f"no row for rule {rule}, {found[rule]} reports: give it one, with a reason")


if __name__ == "__main__":
    everything = reports()
    if "--write" in sys.argv:
        _write(counts(everything))
    else:
        for rule, file, line in sorted(everything):
            print(rule, f"{file}:{line}")
