"""``SearchIndex``: documents that can be searched, added to, removed from, saved and loaded."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from dcot.core.options import check_integer, check_number
from dcot.errors import InvalidInputError, InvalidParameterError, NotAvailableError
from dcot.search import _encoding as encoding
from dcot.search import _ranking as ranking
from dcot.search._filters import allowed_rows, check_where, unknown_message
from dcot.search._index_state import SaveableIndex
from dcot.search._lexical import Lexical
from dcot.search._postings import Postings
from dcot.search._records import (
    Column,
    Id,
    Records,
    check_id,
    check_ids,
    is_texts,
    new_ids,
    new_metadata,
)
from dcot.search._vectors import Vectors
from dcot.search.results import Hit, Hits, Results
from dcot.text.inputs import batches
from dcot.vectorizer import DCoTVectorizer

Array = NDArray[Any]

# What a vectorizer for search is fitted with, where none is given: one layer and less noise than
# for classification, because a query means what it says (docs/search.md has the measurements).
RETRIEVAL: dict[str, Any] = {"n_layers": 1, "noise": 0.7, "shrinkage": 1.0, "output": "last"}

DEFAULT_WEIGHT = 0.5  # of meaning, beside words

_COMPACT_ABOVE = 0.5  # share of removed documents at which the space is taken back


class SearchIndex(SaveableIndex):
    """Find the documents nearest to a query, exactly.

    Texts are compared by what their words mean (cosine with what dCoT rebuilds) and by the words
    themselves (BM25); features by cosine. Documents can be added and removed at any time.

    Parameters
    ----------
    model : DCoTVectorizer, DCoT, another transformer, or None
        What makes features of documents. None: the first ``add`` decides. If it gets texts, a
        ``DCoTVectorizer`` with the settings ``dcot.search.RETRIEVAL`` is fitted to them; if it
        gets a matrix, its rows are the features. A model that is not fitted is cloned and fitted
        to the documents of the first ``add`` too.
    hybrid : bool or float, default=True
        For texts: the share of meaning beside words, from 0 (BM25 alone) to 1 (dCoT alone). True
        is 0.5, False is 1. Each part is divided by the largest that any document has for the
        query, so that 1 is the best there is in both. Features know no words, and are compared by
        cosine alone.
    layer : int or None, default=1
        Of a dCoT model: which layer's rebuilt terms are compared, their bias taken off; with a
        ``DCoTVectorizer`` beside the weighted words that they were rebuilt from. None takes the
        model's own features as ``transform`` gives them.
    store_texts : bool, default=False
        Keep the texts, to show them with the results.
    k1, b : float, default=1.2 and 0.75
        BM25: how soon more of a term stops to matter, and how much long documents are marked down.

    Attributes
    ----------
    model_ : the fitted model, or None
    ids : ids of the documents, in the order in which they came

    Notes
    -----
    The words of documents that are added later are searched for like all others. What they mean is
    not learned: ``model_`` stays as it was fitted. To learn anew, build a new index.

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
        model: Any = None,
        *,
        hybrid: bool | float = True,
        layer: int | None = 1,
        store_texts: bool = False,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        encoding.check_model(model)
        encoding.check_layer(layer)
        check_number("k1", k1)
        check_number("b", b)
        if b > 1:
            raise InvalidParameterError(f"b must be in [0, 1], got {b!r}")
        self.model = model
        self.weight = share_of_meaning(hybrid)
        self.layer = layer
        self.store_texts = bool(store_texts)
        self.k1, self.b = float(k1), float(b)
        self.model_: Any = model if model is not None and _is_fitted(model) else None
        self._vectors: Vectors | None = None
        self._lexical: Lexical | None = None
        self._own = Postings()
        self._records = Records(Column(), Column(), Column() if store_texts else None)
        self._live: Array = np.zeros(0, dtype=np.bool_)
        self._next_id = 0
        self._is_text: bool | None = True if isinstance(model, DCoTVectorizer) else None

    # -- documents --------------------------------------------------------------------------

    def add(self, documents: Any, ids: Any = None, metadata: Any = None) -> Self:
        """Add documents; if anything is wrong with any of them, none is added.

        Parameters
        ----------
        documents : texts, or a matrix with a row for each document
            Of the kind that the first call had.
        ids : list of str or int, optional
            Unique in the index. By default 0, 1, 2, …
        metadata : list of dict, optional
            Anything that JSON can hold, to filter by and to show.
        """
        texts, rows = self._read(documents)
        n = len(texts) if texts is not None else rows.shape[0]
        taken = self._records.rows(self._live)
        names = new_ids(ids, n, taken, self._next_id)
        entries = new_metadata(metadata, n)
        if not n:
            return self
        is_text = texts is not None
        if self.store_texts and not is_text:
            raise InvalidParameterError(
                "store_texts=True needs documents that are texts, and these are rows of numbers: "
                "put their texts into metadata instead"
            )
        self._ensure_model(texts if is_text else rows)
        if texts is not None:
            lexical = self._lexical or Lexical(encoding.growing_counter(self.model_))
            counts = lexical.count(texts)
            vectors, own = encoding.encode_texts(self.model_, texts, counts, self.layer)
        else:
            vectors = encoding.encode_rows(self.model_, rows, self.layer)
        self._check_width(vectors.shape[1])
        # nothing below can fail
        if self._vectors is None:
            self._vectors = Vectors(vectors)
        else:
            self._vectors.append(vectors)
        if is_text:
            lexical.append(counts)
            self._lexical = lexical
            if own is not None:
                self._own.append(own, len(self._live))
        self._is_text = is_text
        self._records.extend(names, entries, texts if self.store_texts else None)
        self._live = np.concatenate([self._live, np.ones(n, dtype=np.bool_)])
        whole = [name for name in names if isinstance(name, int)]
        self._next_id = max([self._next_id, *(name + 1 for name in whole)])
        return self

    def remove(self, ids: Any) -> None:
        """Remove documents by id, one or several; an unknown id is an error, and removes none."""
        names = list(dict.fromkeys(check_ids(ids)))
        rows = self._records.rows(self._live)
        unknown = [name for name in names if name not in rows]
        if unknown:
            raise InvalidInputError(unknown_message(unknown) + ". Nothing was removed")
        self._live[[rows[name] for name in names]] = False
        self._records.forget(names)
        if (~self._live).sum() > _COMPACT_ABOVE * len(self._live):
            self._compact()

    def __len__(self) -> int:
        return int(self._live.sum())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str | int) and name in self._records.rows(self._live)

    @property
    def ids(self) -> list[Id]:
        """Ids of the documents, in the order in which they came."""
        return [self._records.ids[row] for row in np.flatnonzero(self._live).tolist()]

    def __repr__(self) -> str:
        kind = {None: "documents", True: "texts", False: "rows of features"}[self._is_text]
        how = f", hybrid={self.weight:g}" if self._is_text is not False else ""
        model = f", {type(self.model_).__name__}" if self.model_ is not None else ""
        return f"<SearchIndex of {len(self):,} {kind}{model}{how}>"

    # -- searching --------------------------------------------------------------------------

    def search(
        self, queries: Any, k: int = 10, *, where: Any = None, hybrid: bool | float | None = None
    ) -> Any:
        """The k best documents for a query, or for each of several.

        A query in which no word is known (or that is a row of zeros) finds nothing, and says so:
        ``hits.known`` is False. With k beyond the number of documents all of them are found.

        Parameters
        ----------
        queries : a text or a row of numbers for one query; a list or matrix for several
        k : int
            How many documents to find for each.
        where : callable, dict, ids or mask, optional
            Only documents whose metadata the function likes (it gets a dict), whose metadata have
            these values (or one of several), with these ids, or where a boolean array in the order
            of ``ids`` is true. Scores stay what they are without.
        hybrid : bool or float, optional
            Another share of meaning than the index has.

        Returns
        -------
        Hits for one query, Results for several
        """
        check_integer("k", k)
        check_where(where)
        weight = self.weight if hybrid is None else share_of_meaning(hybrid)
        if hybrid is not None and weight < 1 and self._is_text is False:
            raise NotAvailableError(
                "hybrid search needs words, and this index holds features: build it from texts, or "
                "leave hybrid out"
            )
        single, texts, rows = self._read_queries(queries)
        n = len(texts) if texts is not None else rows.shape[0]
        if self._vectors is None or not len(self) or not n:
            found = self._nothing(texts, n)
        else:
            allowed = allowed_rows(where, self._records, self._live)
            ranked = self._rank(texts, rows, allowed, k, weight)
            found = [
                self._hits(ranked, place, None if texts is None else texts[place])
                for place in range(n)
            ]
        return found[0] if single else Results(found)

    def similar(self, name: Id, k: int = 10, *, where: Any = None) -> Hits:
        """The documents nearest in meaning to one in the index, itself left out."""
        check_integer("k", k)
        check_where(where)
        row = self._records.rows(self._live).get(check_id(name))
        if row is None or self._vectors is None:
            raise InvalidInputError(unknown_message([name]))
        allowed = allowed_rows(where, self._records, self._live).copy()
        allowed[row] = False
        vectors = self._vectors.array
        query = vectors[row : row + 1]
        if not self._own.segments:
            return self._hits(ranking.by_similarity(vectors, query, allowed, k), 0)
        words = self._own.row(row)
        products = self._own.products(words, len(vectors))
        known = np.array([words.nnz > 0])
        return self._hits(ranking.by_meaning(vectors, query, products, known, allowed, k), 0)

    # -- the rest is our own affair -----------------------------------------------------------

    def _rank(
        self, texts: list[str] | None, rows: Any, allowed: Array, k: int, weight: float
    ) -> ranking.Ranking:
        assert self._vectors is not None
        vectors = self._vectors.array
        if texts is None:
            queries = encoding.encode_rows(self.model_, rows, self.layer)
            self._check_width(queries.shape[1])
            return ranking.by_similarity(vectors, queries, allowed, k)
        assert self._lexical is not None
        counts = self._lexical.counter.transform(texts)
        queries, own = encoding.encode_texts(self.model_, texts, counts, self.layer)
        if weight == 1 and own is None:
            return ranking.by_similarity(vectors, queries, allowed, k)
        step = ranking.queries_at_once(len(vectors))
        parts = []
        for start in range(0, len(texts), step):
            block = slice(start, start + step)
            words = None if own is None else own[block]
            parts.append(self._rank_block(queries[block], words, counts[block], allowed, k, weight))
        return ranking.joined(parts)

    def _rank_block(
        self, queries: Array, own: Any, counts: Any, allowed: Array, k: int, weight: float
    ) -> ranking.Ranking:
        """Some queries against all documents."""
        assert self._vectors is not None
        assert self._lexical is not None
        vectors, live = self._vectors.array, self._live
        words = None
        if weight > 0 and own is not None:
            words = self._own.products(own, len(vectors))
        if weight == 1:
            assert words is not None
            known = np.diff(own.indptr) > 0
            return ranking.by_meaning(vectors, queries, words, known, allowed, k)
        lexical = self._lexical.scores(counts, live, self.k1, self.b)
        if weight == 0:
            return ranking.by_words(lexical, allowed, k)
        return ranking.by_both(vectors, queries, words, lexical, live, allowed, weight, k)

    def _hits(self, ranked: ranking.Ranking, place: int, query: str | None = None) -> Hits:
        rows = ranked.rows[place]
        rows = rows[rows >= 0].tolist()
        records, parts = self._records, (ranked.similarity, ranked.bm25)
        scores: list[float] = ranked.scores[place].tolist()
        similarity, bm25 = (
            [None] * len(rows) if part is None else part[place].tolist() for part in parts
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
        return Hits(hits, query, bool(ranked.known[place]))

    def _nothing(self, texts: list[str] | None, n: int) -> list[Hits]:
        """What an empty index finds."""
        return [Hits([], None if texts is None else texts[place]) for place in range(n)]

    def _read(self, documents: Any) -> tuple[list[str] | None, Any]:
        """Documents as texts or as a matrix: one of the two."""
        if isinstance(documents, str):
            raise InvalidInputError("documents must be several: put a single text into a list")
        given = is_texts(documents)
        if hasattr(documents, "__len__") and not sp.issparse(documents) and not len(documents):
            given = given if self._is_text is None else self._is_text
            documents = documents if given else np.zeros((0, 0))
        if self._is_text is not None and given != self._is_text:
            kinds = ("rows of numbers", "texts")
            raise InvalidInputError(
                f"this index is one of {kinds[self._is_text]}, and got {kinds[given]}: an index "
                "holds documents of one kind"
            )
        if given:
            return [text for batch in batches(documents) for text in batch.to_list()], None
        matrix = documents if sp.issparse(documents) else np.asarray(documents)
        if matrix.ndim != 2:
            raise InvalidInputError(
                "documents must be texts, or a matrix with a row for each, got an array with "
                f"{matrix.ndim} dimensions"
            )
        return None, matrix

    def _read_queries(self, queries: Any) -> tuple[bool, list[str] | None, Any]:
        """Whether it is one query, and the queries as texts or as a matrix."""
        if isinstance(queries, str):
            if self._is_text is False:
                raise InvalidInputError(
                    "this index holds features and cannot read a text: pass the features of the "
                    "query, made as those of the documents were"
                )
            return True, [queries], None
        if self._is_text is not True and not sp.issparse(queries) and not is_texts(queries):
            matrix = np.asarray(queries)
            if matrix.ndim == 1:
                return True, None, matrix[None, :]
        return False, *self._read(queries)

    def _ensure_model(self, documents: Any) -> None:
        """Fit what is still to be fitted."""
        if self.model_ is not None:
            return
        if self.model is not None:
            self.model_ = clone(self.model).fit(documents)
        elif isinstance(documents, list):
            self.model_ = DCoTVectorizer(**RETRIEVAL).fit(documents)

    def _check_width(self, width: int) -> None:
        if self._vectors is not None and width != self._vectors.width:
            raise InvalidInputError(
                f"features have {width} columns, but those of the index have "
                f"{self._vectors.width}: make them with the same model"
            )

    def _compact(self) -> None:
        """Take back the space of removed documents."""
        if self._vectors is None or self._live.all():
            return
        rows = np.flatnonzero(self._live)
        self._vectors.keep(rows)
        if self._lexical is not None:
            self._lexical.keep(self._live)
            self._own.keep(self._live)
        self._records.keep(rows)
        self._live = np.ones(len(rows), dtype=np.bool_)


def share_of_meaning(hybrid: Any) -> float:
    """The share of dCoT beside BM25 that ``hybrid`` asks for.

    >>> share_of_meaning(True), share_of_meaning(False), share_of_meaning(0.3)
    (0.5, 1.0, 0.3)
    """
    if isinstance(hybrid, bool | np.bool_):
        return DEFAULT_WEIGHT if hybrid else 1.0
    if isinstance(hybrid, numbers.Real) and 0 <= float(hybrid) <= 1:
        return float(hybrid)
    raise InvalidParameterError(
        "hybrid must be True, False, or the share of meaning from 0 (BM25 alone) to 1 (dCoT "
        f"alone), got {hybrid!r}"
    )


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:  # no scikit-learn estimator: it has to know
        return True
    return True
