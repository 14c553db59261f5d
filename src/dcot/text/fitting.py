"""Learn from texts that are never held: their terms first, then dCoT from their moments.

Terms are learned in bounded memory: exactly while they fit, then with a known error. When there
are more terms than room, those in the fewest documents are dropped and what the last of them had
is taken off all others (the mergeable form of the Misra-Gries summary). Whatever order the texts
come in, and however parts are merged: **a term that is in more than** ``undercount`` **documents is
never lost**, and no count is too low by more than that. A second pass then counts the terms that
are left exactly. So with ``min_df`` above the undercount the vocabulary is the one that unbounded
memory would have given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from dcot.core.centred import as_documents, precision
from dcot.core.fit import FitOptions, FittedDCoT, check_weights
from dcot.core.plan import CorpusSize
from dcot.errors import InvalidInputError
from dcot.runtime.progress import announce
from dcot.runtime.resources import allowance
from dcot.stream import Passes
from dcot.stream.blocks import AttachWeights, Block
from dcot.stream.fitting import fit_passes
from dcot.text import counting
from dcot.text.analysis import Analysis
from dcot.text.counter import TermCounter
from dcot.text.options import analysis_from
from dcot.text.pipeline import TextPipeline
from dcot.text.streams import as_column
from dcot.text.terms import Terms, TermTable

Ints = npt.NDArray[np.int64]

# The share of the allowed memory that the terms may take while they are chosen.
VOCABULARY_SHARE = 0.1
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
        learned = counting.learn(texts, _analysis(self.counter), self.counter.n_threads)
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
    """In how many documents, and how often, each known term is; and the number of documents."""

    counter: TermCounter
    terms: Terms

    def empty(self) -> tuple[Ints, Ints, int]:
        d = len(self.terms)
        return np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64), 0

    def add(self, total: tuple[Ints, Ints, int], texts: Any) -> tuple[Ints, Ints, int]:
        store = counting.RowStore(np.int64)
        counting.look_up(texts, _analysis(self.counter), self.terms, store, self.counter.n_threads)
        counts, d = store.matrix(len(self.terms)), len(self.terms)
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
    """Learn the counter's vocabulary from passes over texts, within this many bytes.

    ``counter.undercount_`` is 0 if all terms fitted; else terms in no more documents than this may
    be missing.
    """
    undercount = 0
    if counter.vocabulary is not None:
        learned = _counted(counter, counter.fit([]).terms, texts, "counting")
    else:
        counter.check_parameters()
        capacity = max(int(memory // TERM_BYTES), _FEWEST_TERMS)
        (tally,) = texts.totals([VocabularySum(counter, capacity)], "vocabulary")
        learned, undercount = tally.learned(), tally.undercount
        if undercount:
            exact = _counted(counter, learned.terms, texts, "counting again")
            learned = replace(learned, documents=exact.documents, totals=exact.totals)
    kept = counter.fit_learned(learned, undercount)
    totals = learned.documents if counter.binary else learned.totals
    return Counted(learned.n_documents, learned.documents[kept], totals[kept])


def _counted(counter: TermCounter, terms: Terms, texts: Passes, title: str) -> counting.Learned:
    """Known terms, counted exactly."""
    ((documents, totals, n),) = texts.totals([KnownSum(counter, terms)], title)
    return counting.Learned(terms, documents, totals, [], n, 0)


def _analysis(counter: TermCounter) -> Analysis:
    return analysis_from(counter.get_params(deep=False))


@dataclass
class CountAndWeight:
    """A step of a pass: from texts to weighted terms."""

    pipeline: TextPipeline
    dtype: Any

    def __call__(self, texts: Any) -> Block:
        return Block(as_documents(self.pipeline.transform(texts), self.dtype))


def fit_texts(
    texts: Passes,
    pipeline: TextPipeline,
    options: FitOptions,
    *,
    dtype: Any = None,
    sample_weight: Any = None,
    sparse_parts: bool = False,
) -> FittedDCoT:
    """Learn from passes over batches of texts, wherever the passes are made.

    Parameters
    ----------
    texts : passes over batches of texts
    pipeline : a counter and a weighting, not fitted yet; they are when this returns
    options : the settings; prototypes may be terms
    dtype : the precision to compute in; None takes that of the counter
    sample_weight : how often each text counts for dCoT, or None for once
    sparse_parts : whether partial sums are sent between machines
    """
    if not texts.rereadable:
        raise InvalidInputError(
            "texts are read at least twice, for their terms and for the model, and the source can "
            "be read once: give files, a function that returns a new iterator, or a list of texts"
        )
    texts = texts.map(as_column)
    counter, weighting = pipeline.counter, pipeline.weighting
    begun = perf_counter()
    counted = fit_counter(counter, texts, VOCABULARY_SHARE * allowance(options.memory_limit))
    spent = perf_counter() - begun
    n, d = counted.n_documents, len(counted.documents)
    if counter.undercount_:
        announce(
            options.progress,
            f"terms in {counter.undercount_} documents or fewer may be missing from the "
            "vocabulary: raise memory_limit, or min_df above that",
        )
    weighting.fit_sums(n, counted.documents, float(counted.totals.sum()))
    dtype = precision(dtype, counter.dtype)
    weights = check_weights(sample_weight, n)
    step = CountAndWeight(pipeline, dtype)
    blocks = texts.map(step).map(AttachWeights(weights))
    nnz = float(counted.documents.sum())
    # documents of unequal length have more pairs than those of the mean length
    pairs = 0.6 * nnz * (nnz / n + 1)
    known = CorpusSize(d, n, nnz, pairs, counted.documents, spent)
    options = options.named(pipeline.terms)
    return fit_passes(blocks, d, dtype, options, known=known, sparse_parts=sparse_parts)
