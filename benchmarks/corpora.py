"""The corpora of the studies, counted and weighted in one way for all systems."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from dcot import DcotError, datasets

NAMES = ("reuters", "dmoz", "r52", "20newsgroups", "imdb")


@dataclass
class Weighted:
    """TF-IDF (sublinear, unit rows; IDF from the training documents), float32."""

    name: str
    X: Any  # training documents
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    counts: Any  # the training documents' counts


def load(name: str, *, imdb_train: int = 10_000, imdb_test: int = 2_000) -> Weighted:
    """A corpus by name; IMDB is cut to a sample with a fixed seed."""
    loader = {
        "reuters": datasets.load_reuters_matrix,
        "dmoz": datasets.load_dmoz,
        "r52": datasets.load_r52,
        "20newsgroups": datasets.load_20newsgroups,
        "imdb": datasets.load_imdb,
    }[name]
    corpus = loader()
    train, test = np.asarray(corpus.train), np.asarray(corpus.test)
    labels = np.asarray(corpus.labels)
    if name == "imdb":
        rng = np.random.default_rng(0)
        train = np.sort(rng.choice(train, imdb_train, replace=False))
        test = np.sort(rng.choice(test, imdb_test, replace=False))
    if corpus.counts is not None:
        counts = sp.csr_array(corpus.counts)[train]
        counts_test = sp.csr_array(corpus.counts)[test]
    else:
        vectorizer = CountVectorizer(stop_words="english", token_pattern=r"(?u)\b[^\W\d_]{2,}\b")
        counts = vectorizer.fit_transform([corpus.texts[i] for i in train])
        counts_test = vectorizer.transform([corpus.texts[i] for i in test])
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts)
    X, X_test = (
        sp.csr_array(weigh.transform(part), dtype=np.float32) for part in (counts, counts_test)
    )
    return Weighted(name, X, labels[train], X_test, labels[test], counts)


def load_all(names: tuple[str, ...] = NAMES) -> Iterator[Weighted]:
    """Those that can be had; the others are named on standard error, not passed over in silence."""
    for name in names:
        try:
            yield load(name)
        except DcotError as error:
            print(f"{name}: left out ({error})", file=sys.stderr)
