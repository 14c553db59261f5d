"""A small corpus with topics: texts, and their matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def texts(n: int = 300, words: int = 12, n_terms: int = 120, seed: int = 0) -> list[str]:
    """Texts of Zipf-distributed words, half of them from the text's topic."""
    rng = np.random.default_rng(seed)
    rank = np.minimum(rng.zipf(1.3, (n, words)) - 1, n_terms - 1)
    topic = rng.integers(0, 5, (n, 1))
    moved = (rank + topic * 17) % n_terms
    chosen = np.where(rng.random((n, words)) < 0.5, moved, rank)
    return [" ".join(f"w{column:03d}" for column in row) for row in chosen]


def matrix(n: int = 400, d: int = 150, seed: int = 0, dtype: Any = np.float64) -> Any:
    """A sparse matrix with topics, some empty rows and an empty column."""
    rng = np.random.default_rng(seed)
    low = rng.random((n, 4)) ** 4 @ rng.random((4, d)) ** 4
    X = rng.poisson(low * 0.8).astype(dtype)
    X[::37] = 0
    X[:, 5] = 0
    return sp.csr_array(X)
