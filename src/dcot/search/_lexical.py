"""The words themselves: postings of every term, and BM25 computed from them when asked.

Weights are not stored. How rare a term is and how long documents are on average are looked up at
each query, among the documents that are there: adding documents adds a segment of postings, and
removing some costs nothing. BM25 is that of ``dcot.text.TermWeighting``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot._machine import run_threads
from dcot.search import kernels
from dcot.text import TermCounter

Array = NDArray[Any]


@dataclass
class Segment:
    """Postings of some documents, by term: those of term t are ``indptr[t] : indptr[t + 1]``."""

    indptr: Array
    rows: Array
    counts: Array

    @classmethod
    def of(cls, counts: Any, first_row: int) -> Segment:
        """From a CSR matrix of counts whose first row is document ``first_row``."""
        by_term = sp.csc_array(counts)
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
        counts = np.empty(indptr[-1], dtype=np.float32)
        starts = [indptr[:-1], indptr[:-1] + sizes[0]]
        for part, own, size, start in zip((self, other), pointers, sizes, starts, strict=True):
            places = np.arange(own[-1]) + np.repeat(start - own[:-1], size)
            rows[places], counts[places] = part.rows, part.counts
        return Segment(indptr, rows, counts)

    def kept(self, live: Array) -> Segment:
        """Without the documents that are gone, the others numbered anew."""
        stays = live[self.rows]
        before = np.concatenate([[0], np.cumsum(stays)])
        number = np.cumsum(live) - 1
        return Segment(
            before[self.indptr], number[self.rows[stays]].astype(np.int64), self.counts[stays]
        )


class Lexical:
    """The terms of the documents in an index.

    Attributes
    ----------
    counter : a ``TermCounter`` whose vocabulary grows with the documents
    segments : postings, the larger and older first
    lengths : the number of terms of each document
    """

    def __init__(
        self, counter: TermCounter, segments: list[Segment] | None = None, lengths: Any = None
    ) -> None:
        self.counter = counter
        self.segments = segments or []
        self.lengths: Array = np.zeros(0) if lengths is None else lengths

    def count(self, texts: list[str]) -> Any:
        """Counts of texts to be added, CSR; terms that were never seen get new columns."""
        return self.counter.partial_fit(texts).transform(texts)

    def append(self, counts: Any) -> None:
        new = Segment.of(counts, len(self.lengths))
        lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        self.lengths = np.concatenate([self.lengths, lengths])
        # A segment is merged into one that is not twice as large: there are few of them, and an
        # entry moves a logarithmic number of times.
        while self.segments and len(self.segments[-1].rows) < 2 * len(new.rows) + 1:
            new = self.segments.pop().followed_by(new)
        self.segments.append(new)

    def keep(self, live: Array) -> None:
        """Forget the documents that are not live."""
        self.segments = [segment.kept(live) for segment in self.segments]
        self.lengths = self.lengths[live]

    def merged(self) -> Segment:
        """All postings in one segment."""
        while len(self.segments) > 1:
            last = self.segments.pop()
            self.segments[-1] = self.segments[-1].followed_by(last)
        if not self.segments:
            return Segment(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
        return self.segments[0]

    def scores(self, queries: Any, live: Array, k1: float, b: float) -> tuple[Array, Array]:
        """BM25 of all documents for the rows of a CSR matrix of counts, and which rows match any.

        A document that is gone may have a score; it is for the caller to pass it over.
        """
        queries = sp.csr_array(queries)
        n = len(self.lengths)
        out = np.zeros((queries.shape[0], n), dtype=np.float32)
        columns = queries.indices.astype(np.int64)
        terms, place = np.unique(columns, return_inverse=True)
        frequency = self._frequencies(terms, live)
        n_live = int(live.sum())
        idf = np.log1p((n_live - frequency + 0.5) / (frequency + 0.5))
        starts = queries.indptr.astype(np.int64)
        weights = queries.data * idf[place] * (k1 + 1.0)
        mean = self.lengths[live].mean() if n_live else 0.0
        relative = self.lengths / mean if mean > 0 else np.ones(n)
        damping = k1 * (1.0 - b + b * relative)
        for segment in self.segments:
            indptr = segment.widened(int(queries.shape[1]))
            work = float((indptr[columns + 1] - indptr[columns]).sum())
            postings = (indptr, segment.rows, segment.counts)
            run_threads(
                kernels.add_bm25, starts, columns, weights, *postings, damping, out, work=work
            )
        matches = np.add.reduceat(np.append(frequency[place] > 0, False), starts[:-1]) > 0
        return out, matches & (np.diff(starts) > 0)

    def _frequencies(self, terms: Array, live: Array) -> Array:
        """How many live documents have each of these terms."""
        total = np.zeros(len(terms), dtype=np.int64)
        for segment in self.segments:
            indptr = segment.widened(int(terms.max(initial=0)) + 1)
            if live.all():
                total += indptr[terms + 1] - indptr[terms]
            else:
                work = float(len(segment.rows))
                run_threads(kernels.count_live, terms, indptr, segment.rows, live, total, work=work)
        return total
