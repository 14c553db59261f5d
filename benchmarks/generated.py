"""A generated corpus, like real ones where it matters: Zipf words, topics, short documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer


def topical_documents(
    n: int, d: int, *, words: int = 60, topics: int = 50, seed: int = 0
) -> tuple[Any, Any]:
    """Counts of n documents over d terms, and the topics that half of their words come from."""
    rng = np.random.default_rng(seed)
    zipf = 1.0 / np.arange(1, d + 1)
    common = np.cumsum(zipf / zipf.sum())
    favourites = rng.permuted(np.tile(np.arange(d), (topics, 1)), axis=1)
    topic = rng.integers(0, topics, n)
    lengths = rng.poisson(words, n) + 1
    document = np.repeat(np.arange(n), lengths)
    rank = np.minimum(np.searchsorted(common, rng.random(len(document))), d - 1)
    topical = rng.random(len(document)) < 0.5
    column = np.where(topical, favourites[topic[document], rank], rank)
    ones = np.ones(len(document), dtype=np.float32)
    return sp.coo_array((ones, (document, column)), shape=(n, d)).tocsr(), topic


def topical_counts(n: int, d: int, **options: Any) -> Any:
    """The counts alone."""
    return topical_documents(n, d, **options)[0]


def topical_corpus(n: int, d: int, **options: Any) -> Any:
    """The same with sublinear TF-IDF weights, float32."""
    counts = topical_counts(n, d, **options)
    weights = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    return sp.csr_array(weights, dtype=np.float32)
