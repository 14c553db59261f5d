"""Adapters for libraries that expect their own classes: LangChain and MTEB.

For most others ``DCoTVectorizer.encode`` is enough; see docs/integrations.md.
"""

from __future__ import annotations

from typing import Any

from dcot._version import __version__
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.runtime.extras import require
from dcot.search import SearchIndex
from dcot.vectorizer import DCoTVectorizer

__all__ = ["MTEBSearch", "langchain_embeddings"]


def langchain_embeddings(model: DCoTVectorizer) -> Any:
    """A fitted vectorizer as LangChain ``Embeddings``.

    Raises
    ------
    InvalidTypeError
        If the model is not a DCoTVectorizer.
    ModelNotFittedError
        If it is not fitted.
    MissingExtraError
        If langchain-core is not installed.

    Examples
    --------
    >>> texts = ["crude oil", "opec oil output", "wheat harvest", "wheat and corn", "opec oil"]
    >>> model = DCoTVectorizer(n_components=2, random_state=0).fit(texts)
    >>> embeddings = langchain_embeddings(model)
    >>> len(embeddings.embed_query("opec"))
    2
    """
    if not isinstance(model, DCoTVectorizer):
        raise InvalidTypeError(f"got a {type(model).__name__}, expected a DCoTVectorizer")
    model._fitted()
    require("langchain_core", "integrations")
    from langchain_core.embeddings import Embeddings

    class DCoTEmbeddings(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            found: list[list[float]] = model.encode(texts).tolist()
            return found

        def embed_query(self, text: str) -> list[float]:
            found: list[float] = model.encode(text).tolist()
            return found

    return DCoTEmbeddings()


class MTEBSearch:
    """A ``SearchIndex`` with MTEB's search protocol: ``mteb.evaluate(MTEBSearch(), tasks)``.

    It learns from the documents of each task, without relevance judgements.

    Parameters
    ----------
    model : DCoTVectorizer or None
        The model to fit to the documents of a task, unless it is fitted already. None uses the
        default of ``SearchIndex``.
    **options : further parameters of ``SearchIndex``, such as ``hybrid``

    Examples
    --------
    MTEB calls ``index`` and ``search`` with data sets of Hugging Face. Any table works:

    >>> class Table(list):
    ...     def __getitem__(self, key):
    ...         return [row[key] for row in self]
    >>> engine = MTEBSearch()
    >>> engine.index(Table([{"id": "a", "text": "crude oil"}, {"id": "b", "text": "wheat"}]))
    >>> list(engine.search(Table([{"id": "q", "text": "oil"}]), top_k=1)["q"])
    ['a']
    """

    def __init__(self, model: DCoTVectorizer | None = None, **options: Any) -> None:
        self.model = model
        self.options = options
        self._index: SearchIndex | None = None

    @property
    def mteb_model_meta(self) -> Any:
        """Name and version for MTEB's results."""
        meta = require("mteb.models.model_meta", "mteb").ModelMeta
        return meta.create_empty({"name": "dcot/search", "revision": __version__})

    def index(self, corpus: Any, **_: Any) -> None:
        """Learn from the documents of a task, and index them."""
        texts = [f"{row.get('title') or ''}\n{row['text']}".strip() for row in corpus]
        self._index = SearchIndex(self.model, **self.options).add(texts, ids=list(corpus["id"]))

    def search(
        self, queries: Any, *, top_k: int, top_ranked: Any = None, **_: Any
    ) -> dict[str, dict[str, float]]:
        """Scores of the best documents for each query, among ``top_ranked`` if it is given.

        Raises
        ------
        InvalidInputError
            If ``index`` was not called before.
        """
        if self._index is None:
            raise InvalidInputError("there are no documents to search: call index first")
        names, texts = list(queries["id"]), list(queries["text"])
        if top_ranked:
            found = [
                self._index.search(text, top_k, where=set(top_ranked.get(name, ())))
                for name, text in zip(names, texts, strict=True)
            ]
        else:
            found = self._index.search(texts, top_k)
        return {
            name: {str(hit.id): hit.score for hit in hits}
            for name, hits in zip(names, found, strict=True)
        }
