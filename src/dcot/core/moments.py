"""Sums over a corpus that the model needs: n, Σx, Σx², document frequency, scatter.

The moments of two corpora together are the sum of their moments, so streaming, out-of-core and
distributed fits only add.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Matrix, centre_scatter, gram_lower, scale_rows
from dcot.errors import InvalidInputError

Array = NDArray[Any]

# Limits of the length √Σx² of a column, so that squares and products stay in range.
MIN_LENGTH = {np.dtype(np.float32): 1e-15, np.dtype(np.float64): 1e-140}
MAX_LENGTH = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e140}
# Rounding of sums grows with the documents. More than this are large weights, which add none.
FEWEST_SUMMED, MOST_SUMMED = 1e3, 1e8


@dataclass
class Moments:
    """Sums over documents, each multiplied by its weight.

    Attributes
    ----------
    n : total weight of the documents
    total : Σ x, length d, float64
    squares : Σ x², length d, float64
    document_frequency : total weight of the documents that contain each term, length d
    scatter : Σ x xᵀ, d × d, lower triangle, uncentred; or None
    """

    n: float
    total: Array
    squares: Array
    document_frequency: Array
    scatter: Array | None = None

    @classmethod
    def of(cls, X: Matrix, weights: Array | None = None) -> Moments:
        """Return the moments of the rows of X, CSR or dense, without their scatter matrix.

        >>> Moments.of(np.array([[1.0, 0.0], [1.0, 2.0]])).total
        array([2., 2.])
        """
        with np.errstate(over="ignore"):  # the fit rejects sums that are not finite
            return cls._sums_of(X, weights)

    @classmethod
    def _sums_of(cls, X: Matrix, weights: Array | None) -> Moments:
        n, d = X.shape
        if sp.issparse(X):
            values, columns = X.data.astype(np.float64), X.indices
            w = np.ones(1) if weights is None else np.repeat(weights, np.diff(X.indptr))
            total = np.bincount(columns, weights=values * w, minlength=d)
            squares = np.bincount(columns, weights=values * values * w, minlength=d)
            present = np.bincount(columns, weights=(values != 0) * w, minlength=d)
        else:
            w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
            total = w @ X
            squares = np.einsum("i,ij,ij->j", w, X, X, dtype=np.float64)
            present = w @ (X != 0)
        size = float(n) if weights is None else float(weights.sum())
        return cls(size, total, squares, present)

    @classmethod
    def empty(cls, n_terms: int, dtype: Any) -> Moments:
        """Return the moments of no documents, with a scatter matrix of zeros."""
        scatter = np.zeros((n_terms, n_terms), dtype=dtype)
        return cls(0.0, np.zeros(n_terms), np.zeros(n_terms), np.zeros(n_terms), scatter)

    def copy(self) -> Moments:
        """Return moments that can be added to without a change of these."""
        assert self.scatter is not None
        return replace(self, scatter=self.scatter.copy())  # add replaces the other arrays

    def widened(self, n_terms: int) -> Moments:
        """Return the moments with more terms, which no document contains."""
        assert self.scatter is not None
        more = n_terms - self.n_terms
        pad = [np.pad(v, (0, more)) for v in (self.total, self.squares, self.document_frequency)]
        return Moments(self.n, pad[0], pad[1], pad[2], np.pad(self.scatter, (0, more)))

    @property
    def n_terms(self) -> int:
        return len(self.total)

    @property
    def mean(self) -> Array:
        return self.total / self.n

    def variation(self) -> Array:
        """Centred sums of squares, the diagonal of the centred scatter; never below zero."""
        return np.maximum(self.squares - self.n * self.mean**2, 0.0)

    @property
    def differ(self) -> bool:
        """Whether documents differ by more than the rounding of the sums, which grows with n."""
        summed = min(max(self.n, FEWEST_SUMMED), MOST_SUMMED)
        rounding = summed * np.finfo(np.float64).eps
        return bool((self.variation() > rounding * self.squares).any())

    def centred_scatter(self) -> Array:
        """Return ``Σ (x−µ)(x−µ)ᵀ``, lower triangle, as a new array."""
        assert self.scatter is not None
        return centre_scatter(self.scatter.copy(), self.mean, self.n)

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both corpora, without a scatter matrix."""
        if self.n_terms != other.n_terms:
            raise InvalidInputError(
                f"moments of {self.n_terms} and {other.n_terms} terms cannot be added: "
                "count both corpora with the same vocabulary"
            )
        return Moments(
            self.n + other.n,
            self.total + other.total,
            self.squares + other.squares,
            self.document_frequency + other.document_frequency,
        )

    def add(self, X: Matrix, weights: Array | None = None) -> None:
        """Add the rows of X in place, also to the scatter matrix."""
        assert self.scatter is not None
        if not X.shape[0]:  # BLAS refuses an empty matrix
            return
        more = Moments.of(X, weights)
        # first, because it may run out of memory
        X = X.astype(self.scatter.dtype, copy=False)
        self.scatter = _scatter(X, weights, out=self.scatter)
        self.n += more.n
        self.total = self.total + more.total
        self.squares = self.squares + more.squares
        self.document_frequency = self.document_frequency + more.document_frequency


def _scatter(X: Matrix, weights: Array | None, out: Array) -> Array:
    if weights is not None:
        X = scale_rows(X, np.sqrt(weights).astype(X.dtype))
    if sp.issparse(X):
        return gram_lower(X.T.tocsr(), X, out=out)
    return gram_lower(X.T, out=out)
