"""Weigh words against meaning in a search, and join both in sparse vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[Any]

EQUAL_WORDS = 9.0  # effective words of a query from which meaning counts as much as words
LONG = 100.0  # mean terms per document from which meaning has its full weight
MEANING = "~"  # prefix of a prototype, to distinguish it from the word itself


def weight_of_meaning(weights: Any, mean_length: float) -> Array:
    """Return the weight of meaning relative to words for each query, a row of word weights.

    A query of one or two words is best answered by the documents that contain them. A query of many
    words describes a topic, and no document has them all. So the weight of meaning grows with the
    square of the effective number of words, (Σ w)² / Σ w², up to 1. It is smaller for short
    documents, whose meaning is less certain (docs/search.md has the measurements).

    >>> queries = sparse.csr_array(np.tril(np.ones((12, 12))))
    >>> weight_of_meaning(queries, mean_length=150)[[0, 2, 8, 11]].round(2).tolist()
    [0.01, 0.11, 1.0, 1.0]
    """
    total, squares = (
        np.asarray(each.sum(axis=1)).ravel() for each in (weights, weights.multiply(weights))
    )
    n_words = total**2 / np.where(squares > 0, squares, 1.0)
    return np.minimum((n_words / EQUAL_WORDS) ** 2, 1.0) * min(mean_length / LONG, 1.0)


def strongest(Z: Array, top: int) -> sparse.csr_array:
    """Scale the positive part of each row to length 1, and keep its ``top`` largest values.

    >>> strongest(np.array([[0.6, -5.0, 0.8, 0.0]]), top=1).toarray().tolist()
    [[0.0, 0.0, 0.8, 0.0]]
    """
    Z = np.maximum(Z, 0.0)
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    Z /= np.where(norms > 0, norms, 1.0)
    if top < Z.shape[1]:
        order = np.argpartition(-Z, top, axis=1)[:, top:]
        np.put_along_axis(Z, order, 0.0, axis=1)
    return sparse.csr_array(Z)


def as_dicts(words: Any, terms: Array, meaning: Any, prototypes: Array) -> list[dict[str, float]]:
    """Return each row of both matrices as one dictionary; prototypes are prefixed with ``~``."""
    marked = np.array([f"{MEANING}{name}" for name in prototypes.tolist()], dtype=object)
    return [_row(words, terms, i) | _row(meaning, marked, i) for i in range(words.shape[0])]


def _row(matrix: Any, names: Array, i: int) -> dict[str, float]:
    entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
    columns, values = matrix.indices[entries], matrix.data[entries]
    return dict(zip(names[columns].tolist(), values.tolist(), strict=True))
