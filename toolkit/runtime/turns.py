"""Work on several items at a time, whose steps come after the same steps of the items before.

What the steps add up is then the same on every number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Generic, TypeVar

from .cores import beside_others

T = TypeVar("T")
Worker = TypeVar("Worker")

_ENDED, _FAILED = object(), object()


class _FormerFailedError(Exception):
    """An item before this one failed."""


class Turn:
    """The steps of an item, after those of the item `before` it."""

    def __init__(self, before: Turn | None) -> None:
        self.place: int = 0 if before is None else before.place + 1
        self._before, self._told = before, SimpleQueue[object]()
        self._known = set[object]()

    @contextmanager
    def at(self, step: Hashable) -> Iterator[None]:
        """A step that the item has once: it begins when the item before made it, or ended."""
        self._wait(step)
        yield
        self._told.put(step)

    def wait(self) -> None:
        """Wait until the item before has ended."""
        self._wait(_ENDED)

    def end(self, failed: bool) -> None:
        self._told.put(_FAILED if failed else _ENDED)

    def _wait(self, step: object) -> None:
        while self._before is not None and step not in self._known:
            told = self._before._told.get()
            if told is _FAILED:
                raise _FormerFailedError
            if told is _ENDED:
                self._before = None
            self._known.add(told)


def each_in_turn(
    work: Callable[[Worker, T, Turn], object],
    worker: Worker,
    items: Iterable[T],
    others: Callable[[float], Sequence[Worker]],
) -> None:
    """Call `work` with who works, each item, and the steps of the item. Raises what the first item
    in order that fails raises.

    `worker` works on the first two items, and then on others in this thread, beside the `others`
    that are worth it for the seconds that the second item took: the first one takes longer than
    those after it. Items are taken one at a time, in order, until one fails.
    """
    left, seconds = _Items(items), 0.0
    for _ in range(2):
        started = perf_counter()
        left.work(work, worker, most=1)
        seconds = perf_counter() - started
    threads = [
        Thread(target=left.work_beside, args=(work, other), daemon=True)
        for other in others(seconds)
    ]
    for thread in threads:
        thread.start()
    left.work(work, worker)
    for thread in threads:
        thread.join()
    if left.failed:
        raise min(left.failed, key=lambda failed: failed[0])[1]


class _Items(Generic[T]):
    """Items that threads take, and what failed, by place."""

    def __init__(self, items: Iterable[T]) -> None:
        self.failed: list[tuple[int, BaseException]] = []
        self._left, self._taking = iter(items), Lock()
        self._last: Turn | None = None

    def work(
        self, work: Callable[[Worker, T, Turn], object], worker: Worker, most: float = inf
    ) -> None:
        """Work on items, `most` at most."""
        while most > 0 and (taken := self._take()) is not None:
            item, turn = taken
            try:
                work(worker, item, turn)
                turn.wait()
            except BaseException as why:
                if not isinstance(why, _FormerFailedError):
                    self.failed.append((turn.place, why))
                turn.end(failed=True)
            else:
                turn.end(failed=False)
            most -= 1

    def work_beside(self, work: Callable[[Worker, T, Turn], object], worker: Worker) -> None:
        beside_others()
        self.work(work, worker)

    def _take(self) -> tuple[T, Turn] | None:
        with self._taking:
            turn = Turn(self._last)
            try:
                if self.failed:
                    return None
                item = next(self._left)
            except StopIteration:
                return None
            except BaseException as why:
                self.failed.append((turn.place, why))
                return None
            self._last = turn
            return item, turn
