"""What is explored: a model, and documents if there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dcot.classifier import DCoTClassifier
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.search import SearchIndex
from dcot.vectorizer import DCoTVectorizer
from dcot.web.documents import Documents, is_identifier
from dcot.web.space import learn_vectorizer


@dataclass(frozen=True)
class Corpus:
    """Documents with what is known about them, by row.

    Attributes
    ----------
    labels : the class of each, None where it has none; empty if there are no classes
    metadata : more columns; empty if there are none
    """

    documents: Documents
    labels: Sequence[str | None] = ()
    metadata: Sequence[Mapping[str, Any] | None] = ()

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def n_classes(self) -> int:
        return len({label for label in self.labels if label})


@dataclass(frozen=True)
class Subject:
    """A model that reads texts, with documents, an index of them, and a classifier.

    Attributes
    ----------
    name : what to call it on the page
    vectorizer : knows the words
    classifier : knows classes
    corpus : None if there is a model alone
    index : of the documents of the corpus, in their order; None if it is still to be made
    learned_here : whether the model was learned from the corpus just now
    """

    name: str
    vectorizer: DCoTVectorizer
    classifier: DCoTClassifier | None = None
    corpus: Corpus | None = None
    index: SearchIndex | None = None
    learned_here: bool = False


def subject_of(model: object, name: str, corpus: Corpus | None = None) -> Subject:
    """A fitted model or an index as a subject, with documents if they are given."""
    if isinstance(model, SearchIndex):
        if corpus is not None:
            raise InvalidInputError(
                f"{name} is an index, which has documents of its own: leave the corpus out"
            )
        return _indexed(model, name)
    if isinstance(model, DCoTClassifier):
        model._fitted()
        if model.vectorizer_ is None:
            raise InvalidTypeError(f"{name} was trained on a matrix: explore needs one of texts")
        embedding = model._fitted().embedding
        if embedding is not None and embedding.table is None and embedding.encoder is None:
            raise InvalidInputError(
                f"{name} needs the vectors of {embedding.name}, which the folder does not have: "
                "explore model.vectorizer_, which reads texts alone"
            )
        return Subject(name, model.vectorizer_, model, corpus)
    if isinstance(model, DCoTVectorizer):
        model._fitted()
        return Subject(name, model, None, corpus)
    raise InvalidTypeError(
        f"{name} is a {type(model).__name__}: explore needs a DCoTVectorizer, a DCoTClassifier or "
        "a SearchIndex, which read texts"
    )


def _indexed(index: SearchIndex, name: str) -> Subject:
    now = index._snapshot
    if not isinstance(now.model, DCoTVectorizer) or now.records.texts is None or not len(now):
        raise InvalidInputError(
            f"{name} has no texts to show: make an index of texts with a DCoTVectorizer and "
            "store_texts=True (dcot index does both)"
        )
    ids = [str(one) for one in index.ids]
    texts = now.live_values(now.records.texts)
    usable = len(set(ids)) == len(ids) and all(map(is_identifier, ids))
    documents = Documents.of(texts, ids if usable else None, name)
    return Subject(name, now.model, None, Corpus(documents, (), index.metadata), index)


def learn_subject(corpus: Corpus, seed: int = 0) -> Subject:
    """Learn a model from a corpus: a classifier if there are classes, else a vectorizer."""
    name, texts = corpus.documents.name, corpus.documents.texts
    if corpus.n_classes >= 2:
        model = DCoTClassifier(random_state=seed).fit(list(texts), list(corpus.labels))
        assert model.vectorizer_ is not None
        return Subject(name, model.vectorizer_, model, corpus, learned_here=True)
    vectorizer = learn_vectorizer(texts, seed)
    if vectorizer is None:
        raise InvalidInputError(
            f"{name} has no words to learn from: expected documents of a few words each"
        )
    return Subject(name, vectorizer, None, corpus, learned_here=True)
