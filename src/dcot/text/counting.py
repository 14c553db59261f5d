"""Counting a corpus on several threads: slices of documents in, rows of counts out.

Each thread has a table of terms of its own, so that none waits for another. The tables are merged
once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dcot.text import inputs, kernels_terms
from dcot.text.analysis import Analysis
from dcot.text.rows import Rows, RowStore, scratch
from dcot.text.terms import Terms, TermTable
from dcot.text.threads import Lent, in_threads

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

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
        self.tables = Lent(TermTable)

    def __call__(self, documents: pl.Series) -> tuple[int, int, Rows | None]:
        spans = self.analysis.spans(documents)
        with self.tables.one() as (number, table):
            rows = table.count(spans.text, spans.starts, spans.ends, spans.first)
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
    table, numbers = _merged(learner.tables.made or [TermTable()])
    n_terms = table.n_terms
    totals = table.documents[:n_terms], table.totals[:n_terms]
    return Learned(table.terms(), *totals, numbers, n_documents, n_stopped)


def _merged(tables: list[TermTable]) -> tuple[TermTable, list[Int32s]]:
    """One table of all terms, and the numbers there of each table's terms."""
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
    lent = Lent(partial(scratch, len(terms), np.int32))

    def count(piece: pl.Series) -> Rows:
        spans = analysis.spans(piece)
        of_documents = spans.text, spans.starts, spans.ends, spans.first
        with lent.one() as (_, space):
            return Rows(0, *kernels_terms.count_known(*of_documents, *known, *space))

    slices = _slices(documents, analysis)
    for rows in in_threads(count, slices, _threads(analysis, n_threads)):
        store.append(rows)
