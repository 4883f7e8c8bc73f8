"""Of configurations that are alike in accuracy, and not good, the cheapest is taken."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from edgekit.toolkit.quantize.budget import Sizes
from edgekit.toolkit.quantize.mixed_precision.floor_criteria import FloorCriteria, Growth


class Measured:
    """An evaluator of configurations by (name, bytes, SQNR in dB, level)."""

    base = "int8"

    def __init__(self, *rows):
        self.bytes, self.db, self.levels = (
            {row[0]: row[column] for row in rows} for column in (1, 2, 3)
        )

    def size(self, name):
        return Sizes(self.bytes[name], 0, 0)

    def work(self, name):
        return 0

    def is_float(self, name):
        return False

    def score(self, name):
        return SimpleNamespace(mean_db=self.db[name])

    def quality(self, name):
        lack = 10 ** ((20 - self.db[name]) / 20)
        return SimpleNamespace(level=self.levels[name], loss=lambda strict=False: lack)


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        ([("a", 1100, 13.5, "broken"), ("b", 1400, 13.8, "broken")], "a"),  # within half a decibel
        ([("a", 1100, 13.2, "broken"), ("b", 1400, 13.8, "broken")], "b"),
        ([("a", 1100, 15.9, "broken"), ("b", 1400, 16.1, "usable")], "b"),
        ([("a", 1100, 13.5, "broken"), ("b", 1600, 13.8, "broken")], "a"),  # beyond the limit
        ([("a", 1100, -math.inf, "broken"), ("b", 1000, -math.inf, "broken")], "a"),
    ],
)
def test_the_cheapest_of_those_that_are_about_as_close(rows, chosen):
    evaluator = Measured(("int8", 1000, -math.inf, "broken"), *rows)
    criteria = FloorCriteria(evaluator, Growth(0.5, 0.0, 0.0, 0, 0, 0))
    found = criteria.closest([SimpleNamespace(assignment=name) for name, *_ in rows])
    assert found.assignment == chosen
