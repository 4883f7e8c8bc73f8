"""Blocks: what is picked one by one is picked by fewer questions, and not by too many."""

from __future__ import annotations

import pytest

from edgekit.toolkit.quantize.mixed_precision.subset_selection import select_subset


def below(limit, asked):
    def accept(some):
        asked.append(list(some))
        return sum(some) <= limit

    return accept


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize("limit", [0, 5, 37, 1000])
def test_it_is_as_one_by_one(size, limit):
    items = [3, 1, 20, 2, 2, 30, 1, 1, 7, 5] * 3
    want = []
    for item in items:
        if sum(want) + item <= limit:
            want.append(item)
    assert select_subset(items, below(limit, []), size, 1000) == want


def test_few_questions_are_asked():
    asked = []
    assert select_subset([1] * 500, below(1000, asked), 500, 1000) == [1] * 500 and len(asked) == 1
    asked = []
    assert select_subset([1] * 500, below(1000, asked), 1, 1000) == [1] * 500 and len(asked) < 12
    asked = []
    assert select_subset([1] * 500, below(-1, asked), 500, 40) == [] and len(asked) == 40
    assert select_subset([], below(0, asked), 0, 10) == []
