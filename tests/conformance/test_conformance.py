"""The official cases of ONNX that passed before: none may fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from .cases import all_cases, attempt

PASSED = Path(__file__).with_name("passed.txt").read_text().split()
CASES = {case.name: case for case in all_cases()}


@pytest.mark.parametrize("name", PASSED)
def test_case_still_passes(name):
    outcome = attempt(CASES[name])
    assert outcome.status == "passed", outcome.why
