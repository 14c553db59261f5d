"""A sparse matrix of documents and terms, kept by term, that grows by segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.runtime.resources import run_threads
from dcot.search import kernels

Array = NDArray[Any]


@dataclass
class Segment:
    """Postings of some documents, by term: those of term t are ``indptr[t] : indptr[t + 1]``."""

    indptr: Array
    rows: Array
    values: Array

    @classmethod
    def of(cls, matrix: Any, first_row: int) -> Segment:
        """From a CSR matrix whose first row is document ``first_row``."""
        by_term = sp.csc_array(matrix)
        by_term.sort_indices()
        return cls(
            by_term.indptr.astype(np.int64),
            by_term.indices.astype(np.int64) + first_row,
            by_term.data.astype(np.float32),
        )

    @property
    def n_terms(self) -> int:
        return len(self.indptr) - 1

    def widened(self, n_terms: int) -> Array:
        """Pointers for more terms than there were: none of these documents has the new ones."""
        if n_terms <= self.n_terms:
            return self.indptr
        extra = np.full(n_terms - self.n_terms, self.indptr[-1], dtype=np.int64)
        return np.concatenate([self.indptr, extra])

    def followed_by(self, other: Segment) -> Segment:
        """Both as one; the rows of ``other`` come after ours."""
        n_terms = max(self.n_terms, other.n_terms)
        pointers = [self.widened(n_terms), other.widened(n_terms)]
        sizes = [np.diff(indptr) for indptr in pointers]
        indptr = pointers[0] + pointers[1]
        rows = np.empty(indptr[-1], dtype=np.int64)
        values = np.empty(indptr[-1], dtype=np.float32)
        starts = [indptr[:-1], indptr[:-1] + sizes[0]]
        for part, own, size, start in zip((self, other), pointers, sizes, starts, strict=True):
            places = np.arange(own[-1]) + np.repeat(start - own[:-1], size)
            rows[places], values[places] = part.rows, part.values
        return Segment(indptr, rows, values)

    def kept(self, live: Array) -> Segment:
        """Without the documents that are gone, the others numbered anew."""
        stays = live[self.rows]
        before = np.concatenate([[0], np.cumsum(stays)])
        number = np.cumsum(live) - 1
        return Segment(
            before[self.indptr], number[self.rows[stays]].astype(np.int64), self.values[stays]
        )


class Postings:
    """Segments of postings, the larger and older first."""

    def __init__(self, segments: list[Segment] | None = None) -> None:
        self.segments = segments or []

    def append(self, matrix: Any, first_row: int) -> None:
        """Add the rows of a CSR matrix.

        A segment is merged into one that is not twice as large: there are few of them, and an
        entry moves a logarithmic number of times.
        """
        new = Segment.of(matrix, first_row)
        while self.segments and len(self.segments[-1].rows) < 2 * len(new.rows) + 1:
            new = self.segments.pop().followed_by(new)
        self.segments.append(new)

    def keep(self, live: Array) -> None:
        """Forget the documents that are not live, and number the others anew."""
        self.segments = [segment.kept(live) for segment in self.segments]

    def merged(self, n_terms: int) -> Segment:
        """All postings in one segment, with pointers for so many terms."""
        while len(self.segments) > 1:
            last = self.segments.pop()
            self.segments[-1] = self.segments[-1].followed_by(last)
        if not self.segments:
            return Segment.of(sp.csr_array((0, n_terms), dtype=np.float32), 0)
        whole = self.segments[0]
        return Segment(whole.widened(n_terms), whole.rows, whole.values)

    def row(self, row: int) -> Any:
        """The terms of one document, CSR; it looks at every posting."""
        terms, values, n_terms = [], [], 0
        for segment in self.segments:
            places = np.flatnonzero(segment.rows == row)
            terms.append(np.searchsorted(segment.indptr, places, side="right") - 1)
            values.append(segment.values[places])
            n_terms = max(n_terms, segment.n_terms)
        columns = np.concatenate(terms)
        pointers = np.array([0, len(columns)])
        return sp.csr_array((np.concatenate(values), columns, pointers), shape=(1, n_terms))

    def products(self, queries: Any, n: int) -> Array:
        """Each row of a CSR matrix times each of the n documents, dense."""
        out = np.zeros((queries.shape[0], n), dtype=np.float32)
        starts, columns = queries.indptr.astype(np.int64), queries.indices.astype(np.int64)
        weights = queries.data.astype(np.float64)
        for segment in self.segments:
            indptr = segment.widened(int(queries.shape[1]))
            work = float((indptr[columns + 1] - indptr[columns]).sum())
            postings = (indptr, segment.rows, segment.values)
            run_threads(kernels.add_products, starts, columns, weights, *postings, out, work=work)
        return out
