"""Turn the outputs of the layers into features: scale, join, compress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Matrix, scale_rows, times, transposed
from dcot.core.layers import Layer, row_blocks

Array = NDArray[Any]

# A compression and the directions of x are learned from at most this many documents.
MAX_SAMPLED_DOCUMENTS = 10_000
# Number of directions of x, and steps of the iteration that finds them.
MAX_DIRECTIONS = 200
DOCUMENTS_PER_DIRECTION = 10
LSI_WEIGHT = 0.5  # of its inner products, relative to those of a layer
WITH_X, WITH_LSI = ("concat", "all"), ("lsi", "all")  # outputs
N_ITERATIONS = 4


def sampled_rows(n: int, generator: Any) -> Array | None:
    """Return which of n documents directions and a compression are learned from; None means all."""
    if n <= MAX_SAMPLED_DOCUMENTS:
        return None
    return np.sort(generator.choice(n, MAX_SAMPLED_DOCUMENTS, replace=False))


def sample(X: Matrix, weights: Array | None, generator: Any) -> tuple[Matrix, Array | None]:
    """Return the documents that directions and a compression are learned from."""
    chosen = sampled_rows(X.shape[0], generator)
    if chosen is None:
        return X, weights
    return X[chosen], None if weights is None else weights[chosen]


@dataclass(frozen=True)
class Representation:
    """How a document becomes features.

    Attributes
    ----------
    layers : the fitted stack
    output : ``"concat"`` = (x, z¹ … zˡ), ``"layers"`` = (z¹ … zˡ), ``"last"`` = zˡ, ``"lsi"`` =
        (LSI, z¹ … zˡ), ``"all"`` = (x, LSI, z¹ … zˡ), where LSI is x projected on ``directions``
    normalize : ``"shared"`` (centre, then divide each row by the length of its first layer),
        ``"unit"`` (centre, then unit rows, layer by layer), ``"center"``, or None. x is never
        centred, because that would make it dense.
    components : directions of a compression, features × components, or None
    directions : directions of x, terms × directions, or None
    lsi_weight : factor for LSI, if it is among the features
    """

    layers: Sequence[Layer]
    output: str
    normalize: str | None
    components: Array | None = None
    directions: Array | None = None
    lsi_weight: float = 1.0

    @property
    def width(self) -> int:
        """Number of columns before compression, without those of x."""
        shown = 1 if self.output == "last" else len(self.layers)
        return shown * int(self.layers[-1].coef_.shape[1])

    @property
    def input_width(self) -> int:
        """Number of columns of x and LSI; they come before those of the layers."""
        width = int(self.layers[0].coef_.shape[0]) if self.output in WITH_X else 0
        if self.output in WITH_LSI:
            assert self.directions is not None
            width += int(self.directions.shape[1])
        return width

    def transform(self, X: Matrix) -> Matrix:
        """Return the features of the rows of X; CSR if they include a sparse x, else dense."""
        if self.components is not None:
            return self.times(X, self.components)
        n, own = X.shape[0], self.input_width
        if self.output in WITH_X and sp.issparse(X):
            blocks = [self._joined(X[rows]) for rows in self._blocks(n)]
            return sp.vstack(blocks or [self._joined(X)], format="csr")
        out = np.empty((n, own + self.width), dtype=self.layers[0].coef_.dtype)
        for rows in self._blocks(n):
            if own:
                np.concatenate(self.inputs(X[rows]), axis=1, out=out[rows, :own])
            self._fill(X[rows], out[rows], own)
        return out

    def times(self, X: Matrix, weights: Array) -> Array:
        """Return the features before compression times ``weights``, features × columns.

        With ``normalize="shared"`` and no squashing, all layers are linear in the first one once
        its length is known, so their weights are folded into one matrix and only the first layer
        is computed.
        """
        n, own = X.shape[0], self.input_width
        columns = int(weights.shape[1])
        dtype = self.layers[0].coef_.dtype
        weights = np.asarray(weights, dtype=dtype)
        direct, inner = weights[:own], weights[own:]
        # folding costs as much as computing the later layers for one document per column
        fold = self._foldable and n >= columns
        inner = self._folded(inner) if fold else inner
        out = np.empty((n, columns), dtype=dtype)
        row_bytes = (self.layers[0].coef_.shape[1] if fold else self.width) * dtype.itemsize
        # few blocks: threads of BLAS wait in a loop for a while, and slow down our own threads
        for rows in row_blocks(n, row_bytes):
            if fold:
                Z = self._first_centred(X[rows])
                inverse = _inverse_norms(_squared_lengths(Z))
                np.matmul(Z, inner, out=out[rows])
                out[rows] *= inverse[:, None]
            else:
                dense = np.empty((rows.stop - rows.start, self.width), dtype=dtype)
                self._fill(X[rows], dense)
                np.matmul(dense, inner, out=out[rows])
            start = 0
            for part in self.inputs(X[rows]):
                out[rows] += times(part, direct[start : start + part.shape[1]])
                start += part.shape[1]
        return out

    def parts(self, X: Matrix) -> list[Matrix]:
        """Return the features before compression as matrices whose columns are joined.

        x stays sparse and the layers stay dense, which makes products fast.
        """
        dense = np.empty((X.shape[0], self.width), dtype=self.layers[0].coef_.dtype)
        for rows in self._blocks(X.shape[0]):
            self._fill(X[rows], dense[rows])
        return [*self.inputs(X), dense]

    def learned_from(
        self,
        X: Matrix,
        weights: Array | None,
        n_documents: float,
        n_components: int | None,
        generator: Any,
    ) -> Representation:
        """Return a representation with the directions and the compression that it needs.

        Parameters
        ----------
        X, weights : some documents and their weights; see ``sample``
        n_documents : number of documents in the corpus
        n_components : number of components to compress to, or None
        generator : random generator
        """
        made = self
        if self.output in WITH_LSI:
            k = int(np.clip(n_documents // DOCUMENTS_PER_DIRECTION, 1, MAX_DIRECTIONS))
            directions = leading_directions(X, weights, k, generator)
            made = replace(self, directions=directions, lsi_weight=float(np.sqrt(LSI_WEIGHT)))
        if n_components is None:
            return made
        return made._compressed(X, weights, n_components, generator)

    def _compressed(
        self, X: Matrix, weights: Array | None, n_components: int, generator: Any
    ) -> Representation:
        """Return a representation projected on the leading singular directions of its features."""
        from sklearn.utils.extmath import randomized_svd

        features = self.transform(X)
        if weights is not None:
            features = scale_rows(features, np.sqrt(weights).astype(features.dtype))
        rank = min(n_components, *features.shape)
        options = {"n_iter": 3, "power_iteration_normalizer": "QR", "flip_sign": False}
        directions = randomized_svd(features, rank, random_state=generator, **options)[2]
        return replace(self, components=_with_signs(directions.T))

    def _blocks(self, n: int) -> Iterator[slice]:
        return row_blocks(n, self.width * self.layers[0].coef_.dtype.itemsize)

    def _fill(self, X: Matrix, out: Array, start: int = 0) -> None:
        """Write the scaled outputs of the layers to consecutive columns, from ``start`` on."""
        if self._foldable:
            self._fill_linear(X, out, start)
            return
        width = int(self.layers[-1].coef_.shape[1])
        Z, shared = X, None
        for layer, scale in zip(self.layers, self.scales, strict=True):
            Z = layer.outputs(Z)
            if self.normalize == "shared" and shared is None:
                shared = _inverse_norms(_squared_lengths(Z - _mean(layer)))
            if self.output != "last" or layer is self.layers[-1]:
                block = out[:, start : start + width]
                if self.normalize is None or layer.mean_ is None:
                    block[:] = Z
                else:
                    np.subtract(Z, _mean(layer), out=block)
                if self.normalize == "unit":
                    block *= _inverse_norms(_squared_lengths(block))[:, None]
                if shared is not None:
                    block *= (shared * block.dtype.type(scale))[:, None]
                start += width

    def _fill_linear(self, X: Matrix, out: Array, start: int) -> None:
        """As ``_fill``, for layers without squashing that share one length.

        The centred outputs of a layer are those of the layer below times its coefficients. So each
        block of columns is a product of the one before it, and nothing else is computed.
        """
        width, below, factor = int(self.layers[-1].coef_.shape[1]), None, 1.0
        for layer, scale in zip(self.layers, self.scales, strict=True):
            shown = self.output != "last" or layer is self.layers[-1]
            place = out if shown else np.empty((X.shape[0], width), dtype=out.dtype)
            first = start if shown else 0
            block = place[:, first : first + width]
            if below is None:
                self._first_centred(X, place, first)
                block *= _inverse_norms(_squared_lengths(block))[:, None]
            else:
                np.matmul(below, layer.coef_, out=block)
                block *= block.dtype.type(scale / factor)
            below, factor = block, scale
            start += width if shown else 0

    @property
    def scales(self) -> list[float]:
        """Factors of the layers that give all of them the same mean squared length."""
        first = self.layers[0].spread_
        usable = self.normalize == "shared" and first > 0
        return [
            float(np.sqrt(first / layer.spread_)) if usable and layer.spread_ > 0 else 1.0
            for layer in self.layers
        ]

    @property
    def _foldable(self) -> bool:
        linear = all(layer.squash == "identity" for layer in self.layers)
        return self.normalize == "shared" and linear

    def _first_centred(self, X: Matrix, out: Array | None = None, start: int = 0) -> Array:
        """Outputs of the first layer minus their mean, written to ``out`` if it is given."""
        layer = self.layers[0]
        ones = np.ones(X.shape[0], dtype=layer.coef_.dtype)
        return times(X, layer.coef_, ones, layer.intercept_ - _mean(layer), out, start)

    def _folded(self, weights: Array) -> Array:
        """Return a matrix for the centred first layer, equivalent to ``weights`` for all layers.

        The centred outputs of a linear layer are those of the layer below times its coefficients.
        """
        width = int(self.layers[-1].coef_.shape[1])
        start, folded = len(weights), None
        for layer, scale in zip(self.layers[::-1], self.scales[::-1], strict=True):
            if folded is None or self.output != "last":
                start -= width
                part = weights[start : start + width] * weights.dtype.type(scale)
                folded = part if folded is None else folded + part
            if layer is not self.layers[0]:
                folded = layer.coef_ @ folded
        assert folded is not None
        return np.ascontiguousarray(folded)

    def inputs(self, X: Matrix) -> list[Matrix]:
        """Return the columns of x and of LSI that are among the features."""
        found: list[Matrix] = []
        if self.output in WITH_X:
            found.append(self._scaled(X, 1.0))
        if self.output in WITH_LSI:
            assert self.directions is not None
            found.append(self._scaled(times(X, self.directions), self.lsi_weight))
        return found

    def _scaled(self, X: Matrix, weight: float) -> Matrix:
        if self.normalize not in ("unit", "shared"):
            return X if weight == 1 else X * X.dtype.type(weight)
        if not sp.issparse(X):
            return X * (_inverse_norms(_squared_lengths(X)) * X.dtype.type(weight))[:, None]
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return scale_rows(X, (_inverse_norms(squares) * weight).astype(X.dtype))

    def _joined(self, X: Matrix) -> Matrix:
        dense = np.empty((X.shape[0], self.width), dtype=self.layers[0].coef_.dtype)
        self._fill(X, dense)
        n, width = dense.shape
        index = np.int32 if n * width < 2**31 else np.int64
        columns = np.tile(np.arange(width, dtype=index), n)
        pointers = np.arange(0, n * width + 1, width, dtype=index)
        Z = sp.csr_array((dense.ravel(), columns, pointers), shape=dense.shape)
        inputs = [sp.csr_array(part) for part in self.inputs(X)]
        return sp.hstack([*inputs, Z], format="csr")


def leading_directions(
    X: Matrix, weights: Array | None, n_directions: int, generator: Any
) -> Array:
    """Return the directions that LSI projects x on, terms × directions, the leading one first.

    They are the right singular vectors of X, found by iterating a random subspace of terms. So they
    do not depend on the order of the documents, and a weight of two is the same as a copy.
    Iterations are in the space of documents if there are fewer of these than terms.
    """
    if weights is not None:
        X = scale_rows(X, np.sqrt(weights).astype(X.dtype))
    transpose = transposed(X)
    basis = generator.standard_normal((X.shape[1], min(n_directions, *X.shape))).astype(X.dtype)
    if X.shape[0] >= X.shape[1]:
        basis = _iterated(transpose, X, basis, N_ITERATIONS)
        return _with_signs(basis @ _leading(times(X, basis))[1].astype(X.dtype))
    span = _iterated(X, transpose, times(X, basis), N_ITERATIONS - 1)
    columns = times(transpose, _scaled_down(span))  # one half of the last iteration
    values, rotation = _leading(columns)
    return _with_signs(columns @ (rotation / np.sqrt(values)).astype(X.dtype))


def _iterated(matrix: Matrix, transpose: Matrix, basis: Array, count: int) -> Array:
    """Return the basis multiplied by ``matrix @ transpose``, with orthonormal columns."""
    for _ in range(count):
        product = times(matrix, _scaled_down(times(transpose, _scaled_down(basis))))
        basis = orthonormal(product).astype(basis.dtype)
    return basis


def _leading(columns: Array) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of the products of columns, the largest first."""
    columns = columns.astype(np.float64)
    values, vectors = np.linalg.eigh(columns.T @ columns)
    return values[::-1], vectors[:, ::-1]


def _scaled_down(matrix: Array) -> Array:
    """Divide by a power of two, so that the largest entry is near one and products are finite."""
    exponent = np.frexp(np.abs(matrix).max(initial=0.0))[1]
    return np.asarray(np.ldexp(matrix, -exponent))


def _with_signs(directions: Array) -> Array:
    """Return directions, in columns, whose largest entries are positive; a sign is arbitrary."""
    largest = np.take_along_axis(directions, np.abs(directions).argmax(0)[None], axis=0)
    return np.ascontiguousarray(directions * np.sign(largest))


def orthonormal(columns: Array) -> Array:
    """Return orthonormal columns with the same span, in double precision."""
    units = columns.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->j", units, units))
    units /= np.where(lengths > 0, lengths, 1.0)
    values, vectors = np.linalg.eigh(units.T @ units)
    kept = values > values.max(initial=0.0) * 1e-10
    return np.asarray(units @ (vectors[:, kept] / np.sqrt(values[kept])))


def products(left: Sequence[Matrix], right: Sequence[Matrix]) -> Array:
    """Return inner products of documents given by ``parts``: rows of left × rows of right."""
    found = None
    for A, B in zip(left, right, strict=True):
        product = A @ B.T
        product = product.toarray() if sp.issparse(product) else product
        if found is None:
            found = product
        else:
            found += product
    assert found is not None
    return np.asarray(found)


def combined(parts: Sequence[Matrix], dual: Array) -> Array:
    """Return weights of features from weights of documents: featuresᵀ @ dual."""
    return np.vstack([np.asarray(part.T @ dual.astype(part.dtype)) for part in parts])


def _mean(layer: Layer) -> Array:
    """The mean output, in the dtype of the coefficients."""
    assert layer.mean_ is not None
    return layer.mean_.astype(layer.coef_.dtype)


def _squared_lengths(matrix: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", matrix, matrix))


def _inverse_norms(squares: Array) -> Array:
    safe = np.where(squares > 0, squares, 1.0)
    return np.where(squares > 0, safe**-0.5, 0.0).astype(squares.dtype)
