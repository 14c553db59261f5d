"""The words of documents by term, and BM25.

BM25 is computed from counts for each query, as in ``dcot.text.TermWeighting``, with the document
frequencies and the mean length of the documents now in the index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.kernels import _compiled
from dcot.runtime.resources import run_threads
from dcot.text.weighting import weight_of_meaning

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Segment:
    """Postings of some documents: those with term t are ``rows[indptr[t] : indptr[t + 1]]``."""

    indptr: Array
    rows: Array
    values: Array

    @classmethod
    def of(cls, matrix: Any, first_row: int) -> Segment:
        """Postings of a CSR matrix whose first row is document ``first_row``."""
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
        """Pointers for at least this many terms; no document here has the additional ones."""
        if n_terms <= self.n_terms:
            return self.indptr
        extra = np.full(n_terms - self.n_terms, self.indptr[-1], dtype=np.int64)
        return np.concatenate([self.indptr, extra])

    def followed_by(self, other: Segment) -> Segment:
        """Both segments as one; the rows of ``other`` come later."""
        n_terms = max(self.n_terms, other.n_terms)
        pointers = [self.widened(n_terms), other.widened(n_terms)]
        sizes = [np.diff(indptr) for indptr in pointers]
        indptr = pointers[0] + pointers[1]
        rows = np.empty(indptr[-1], dtype=np.int64)
        values = np.empty(indptr[-1], dtype=np.float32)
        starts = [indptr[:-1], indptr[:-1] + sizes[0]]
        for part, pointer, size, start in zip((self, other), pointers, sizes, starts, strict=True):
            places = np.arange(pointer[-1]) + np.repeat(start - pointer[:-1], size)
            rows[places], values[places] = part.rows, part.values
        return Segment(indptr, rows, values)

    def kept(self, live: Array) -> Segment:
        """Without removed documents; the others are renumbered."""
        stays = live[self.rows]
        before = np.concatenate([[0], np.cumsum(stays)])
        number = np.cumsum(live) - 1
        return Segment(
            before[self.indptr], number[self.rows[stays]].astype(np.int64), self.values[stays]
        )


@dataclass(frozen=True, eq=False)
class Lexical:
    """BM25 of all documents for some queries.

    ``matches`` tells whether any document has a word of the query, and ``meaning`` is the weight
    of meaning against words for the query.
    """

    scores: Array
    matches: Array
    meaning: Array


@dataclass(frozen=True, eq=False)
class Postings:
    """Postings of all documents in a few segments, from large and old to small and new."""

    segments: tuple[Segment, ...] = ()

    def added(self, matrix: Any, first_row: int) -> Postings:
        """Add the rows of a CSR matrix.

        Segments less than twice as large as the next one are merged, so that there are few
        segments and each entry is copied only a logarithmic number of times.
        """
        new, kept = Segment.of(matrix, first_row), list(self.segments)
        while kept and len(kept[-1].rows) < 2 * len(new.rows) + 1:
            new = kept.pop().followed_by(new)
        return Postings((*kept, new))

    def kept(self, live: Array) -> Postings:
        """Without removed documents."""
        return Postings(tuple(segment.kept(live) for segment in self.segments))

    def merged(self, n_terms: int) -> Segment:
        """All segments as one, with pointers for this many terms."""
        if not self.segments:
            return Segment.of(sp.csr_array((0, n_terms), dtype=np.float32), 0)
        whole = self.segments[-1]
        for segment in self.segments[-2::-1]:
            whole = segment.followed_by(whole)
        return Segment(whole.widened(n_terms), whole.rows, whole.values)

    def frequencies(self, terms: Array, live: Array) -> Array:
        """Number of live documents that have each of these terms."""
        total = np.zeros(len(terms), dtype=np.int64)
        all_live = bool(live.all())
        for segment in self.segments:
            indptr = segment.widened(int(terms.max(initial=0)) + 1)
            starts, ends = indptr[terms], indptr[terms + 1]
            if all_live:
                total += ends - starts
                continue
            for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
                total[place] += np.count_nonzero(live[segment.rows[start:end]])
        return total

    def bm25(
        self,
        queries: Any,
        lengths: Array,
        live: Array,
        k1: float,
        b: float,
        terms_per_word: float = 1.0,
    ) -> Lexical:
        """BM25 of all documents for the rows of a CSR matrix of counts.

        ``lengths`` is the number of terms of each document, ``terms_per_word`` about how many terms
        a word has. Removed documents may get a score; the caller skips them.
        """
        queries = sp.csr_array(queries)
        n, n_live = len(lengths), int(live.sum())
        out = np.zeros((queries.shape[0], n), dtype=np.float32)
        columns = queries.indices.astype(np.int64)
        terms, place = np.unique(columns, return_inverse=True)
        frequency = self.frequencies(terms, live)
        idf = np.log1p((n_live - frequency + 0.5) / (frequency + 0.5))
        starts = queries.indptr.astype(np.int64)
        weights = queries.data * idf[place] * (k1 + 1.0)
        mean = float(lengths[live].mean()) if n_live else 0.0
        relative = lengths / mean if mean > 0 else np.ones(n)
        damping = k1 * (1.0 - b + b * relative)
        for segment in self.segments:
            indptr = segment.widened(int(queries.shape[1]))
            work = float((indptr[columns + 1] - indptr[columns]).sum())
            postings = (indptr, segment.rows, segment.values)
            run_threads(add_bm25, starts, columns, weights, *postings, damping, out, work=work)
        found = sp.csr_array(
            (np.where(frequency[place] > 0, weights, 0.0), columns, starts), shape=queries.shape
        )
        return Lexical(out, found.sum(axis=1) > 0, weight_of_meaning(found, mean, terms_per_word))


@_compiled
def add_bm25(
    starts: Array,
    terms: Array,
    weights: Array,
    indptr: Array,
    rows: Array,
    counts: Array,
    damping: Array,
    out: Array,
    first: int,
    step: int,
) -> None:
    """``out[i, row] += Σ weight · count / (count + damping_row)`` over the terms of query i.

    A thread works on the queries first, first + step, … The terms of query i are those from
    ``starts[i]`` to ``starts[i + 1]``; the postings of term t are those from ``indptr[t]`` to
    ``indptr[t + 1]``.
    """
    for i in range(first, len(out), step):
        line = out[i]
        for entry in range(starts[i], starts[i + 1]):
            weight, term = weights[entry], terms[entry]
            for place in range(indptr[term], indptr[term + 1]):
                row, count = rows[place], counts[place]
                line[row] += weight * count / (count + damping[row])
