"""Work in threads: all of it, as many at a time as is said, in turn; and what fails is told."""

from __future__ import annotations

import random
import threading
import time

import pytest

from edgekit.toolkit.runtime import cores
from edgekit.toolkit.runtime.cores import on_cores
from edgekit.toolkit.runtime.turns import each_in_turn


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


def others(_):
    return ["b", "c"]


def test_steps_of_items_come_in_the_order_of_the_items():
    rng = random.Random(3)
    made, ended, workers = {}, [], {}

    def work(worker, item, turn):
        workers.setdefault(worker, set()).add(threading.get_ident())
        for step in "pqr" if item % 4 else "rq":  # some lack steps, or have them in another order
            time.sleep(rng.random() / 500)
            with turn.at(step):
                made.setdefault(step, []).append(item)
        turn.wait()
        ended.append(item)

    each_in_turn(work, "a", range(40), others)
    assert made == {
        "p": [i for i in range(40) if i % 4], "q": list(range(40)), "r": list(range(40)),
    }  # fmt: skip
    assert ended == list(range(40))
    assert set(workers) == {"a", "b", "c"} and all(len(of) == 1 for of in workers.values())


def test_items_are_worked_on_at_the_same_time():
    together = threading.Barrier(3)

    def work(_, item, __):
        if item > 1:  # the first two are alone
            together.wait(timeout=60)

    each_in_turn(work, "a", range(5), others)


def test_the_second_item_says_whether_others_are_worth_it():
    told, worked = [], set()

    def none(seconds):
        told.append(seconds)
        return []

    def work(worker, item, _):
        time.sleep(0.01 if item else 1.0)
        worked.add(worker)

    each_in_turn(work, "a", range(3), none)
    assert worked == {"a"} and len(told) == 1 and 0.01 <= told[0] < 1.0
    each_in_turn(lambda *_: None, "a", [], none)


@pytest.mark.parametrize("bad", [0, 1, 5])
def test_what_the_first_item_that_fails_raises_is_raised(bad):
    taken = []

    def work(_, item, turn):
        taken.append(item)
        if item > bad:
            raise KeyError("a later one, which fails first")
        time.sleep(0.02)
        with turn.at("step"):
            if item == bad:
                raise ValueError(str(item))

    with pytest.raises(ValueError, match=str(bad)):
        each_in_turn(work, "a", range(99), others)
    assert len(taken) <= bad + 3


def test_items_behind_one_that_fails_end():
    def work(_, item, turn):
        with turn.at("step"):
            if item == 2:
                time.sleep(0.02)
                raise ValueError("2")
        turn.wait()

    with pytest.raises(ValueError, match="2"):
        each_in_turn(work, "a", range(9), others)


def test_items_that_cannot_be_taken_are_told():
    def items():
        yield from range(5)
        raise OSError("a file is gone")

    done = []
    with pytest.raises(OSError, match="gone"):
        each_in_turn(lambda _, item, __: done.append(item), "a", items(), others)
    assert sorted(done) == list(range(5))
