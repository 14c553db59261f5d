"""The linear SVM, on features given as blocks side by side, sparse or dense, wide or narrow."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

Array = NDArray[Any]
Blocks = Sequence[Any]  # features side by side; their inner products add up

TOL = 1e-3
MAX_ITER = 2000


def products(blocks: Blocks, rows: Array, columns: Array, dtype: Any = np.float64) -> Array:
    """Inner products of documents over all blocks."""
    total = np.zeros((len(rows), len(columns)), dtype=dtype)
    for F in blocks:
        part = F[rows].astype(dtype) @ F[columns].astype(dtype).T
        total += part.toarray() if sp.issparse(part) else part
    return total


class Span:
    """Labelled documents in coordinates that a linear machine can be learned in.

    Features are scaled to a mean squared length of one, so that the strength C means the same for
    every system. Where there are more features than documents, and not all of them sparse,
    documents are given in coordinates of the span of the labelled ones: the same machine, for
    less work, because the weights of a linear SVM lie in that span.
    """

    def __init__(self, blocks: Blocks, rows: Array) -> None:
        self.blocks, self.rows = blocks, rows
        wide = sum(F.shape[1] for F in blocks) > len(rows)
        dense = not all(sp.issparse(F) for F in blocks)
        self.factor = _factor(products(blocks, rows, rows)) if wide and dense else None
        S: Any = _side_by_side(blocks, rows) if self.factor is None else self.factor
        squares = S.multiply(S).sum() if sp.issparse(S) else np.einsum("ij,ij->", S, S)
        self.scale = float(np.sqrt(len(rows) / squares)) if squares > 0 else 1.0
        self.labelled = S * self.scale

    def coordinates(self, judged: Array) -> Any:
        """Of other documents."""
        if self.factor is None:
            return _side_by_side(self.blocks, judged) * self.scale
        K = products(self.blocks, self.rows, judged)
        options = {"lower": True, "check_finite": False, "overwrite_b": True}
        return scipy.linalg.solve_triangular(self.factor, K, **options).T * self.scale

    def predict(self, labels: Array, C: float, coordinates: Any) -> Array:
        """Learn a linear SVM (one against the rest, squared hinge) and apply it."""
        if len(np.unique(labels)) == 1:  # nothing to separate
            return np.full(coordinates.shape[0], labels[0])
        # The seed only orders the steps of the solver.
        model = LinearSVC(C=C, tol=TOL, max_iter=MAX_ITER, dual=True, random_state=0)
        with warnings.catch_warnings():
            # Large C on wide features: the last digits do not change labels.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Few labels of many classes are what is studied here.
            warnings.filterwarnings("ignore", "The number of unique classes is greater")
            model.fit(self.labelled, labels)
        return np.asarray(model.predict(coordinates))


def _side_by_side(blocks: Blocks, rows: Array) -> Any:
    if all(sp.issparse(F) for F in blocks):
        return sp.hstack([F[rows] for F in blocks], format="csr", dtype=np.float64)
    parts = [F[rows].toarray() if sp.issparse(F) else F[rows] for F in blocks]
    return np.hstack(parts).astype(np.float64)


def _factor(K: Array) -> Array:
    """The Cholesky factor; a little is added to the diagonal, as copies make K singular."""
    jitter = 1e-10 * max(float(K.diagonal().mean()), 1e-300)
    while True:
        try:
            shifted = K + jitter * np.eye(len(K))
            return np.asarray(scipy.linalg.cholesky(shifted, lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            jitter *= 100
