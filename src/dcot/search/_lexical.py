"""The words themselves: BM25, computed from counts when it is asked for.

Weights are not stored. How rare a term is and how long documents are on average are looked up at
each query, among the documents that are there: adding documents adds a segment of postings, and
removing some costs nothing. BM25 is that of ``dcot.text.TermWeighting``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.runtime.resources import run_threads
from dcot.search import kernels
from dcot.search._postings import Postings
from dcot.text import TermCounter

Array = NDArray[Any]


class Lexical:
    """The terms of the documents in an index.

    Attributes
    ----------
    counter : a ``TermCounter`` whose vocabulary grows with the documents
    postings : the counts of the terms
    lengths : the number of terms of each document
    """

    def __init__(
        self, counter: TermCounter, postings: Postings | None = None, lengths: Any = None
    ) -> None:
        self.counter = counter
        self.postings = postings or Postings()
        self.lengths: Array = np.zeros(0) if lengths is None else lengths

    def count(self, texts: list[str]) -> Any:
        """Counts of texts to be added, CSR; terms that were never seen get new columns."""
        return self.counter.partial_fit(texts).transform(texts)

    def append(self, counts: Any) -> None:
        self.postings.append(counts, len(self.lengths))
        lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        self.lengths = np.concatenate([self.lengths, lengths])

    def keep(self, live: Array) -> None:
        """Forget the documents that are not live."""
        self.postings.keep(live)
        self.lengths = self.lengths[live]

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
        for segment in self.postings.segments:
            indptr = segment.widened(int(queries.shape[1]))
            work = float((indptr[columns + 1] - indptr[columns]).sum())
            postings = (indptr, segment.rows, segment.values)
            run_threads(
                kernels.add_bm25, starts, columns, weights, *postings, damping, out, work=work
            )
        matches = np.add.reduceat(np.append(frequency[place] > 0, False), starts[:-1]) > 0
        return out, matches & (np.diff(starts) > 0)

    def _frequencies(self, terms: Array, live: Array) -> Array:
        """How many live documents have each of these terms."""
        total = np.zeros(len(terms), dtype=np.int64)
        for segment in self.postings.segments:
            indptr = segment.widened(int(terms.max(initial=0)) + 1)
            if live.all():
                total += indptr[terms + 1] - indptr[terms]
            else:
                work = float(len(segment.rows))
                run_threads(kernels.count_live, terms, indptr, segment.rows, live, total, work=work)
        return total
