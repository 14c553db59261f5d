"""Rows of counts gathered slice by slice, in the very arrays that become the sparse matrix.

Counting a corpus ends with one large matrix, and holding its parts beside it would double the
memory. So parts are written where they will stay, and renumbered in place at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dcot.text import kernels_terms
from dcot.text.threads import Lent, in_threads

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

_DIRECT_TYPES = (np.int64, np.int32, np.float64, np.float32)  # which the kernel is compiled for
_SPARE = 2  # room for so many times what is expected: memory is taken only when written to


@dataclass
class Rows:
    """Counts of a slice of documents: terms numbered by one thread's table, or columns."""

    table: int
    bounds: Ints
    terms: Int32s
    counts: Int32s


def scratch(n_columns: int, dtype: npt.DTypeLike) -> tuple[Any, ...]:
    """What a kernel needs to sort rows: a value for each column, a set of bits, and its summary.

    Kernels clear up behind them, so that it need not be made anew for every slice.
    """
    bits = np.zeros(n_columns // 64 + 1, dtype=np.uint64)
    summary = np.zeros(n_columns // 4096 + 1, dtype=np.uint64)
    return np.zeros(n_columns, dtype=dtype), bits, summary


class RowStore:
    """Rows one below the other; ``n_documents`` is their number, where that is known before."""

    def __init__(self, dtype: npt.DTypeLike, n_documents: int | None = None) -> None:
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
        lent = Lent(partial(scratch, n_columns, self._data.dtype))

        def renumber(k: int) -> None:
            part = slice(self._cuts[k], self._cuts[k + 1])
            rows = self._lengths[k], self._indices[part], self._data[part]
            with lent.one() as (_, space):
                kernels_terms.renumber_rows(*rows, columns[self._tables[k]], *space)

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

    def matrix(self, n_columns: int) -> sparse.csr_matrix:
        """The rows as a CSR matrix, which takes over the store's memory."""
        for array in (self._indices, self._data):  # no view is kept that could be left hanging
            array.resize(self._cuts[-1], refcheck=False)
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

    def _make_room(self, used: int, needed: int) -> None:
        """Larger arrays, as large as all documents will need if they are like those so far.

        Growing in place would be better, but ``ndarray.resize`` writes zeros to the new part.
        """
        share = max((self._expected or 0) / max(self._seen, 1), 1)
        size = int(_SPARE * share * needed)
        for name in ("_indices", "_data"):
            old = getattr(self, name)
            new = np.empty(size, dtype=old.dtype)
            new[:used] = old[:used]
            setattr(self, name, new)
