"""Counting a corpus on several threads: slices of documents in, rows of counts out.

Each thread has a table of terms of its own, so that none waits for another. The tables are merged
once, at the end.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from dcot.text import inputs, kernels_terms
from dcot.text.analysis import Analysis
from dcot.text.rows import Rows, RowStore
from dcot.text.terms import Terms, TermTable

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
In = TypeVar("In")
Out = TypeVar("Out")

_MOST_THREADS = 8  # each has its own table: more would cost memory and merging, and gain little
_SLICE_BYTES = {"word": 1 << 18, "char": 1 << 16, "char_wb": 1 << 16}


@dataclass
class Learned:
    """What a corpus taught: its terms, and in how many documents and how often each is."""

    terms: Terms
    documents: Ints
    totals: Ints
    numbers: list[Int32s]  # of each table's terms in ``terms``
    n_documents: int
    n_stopped: int


def default_threads() -> int:
    """The cores that this process may use, and not more than pay.

    >>> default_threads() >= 1
    True
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        cores = os.cpu_count() or 1
    return min(cores, _MOST_THREADS)


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


def _slices(documents: Any, analysis: Analysis) -> Iterator[pl.Series]:
    kind = analysis.analyzer if isinstance(analysis.analyzer, str) else "word"
    return inputs.slices(inputs.batches(documents), _SLICE_BYTES[kind])


def _threads(analysis: Analysis, n_threads: int | None) -> int | None:
    return 1 if analysis.runs_python else n_threads


class _Learner:
    """Counts slices into whichever table is free."""

    def __init__(self, analysis: Analysis, keep_rows: bool) -> None:
        self.analysis = analysis
        self.keep_rows = keep_rows
        self.tables: list[TermTable] = []
        self._free: deque[int] = deque()
        self._lock = Lock()

    def __call__(self, documents: pl.Series) -> tuple[int, int, Rows | None]:
        spans = self.analysis.spans(documents)
        with self._lock:
            if not self._free:
                self.tables.append(TermTable())
                self._free.append(len(self.tables) - 1)
            number = self._free.pop()
        rows = self.tables[number].count(spans.text, spans.starts, spans.ends, spans.first)
        self._free.append(number)
        kept = Rows(number, *rows) if self.keep_rows else None
        return len(documents), spans.n_stopped, kept


def learn(
    documents: Any, analysis: Analysis, n_threads: int | None = None, store: RowStore | None = None
) -> Learned:
    """Count documents and learn their terms; the rows go to ``store``, if there is one."""
    learner = _Learner(analysis, store is not None)
    n_documents = n_stopped = 0
    slices = _slices(documents, analysis)
    for n, stopped, rows in in_threads(learner, slices, _threads(analysis, n_threads)):
        n_documents += n
        n_stopped += stopped
        if store is not None and rows is not None:
            store.append(rows)
    table, numbers = _merged(learner.tables or [TermTable()])
    n_terms = table.n_terms
    totals = table.documents[:n_terms], table.totals[:n_terms]
    return Learned(table.terms(), *totals, numbers, n_documents, n_stopped)


def _merged(tables: list[TermTable]) -> tuple[TermTable, list[Int32s]]:
    """One table of all terms, and the numbers there of each table's terms. Empties the list."""
    table = tables[0]
    numbers: list[Int32s] = []
    for other in tables[1:]:
        numbers.append(table.merge(other.terms()))
        table.documents[numbers[-1]] += other.documents[: other.n_terms]
        table.totals[numbers[-1]] += other.totals[: other.n_terms]
    numbers.insert(0, np.arange(table.n_terms, dtype=np.int32))
    return table, numbers


def look_up(
    documents: Any, analysis: Analysis, terms: Terms, store: RowStore, n_threads: int | None = None
) -> None:
    """Count the known terms of documents into ``store``; the rest is passed over."""
    known = terms.lookup()

    def count(piece: pl.Series) -> Rows:
        spans = analysis.spans(piece)
        return Rows(
            0, *kernels_terms.count_known(spans.text, spans.starts, spans.ends, spans.first, *known)
        )

    slices = _slices(documents, analysis)
    for rows in in_threads(count, slices, _threads(analysis, n_threads)):
        store.append(rows)
