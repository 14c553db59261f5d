"""Counting a corpus on several threads: slices in, rows out, one sparse matrix at the end.

Each thread has a table of terms of its own, so that none waits for another. The tables are merged
once, at the end, and the rows renumbered.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from dcot.text import inputs, kernels_terms
from dcot.text.analysis import Analysis
from dcot.text.terms import Terms, TermTable

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
In = TypeVar("In")
Out = TypeVar("Out")

_MOST_THREADS = 8  # each has its own table: more would cost memory and merging, and gain little
_SLICE_BYTES = {"word": 1 << 19, "char": 1 << 17, "char_wb": 1 << 17}
_DIRECT_TYPES = (np.int64, np.int32, np.float64, np.float32)


@dataclass
class Rows:
    """Counts of a slice of documents: terms numbered by one thread's table, or columns."""

    table: int
    bounds: Ints
    terms: Int32s
    counts: Int32s


_NO_ROWS = Rows(
    0, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
)


@dataclass
class Learned:
    """What a corpus taught: its terms, in how many documents and how often, and its rows."""

    terms: Terms
    documents: Ints
    totals: Ints
    numbers: list[Int32s]  # of each table's terms in ``terms``
    rows: list[Rows]
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

    def __call__(self, documents: pl.Series) -> tuple[int, int, Rows | None]:
        spans = self.analysis.spans(documents)
        try:
            number = self._free.pop()
        except IndexError:
            self.tables.append(TermTable())
            number = len(self.tables) - 1
        rows = self.tables[number].count(spans.text, spans.starts, spans.ends, spans.first)
        self._free.append(number)
        kept = Rows(number, *rows) if self.keep_rows else None
        return len(documents), spans.n_stopped, kept


def learn(
    documents: Any, analysis: Analysis, n_threads: int | None = None, keep_rows: bool = True
) -> Learned:
    """Count documents and learn their terms."""
    learner = _Learner(analysis, keep_rows)
    n_documents = n_stopped = 0
    kept = []
    slices = _slices(documents, analysis)
    for n, stopped, rows in in_threads(learner, slices, _threads(analysis, n_threads)):
        n_documents += n
        n_stopped += stopped
        if rows is not None:
            kept.append(rows)
    table, numbers = _merged(learner.tables or [TermTable()])
    n_terms = table.n_terms
    totals = table.documents[:n_terms], table.totals[:n_terms]
    return Learned(table.terms(), *totals, numbers, kept, n_documents, n_stopped)


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
    documents: Any, analysis: Analysis, terms: Terms, n_threads: int | None = None
) -> list[Rows]:
    """Count the known terms of documents; the rest is passed over."""
    known = terms.lookup()

    def count(piece: pl.Series) -> Rows:
        spans = analysis.spans(piece)
        return Rows(
            0, *kernels_terms.count_known(spans.text, spans.starts, spans.ends, spans.first, *known)
        )

    slices = _slices(documents, analysis)
    return list(in_threads(count, slices, _threads(analysis, n_threads)))


def matrix_of(
    rows: list[Rows],
    columns: list[Int32s] | None,
    n_columns: int,
    dtype: npt.DTypeLike,
    n_threads: int | None = None,
) -> sparse.csr_matrix:
    """Rows as a CSR matrix with sorted columns. Empties ``rows`` as it goes, to save memory.

    ``columns`` holds, for each table, the column of each term, or -1 to drop it; None says that the
    rows hold sorted columns already.
    """
    lengths = [_lengths(r, columns) for r in rows]
    indptr = np.zeros(sum(map(len, lengths)) + 1, dtype=np.int64)
    np.cumsum(np.concatenate([*lengths, np.zeros(0, dtype=np.int64)]), out=indptr[1:])
    cuts = indptr[np.cumsum([0, *map(len, lengths)])].tolist()
    large = cuts[-1] > np.iinfo(np.int32).max
    indices = np.empty(cuts[-1], dtype=np.int64 if large else np.int32)
    # the kernel is compiled for the usual types; others are converted at the end
    data = np.empty(cuts[-1], dtype=dtype if np.dtype(dtype) in _DIRECT_TYPES else np.int32)

    def fill(k: int) -> None:
        r, part = rows[k], slice(cuts[k], cuts[k + 1])
        rows[k] = _NO_ROWS
        if columns is None:
            indices[part], data[part] = r.terms, r.counts
            return
        kernels_terms.fill_rows(
            r.bounds, r.terms, r.counts, columns[r.table], n_columns, indices[part], data[part]
        )

    for _ in in_threads(fill, range(len(rows)), n_threads):
        pass
    rows.clear()
    return _csr(data.astype(dtype, copy=False), indices, indptr, n_columns)


def _lengths(rows: Rows, columns: list[Int32s] | None) -> Ints:
    if columns is None:
        return np.diff(rows.bounds)
    kept: Ints = kernels_terms.kept_lengths(rows.bounds, rows.terms, columns[rows.table])
    return kept


def _csr(data: Any, indices: Any, indptr: Ints, n_columns: int) -> sparse.csr_matrix:
    """A CSR matrix known to be sorted and without duplicates."""
    shape = (len(indptr) - 1, n_columns)
    matrix = sparse.csr_matrix((data, indices, indptr.astype(indices.dtype)), shape=shape)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix
