"""Corpora made ready for the experiments: counts, labels and a split, the same for all systems."""

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

# The name of an experiment's corpus, and how the registry of corpora calls it.
CORPORA: dict[str, tuple[str, dict[str, Any]]] = {
    "reuters": ("reuters-matrix", {}),
    "reuters-text": ("reuters-text", {}),
    "dmoz": ("dmoz", {}),
    "r8": ("r8", {}),
    "r52": ("r52", {}),
    "20newsgroups": ("20newsgroups", {}),
    "everyday": ("everyday", {}),
}
STAND_IN = "everyday"
SAMPLE_SEED = 20120731
# Words of two letters or more; English stop words are left out, and so are words that a single
# document to learn from has (the paper removed rare terms from Dmoz, too).
COUNTING: dict[str, Any] = {
    "stop_words": "english",
    "token_pattern": r"(?u)\b[^\W\d_]{2,}\b",
    "dtype": np.float32,
}
MIN_DF = 2


@dataclass(frozen=True, eq=False)
class Documents:
    """The same documents as every system wants to see them.

    Attributes
    ----------
    counts : documents × terms
    tfidf : the same, sublinear TF-IDF with unit rows; IDF from the documents learned from
    texts : as they were written, where they are known
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
    train, test, unlabelled : rows
    terms : the vocabulary, where it is known
    stands_for : the corpus that is missing and that this one stands in for, or ""
    sampled : whether it was cut to a sample for the quick profile
    min_df : documents to learn from that must have a term, or it is left out
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
        """Changes with the documents, the labels or the split: part of every cell's key."""
        digest = hashlib.sha256()
        for part in (self.train, self.test, self.unlabelled):
            digest.update(np.asarray(part, dtype=np.int64).tobytes())
        digest.update("\n".join(map(str, self.labels)).encode())
        digest.update(np.asarray(self.counts.indices, dtype=np.int64).tobytes())
        digest.update(np.asarray(self.counts.data, dtype=np.float32).tobytes())
        return digest.hexdigest()[:12]

    @cached_property
    def texts_fingerprint(self) -> str:
        """Changes with what counts do not show: case, punctuation, the order of words."""
        digest = hashlib.sha256()
        for text in self.texts or ():
            digest.update(f"{len(text)} {text}".encode(errors="surrogatepass"))
        return digest.hexdigest()[:12]

    @property
    def unseen_classes(self) -> int:
        """Classes of test documents that no training document has; they stay in."""
        return len(np.setdiff1d(self.labels[self.test], self.labels[self.train]))

    def documents(self, learned: Array, wanted: Array) -> tuple[Documents, Documents]:
        """Those to learn from and those to have features of; weights come from the former.

        Terms that too few documents to learn from have are left out: nothing is known of them.
        """
        known = self._known(learned)
        if not len(known):
            raise InvalidInputError(f"{self.name}: the documents to learn from have no terms")
        counts = self.counts[:, known]
        weighting = TermWeighting("tfidf", sublinear_tf=True).fit(counts[learned])

        def part(rows: Array) -> Documents:
            tfidf = sp.csr_array(weighting.transform(counts[rows]), dtype=np.float32)
            texts = None if self.texts is None else [self.texts[row] for row in rows]
            return Documents(counts[rows], tfidf, texts)

        return part(learned), part(wanted)

    def _known(self, learned: Array) -> Array:
        seen = np.asarray((self.counts[learned] > 0).sum(axis=0)).ravel()
        return np.flatnonzero(seen >= self.min_df)

    def known_terms(self, learned: Array) -> Array:
        """The terms behind the columns of `documents`."""
        if self.terms is None:
            raise InvalidInputError(f"{self.name} comes as counts, without its vocabulary")
        return self.terms[self._known(learned)]

    def sample(self, n_train: int, n_test: int, n_unlabelled: int = 0) -> Task:
        """A random part of each side, always the same one."""
        rng = np.random.default_rng(SAMPLE_SEED)
        parts = []
        for rows, size in zip(
            (self.train, self.test, self.unlabelled), (n_train, n_test, n_unlabelled), strict=True
        ):
            parts.append(np.sort(rng.permutation(rows)[:size]))
        cut = any(len(a) < len(b) for a, b in zip(parts[:2], (self.train, self.test), strict=True))
        return replace(
            self, train=parts[0], test=parts[1], unlabelled=parts[2], sampled=self.sampled or cut
        )


def load_task(name: str, data_dir: DataDir = None, *, stand_in: bool = False) -> Task:
    """A corpus by its name here; with ``stand_in``, the embedded one where it is missing.

    One that is there, but is not what it should be, is an error.
    """
    try:
        return task_of(load_corpus(CORPORA[name][0], data_dir), name)
    except DatasetMissingError:
        if not stand_in:
            raise
        return replace(_stand_in(), name=f"{STAND_IN}, standing in for {name}", stands_for=name)


def load_corpus(name: str, data_dir: DataDir = None) -> datasets.Corpus:
    """A corpus of `dcot.datasets`, with one label per document."""
    options: dict[str, Any] = {} if name == STAND_IN else {"data_dir": data_dir}
    if name == "reuters-text":
        options["subset"] = "single"
    return datasets.load(name, **options)


@cache
def _stand_in() -> Task:
    return task_of(datasets.load(STAND_IN), STAND_IN)


def task_of(corpus: datasets.Corpus, name: str = "") -> Task:
    """Count a corpus: the vocabulary is that of its training and unlabelled documents."""
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
