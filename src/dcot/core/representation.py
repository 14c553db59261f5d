"""From the outputs of the layers to the features a classifier sees: scale, join, compress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Matrix, scale_rows
from dcot.core.layers import Layer, row_blocks

Array = NDArray[Any]

# The directions of a compression are learned from at most so many documents.
COMPRESSION_DOCUMENTS = 10_000


def compression_rows(n: int, generator: Any) -> Array | None:
    """Which of n documents the directions of a compression are learned from; None means all."""
    if n <= COMPRESSION_DOCUMENTS:
        return None
    return np.sort(generator.choice(n, COMPRESSION_DOCUMENTS, replace=False))


@dataclass(frozen=True)
class Representation:
    """How a document becomes features.

    Attributes
    ----------
    layers : the fitted stack
    output : ``"concat"`` = (x, z¹ … zˡ), ``"layers"`` = (z¹ … zˡ), ``"last"`` = zˡ
    normalize : ``"unit"`` (centre, then unit rows), ``"center"``, or None. x is never centred,
        because that would make it dense.
    components : directions of a compression, features × components, or None
    """

    layers: Sequence[Layer]
    output: str
    normalize: str | None
    components: Array | None = None

    @property
    def width(self) -> int:
        """Columns before compression, x not counted."""
        shown = 1 if self.output == "last" else len(self.layers)
        return shown * int(self.layers[-1].coef_.shape[1])

    def transform(self, X: Matrix) -> Matrix:
        """Features of the rows of X; CSR if x is among them and sparse, else dense."""
        n, d = X.shape
        dtype = self.layers[0].coef_.dtype
        joined = self.output == "concat" and self.components is None
        if joined and sp.issparse(X):
            return sp.vstack([self._joined(X[rows]) for rows in self._blocks(n)], format="csr")
        width = self.width + (d if joined else 0)
        if self.components is not None:
            width = self.components.shape[1]
        out = np.empty((n, width), dtype=dtype)
        for rows in self._blocks(n):
            if self.components is not None:
                out[rows] = self._project(X[rows])
            elif joined:
                out[rows, :d] = self._scaled_input(X[rows])
                self._fill(X[rows], out[rows, d:])
            else:
                self._fill(X[rows], out[rows])
        return out

    def parts(self, X: Matrix) -> list[Matrix]:
        """The features, not compressed, as matrices to be thought of side by side.

        x stays sparse and the layers dense, which products with them want.
        """
        dense = np.empty((X.shape[0], self.width), dtype=self.layers[0].coef_.dtype)
        for rows in self._blocks(X.shape[0]):
            self._fill(X[rows], dense[rows])
        return [self._scaled_input(X), dense] if self.output == "concat" else [dense]

    def compressed(
        self, X: Matrix, weights: Array | None, n_components: int, random_state: Any
    ) -> Representation:
        """The same with its features projected on their leading singular directions."""
        from sklearn.utils import check_random_state

        generator = check_random_state(random_state)
        chosen = compression_rows(X.shape[0], generator)
        if chosen is not None:
            X, weights = X[chosen], None if weights is None else weights[chosen]
        return self.compressed_on(X, weights, n_components, generator)

    def compressed_on(
        self, X: Matrix, weights: Array | None, n_components: int, generator: Any
    ) -> Representation:
        """The directions of all of these documents."""
        from sklearn.utils.extmath import randomized_svd

        features = self.transform(X)
        if weights is not None:
            features = scale_rows(features, np.sqrt(weights).astype(features.dtype))
        rank = min(n_components, *features.shape)
        options = {"n_iter": 3, "power_iteration_normalizer": "QR", "flip_sign": False}
        directions = randomized_svd(features, rank, random_state=generator, **options)[2]
        # The sign of a direction is free: fix it by the direction itself, not by the documents.
        largest = np.take_along_axis(directions, np.abs(directions).argmax(1)[:, None], axis=1)
        components = np.ascontiguousarray((directions * np.sign(largest)).T)
        return replace(self, components=components)

    def _blocks(self, n: int) -> Iterator[slice]:
        return row_blocks(n, self.width * self.layers[0].coef_.dtype.itemsize)

    def _fill(self, X: Matrix, out: Array) -> None:
        """Write the scaled outputs of the layers side by side."""
        width, start = int(self.layers[-1].coef_.shape[1]), 0
        Z = X
        for layer in self.layers:
            Z = layer.outputs(Z)
            if self.output != "last" or layer is self.layers[-1]:
                block = out[:, start : start + width]
                self._scale(Z, layer.mean_, block)
                start += width

    def _scale(self, Z: Array, mean: Array | None, out: Array) -> None:
        if self.normalize is None or mean is None:
            out[:] = Z
            return
        np.subtract(Z, mean.astype(Z.dtype), out=out)
        if self.normalize == "unit":
            out *= _inverse_norms(np.einsum("ij,ij->i", out, out))[:, None]

    def _scaled_input(self, X: Matrix) -> Matrix:
        if self.normalize != "unit":
            return X
        if not sp.issparse(X):
            return X * _inverse_norms(np.einsum("ij,ij->i", X, X))[:, None]
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return sp.diags_array(_inverse_norms(squares).astype(X.dtype)) @ X

    def _joined(self, X: Matrix) -> Matrix:
        dense = np.empty((X.shape[0], self.width), dtype=self.layers[0].coef_.dtype)
        self._fill(X, dense)
        n, width = dense.shape
        index = np.int32 if n * width < 2**31 else np.int64
        columns = np.tile(np.arange(width, dtype=index), n)
        pointers = np.arange(0, n * width + 1, width, dtype=index)
        Z = sp.csr_array((dense.ravel(), columns, pointers), shape=dense.shape)
        return sp.hstack([sp.csr_array(self._scaled_input(X)), Z], format="csr")

    def _project(self, X: Matrix) -> Array:
        assert self.components is not None
        dense = np.empty((X.shape[0], self.width), dtype=self.layers[0].coef_.dtype)
        self._fill(X, dense)
        if self.output != "concat":
            return np.asarray(dense @ self.components)
        d = X.shape[1]
        scaled = self._scaled_input(X)
        return np.asarray(scaled @ self.components[:d] + dense @ self.components[d:])


def products(left: Sequence[Matrix], right: Sequence[Matrix]) -> Array:
    """Inner products of documents given by ``parts``, rows of ``left`` × rows of ``right``."""
    found = [A @ B.T for A, B in zip(left, right, strict=True)]
    return np.asarray(sum(p.toarray() if sp.issparse(p) else p for p in found))


def combined(parts: Sequence[Matrix], dual: Array) -> Array:
    """Weights of features from weights of documents: featuresᵀ @ dual."""
    return np.vstack([np.asarray(part.T @ dual.astype(part.dtype)) for part in parts])


def _inverse_norms(squares: Array) -> Array:
    safe = np.where(squares > 0, squares, 1.0)
    return np.where(squares > 0, safe**-0.5, 0.0).astype(squares.dtype)
