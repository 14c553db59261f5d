"""The state of an index at one moment, as an immutable value.

``SearchIndex`` replaces its snapshot as a whole. A search uses the snapshot it began with, whatever
other threads add or remove meanwhile, and a change that fails keeps the old snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dcot.embedding.vectors import Embedding
from dcot.errors import InvalidInputError
from dcot.search import ranking
from dcot.search.encoding import (
    Batch,
    Transformer,
    counter_of,
    encode_rows,
    encode_texts,
    weighed,
    with_vectors,
)
from dcot.search.postings import Postings
from dcot.search.ranking import Ranking
from dcot.search.records import Id, Metadata, Records, unknown_message
from dcot.text import TermCounter

Array = NDArray[Any]
Value = TypeVar("Value")

MIN_CAPACITY = 64  # rows
MAX_REMOVED_SHARE = 0.5  # above this, the space of removed documents is freed


class Vectors:
    """Unit rows of float32; adding rows rarely copies the others.

    The array has spare capacity, which snapshots share. ``used`` holds the number of its rows that
    any of them uses; these never change.
    """

    def __init__(self, array: Array, n: int | None = None, used: list[int] | None = None) -> None:
        self._array, self._n = array, len(array) if n is None else n
        self._used = [self._n] if used is None else used

    def __len__(self) -> int:
        return self._n

    @property
    def array(self) -> Array:
        return self._array[: self._n]

    @property
    def width(self) -> int:
        return int(self._array.shape[1])

    def added(self, rows: Array) -> Vectors:
        """Append rows, in the spare capacity if no other snapshot has used it."""
        array, used, needed = self._array, self._used, self._n + len(rows)
        if used[0] != self._n or needed > len(array):
            capacity = max(needed, self._n + self._n // 2, MIN_CAPACITY)
            array, used = np.empty((capacity, self.width), dtype=np.float32), [0]
            array[: self._n] = self.array
        used[0] = needed
        array[self._n : needed] = rows
        return Vectors(array, needed, used)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The documents of an index and what is needed to search them.

    Attributes
    ----------
    model : the fitted model, or None
    is_text : whether the documents are texts; None if there are none yet
    records : ids, metadata and texts of all rows
    live : mask of the rows that were not removed
    vectors : unit vectors of the documents; None if there are none yet
    vocabulary, counts, lengths : for texts, the terms, their postings, and the number of terms of
        each document
    next_id : id of the next document that is added without one
    embedding : vectors that are used in addition to those of the model, or None
    """

    model: Transformer | None
    is_text: bool | None
    records: Records
    live: Array = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    vectors: Vectors | None = None
    vocabulary: TermCounter | None = None
    counts: Postings = field(default_factory=Postings)
    lengths: Array = field(default_factory=lambda: np.zeros(0))
    next_id: int = 0
    embedding: Embedding | None = None

    def __len__(self) -> int:
        return int(self.live.sum())

    def live_values(self, column: Sequence[Value]) -> list[Value]:
        """The entries of a column of records, without removed rows."""
        return [entry for entry, live in zip(column, self.live.tolist(), strict=True) if live]

    # -- changes ----------------------------------------------------------------------------

    def added(
        self,
        batch: Batch,
        model: Transformer | None,
        ids: Sequence[Id],
        metadata: Sequence[Metadata],
        layer: int | None,
        embedded: tuple[Embedding, Array] | None,
    ) -> Snapshot:
        """Add the documents of a non-empty batch, encoded by the fitted model.

        ``embedded`` are the embedding and its vectors of the documents.
        """
        n, first = len(batch), len(self.live)
        texts = batch.texts
        changes: dict[str, Any] = {}
        if texts is not None:
            assert model is not None
            vocabulary, counts = (self.vocabulary or counter_of(model))._grown(texts)
            vectors = encode_texts(model, texts, counts, layer)
            if embedded is not None:
                vectors = with_vectors(vectors, *embedded)
                changes["embedding"] = embedded[0]
            lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
            changes["vocabulary"] = vocabulary
            changes["counts"] = self.counts.added(counts, first)
            changes["lengths"] = np.concatenate([self.lengths, lengths])
        else:
            vectors = encode_rows(model, batch.matrix, layer)
        self.check_width(vectors)
        whole = [name + 1 for name in ids if isinstance(name, int)]
        return replace(
            self,
            model=model,
            is_text=texts is not None,
            records=self.records.added(ids, metadata, texts),
            live=np.concatenate([self.live, np.ones(n, dtype=np.bool_)]),
            vectors=Vectors(vectors) if self.vectors is None else self.vectors.added(vectors),
            next_id=max([self.next_id, *whole]),
            **changes,
        )

    def removed(self, ids: Sequence[Id]) -> Snapshot:
        """Remove documents; an unknown id is an error."""
        rows = self.records.rows
        unknown = [name for name in ids if name not in rows]
        if unknown:
            raise InvalidInputError(unknown_message(unknown) + ". Nothing was removed")
        live = self.live.copy()
        live[[rows[name] for name in ids]] = False
        rest = replace(self, live=live, records=self.records.removed(ids))
        return rest.compacted() if (~live).sum() > MAX_REMOVED_SHARE * len(live) else rest

    def compacted(self) -> Snapshot:
        """The same documents, without the space of removed ones."""
        if self.vectors is None or self.live.all():
            return self
        rows = np.flatnonzero(self.live)
        return replace(
            self,
            records=self.records.kept(rows),
            live=np.ones(len(rows), dtype=np.bool_),
            vectors=Vectors(self.vectors.array[rows]),
            counts=self.counts.kept(self.live),
            lengths=self.lengths[self.live] if self.vocabulary is not None else self.lengths,
        )

    def check_width(self, vectors: Array) -> None:
        if self.vectors is not None and vectors.shape[1] != self.vectors.width:
            raise InvalidInputError(
                f"features have {vectors.shape[1]} columns, but those of the index have "
                f"{self.vectors.width}: use the same model for both"
            )

    # -- searching --------------------------------------------------------------------------

    def rank(self, queries: Batch, search: Search, k: int) -> Ranking:
        """The k best documents for each query."""
        assert self.vectors is not None
        vectors = self.vectors.array
        if queries.texts is None:
            rows = encode_rows(self.model, queries.matrix, search.layer)
            self.check_width(rows)
            return ranking.by_similarity(vectors, rows, search.allowed, k)
        assert self.vocabulary is not None
        assert self.model is not None
        counts = self.vocabulary.transform(queries.texts)
        if search.share == 0:  # the vectors are not used, and encoders are slow
            rows = np.zeros((len(queries), vectors.shape[1]), dtype=np.float32)
        else:
            rows = encode_texts(self.model, queries.texts, counts, search.layer)
            if self.embedding is not None:
                found = self.embedding.of(queries.texts, weighed(self.model, counts))
                rows = with_vectors(rows, self.embedding, found)
        self.check_width(rows)
        if search.share == 1:
            return ranking.by_similarity(vectors, rows, search.allowed, k)
        step = ranking.queries_at_once(len(vectors))
        how = (search.k1, search.b, self.vocabulary._terms_per_word)
        parts = []
        for start in range(0, len(queries), step):
            some = slice(start, start + step)
            words = self.counts.bm25(counts[some], self.lengths, self.live, *how)
            if search.share == 0:
                parts.append(ranking.by_words(words, search.allowed, k))
                continue
            masks = (self.live, search.allowed)
            parts.append(ranking.by_both(vectors, rows[some], words, *masks, search.share, k))
        return ranking.joined(parts)

    def rank_like(self, row: int, allowed: Array, k: int) -> Ranking:
        """The k documents nearest in meaning to one of them."""
        assert self.vectors is not None
        vectors = self.vectors.array
        return ranking.by_similarity(vectors, vectors[row : row + 1], allowed, k)


@dataclass(frozen=True, eq=False)
class Search:
    """Parameters of a search: allowed rows, weight of meaning, layer and BM25 parameters.

    If ``share`` is None, each query has its own.
    """

    allowed: Array
    share: float | None
    layer: int | None
    k1: float
    b: float
