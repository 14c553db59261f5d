"""What is known about a subject: its words at once, its documents and maps from the background."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.classifier.explanation import term_shares, vector_shares
from dcot.classifier.fit import FittedClassifier
from dcot.core.centred import as_documents
from dcot.core.fit import FittedDCoT
from dcot.embedding.vectors import Documents
from dcot.errors import InvalidParameterError
from dcot.explain import Reader
from dcot.explain.neighbours import term_lengths
from dcot.search import SearchIndex
from dcot.web.explore.atlas import Atlas, columns_of, draw_atlas, packed
from dcot.web.explore.projection import MAX_REFINED, principal, project
from dcot.web.explore.report import Confusion, confusion_of, model_report
from dcot.web.explore.subject import Corpus, Subject
from dcot.web.labels import LabelStore, check_name
from dcot.web.shading import Piece, shaded
from dcot.web.space import in_double_precision, with_layers

Array = NDArray[Any]

PHASES = ("reading", "indexing", "drawing", "refining", "judging", "ready")
DRAFT_DOCUMENTS = 4000  # documents that a first map is refined for, while a better one is drawn
BLOCK = 4096  # documents that are classified at a time
MAX_WORDS = 2000  # on the map of words
TOO_COMMON = -2.6  # minus idf: words of more than a fifth of the documents are not drawn
MAX_CLASSES = 6  # shown with a probability


@dataclass(frozen=True)
class Decision:
    """Classes with their probabilities, the best first; and each term's share in the decision."""

    classes: list[dict[str, Any]]
    shares: Array
    why: str


@dataclass(frozen=True)
class WordAtlas:
    """Columns of words, the most common first, and their points on the unit square."""

    columns: Array
    points: Array


class Explorer:
    """A subject, and values that a background thread fills in one after the other.

    Attributes
    ----------
    reader : answers questions about words
    tracer : the same, quicker at what texts mean
    X : weighted terms of the documents, CSR; None until they are read
    best : the column of each document's most probable class; None without a classifier
    index : for searching
    confusion : what held-out documents are taken for
    atlas, columns : the map of documents, and what it can be coloured by
    word_atlas : the map of words
    phase : what is being done, one of ``PHASES``, or ``"failed"``
    problem : why it failed
    """

    def __init__(self, subject: Subject, seed: int = 0, labels: Path | None = None) -> None:
        self.subject, self.seed, self.labels_path = subject, seed, labels
        self._lock = threading.Lock()
        self._store: LabelStore | None = None
        self.reader: Reader = subject.vectorizer._reader()
        self.tracer = replace(self.reader, layers=in_double_precision(self.reader.layers))
        self.phase, self.problem = "reading", ""
        self.X: Any = None
        self.best: Array | None = None
        self.index: SearchIndex | None = None
        self.confusion: Confusion | None = None
        self.atlas: Atlas | None = None
        self.word_atlas: WordAtlas | None = None
        self.columns: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._prepare, name="dcot-explore", daemon=True)

    def start(self) -> None:
        """Begin to read the documents in the background."""
        self._thread.start()

    def wait(self) -> None:
        """Wait until everything is computed."""
        self._thread.join()

    def close(self) -> None:
        """Close the file of labels."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _prepare(self) -> None:
        try:
            self.prepare(draft=True)
        except Exception as error:  # any error is shown on the page
            self.problem, self.phase = str(error) or type(error).__name__, "failed"

    def prepare(self, draft: bool = False) -> None:
        """Everything, in the order in which people ask for it.

        Parameters
        ----------
        draft : whether a quick map comes first, which the better one then replaces
        """
        vectors = short = None
        if self.subject.corpus is not None:
            vectors = self._read_documents(self.subject.corpus)
        self.phase = "drawing"
        if vectors is not None:
            self.best = self._classified()
            short = principal(vectors, self.seed)
            if draft and len(short) > DRAFT_DOCUMENTS:
                self._draw(short, DRAFT_DOCUMENTS)
                self.phase = "refining"
        self.word_atlas = self._draw_words()
        if short is not None:
            self._draw(short, MAX_REFINED)
        self.phase = "judging"
        self.confusion = confusion_of(self.subject)
        self.reader = replace(self.reader, lengths=term_lengths(self.reader.layers))
        self.phase = "ready"

    def _read_documents(self, corpus: Corpus) -> Array:
        """Count the words, and make an index; the vectors that it compares."""
        texts = corpus.documents.texts
        self.X = sp.csr_array(self.subject.vectorizer.weigh(texts))
        self.phase = "indexing"
        index = self.subject.index
        if index is None:
            index = SearchIndex(self.subject.vectorizer).add(list(texts))
        self.index, now = index, index._snapshot
        assert now.vectors is not None
        return now.vectors.array if now.live.all() else now.vectors.array[now.live]

    def _draw(self, short: Array, refined: int) -> None:
        atlas = draw_atlas(short, self.X, self.terms, self.seed, refined)
        self.columns = self.columns or self._columns(atlas.rows)
        self.atlas = atlas

    def _columns(self, rows: Array) -> list[dict[str, Any]]:
        """What the map can be coloured by."""
        corpus, named = self.corpus, {}
        if self.best is not None:
            named["predicted"] = [self.predicted_name(row) for row in rows]
        if corpus.labels:
            named["label"] = [corpus.labels[row] for row in rows]
        metadata = [corpus.metadata[row] for row in rows] if corpus.metadata else ()
        return columns_of(named, metadata)

    def _draw_words(self) -> WordAtlas:
        """A map of the most common words, by what they mean in the last layer."""
        order = self.common_terms[:MAX_WORDS]
        points = project(self.reader.vectors(order.tolist()), seed=self.seed)
        return WordAtlas(order, points)

    def _classified(self) -> Array | None:
        """The most probable class of every document."""
        if self.subject.classifier is None:
            return None
        rows = np.arange(len(self.corpus))
        starts = range(0, len(rows), BLOCK)
        return np.concatenate([self._decisions(rows[k : k + BLOCK]).argmax(axis=1) for k in starts])

    def _decisions(self, rows: Array) -> Array:
        """Decisions of the classifier for some documents."""
        classifier = self.subject.classifier
        assert classifier is not None
        fitted = classifier._fitted()
        if fitted.embedding is None:  # the words are counted already
            return fitted.decisions(Documents(as_documents(self.X[rows], fitted.dcot.dtype)))
        texts = self.corpus.documents.texts
        return fitted.decisions(classifier._read([texts[row] for row in rows.tolist()]))

    def classes(self, rows: Array) -> list[list[dict[str, Any]]]:
        """The most probable classes of some documents; none without a classifier."""
        classifier = self.subject.classifier
        if classifier is None or not len(rows):
            return [[] for _ in rows]
        fitted = classifier._fitted()
        return [_most_probable(fitted, decisions) for decisions in self._decisions(rows)]

    # -- documents --------------------------------------------------------------------------

    @property
    def corpus(self) -> Corpus:
        assert self.subject.corpus is not None
        return self.subject.corpus

    @cached_property
    def _given_ids(self) -> list[Any]:
        """Ids of the index that was given, by row."""
        return [] if self.subject.index is None else self.subject.index.ids

    @cached_property
    def _rows_by_id(self) -> dict[Any, int]:
        return {name: row for row, name in enumerate(self._given_ids)}

    def row_of(self, name: Any) -> int:
        """The row of a document by its id in the index."""
        return self._rows_by_id[name] if self._given_ids else int(name)

    def index_id(self, row: int) -> Any:
        return self._given_ids[row] if self._given_ids else row

    def label(self, row: int) -> str | None:
        return self.corpus.labels[row] if self.corpus.labels else None

    def predicted_name(self, row: int) -> str | None:
        """The most probable class of a document; None without a classifier."""
        classifier = self.subject.classifier
        if self.best is None or classifier is None:
            return None
        return str(classifier.classes_[self.best[row]])

    def give_label(self, rows: Array, name: str) -> dict[str, Any]:
        """Label documents that have no label yet; on the disk when this returns."""
        check_name(name)
        if self.labels_path is None:
            raise InvalidParameterError("there is no file for labels: start with -o labels.csv")
        with self._lock:
            if self._store is None:  # made with the first label, not before
                self._store = LabelStore(self.labels_path, self.corpus.documents)
            self._store.refresh()
            known = self._store.labels
            new = {int(row): name for row in rows if int(row) not in known}
            if new:
                self._store.set(new, "region")
        return {"labelled": len(new), "kept": len(rows) - len(new), "file": self.labels_path.name}

    @cached_property
    def report(self) -> dict[str, Any]:
        return model_report(self.subject, self.confusion)

    def about(self) -> dict[str, Any]:
        """What is explored, and what is ready."""
        subject = self.subject
        classifier, corpus = subject.classifier, subject.corpus
        return {
            "name": subject.name,
            "kind": "DCoTClassifier" if classifier is not None else "DCoTVectorizer",
            "learned_here": subject.learned_here,
            "terms": len(self.terms),
            "prototypes": len(self.reader.prototypes),
            "layers": len(self.reader.layers),
            "classes": [] if classifier is None else [str(one) for one in classifier.classes_],
            "documents": 0 if corpus is None else len(corpus),
            "examples": self.examples,
            "labels": None if self.labels_path is None else self.labels_path.name,
            "phase": self.phase,
            "problem": self.problem,
        }

    def word_map(self) -> dict[str, Any]:
        """The map of words, for the page."""
        assert self.word_atlas is not None
        whole = np.round(self.word_atlas.points * 65535).astype("<u2")
        words = [self.terms[column] for column in self.word_atlas.columns]
        return {"words": words, "x": packed(whole[:, 0]), "y": packed(whole[:, 1])}

    # -- words ------------------------------------------------------------------------------

    @cached_property
    def terms(self) -> list[str]:
        return [str(term) for term in self.reader.terms]

    @cached_property
    def is_prototype(self) -> Array:
        found = np.zeros(len(self.terms), dtype=bool)
        found[self.reader.prototypes] = True
        return found

    @cached_property
    def commonness(self) -> Array:
        """Larger for terms that more documents have."""
        assert self.reader.frequency is not None
        return self.reader.frequency

    @cached_property
    def common_terms(self) -> Array:
        """Columns of the terms, the most common first, without those that act as stop words."""
        order = np.argsort(-self.commonness, kind="stable")
        rarer = order[self.commonness[order] < TOO_COMMON]
        return rarer if len(rarer) > 50 else order

    @cached_property
    def _alphabetical(self) -> tuple[list[str], Array]:
        order = np.array(sorted(range(len(self.terms)), key=self.terms.__getitem__), dtype=np.intp)
        return [self.terms[column] for column in order], order

    def completions(self, start: str, k: int) -> list[str]:
        """Terms that begin like this, the most common first; for an empty start, the
        most common without stop words."""
        if not start:
            return [self.terms[column] for column in self.common_terms[:k]]
        words, order = self._alphabetical
        low = bisect_left(words, start)
        high = bisect_left(words, start + "\U0010ffff")
        among = order[low:high]
        best = among[np.argsort(-self.commonness[among], kind="stable")[:k]]
        return [self.terms[column] for column in best]

    @cached_property
    def document_frequency(self) -> Array:
        """How many documents have each term."""
        return np.bincount(self.X.indices, minlength=len(self.terms))

    @cached_property
    def examples(self) -> list[str]:
        """Texts to try: the beginnings of a few documents, or common words."""
        corpus = self.subject.corpus
        if corpus is None:
            return self.completions("", 3)
        texts = corpus.documents.texts
        some = (" ".join(texts[k * len(texts) // 40][:400].split()) for k in range(40))
        short = [shorten(text, 90, placeholder=" …") for text in some if len(text) > 20]
        return list(dict.fromkeys(short))[:3]

    # -- texts ------------------------------------------------------------------------------

    def decision(self, text: str) -> Decision | None:
        """What the classifier decides about a text."""
        classifier = self.subject.classifier
        if classifier is None or self._wide is None:
            return None
        fitted, document = classifier._fitted(), classifier._read([text])
        decisions = fitted.decisions(document)
        order = np.argsort(-decisions[0], kind="stable")
        names = [str(name) for name in fitted.classes]
        weights, why = fitted.coef[order[0]].astype(np.float64), names[order[0]]
        if len(order) > 1 and fitted.exclusive:
            weights = weights - fitted.coef[order[1]]
            why = f"{names[order[0]]} rather than {names[order[1]]}"
        listed = _most_probable(fitted, decisions[0])
        of_terms, beside = np.split(weights, [fitted.dcot.n_features])
        shares = term_shares(document.terms, self._wide, of_terms)
        by_vectors = vector_shares(document, fitted.embedding, beside)[1]
        return Decision(listed, shares if by_vectors is None else shares + by_vectors, why)

    @cached_property
    def _wide(self) -> FittedDCoT | None:
        """The classifier's representation, with the layers of ``tracer``."""
        classifier = self.subject.classifier
        if classifier is None:
            return None
        return with_layers(classifier._fitted().dcot, self.tracer.layers)

    def pieces(self, parts: Iterable[tuple[str, Array, Array]]) -> list[list[Piece]]:
        """Texts for the page to shade, each with columns of terms and their shares."""
        by_column = [
            (text, dict(zip(columns.tolist(), np.asarray(shares).tolist(), strict=True)))
            for text, columns, shares in parts
        ]
        return shaded(self.subject.vectorizer.counter_, by_column)


def _most_probable(fitted: FittedClassifier, decisions: Array) -> list[dict[str, Any]]:
    """The most probable classes of a document, with their probabilities."""
    chances = fitted.probabilities(decisions[None])[0]
    order = np.argsort(-decisions, kind="stable")[:MAX_CLASSES]
    return [
        {"name": str(fitted.classes[k]), "probability": round(float(chances[k]), 4)} for k in order
    ]
