"""One session used by several threads, and by itself: every answer right, or refused."""

import threading

import numpy as np
import pytest

from edgekit import Session

THREADS, ROUNDS = 4, 60


@pytest.fixture
def session(digits_edge):
    return Session(digits_edge)


@pytest.fixture
def cases(digits_edge, digits_calib):
    """A feed a thread, and its answer by a session of its own."""
    alone = Session(digits_edge)
    feeds = [{"image": digits_calib[i : i + 1]} for i in range(THREADS)]
    return [(feed, alone.run(feed), alone.run_raw(feed), alone.to_raw(feed)) for feed in feeds]


def in_threads(work, cases):
    """`work(case)` many times in a thread a case; all that was wrong."""
    wrong = []
    start = threading.Barrier(len(cases))

    def repeat(case):
        start.wait(10)
        try:
            wrong.extend(i for i in range(ROUNDS) if not work(case))
        except BaseException as why:
            wrong.append(why)

    threads = [threading.Thread(target=repeat, args=[case]) for case in cases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return wrong


def same(got, want):
    return all(np.array_equal(got[name], want[name]) for name in want)


def layers_of(session, feed):
    found = []
    session.run_layers(feed, lambda i, name, array: found.append(array.copy()))
    return found


def test_threads_that_share_a_session_all_get_their_own_answers(session, cases):
    layers = {id(case): layers_of(session, case[0]) for case in cases}

    def work(case):
        feed, floats, raw, inputs = case
        pairs = zip(layers_of(session, feed), layers[id(case)], strict=True)
        seconds = session.profile(feed)
        session.reset()
        return (
            same(session.run(feed), floats)
            and same(session.run_raw(feed), raw)
            and np.array_equal(session.to_raw(feed)[0], inputs[0])
            and all(np.array_equal(a, b) for a, b in pairs)
            and len(seconds) == len(session.op_outputs)
        )

    assert in_threads(work, cases) == []


@pytest.mark.parametrize("use", ["run", "run_raw", "run_layers", "profile", "to_raw", "reset"])
def test_a_callback_cannot_use_the_session_that_called_it(session, cases, use):
    (feed, want, _, _), (other, _, _, _) = cases[:2]
    arguments = {"reset": [], "run_layers": [other, lambda *_: None]}.get(use, [other])
    refused = []

    def callback(i, name, array):
        with pytest.raises(RuntimeError, match=r"the callback used the session that is running"):
            getattr(session, use)(*arguments)
        refused.append(i)

    assert same(session.run_layers(feed, callback), want)
    assert len(refused) == len(session.op_outputs)
    assert same(session.run(feed), want)


def test_a_callback_may_use_another_session_of_the_model(session, cases):
    (feed, want, _, _), (other, theirs, _, _) = cases[:2]
    second = Session(session.model)
    answers = []
    got = session.run_layers(feed, lambda *_: answers.append(second.run(other)))
    assert same(got, want) and all(same(a, theirs) for a in answers)
