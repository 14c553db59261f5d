"""Count the terms of a corpus on several threads.

Each thread has its own table of terms, so that no thread waits for another; the tables are merged
once, at the end. Rows are written into the arrays that become the sparse matrix and are renumbered
in place, because a copy would double the memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dcot.errors import InvalidInputError
from dcot.runtime.resources import n_threads as free_threads
from dcot.text import inputs, kernels_terms
from dcot.text.analysis import Analysis
from dcot.text.inputs import Ints, Texts
from dcot.text.terms import Int32s, Terms, TermTable

In = TypeVar("In")
Out = TypeVar("Out")

_SLICE_BYTES = {"word": 1 << 18, "char": 1 << 16, "char_wb": 1 << 16}
_MAX_THREADS = 8  # each has its own table: more cost memory and merging, and gain little
_DIRECT_TYPES = (np.int64, np.int32, np.float64, np.float32)  # the kernel is compiled for these
_SPARE = 2  # allocate this many times the expected size; memory is used only when written to


# -- learning and looking up terms ----------------------------------------------------------------


@dataclass
class Learned:
    """The terms of a corpus, with their document frequencies and total counts."""

    terms: Terms
    documents: Ints
    totals: Ints
    numbers: list[Int32s]  # for each table, the numbers of its terms in ``terms``
    n_documents: int
    n_stopped: int


def learn(
    documents: Any, analysis: Analysis, n_threads: int | None = None, store: RowStore | None = None
) -> Learned:
    """Count documents and learn their terms; rows are added to ``store`` if given."""
    tables = Pool(TermTable)

    def count(piece: Texts) -> tuple[int, int, Rows]:
        spans = analysis.spans(piece)
        with tables.one() as (number, table):
            rows = table.count(spans.text, spans.starts, spans.ends, spans.first)
        return len(piece), spans.n_stopped, Rows(number, *rows)

    n_documents = n_stopped = 0
    for n, stopped, rows in _by_slices(count, documents, analysis, n_threads):
        n_documents += n
        n_stopped += stopped
        if store is not None:
            store.append(rows)
    table, *others = tables.made or [TermTable()]
    numbers = [np.arange(table.n_terms, dtype=np.int32)]
    numbers += [table.merge(*other.counted()) for other in others]
    return Learned(*table.counted(), numbers, n_documents, n_stopped)


def look_up(
    documents: Any, analysis: Analysis, terms: Terms, store: RowStore, n_threads: int | None = None
) -> None:
    """Count the known terms of documents into ``store``; other terms are skipped."""
    known = terms.lookup()
    pool = Pool(partial(np.zeros, len(terms), np.int32))

    def count(piece: Texts) -> Rows:
        spans = analysis.spans(piece)
        of_documents = spans.text, spans.starts, spans.ends, spans.first
        with pool.one() as (_, tallies):
            return Rows(0, *kernels_terms.count_known(*of_documents, *known, tallies))

    for rows in _by_slices(count, documents, analysis, n_threads):
        store.append(rows)


def _by_slices(
    work: Callable[[Texts], Out], documents: Any, analysis: Analysis, n_threads: int | None
) -> Iterator[Out]:
    """Yield the results for slices of the documents; a user's function gets one thread."""
    kind = analysis.analyzer if isinstance(analysis.analyzer, str) else "word"
    slices = inputs.slices(inputs.batches(documents), _SLICE_BYTES[kind])
    return in_threads(work, slices, 1 if analysis.runs_python else n_threads)


# -- rows of counts -------------------------------------------------------------------------------


@dataclass
class Rows:
    """Counts of a slice of documents; terms are numbers in one thread's table, or columns."""

    table: int
    bounds: Ints
    terms: Int32s
    counts: Int32s


class RowStore:
    """Rows of counts, in order; ``n_documents`` is their expected number, 0 if not known."""

    def __init__(self, dtype: npt.DTypeLike, n_documents: int = 0) -> None:
        self.dtype = np.dtype(dtype)
        self._expected = n_documents
        self._seen = 0
        direct = self.dtype in _DIRECT_TYPES
        self._indices = np.empty(0, dtype=np.int32)
        self._data = np.empty(0, dtype=self.dtype if direct else np.int32)
        self._tables: list[int] = []
        self._lengths: list[Ints] = []
        self._cuts = [0]

    def append(self, rows: Rows) -> None:
        """Add the rows of one slice."""
        start, stop = self._cuts[-1], self._cuts[-1] + len(rows.terms)
        self._seen += len(rows.bounds) - 1
        if stop > len(self._indices):
            self._make_room(start, stop)
        self._indices[start:stop] = rows.terms
        self._data[start:stop] = rows.counts
        self._tables.append(rows.table)
        self._lengths.append(np.diff(rows.bounds))
        self._cuts.append(stop)

    def renumber(self, columns: list[Int32s], n_columns: int, n_threads: int | None = None) -> None:
        """Replace terms by columns, sort each row, and drop terms whose column is -1.

        ``columns`` has, for each table, the column of each of its terms.
        """
        pool = Pool(partial(np.empty, n_columns, self._data.dtype))

        def renumber(k: int) -> None:
            part = slice(self._cuts[k], self._cuts[k + 1])
            rows = self._lengths[k], self._indices[part], self._data[part]
            with pool.one() as (_, values):
                kernels_terms.renumber_rows(*rows, columns[self._tables[k]], values)

        for _ in in_threads(renumber, range(len(self._tables)), n_threads):
            pass
        self._close_gaps()

    def _close_gaps(self) -> None:
        """Move the slices together after entries were dropped."""
        used = 0
        for k, lengths in enumerate(self._lengths):
            start, kept = self._cuts[k], int(lengths.sum())
            if used != start:
                self._indices[used : used + kept] = self._indices[start : start + kept]
                self._data[used : used + kept] = self._data[start : start + kept]
            self._cuts[k] = used
            used += kept
        self._cuts[-1] = used

    def matrix(self, n_columns: int, binary: bool = False) -> sparse.csr_matrix:
        """Return the rows as a CSR matrix, which uses the memory of the store."""
        for array in (self._indices, self._data):  # no views of them exist
            array.resize(self._cuts[-1], refcheck=False)
        if binary:
            self._data.fill(1)
        self._check_range()
        lengths = np.concatenate([np.zeros(1, dtype=np.int64), *self._lengths])
        large = self._cuts[-1] > np.iinfo(np.int32).max
        indptr = np.cumsum(lengths).astype(np.int64 if large else np.int32)
        matrix = sparse.csr_matrix(
            (self._data.astype(self.dtype, copy=False), self._indices, indptr),
            shape=(len(indptr) - 1, n_columns),
        )
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix

    def _check_range(self) -> None:
        """Raise an error if a count would become another number in a small type."""
        if self.dtype in _DIRECT_TYPES or self.dtype.kind == "f" or not self._data.size:
            return
        largest = int(self._data.max())
        if largest > np.iinfo(self.dtype).max:
            raise InvalidInputError(
                f"a document has a term {largest:,} times, which dtype={self.dtype} cannot hold: "
                "use a larger one"
            )

    def _make_room(self, used: int, needed: int) -> None:
        """Enlarge the arrays to the size that all documents need if they are like those so far.

        ``ndarray.resize`` would not copy, but it writes zeros to the new part.
        """
        share = max(self._expected / max(self._seen, 1), 1)
        size = int(_SPARE * share * needed)
        for name in ("_indices", "_data"):
            old = getattr(self, name)
            new = np.empty(size, dtype=old.dtype)
            new[:used] = old[:used]
            setattr(self, name, new)


# -- threads --------------------------------------------------------------------------------------


def in_threads(
    work: Callable[[In], Out], pieces: Iterable[In], n_threads: int | None
) -> Iterator[Out]:
    """Yield results in order; only a few pieces are processed at a time.

    >>> list(in_threads(abs, [-1, 2], n_threads=2))
    [1, 2]
    """
    n_threads = n_threads or min(free_threads(), _MAX_THREADS)
    iterator = iter(pieces)
    first = list(zip(range(2), iterator, strict=False))
    pieces = chain((piece for _, piece in first), iterator)
    if n_threads == 1 or len(first) < 2:
        try:
            yield from map(work, pieces)
        except SystemError as error:  # of numba, if Ctrl-C comes while it makes its results
            if _interrupted(error):
                raise KeyboardInterrupt from None
            raise
        return
    with ThreadPoolExecutor(n_threads, thread_name_prefix="dcot-text") as pool:
        pending: deque[Future[Out]] = deque()
        for piece in pieces:
            pending.append(pool.submit(work, piece))
            if len(pending) > n_threads + 1:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _interrupted(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, is an interrupt."""
    return error is not None and (
        isinstance(error, KeyboardInterrupt) or _interrupted(error.__cause__)
    )


class Pool(Generic[Out]):
    """Objects that one thread uses at a time; a new one is made if all are in use."""

    def __init__(self, make: Callable[[], Out]) -> None:
        self.made: list[Out] = []
        self._make = make
        self._free: list[int] = []
        self._lock = Lock()

    @contextmanager
    def one(self) -> Iterator[tuple[int, Out]]:
        """Borrow an object; yield its number and the object."""
        with self._lock:
            if not self._free:
                self.made.append(self._make())
                self._free.append(len(self.made) - 1)
            number = self._free.pop()
        yield number, self.made[number]
        self._free.append(number)
