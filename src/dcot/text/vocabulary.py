"""The terms of a stream of texts, in bounded memory: exact while they fit, then with a known error.

When there are more terms than room, those in the fewest documents are dropped and what the last of
them had is taken off all others (the mergeable form of the Misra-Gries summary). Whatever order
the texts come in, and however parts are merged: **a term that is in more than** ``undercount``
**documents is never lost**, and no count is too low by more than that. A second pass then counts
the terms that are left exactly. So with ``min_df`` above the undercount the vocabulary is the very
one that unbounded memory would have given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcot.stream import Passes
from dcot.text import counting
from dcot.text.counter import TermCounter
from dcot.text.terms import Terms, TermTable

Ints = npt.NDArray[np.int64]

# Bytes that a term takes in a table, its growing counted.
TERM_BYTES = 160
_FEWEST_TERMS = 1000


@dataclass
class Tally:
    """Terms so far, in how many documents and how often each is."""

    table: TermTable
    n_documents: int = 0
    n_stopped: int = 0
    undercount: int = 0

    def __getstate__(self) -> dict[str, Any]:  # what is sent between processes
        n = self.table.n_terms
        terms = self.table.terms()
        counts = self.table.documents[:n].copy(), self.table.totals[:n].copy()
        rest = (self.n_documents, self.n_stopped, self.undercount)
        return {"terms": (terms.arena.copy(), terms.offsets.copy()), "counts": counts, "rest": rest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.table = table_of(Terms(*state["terms"]), *state["counts"])
        self.n_documents, self.n_stopped, self.undercount = state["rest"]

    def learned(self) -> counting.Learned:
        n = self.table.n_terms
        counts = self.table.documents[:n], self.table.totals[:n]
        return counting.Learned(
            self.table.terms(), *counts, [np.arange(n, dtype=np.int32)], self.n_documents,
            self.n_stopped,
        )  # fmt: skip


def table_of(terms: Terms, documents: Ints, totals: Ints) -> TermTable:
    table = TermTable()
    numbers = table.merge(terms)
    table.documents[numbers] = documents
    table.totals[numbers] = totals
    return table


@dataclass
class VocabularySum:
    """All terms of the texts, or as many as there is room for.

    Attributes
    ----------
    counter : says what a term is
    capacity : the most terms at a time
    """

    counter: TermCounter
    capacity: int

    def empty(self) -> Tally:
        return Tally(TermTable())

    def add(self, total: Tally, texts: Any) -> Tally:
        analysis, threads = self.counter._analysis(), self.counter.n_threads
        learned = counting.learn(texts, analysis, threads)
        _take(total.table, learned.terms, learned.documents, learned.totals)
        total.n_documents += learned.n_documents
        total.n_stopped += learned.n_stopped
        return self._bounded(total)

    def merge(self, left: Tally, right: Tally) -> Tally:
        n = right.table.n_terms
        counts = right.table.documents[:n], right.table.totals[:n]
        _take(left.table, right.table.terms(), *counts)
        left.n_documents += right.n_documents
        left.n_stopped += right.n_stopped
        left.undercount += right.undercount
        return self._bounded(left)

    def _bounded(self, total: Tally) -> Tally:
        n = total.table.n_terms
        if n <= self.capacity:
            return total
        documents, totals = total.table.documents[:n], total.table.totals[:n]
        room = max(self.capacity // 2, 1)  # to half: dropping one at a time would take for ever
        cut = int(np.partition(documents, n - room - 1)[n - room - 1])
        kept = np.flatnonzero(documents > cut)
        terms = total.table.terms().take(kept)
        total.table = table_of(terms, documents[kept] - cut, totals[kept])
        total.undercount += cut
        return total


def _take(table: TermTable, terms: Terms, documents: Ints, totals: Ints) -> None:
    numbers = table.merge(terms)
    table.documents[numbers] += documents
    table.totals[numbers] += totals


@dataclass
class KnownSum:
    """In how many documents, and how often, each term of a fitted counter is; and the documents."""

    counter: TermCounter

    def empty(self) -> tuple[Ints, Ints, int]:
        d = self.counter.n_terms_
        return np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64), 0

    def add(self, total: tuple[Ints, Ints, int], texts: Any) -> tuple[Ints, Ints, int]:
        counts = self.counter.transform(texts)
        d = counts.shape[1]
        documents = np.bincount(counts.indices, minlength=d)
        often = np.bincount(counts.indices, weights=counts.data, minlength=d)
        n = total[2] + counts.shape[0]
        return total[0] + documents, total[1] + often.astype(np.int64), n

    def merge(self, left: Any, right: Any) -> tuple[Ints, Ints, int]:
        return left[0] + right[0], left[1] + right[1], left[2] + right[2]


@dataclass
class Counted:
    """What passes over texts told about the terms that were kept, in the order of columns."""

    n_documents: int
    documents: Ints
    totals: Ints


def fit_counter(counter: TermCounter, texts: Passes, memory: float) -> Counted:
    """Learn the counter's vocabulary from passes over texts, within so many bytes.

    Sets ``counter.undercount_``: 0 if all terms fitted; else terms in no more documents than this
    may be missing.
    """
    counter._prepare()
    if counter.vocabulary is not None:
        counter._known_terms()
        counter.undercount_ = 0
        ((documents, totals, n),) = texts.totals([KnownSum(counter)], "counting")
        counter.n_documents_ = n
        return Counted(n, documents, totals)
    capacity = max(int(memory // TERM_BYTES), _FEWEST_TERMS)
    (tally,) = texts.totals([VocabularySum(counter, capacity)], "vocabulary")
    learned = tally.learned()
    counter.undercount_ = tally.undercount
    if tally.undercount:
        learned = _recounted(counter, learned, texts)
    kept = counter._keep(learned)
    totals = learned.documents if counter.binary else learned.totals
    return Counted(learned.n_documents, learned.documents[kept], totals[kept])


def _recounted(counter: TermCounter, learned: counting.Learned, texts: Passes) -> counting.Learned:
    """The same terms, counted exactly."""
    exact = TermCounter(**{**counter.get_params(deep=False), "binary": False})
    exact._terms, exact.n_documents_ = learned.terms, learned.n_documents
    ((documents, totals, _),) = texts.totals([KnownSum(exact)], "counting again")
    return counting.Learned(
        learned.terms, documents, totals, learned.numbers, learned.n_documents, learned.n_stopped
    )
