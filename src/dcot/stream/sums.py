"""The sums over documents that a fit needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Matrix, times
from dcot.core.layers import CACHE_BYTES, Layer, OutputsTotal, row_blocks
from dcot.core.moments import Moments
from dcot.core.plan import PANEL
from dcot.runtime.resources import run_threads
from dcot.stream.passes import Block, Sum

Array = NDArray[Any]

CELLS_PER_PAIR = 32  # with fewer pairs than one per 32 cells, pairs are listed one by one
PAGE_BYTES = 4096  # smallest memory page of an operating system


def size_of(X: Matrix) -> Array:
    """Return the numbers of rows, of values, and of pairs of terms in a document."""
    if not sp.issparse(X):
        n, d = X.shape
        return np.array([n, n * d, n * d * (d + 1) / 2])
    lengths = np.diff(X.indptr).astype(np.float64)
    return np.array([X.shape[0], X.nnz, float(lengths @ (lengths + 1)) / 2])


class MomentsSum(Sum):
    """Moments without the scatter matrix, and the size of the corpus."""

    def empty(self) -> Any:
        return None

    def add(self, total: Any, block: Block) -> Any:
        X = block.X
        entries = (X.nnz if sp.issparse(X) else X.size) / max(X.shape[0], 1)
        for rows in row_blocks(X.shape[0], 32 * entries):  # Moments makes copies of them
            part = block.rows(rows.start, rows.stop)
            total = self.merge(total, (Moments.of(part.X, part.weights), size_of(part.X)))
        return total

    def merge(self, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return right if left is None else left
        return left[0] + right[0], left[1] + right[1]


def panels_of(d: int, rows: int | None = None) -> list[tuple[int, int]]:
    """Return the first row of each panel, and the row after its last."""
    rows = rows or PANEL
    return [(start, min(start + rows, d)) for start in range(0, d, rows)]


class PlainSum(Sum):
    """A sum whose totals can be added, in place if they are arrays or lists."""

    def merge(self, left: Any, right: Any) -> Any:
        left += right
        return left

    def for_merging(self) -> Sum:
        return PlainSum()


@dataclass
class PanelSum(PlainSum):
    """Rows ``start:stop`` of the lower triangle of Σ x xᵀ, as a dense array."""

    start: int
    stop: int
    dtype: Any

    def empty(self) -> Array:
        """Return zeros whose memory pages are already allocated, so that adding is faster."""
        total = np.zeros((self.stop - self.start, self.stop), dtype=self.dtype)
        total.reshape(-1)[:: PAGE_BYTES // total.itemsize] = 0
        return total

    def add(self, total: Array, block: Block) -> Array:
        X = block.rooted
        if not sp.issparse(X):
            total += X[:, self.start : self.stop].T @ X[:, : self.stop]
            return total
        from dcot.core.kernels import add_scatter

        T = block.transpose
        arrays = (T.indptr, T.indices, T.data, X.indptr, X.indices, X.data)
        part = int(T.indptr[self.stop] - T.indptr[self.start])
        work = part * X.nnz / max(X.shape[0], 1)
        run_threads(add_scatter, *arrays, self.start, total, work=work)
        return total

    @property
    def total_bytes(self) -> float:
        return float((self.stop - self.start) * self.stop * np.dtype(self.dtype).itemsize)


class SparsePanelSum(PanelSum):
    """Like ``PanelSum`` with sparse matrices, for partial sums and terms that rarely co-occur.

    A total is a list of matrices, each at least twice as large as the next, because adding a batch
    to one large matrix would copy all of it every time. A matrix with many entries becomes dense.
    """

    def empty(self) -> Any:
        return []

    def add(self, total: Any, block: Block) -> Any:
        block = block.sparse  # so that nothing is written above the diagonal
        if total and not sp.issparse(total[0]):  # the largest part; dense ones are large
            super().add(total[0], block)
            return total
        X, T = block.rooted, block.transpose
        documents = T.indices[T.indptr[self.start] : T.indptr[self.stop]]
        lengths = np.diff(X.indptr)[documents]
        pairs = int(lengths.sum(dtype=np.int64))  # upper bound of the pairs of terms
        return self._with(total, self._of(X, T, pairs))

    def _of(self, X: Matrix, T: Matrix, pairs: int) -> Any:
        from dcot.core.kernels import sparse_scatter

        rows = self.stop - self.start
        arrays = (T.indptr, T.indices, T.data, X.indptr, X.indices, X.data)
        if pairs * CELLS_PER_PAIR > rows * self.stop:
            return self._by_looking(arrays)
        pointers = np.zeros(rows + 1, dtype=np.int32)
        columns, values = np.empty(pairs, dtype=np.int32), np.empty(pairs, dtype=self.dtype)
        n = sparse_scatter(*arrays, self.start, self.stop, pointers, columns, values)
        found = (values[:n].copy(), columns[:n].copy(), pointers)
        return sp.csr_array(found, shape=(rows, self.stop))

    def _by_looking(self, arrays: Any) -> Any:
        """Compute a few rows at a time as a dense array, and keep the nonzero entries.

        This is faster than a list of pairs if many terms occur together. It needs memory only for
        these rows and the result.
        """
        from dcot.core.kernels import ROWS, add_scatter, count_entries, take_entries

        add: Any = add_scatter

        scratch = np.zeros((ROWS, self.stop), dtype=self.dtype)
        counts, parts = [], []
        for first in range(self.start, self.stop, ROWS):
            dense = scratch[: min(ROWS, self.stop - first)]
            add(*arrays, first, dense, 0, 1)
            found = count_entries(dense)
            columns = np.empty(found.sum(), dtype=np.int32)
            values = np.empty(len(columns), dtype=self.dtype)
            take_entries(dense, columns, values)
            counts.append(found)
            parts.append((columns, values))
        pointers = np.concatenate([[0], np.cumsum(np.concatenate(counts), dtype=np.int64)])
        kind = np.int32 if pointers[-1] < 2**31 else np.int64
        columns = np.concatenate([part[0] for part in parts]).astype(kind, copy=False)
        values = np.concatenate([part[1] for part in parts])
        shape = (self.stop - self.start, self.stop)
        return _smaller(sp.csr_array((values, columns, pointers.astype(kind)), shape=shape))

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        for part in right:
            left = self._with(left, part)
        return left

    def for_merging(self) -> Sum:
        return self

    def _with(self, total: list[Any], part: Any) -> list[Any]:
        if not _size(part):
            return total
        total = sorted([*total, part], key=_size, reverse=True)
        while len(total) > 1 and _size(total[-2]) < 2 * _size(total[-1]):
            last, before = total.pop(), total.pop()
            total.append(added(before, last))
            total.sort(key=_size, reverse=True)
        return total


def _size(matrix: Any) -> int:
    return int(matrix.nnz if sp.issparse(matrix) else matrix.size)


def _smaller(matrix: Any) -> Any:
    """Return the sparse matrix, or a dense one if that takes less memory."""
    return matrix.toarray() if 2 * matrix.nnz > matrix.shape[0] * matrix.shape[1] else matrix


def added(left: Any, right: Any) -> Any:
    """Return the sum of two matrices, sparse or dense; dense if that takes less memory."""
    if not sp.issparse(left) and not sp.issparse(right):
        return left + right
    if sp.issparse(left) and sp.issparse(right):
        return _smaller(left + right)
    dense, sparse = (right.copy(), left) if sp.issparse(left) else (left.copy(), right)
    add_to(dense, sparse)
    return dense


def add_to(dense: Array, part: Any) -> None:
    """Add a matrix, sparse or dense, to a dense one in place."""
    if sp.issparse(part):
        rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        dense[rows, part.indices] += part.data
    else:
        dense += part


@dataclass
class ProductSum(PlainSum):
    """``X_cᵀ X_c V`` for a dense V, d × w."""

    dense: Array
    mean: Array

    def empty(self) -> Array:
        return np.zeros(self.dense.shape, dtype=self.dense.dtype)

    def add(self, total: Array, block: Block) -> Array:
        X = block.rooted
        shift = -(self.mean.astype(self.dense.dtype) @ self.dense)
        for rows in row_blocks(X.shape[0], self.dense.shape[1] * self.dense.itemsize):
            T = times(X[rows], self.dense, block.root[rows], shift)
            total = add_transposed(total, X[rows], T)
        return total

    @property
    def total_bytes(self) -> float:
        return float(self.dense.nbytes)

    @property
    def sent_bytes(self) -> float:
        return float(self.dense.nbytes)


@dataclass
class ColumnsSum(PlainSum):
    """``X_cᵀ X_c[:, P]``: the right-hand sides."""

    targets: Array
    mean: Array
    dtype: Any

    def empty(self) -> Array:
        return np.zeros((len(self.mean), len(self.targets)), dtype=self.dtype)

    def add(self, total: Array, block: Block) -> Array:
        X = block.rooted
        mean = self.mean[self.targets].astype(self.dtype)
        for rows in row_blocks(X.shape[0], len(self.targets) * np.dtype(self.dtype).itemsize):
            T = X[rows][:, self.targets]
            T = T.toarray() if sp.issparse(T) else np.array(T)
            T -= np.multiply.outer(block.root[rows], mean)
            total = add_transposed(total, X[rows], T)
        return total

    @property
    def total_bytes(self) -> float:
        return float(len(self.mean) * len(self.targets) * np.dtype(self.dtype).itemsize)


def add_transposed(total: Array, X: Matrix, dense: Array) -> Array:
    """``total += Xᵀ @ dense``, in place."""
    if not sp.issparse(X):
        total += X.T @ dense
        return total
    from dcot.core.kernels import add_sparse_times_dense

    T = X.T.tocsr()
    arrays = (T.indptr, T.indices, T.data, np.ascontiguousarray(dense), total)
    run_threads(add_sparse_times_dense, *arrays, work=X.nnz * dense.shape[1])
    return total


@dataclass
class OutputsSum(PlainSum):
    """Sums over the outputs of the last layer, around ``origin``."""

    layers: Sequence[Layer]
    origin: Array

    def empty(self) -> OutputsTotal:
        return OutputsTotal.empty(len(self.origin), self.layers[0].coef_.dtype)

    def add(self, total: OutputsTotal, block: Block) -> OutputsTotal:
        for Z, weights in _outputs(self.layers, block):
            total = total.plus(Z, weights, self.origin.astype(Z.dtype))
        return total

    @property
    def total_bytes(self) -> float:
        return float(len(self.origin)) ** 2 * 8


@dataclass
class MeanOutputSum(Sum):
    """Total weight of the documents, and the sum of the outputs of the last layer."""

    layers: Sequence[Layer]

    def empty(self) -> tuple[float, Array]:
        return 0.0, np.zeros(self.layers[-1].coef_.shape[1])

    def add(self, total: tuple[float, Array], block: Block) -> tuple[float, Array]:
        size, sums = total
        for Z, weights in _outputs(self.layers, block):
            size += len(Z) if weights is None else float(weights.sum())
            sums = sums + (Z.sum(axis=0, dtype=np.float64) if weights is None else weights @ Z)
        return size, sums

    def merge(self, left: tuple[float, Array], right: tuple[float, Array]) -> tuple[float, Array]:
        return left[0] + right[0], left[1] + right[1]

    def for_merging(self) -> Sum:
        return replace(self, layers=())


def _outputs(layers: Sequence[Layer], block: Block) -> Iterator[tuple[Array, Array | None]]:
    """Yield outputs of the last layer for a few documents at a time, with their weights."""
    coef = layers[-1].coef_
    for rows in row_blocks(block.shape[0], coef.shape[1] * coef.itemsize, CACHE_BYTES):
        Z: Matrix = block.X[rows]
        for layer in layers:
            Z = layer.outputs(Z)
        yield Z, None if block.weights is None else block.weights[rows]


class CountSum(PlainSum):
    """The number of documents."""

    def empty(self) -> int:
        return 0

    def add(self, total: int, block: Block) -> int:
        return total + block.shape[0]


@dataclass
class RowsSum(PlainSum):
    """Documents chosen by their position in the corpus, few enough to fit in memory."""

    chosen: Array

    def empty(self) -> list[Any]:
        return []

    def add(self, total: list[Any], block: Block) -> list[Any]:
        places = block.start + np.arange(block.shape[0])
        mine = np.isin(places, self.chosen, assume_unique=True)
        if mine.any():
            weights = None if block.weights is None else block.weights[mine]
            total.append((block.start, block.X[mine], weights))
        return total
