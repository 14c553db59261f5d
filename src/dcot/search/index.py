"""``SearchIndex``: search documents, add and remove them, save and load the index."""

from __future__ import annotations

import threading
from contextlib import suppress
from copy import copy
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone

from dcot.core.options import as_number, check_flag, check_integer, check_number
from dcot.embedding.vectors import Embedding, as_encoder, no_encoder, source_of
from dcot.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    NotAvailableError,
    not_fitted,
)
from dcot.persistence import Contents
from dcot.persistence.saving import Saveable
from dcot.search import encoding
from dcot.search.encoding import Batch, Transformer
from dcot.search.ranking import Ranking
from dcot.search.records import (
    Id,
    Metadata,
    Records,
    allowed_rows,
    check_id,
    check_ids,
    check_where,
    new_ids,
    new_metadata,
    unknown_message,
)
from dcot.search.results import Hit, Hits, Results
from dcot.search.saving import index_contents, read_index
from dcot.search.snapshot import Search, Snapshot
from dcot.text.inputs import as_texts
from dcot.vectorizer import DCoTVectorizer

Array = NDArray[Any]

# Parameters of the vectorizer that is fitted for search by default; measured in docs/search.md.
RETRIEVAL: dict[str, Any] = {"n_layers": 1, "noise": 0.9, "shrinkage": 1.0, "output": "last"}
# Weight of an embedding relative to dCoT.
EMBEDDING_WEIGHT = 0.5


class SearchIndex(Saveable):
    """Find the documents nearest to a query, exactly.

    Texts are compared by meaning (cosine of what dCoT reconstructs) and by words (BM25); features
    by cosine. Documents can be added and removed at any time.

    Parameters
    ----------
    model : DCoTVectorizer, DCoT, another transformer, or None
        The model that turns documents into features. With None, the first ``add`` decides: for
        texts, a ``DCoTVectorizer`` with the parameters ``dcot.search.RETRIEVAL`` is fitted to
        them; the rows of a matrix are used as features. An unfitted model is cloned and fitted to
        the documents of the first ``add``.
    hybrid : bool or float, default=True
        For texts: the weight of meaning against words, from 0 (BM25 alone) to 1 (dCoT alone).
        With True it is chosen for each query, larger for longer queries; False means 1. The score
        is ``weight · cosine + (1 - weight) · BM25 / maximum``, with the maximum of BM25 over all
        documents. Features have no words and are compared by cosine alone.
    layer : int or None, default=1
        For a dCoT model: the layer whose reconstructed values are compared, without the bias.
        With None, features are compared as ``transform`` returns them.
    store_texts : bool, default=False
        Whether to keep the texts, to show them with the results.
    k1, b : float, default=1.2 and 0.75
        BM25: how quickly repeated terms stop mattering, and how much long documents are penalised.
    embedding : encoder, word vectors or None, default=None
        For texts: vectors to compare in addition, as in ``DCoTClassifier``. The cosine is then the
        weighted mean of that of dCoT and that of the vectors, whose weight is half as large. A
        saved index names its encoder, which ``dcot.load(folder, embedding=encoder)`` sets again.

    Attributes
    ----------
    model_ : the fitted model, or None
    ids, metadata : of the documents, in the order in which they were added

    Raises
    ------
    InvalidParameterError
        If ``hybrid``, ``layer``, ``k1`` or ``b`` is out of range.
    InvalidTypeError
        If ``model`` is not a transformer, or ``embedding`` not an encoder or word vectors.

    Notes
    -----
    New words in documents that are added later can be searched for, but their meaning is not
    learned: ``model_`` does not change. Build a new index to learn it.

    Several threads may search at the same time, even while another thread adds, removes or saves:
    each search sees the index as it was when the search began, and documents that are added while
    the index is saved are not in the folder. A change that fails or is interrupted leaves the index
    as it was.

    ``dcot.load(folder, mmap=True)`` leaves the vectors on disk until they are used. An index with a
    model of another library, or an empty one with an embedding, cannot be saved.

    Examples
    --------
    >>> from dcot import SearchIndex
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat and corn prices"]
    >>> index = SearchIndex(store_texts=True).add(texts, ids=["a", "b", "c", "d"])
    >>> index.search("opec", k=2).ids
    ['b', 'a']
    >>> index.remove("b")
    >>> len(index), "b" in index
    (3, False)
    """

    _saved_as: ClassVar = "SearchIndex"

    def __init__(
        self,
        model: Transformer | None = None,
        *,
        hybrid: bool | float = True,
        layer: int | None = 1,
        store_texts: bool = False,
        k1: float = 1.2,
        b: float = 0.75,
        embedding: Any = None,
    ) -> None:
        if model is not None and not hasattr(model, "transform"):
            hint = ": load it first, with dcot.load" if isinstance(model, str) else ""
            raise InvalidTypeError(
                "model must be a DCoTVectorizer, a DCoT, another transformer, or None, got "
                f"{type(model).__name__}{hint}"
            )
        if layer is not None:
            check_integer("layer", layer)
        check_number("k1", k1)
        check_number("b", b)
        if b > 1:
            raise InvalidParameterError(f"b must be in [0, 1], got {b!r}")
        self.model = model
        self.share = share_of_meaning(hybrid)
        self.layer = None if layer is None else int(layer)
        check_flag("store_texts", store_texts)
        self.store_texts = bool(store_texts)
        self.k1, self.b = float(k1), float(b)
        self.embedding = embedding
        self._encoder = None if embedding is None else as_encoder(embedding)
        fitted = model if model is not None and _is_fitted(model) else None
        if isinstance(fitted, Saveable):  # its user may fit it again, or add to it
            fitted = copy(fitted)
        records = Records(texts=() if store_texts else None)
        is_text = True if isinstance(model, DCoTVectorizer) else None
        self._snapshot = Snapshot(fitted, is_text, records)
        self._lock = threading.Lock()  # one change at a time; searches need none

    # -- documents --------------------------------------------------------------------------

    def add(self, documents: Any, ids: Any = None, metadata: Any = None) -> Self:
        """Add documents; if one of them is invalid, none is added.

        Parameters
        ----------
        documents : texts, or a matrix with a row for each document
            They must be of the same kind as those of the first call.
        ids : list of str or int, optional
            Unique ids. By default 0, 1, 2, …
        metadata : list of dict, optional
            Anything that JSON can hold, for filters and results.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If an id is not unique, the documents are of another kind or width than before, or
            features are sparse, NaN or infinite.
        InvalidTypeError
            If documents, ids or metadata have the wrong type.
        InvalidParameterError
            If ``store_texts=True`` and the documents are features.

        Examples
        --------
        >>> index = SearchIndex().add(["crude oil", "wheat harvest"], metadata=[{"year": 1987}, {}])
        >>> index.add(["opec oil"]).ids
        [0, 1, 2]
        """
        with self._lock:
            self._snapshot = self._with(self._snapshot, documents, ids, metadata)
        return self

    def _with(self, before: Snapshot, documents: Any, ids: Any, metadata: Any) -> Snapshot:
        batch = encoding.read_documents(documents, before.is_text)
        names = new_ids(ids, len(batch), before.records, before.next_id)
        entries = new_metadata(metadata, len(batch))
        if not len(batch):
            return before
        if self.store_texts and batch.texts is None:
            raise InvalidParameterError(
                "store_texts=True needs texts, and these documents are rows of numbers: put their "
                "texts into metadata instead"
            )
        model = self._fitted_model(batch)
        embedded = self._embedded(before, batch, model)
        return before.added(batch, model, names, entries, self.layer, embedded)

    def remove(self, ids: Any) -> None:
        """Remove one or several documents by id; with an unknown id, none is removed.

        Raises
        ------
        InvalidInputError
            If the index does not have a document with such an id.

        Examples
        --------
        >>> index = SearchIndex().add(["crude oil", "opec oil", "wheat"], ids=["a", "b", "c"])
        >>> index.remove(["a", "c"])
        >>> index.ids
        ['b']
        """
        names = list(dict.fromkeys(check_ids(ids)))
        with self._lock:
            self._snapshot = self._snapshot.removed(names)

    def __len__(self) -> int:
        return len(self._snapshot)

    def __contains__(self, name: object) -> bool:
        try:
            return check_id(name) in self._snapshot.records.rows
        except InvalidTypeError:
            return False

    @property
    def ids(self) -> list[Id]:
        """Ids of the documents, in the order in which they were added."""
        return self._snapshot.live_values(self._snapshot.records.ids)

    @property
    def metadata(self) -> list[Metadata]:
        """Metadata of the documents, in the order of ``ids``."""
        return self._snapshot.live_values(self._snapshot.records.metadata)

    @property
    def _hybrid(self) -> bool | float:
        """The parameter ``hybrid`` of this index."""
        return True if self.share is None else self.share

    @property
    def model_(self) -> Any:
        """The fitted model, or None."""
        return self._snapshot.model

    def __repr__(self) -> str:
        now = self._snapshot
        kind = {None: "documents", True: "texts", False: "rows of features"}[now.is_text]
        how = f", hybrid={self._hybrid}" if now.is_text is not False else ""
        model = f", {type(now.model).__name__}" if now.model is not None else ""
        model += f" and {now.embedding.name}" if now.embedding is not None else ""
        return f"<SearchIndex of {len(now):,} {kind}{model}{how}>"

    # -- searching --------------------------------------------------------------------------

    def search(
        self, queries: Any, k: int = 10, *, where: Any = None, hybrid: bool | float | None = None
    ) -> Any:
        """The k best documents for a query, or for each of several.

        A query without any known word (or a row of zeros) finds nothing, and ``hits.known`` is
        False. If k is larger than the number of documents, all of them are found.

        Parameters
        ----------
        queries : a text or a row of numbers for one query; a list or matrix for several
        k : int
            Number of documents to find for each query.
        where : callable, dict, ids or mask, optional
            A filter: a function of the metadata (a dict), metadata values (one or several per
            key), ids, or a boolean array in the order of ``ids``. If the metadata is a list, one
            of its entries must match. Scores do not depend on the filter.
        hybrid : bool or float, optional
            Overrides the parameter of the index.

        Returns
        -------
        Hits for one query, Results for several

        Raises
        ------
        InvalidParameterError
            If ``k`` or ``hybrid`` is out of range.
        InvalidTypeError
            If ``where`` is not a filter.
        InvalidInputError
            If the queries are of another kind or width than the documents, or ``where`` does not
            fit the index, as with a key that no document has in its metadata.
        NotAvailableError
            If ``hybrid`` is set and the documents are features.

        Examples
        --------
        >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "corn prices"]
        >>> index = SearchIndex().add(texts)
        >>> index.search("opec", k=2).ids
        [1, 0]
        >>> [hits.ids for hits in index.search(["opec", "harvest"], k=1)]
        [[1], [2]]
        >>> index.search("prices", where=[3]).ids
        [3]
        """
        check_integer("k", k)
        check_where(where)
        now = self._snapshot
        share = self.share if hybrid is None else share_of_meaning(hybrid)
        if hybrid is not None and share != 1 and now.is_text is False:
            raise NotAvailableError(
                "hybrid search needs words, and this index has only features: build it from texts, "
                "or leave hybrid out"
            )
        single, batch = encoding.read_queries(queries, now.is_text)
        texts: list[Any] = [None] * len(batch) if batch.texts is None else batch.texts
        if not len(now) or not len(batch):
            found = [Hits([], text) for text in texts]
        else:
            allowed = allowed_rows(where, now.records, now.live)
            search = Search(allowed, share, self.layer, self.k1, self.b)
            ranked = now.rank(batch, search, k)
            found = [_hits(now.records, ranked, place, text) for place, text in enumerate(texts)]
        return found[0] if single else Results(found)

    def similar(self, name: Id, k: int = 10, *, where: Any = None) -> Hits:
        """The documents nearest in meaning to one of the index, without that document.

        Raises
        ------
        InvalidInputError
            If the index does not have a document with this id.
        InvalidParameterError
            If ``k`` is not a positive integer.
        InvalidTypeError
            If the id or ``where`` has the wrong type.

        Examples
        --------
        >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "corn prices"]
        >>> index = SearchIndex().add(texts)
        >>> index.similar(1, k=1).ids
        [0]
        """
        check_integer("k", k)
        check_where(where)
        now = self._snapshot
        row = now.records.rows.get(check_id(name))
        if row is None:
            raise InvalidInputError(unknown_message([name]))
        allowed = allowed_rows(where, now.records, now.live).copy()
        allowed[row] = False
        return _hits(now.records, now.rank_like(row, allowed, k), 0)

    def explore(self) -> Any:
        """A page to explore the documents and the model, for a notebook or to ``save``.

        The index needs ``store_texts=True``. See ``DCoTVectorizer.explore``.

        Raises
        ------
        InvalidInputError
            If the index has no texts.

        Examples
        --------
        >>> from dcot import SearchIndex
        >>> page = SearchIndex(store_texts=True).add(["crude oil", "wheat harvest"] * 5).explore()
        >>> page.save("page.html")  # doctest: +SKIP
        """
        return import_module("dcot.web.explore.export").page_of(self)

    # -- saving -----------------------------------------------------------------------------

    def _contents(self, keep_moments: bool) -> Contents:
        with self._lock:
            now = self._snapshot = self._snapshot.compacted()
        if self.embedding is not None and now.embedding is None:
            raise InvalidInputError(
                "an empty index with an embedding cannot be saved, because a folder holds no "
                "encoder: add documents first"
            )
        model = self.model if now.model is None else now.model
        parameters = {
            "hybrid": self._hybrid,
            "layer": self.layer,
            "store_texts": self.store_texts,
            "k1": self.k1,
            "b": self.b,
        }
        return index_contents(now, model, parameters, keep_moments)

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        snapshot, parameters = read_index(contents)
        index = cls(snapshot.model, **parameters)
        index._snapshot = snapshot
        return index

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def _fitted_model(self, batch: Batch) -> Transformer | None:
        """The model of the index, fitted to the batch if it is not fitted."""
        fitted = self._snapshot.model
        if fitted is not None:
            return fitted
        documents = batch.matrix if batch.texts is None else batch.texts
        if isinstance(self.model, ClassifierMixin):  # it learns from labels
            raise not_fitted(self.model)
        if self.model is not None:
            return clone(self.model).fit(documents)  # type: ignore[no-any-return]
        return None if batch.texts is None else DCoTVectorizer(**RETRIEVAL).fit(documents)

    def _embedded(
        self, before: Snapshot, batch: Batch, model: Transformer | None
    ) -> tuple[Embedding, Array] | None:
        """The embedding, learned from the first documents, and its vectors of a batch."""
        if before.embedding is None and self.embedding is None:
            return None
        if batch.texts is None:
            raise InvalidInputError(
                "an embedding needs texts, and these documents are rows of numbers: leave "
                "embedding out, or append its vectors to the rows"
            )
        known = before.embedding
        by_words = self._encoder is None if known is None else known.table is not None
        X, terms = None, None
        if by_words and isinstance(model, DCoTVectorizer):
            X, terms = model.weigh(batch.texts), model.counter_.get_feature_names_out()
        if known is not None:
            return known, known.of(batch.texts, X)
        source = source_of(self.embedding, self._encoder, None, X, as_texts(batch.texts), terms)
        learned, vectors = source.learn(np.arange(len(batch)))
        return replace(learned, weight=EMBEDDING_WEIGHT), vectors

    def _attach_encoder(self, encoder: Any) -> Self:
        """Set the encoder of a loaded index: ``dcot.load(folder, embedding=encoder)``."""
        with self._lock:
            fitted = self._snapshot.embedding
            if fitted is None:
                raise no_encoder()
            self._snapshot = replace(self._snapshot, embedding=fitted.with_encoder(encoder))
        return self


def _hits(records: Records, ranked: Ranking, place: int, query: str | None = None) -> Hits:
    """The hits of one query, with the records of the documents."""
    rows = ranked.rows[place]
    rows = rows[rows >= 0].tolist()
    scores: list[float] = ranked.scores[place].tolist()
    similarity, bm25 = (
        [None] * len(rows) if part is None else part[place].tolist()
        for part in (ranked.similarity, ranked.bm25)
    )
    hits = [
        Hit(
            rank + 1,
            records.ids[row],
            scores[rank],
            similarity[rank],
            bm25[rank],
            records.metadata[row],
            None if records.texts is None else records.texts[row],
        )
        for rank, row in enumerate(rows)
    ]
    weights = None if ranked.weights is None else tuple(ranked.weights[place].tolist())
    return Hits(hits, query, bool(ranked.known[place]), weights)


def share_of_meaning(hybrid: Any) -> float | None:
    """The weight of dCoT against BM25 from ``hybrid``; None if each query has its own.

    >>> share_of_meaning(True), share_of_meaning(False), share_of_meaning(0.3)
    (None, 1.0, 0.3)
    """
    if isinstance(hybrid, bool | np.bool_):
        return None if hybrid else 1.0
    number = as_number(hybrid)
    if 0 <= number <= 1:
        return number
    raise InvalidParameterError(
        "hybrid must be True, False, or the weight of meaning from 0 (BM25 alone) to 1 (dCoT "
        f"alone), got {hybrid!r}"
    )


def _is_fitted(model: Transformer) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        with suppress(TypeError):  # not a scikit-learn estimator: assume it is fitted
            check_is_fitted(model)
    except NotFittedError:
        return False
    return True
