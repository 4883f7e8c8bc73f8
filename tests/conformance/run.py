"""Run the official test cases of ONNX through `edgekit convert` and the C runtime.

    python tests/conformance/run.py [--only PART] [--record] [--list STATUS]

Each case is run in a child process with a time limit; a child that dies or takes too long fails its
case and is replaced. --record writes docs/conformance.md, and passed.txt, the cases that
test_conformance.py holds to; a case that passed before and does not now is an error then. --only
runs the cases whose names hold PART. --list prints the cases of a status, with the reasons.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from cases import Case, Outcome, all_cases, attempt  # noqa: E402
from page import write_page  # noqa: E402

SECONDS = 60.0
PASSED = HERE / "passed.txt"
Worker = tuple[BaseProcess, Connection]
_fork = get_context("fork")


def _serve(cases: Sequence[Case], pipe: Connection) -> None:
    while (at := pipe.recv()) is not None:
        pipe.send(attempt(cases[at]))


def _start(cases: Sequence[Case]) -> Worker:
    ours, theirs = _fork.Pipe()
    child = _fork.Process(target=_serve, args=(cases, theirs), daemon=False)
    child.start()
    theirs.close()
    return child, ours


def run_all(cases: Sequence[Case]) -> list[Outcome]:
    """What came of each case."""
    found: list[Outcome] = []
    child, pipe = _start(cases)
    for at in range(len(cases)):
        pipe.send(at)
        outcome = Outcome("broken", f"it took more than {SECONDS:.0f} s")
        if wait([pipe], SECONDS):
            try:
                outcome = pipe.recv()
            except EOFError:
                child.join()
                outcome = Outcome("broken", f"the process died ({child.exitcode})")
        found.append(outcome)
        if "process died" in outcome.why or "took more" in outcome.why:
            child.kill()
            child, pipe = _start(cases)
    pipe.send(None)
    child.join()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--list", default="", metavar="STATUS")
    options = parser.parse_args()
    cases = [c for c in all_cases() if options.only in c.name]
    found = list(zip(cases, run_all(cases), strict=True))
    for case, outcome in found:
        if outcome.status == options.list or outcome.status in ("wrong", "broken"):
            print(f"{outcome.status} {case.name}: {outcome.why}")
    passed = {c.name for c, o in found if o.status == "passed"}
    lost = sorted({n for n in PASSED.read_text().split() if options.only in n} - passed)
    for name in lost:
        print(f"no longer passes: {name}")
    if options.record:
        if options.only or lost:
            parser.error("--record needs all cases, and none lost")
        PASSED.write_text("".join(f"{name}\n" for name in sorted(passed)))
        write_page(found)
    node = [o.status for c, o in found if c.suite == "node"]
    print(f"node tests passed: {node.count('passed')} of {len(node)}")
    print(f"all tests passed: {len(passed)} of {len(cases)}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
