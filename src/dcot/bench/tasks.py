"""Corpora as the experiments use them: counts, labels and a split, the same for all systems."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot import datasets
from dcot.errors import DatasetMissingError, InvalidInputError
from dcot.text import TermCounter, TermWeighting

Array = NDArray[Any]
DataDir = str | os.PathLike[str] | None

# Names of corpora in the experiments, and in `dcot.datasets`.
CORPORA = {
    "reuters": "reuters-matrix",
    "reuters-text": "reuters-text",
    "dmoz": "dmoz",
    "r8": "r8",
    "r52": "r52",
    "20newsgroups": "20newsgroups",
    "everyday": "everyday",
}
STAND_IN = "everyday"
SAMPLE_SEED = 20120731
# Words of two or more letters, without English stop words and without words that only one of the
# documents to learn from has (the paper also removed rare terms from Dmoz).
COUNTING: dict[str, Any] = {
    "stop_words": "english",
    "token_pattern": r"(?u)\b[^\W\d_]{2,}\b",
    "dtype": np.float32,
}
MIN_DF = 2


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents in the forms that systems read.

    Attributes
    ----------
    counts : documents × terms
    tfidf : sublinear TF-IDF with unit rows; IDF is from the documents to learn from
    texts : the original texts, or None if they are not known
    """

    counts: Any
    tfidf: Any
    texts: list[str] | None = None

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def __getitem__(self, rows: Array) -> Documents:
        texts = None if self.texts is None else [self.texts[row] for row in rows]
        return Documents(self.counts[rows], self.tfidf[rows], texts)


@dataclass(frozen=True, eq=False)
class Task:
    """A corpus with its split, counted once.

    Attributes
    ----------
    counts : all documents × all terms
    labels : one per document
    train, test, unlabelled : rows of the documents
    terms : the vocabulary, or None if it is not known
    stands_for : the missing corpus that this one stands in for, or ""
    sampled : whether it was cut to a sample for the quick profile
    min_df : terms in fewer of the documents to learn from are left out
    """

    name: str
    counts: Any
    labels: Array
    train: Array
    test: Array
    unlabelled: Array
    terms: Array | None = None
    texts: list[str] | None = None
    licence: str = ""
    citation: str = ""
    description: str = ""
    stands_for: str = ""
    sampled: bool = False
    min_df: int = 1

    @cached_property
    def fingerprint(self) -> str:
        """A hash of documents, labels and split; part of every cell's key."""
        digest = hashlib.sha256()
        for part in (self.train, self.test, self.unlabelled):
            digest.update(np.asarray(part, dtype=np.int64).tobytes())
        digest.update("\n".join(map(str, self.labels)).encode())
        digest.update(np.asarray(self.counts.indices, dtype=np.int64).tobytes())
        digest.update(np.asarray(self.counts.data, dtype=np.float32).tobytes())
        return digest.hexdigest()[:12]

    @cached_property
    def texts_fingerprint(self) -> str:
        """A hash of the texts, which counts do not determine."""
        digest = hashlib.sha256()
        for text in self.texts or ():
            digest.update(f"{len(text)} {text}".encode(errors="surrogatepass"))
        return digest.hexdigest()[:12]

    @property
    def unseen_classes(self) -> int:
        """Number of classes that test documents have but no training document."""
        return len(np.setdiff1d(self.labels[self.test], self.labels[self.train]))

    def documents(self, learned: Array, wanted: Array) -> tuple[Documents, Documents]:
        """Documents to learn from, and documents to transform, weighted by the former.

        Terms that too few of the documents to learn from have are left out.
        """
        known = self._known(learned)
        if not len(known):
            raise InvalidInputError(f"{self.name}: the documents to learn from have no terms")
        counts = self.counts[:, known]
        weighting = TermWeighting("tfidf", sublinear_tf=True).fit(counts[learned])
        tfidf = sp.csr_array(weighting.transform(counts), dtype=np.float32)
        documents = Documents(counts, tfidf, self.texts)
        return documents[learned], documents[wanted]

    def _known(self, learned: Array) -> Array:
        seen = np.asarray((self.counts[learned] > 0).sum(axis=0)).ravel()
        return np.flatnonzero(seen >= self.min_df)

    def known_terms(self, learned: Array) -> Array:
        """The terms behind the columns of `documents`."""
        if self.terms is None:
            raise InvalidInputError(f"{self.name} has counts, but no vocabulary")
        return self.terms[self._known(learned)]

    def sample(self, n_train: int, n_test: int, n_unlabelled: int = 0) -> Task:
        """A random sample of each part, always the same one."""
        rng = np.random.default_rng(SAMPLE_SEED)
        train, test, unlabelled = (
            np.sort(rng.permutation(rows)[:size])
            for rows, size in (
                (self.train, n_train),
                (self.test, n_test),
                (self.unlabelled, n_unlabelled),
            )
        )
        cut = self.sampled or len(train) < len(self.train) or len(test) < len(self.test)
        return replace(self, train=train, test=test, unlabelled=unlabelled, sampled=cut)


def load_task(name: str, data_dir: DataDir = None, *, stand_in: bool = False) -> Task:
    """Load a corpus by name; with ``stand_in``, the embedded corpus if it is missing.

    A corpus that is damaged is an error.
    """
    try:
        return task_of(load_corpus(CORPORA[name], data_dir), name)
    except DatasetMissingError:
        if not stand_in:
            raise
        return replace(_stand_in(), name=f"{STAND_IN}, standing in for {name}", stands_for=name)


def load_corpus(name: str, data_dir: DataDir = None) -> datasets.Corpus:
    """Load a corpus of `dcot.datasets` with one label per document."""
    options: dict[str, Any] = {} if name == STAND_IN else {"data_dir": data_dir}
    if name == "reuters-text":
        options["subset"] = "single"
    return datasets.load(name, **options)


@cache
def _stand_in() -> Task:
    return task_of(datasets.load(STAND_IN), STAND_IN)


def task_of(corpus: datasets.Corpus, name: str = "") -> Task:
    """Count a corpus, with the vocabulary of its training and unlabelled documents."""
    terms = corpus.feature_names
    if corpus.counts is not None:
        counts = sp.csr_array(corpus.counts, dtype=np.float32)
    else:
        counter = TermCounter(**COUNTING)
        learned = np.concatenate([corpus.train, corpus.unlabelled])
        texts = corpus.texts or []
        counter.fit([texts[row] for row in learned])
        counts = sp.csr_array(counter.transform(texts), dtype=np.float32)
        terms = np.asarray(counter.get_feature_names_out())
    counts.sort_indices()
    return Task(
        name=name or corpus.name,
        counts=counts,
        labels=np.asarray(corpus.labels),
        train=np.asarray(corpus.train),
        test=np.asarray(corpus.test),
        unlabelled=np.asarray(corpus.unlabelled),
        terms=terms,
        texts=corpus.texts,
        licence=corpus.licence,
        citation=corpus.citation,
        description=corpus.description,
        min_df=1 if corpus.texts is None else MIN_DF,
    )
