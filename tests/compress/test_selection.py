"""The layers with the most weights that a limit has room for."""

from itertools import combinations

import numpy as np
import pytest

from edgekit.toolkit.compress import most_within


@pytest.mark.parametrize("seed", range(6))
def test_no_other_choice_that_fits_has_more(seed):
    rng = np.random.default_rng(seed)
    names = [f"layer{i}" for i in range(8)]
    values = {n: int(rng.integers(1, 5000)) for n in names}
    costs = {n: float(rng.integers(-100, 1500)) / 2000 for n in names}
    found = most_within(values, costs)
    paid = sum(max(costs[n], 0.0) for n in found)
    most = max(
        sum(values[n] for n in some)
        for count in range(len(names) + 1)
        for some in combinations(names, count)
        if sum(max(costs[n], 0.0) for n in some) <= 1
    )
    assert paid <= 1
    assert sum(values[n] for n in found) == most


def test_what_is_over_the_limit_alone_is_left_and_what_is_free_is_taken():
    assert most_within({"a": 9, "b": 1}, {"a": 1.01, "b": -0.5}) == {"b"}
    assert most_within({}, {}) == frozenset()
