"""docs/conformance.md, from what came of every case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import onnx
from cases import SUITES, Case, Outcome

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
PEERS = """| all 2,024 | 1,995 | 1,501 | 1,498 | 1,098 |
| node 1,884 | 1,863 | 1,373 | 1,458 | |"""

_HEAD = """# Conformance

All official test cases of ONNX (`onnx.backend.test`, onnx {version}), unmodified: `edgekit convert`
on the .onnx file, the .edge file in the C runtime on x86-64, and a comparison of the outputs'
element type, shape and values with the tolerances of the case.
Written by `python tests/conformance/run.py --record`; cases in `tests/conformance/passed.txt` must
not fail (`tests/conformance/test_conformance.py`).

node tests passed: {node_passed} of {node}
"""

_COUNTS = """
## Cases

| cases | passed | refused | wrong | broken | of |
|---|---|---|---|---|---|
"""

_PEERS = """
## Peers

The same 2,024 cases, measured once: onnx's reference evaluator 1.23.2, OpenVINO, onnxruntime 1.31.1
and tract.

| cases | reference | OpenVINO | onnxruntime | tract |
|---|---|---|---|---|
{rows}
"""

_OF_ROUNDING = (
    "the case expects 1.9e-7 where the transform is 0 (rounding of a float32 FFT); this runtime "
    "gives 3e-15, and the tolerance is 1e-7"
)
_OF_LENGTH = (
    "scales with a fractional output length: the case aligns the corners of that length; "
    "onnxruntime, PyTorch and edgekit align those of the output"
)
EXPLAINED = {
    "test_dft_inverse": _OF_ROUNDING,
    "test_dft_inverse_opset19": _OF_ROUNDING,
    "test_resize_downsample_scales_linear_align_corners": _OF_LENGTH,
    "test_resize_downsample_scales_cubic_align_corners": _OF_LENGTH,
}
"""Reasons that are not in a message."""

_WORDS = """
*refused*: `convert` or the runtime reports what is not supported, without writing a file or an
output. *wrong*: an output differs. *broken*: any other failure.
"""


def write_page(found: Sequence[tuple[Case, Outcome]]) -> None:
    """Write the page."""
    node = [o.status for c, o in found if c.suite == "node"]
    parts = [
        _HEAD.format(
            version=onnx.__version__, node_passed=f"{node.count('passed'):,}", node=f"{len(node):,}"
        ),
        _COUNTS,
        _row("all", found),
        _row("tensors, in inference", [f for f in found if not f[0].beyond]),
        *(_row(suite, [f for f in found if f[0].suite == suite]) for suite in SUITES),
        *(_row(f"beyond: {why}", [f for f in found if f[0].beyond == why])
          for why in sorted({c.beyond for c, _ in found} - {""})),
        _WORDS,
        _PEERS.format(rows=PEERS),
        "\n## Cases that do not pass\n\nBy the first reported problem.\n\n",
        *_open_cases(found),
    ]  # fmt: skip
    PAGE.write_text("".join(parts))


def _row(title: str, found: Iterable[tuple[Case, Outcome]]) -> str:
    counts = Counter(o.status for _, o in found)
    cells = [counts[s] for s in ("passed", "refused", "wrong", "broken")]
    return f"| {title} | {' | '.join(f'{n:,}' for n in cells)} | {sum(counts.values()):,} |\n"


def _open_cases(found: Sequence[tuple[Case, Outcome]]) -> list[str]:
    """A table: the reason, and its cases."""
    by_reason: dict[str, list[str]] = {}
    for case, outcome in found:
        if outcome.status != "passed":
            by_reason.setdefault(_reason(case, outcome), []).append(case.name)
    rows = ["| cases | reason | first |\n|---|---|---|\n"]
    ordered = sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0]))
    for reason, names in ordered:
        rows.append(f"| {len(names)} | {reason} | {names[0].removeprefix('test_')} |\n")
    return rows


def _reason(case: Case, outcome: Outcome) -> str:
    """The first problem, without what is particular to the case: names, numbers and remedies."""
    if case.name in EXPLAINED:
        return f"{outcome.status}: {EXPLAINED[case.name]}"
    lines = [s.strip() for s in outcome.why.splitlines() if s.strip()]
    problems = [s for s in lines if s.startswith("- ")] or lines or [""]
    text = problems[0].removeprefix("- ").removeprefix("model.onnx: ")
    text = re.sub(r"\('[^()]*\)", "", re.sub(r"\s\([^']*\)$", "", text))
    text = re.sub(r"'[^']*'", "…", text).replace("|", "/")
    text = re.sub(r"^\d+ (?=\w+ *…?:)", "", re.sub(r"\d[\d.e+,]*\d|\d", "#", text))
    return f"{outcome.status}: {' '.join(text.split())}"[:160]
