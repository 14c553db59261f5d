"""The corpora of the studies, counted and weighted in one way for all systems."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from dcot import DcotError, datasets

LOADERS: dict[str, Callable[[], datasets.Corpus]] = {
    "reuters": datasets.load_reuters_matrix,
    "dmoz": datasets.load_dmoz,
    "r52": datasets.load_r52,
    "20newsgroups": datasets.load_20newsgroups,
    "imdb": datasets.load_imdb,
}
NAMES = tuple(LOADERS)


@dataclass
class Weighted:
    """TF-IDF (sublinear, unit rows; IDF from the training documents), float32."""

    name: str
    X: Any  # training documents
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    counts: Any  # of the training documents
    counts_test: Any
    X_unlabelled: Any = None  # more documents, where asked for
    counts_unlabelled: Any = None


def load(
    name: str, *, unlabelled: bool = False, imdb_train: int = 10_000, imdb_test: int = 2_000
) -> Weighted:
    """A corpus by name; IMDB is cut to a sample with a fixed seed.

    With ``unlabelled``, the vocabulary and IDF come from the further unlabelled documents too.
    """
    corpus = LOADERS[name]()
    train, test = np.asarray(corpus.train), np.asarray(corpus.test)
    labels = np.asarray(corpus.labels)
    if name == "imdb":
        rng = np.random.default_rng(0)
        train = np.sort(rng.choice(train, imdb_train, replace=False))
        test = np.sort(rng.choice(test, imdb_test, replace=False))
    more = np.asarray(corpus.unlabelled) if unlabelled else np.empty(0, dtype=int)
    learned = np.concatenate([train, more])
    if corpus.counts is not None:
        counts = sp.csr_array(corpus.counts)
    else:
        vectorizer = CountVectorizer(stop_words="english", token_pattern=r"(?u)\b[^\W\d_]{2,}\b")
        vectorizer.fit([corpus.texts[i] for i in learned])
        counts = sp.csr_array(vectorizer.transform(corpus.texts))
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts[learned])
    X, X_test, X_more = (
        sp.csr_array(weigh.transform(counts[rows]), dtype=np.float32) if len(rows) else None
        for rows in (train, test, more)
    )
    return Weighted(
        name,
        X,
        labels[train],
        X_test,
        labels[test],
        counts[train],
        counts[test],
        X_more,
        counts[more] if len(more) else None,
    )


def load_all(names: tuple[str, ...] = NAMES) -> Iterator[Weighted]:
    """Those that can be had; the others are named on standard error, not passed over in silence."""
    for name in names:
        try:
            yield load(name)
        except DcotError as error:
            print(f"{name}: left out ({error})", file=sys.stderr)
