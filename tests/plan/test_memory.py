"""Placement: nothing alive together overlaps, and small cases are optimal."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekit.toolkit.plan import memory
from edgekit.toolkit.plan.memory import Buffer, lower_bound, place

buffers = st.lists(
    st.builds(
        lambda size, first, span: Buffer(size, first, first + span),
        st.integers(1, 200),
        st.integers(0, 12),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=25,
)


@given(buffers, st.sampled_from([1, 4, 16]))
@settings(deadline=None, max_examples=150)
def test_buffers_alive_together_do_not_overlap(found, align):
    layout = place(found, align, tries=30)
    for (a, at), (b, bt) in itertools.combinations(zip(found, layout.offsets, strict=True), 2):
        if a.first <= b.last and b.first <= a.last:
            assert at + a.size <= bt or bt + b.size <= at
    assert all(o % align == 0 for o in layout.offsets)
    assert layout.bound <= layout.total
    assert max(o + b.size for o, b in zip(layout.offsets, found, strict=True)) <= layout.total


@given(buffers)
@settings(deadline=None, max_examples=50)
def test_the_bound_is_the_largest_sum_alive_at_one_step(found):
    peak = max(sum(b.size for b in found if b.first <= t <= b.last) for t in range(20))
    assert lower_bound(found, 1) == peak


def test_a_chain_needs_its_two_largest_neighbours():
    sizes = [100, 400, 300, 200, 50]
    layout = place([Buffer(s, i, i + 1) for i, s in enumerate(sizes)], 1)
    assert layout.total == layout.bound == 700


def test_the_same_buffers_give_the_same_layout():
    found = [Buffer(17 * i % 91 + 1, i % 7, i % 7 + i % 4) for i in range(40)]
    assert place(found, 16) == place(found, 16)


@given(buffers)
def test_where_most_are_alive_together_orders_are_not_tried(found):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "MOST_PAIRS", 0)
        memory._placed.cache_clear()
        few = place(found, 4)
    memory._placed.cache_clear()
    assert few == place(found, 4, tries=0)
