"""Work in threads: all of it, as many at a time as is said, and what fails is told."""

from __future__ import annotations

import threading

import pytest

from edgekit.toolkit.runtime import cores
from edgekit.toolkit.runtime.cores import on_cores


@pytest.fixture
def three_cores(monkeypatch):
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)


@pytest.mark.parametrize("most", [None, 2, 1, 0])
def test_as_many_at_a_time_as_are_asked_for(three_cores, most):
    many = 3 if most is None else max(most, 1)
    together, done = threading.Barrier(many), []

    def work(i):
        together.wait(timeout=60)  # which fewer would never pass
        done.append((i, threading.get_ident()))

    on_cores(work, range(2 * many), most)
    assert sorted(i for i, _ in done) == list(range(2 * many))
    assert len({ident for _, ident in done}) == many


def test_work_in_a_thread_stays_there(three_cores):
    every = []

    def work(_):
        inner = []
        assert cores.cores() == 1
        on_cores(lambda _: inner.append(threading.get_ident()), range(4))
        assert set(inner) == {threading.get_ident()}
        every.extend(inner)

    on_cores(work, range(2))
    assert cores.cores() == 3 and len(every) == 8


@pytest.mark.parametrize("count", [0, 1])
def test_a_single_item_needs_no_thread(three_cores, count):
    seen = []
    on_cores(lambda _: seen.append(threading.get_ident()), range(count))
    assert seen == [threading.get_ident()] * count


def test_the_first_failure_is_raised(three_cores):
    def work(i):
        if i:
            raise ValueError(str(i))

    with pytest.raises(ValueError, match="1"):
        on_cores(work, range(5))
