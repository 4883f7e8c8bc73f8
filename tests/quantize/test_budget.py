"""A budget refuses limits that make no sense, and its table lists what nothing else beats."""

from __future__ import annotations

import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.quantize.budget import Budget, Point, pareto


@pytest.mark.parametrize(
    "limits", [{"max_drop": -1.0}, {"max_drop": "101%"}, {"max_drop": "some"},
               {"min_sqnr": float("nan")},
               {"max_bytes": 0}, {"max_arena": -5}],
)  # fmt: skip
def test_limits_make_sense(limits):
    with pytest.raises(UserError, match=next(iter(limits))):
        Budget(**limits)


def test_the_table_leaves_out_what_is_beaten():
    small, good = Point(10, 5, 20.0, None, "a"), Point(20, 5, 30.0, None, "b")
    beaten = Point(21, 6, 30.0, None, "c")
    assert pareto([beaten, good, small, good], []) == [small, good]
    assert pareto([beaten, good, small], [beaten]) == [small, good, beaten]


def test_the_table_has_equal_mixes_once():
    known, less = Point(10, 5, 20.0, 0.1, "64 16x8"), Point(10, 5, None, 0.1, "63 16x8")
    assert pareto([less, known], []) == [known]
    assert pareto([known, less], [less]) == [less]  # what was chosen
    assert pareto([Point(10, 5, 20.0, None, "a"), Point(10, 5, None, 0.1, "a")], []) == [
        Point(10, 5, 20.0, None, "a")
    ]


@pytest.mark.parametrize(
    "drop, points, words",
    [
        (0.002, True, "at most 0.002 points lost"),
        ("0.2%", True, "at most 0.2 points lost"),
        ("0.2%", False, "at most 0.2% lost"),
        (0.2, False, "at most 0.2 lost"),
    ],
)
def test_a_drop_has_its_unit(drop, points, words):
    assert Budget(max_drop=drop).in_words(points) == words
    assert Budget(drop, 30.0, 1 << 10).in_words(points) == (
        f"{words}, at least 30 dB, a file of at most 1,024 bytes"
    )
