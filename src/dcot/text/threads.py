"""Work on several threads: results in order, few pieces at a time, things lent to one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from threading import Lock
from typing import Generic, TypeVar

from dcot.runtime.resources import n_threads

In = TypeVar("In")
Out = TypeVar("Out")

_MOST_THREADS = 8  # each has its own table: more would cost memory and merging, and gain little


def default_threads() -> int:
    """The threads that this process may use, and not more than pay.

    >>> default_threads() >= 1
    True
    """
    return min(n_threads(), _MOST_THREADS)


def in_threads(
    work: Callable[[In], Out], pieces: Iterable[In], n_threads: int | None
) -> Iterator[Out]:
    """Results in order; only a few pieces are under way at any time.

    >>> list(in_threads(abs, [-1, 2], n_threads=2))
    [1, 2]
    """
    n_threads = n_threads or default_threads()
    iterator = iter(pieces)
    first = list(zip(range(2), iterator, strict=False))
    pieces = chain((piece for _, piece in first), iterator)
    if n_threads == 1 or len(first) < 2:
        yield from map(work, pieces)
        return
    with ThreadPoolExecutor(n_threads, thread_name_prefix="dcot-text") as pool:
        pending: deque[Future[Out]] = deque()
        for piece in pieces:
            pending.append(pool.submit(work, piece))
            if len(pending) > n_threads + 1:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


class Lent(Generic[Out]):
    """Things of which each is used by one thread at a time, made when all others are in use."""

    def __init__(self, make: Callable[[], Out]) -> None:
        self.made: list[Out] = []
        self._make = make
        self._free: list[int] = []
        self._lock = Lock()

    @contextmanager
    def one(self) -> Iterator[tuple[int, Out]]:
        """The number of a thing, and the thing."""
        with self._lock:
            if not self._free:
                self.made.append(self._make())
                self._free.append(len(self.made) - 1)
            number = self._free.pop()
        yield number, self.made[number]
        self._free.append(number)
