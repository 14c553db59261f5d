"""A centred document-term matrix, without building the centred matrix.

The constant feature of the method amounts to centring: every formula is in ``X_c = X − 1 µᵀ``.
X stays as it is, sparse or dense, and products add the rank-one term. Rows are multiplied by the
square roots of the document weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg.blas
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from dcot.runtime.resources import run_threads

Array = NDArray[Any]
Matrix = Any  # a CSR matrix or array, or a C-contiguous ndarray


# The largest value allowed in X: sums of its square must not overflow.
LARGEST_VALUE = {np.dtype(np.float32): 1e12, np.dtype(np.float64): 1e130}


def as_documents(X: Any, dtype: Any) -> Matrix:
    """Return X as CSR or as a C-contiguous array of this dtype; copied only if needed."""
    dtype = np.dtype(dtype)
    check_kind(X)
    if sp.issparse(X):
        given = X.data
        X = canonical(X, dtype)
        values = X.data
    else:
        given = np.asarray(X)
        with np.errstate(over="ignore", under="ignore"):
            X = values = np.ascontiguousarray(given, dtype=dtype)
    if not values.size:
        return X
    if max(values.max(), -values.min()) > LARGEST_VALUE[dtype]:
        raise InvalidInputError(
            f"X has values too large for {dtype} (above {LARGEST_VALUE[dtype]:g}): rescale X"
            + (", or use dtype='float64'" if dtype == np.float32 else "")
        )
    if given.dtype == np.float64 and dtype == np.float32 and not values.any() and given.any():
        raise InvalidInputError(
            "X has values too small for float32: rescale X, or use dtype='float64'"
        )
    return X


def check_kind(X: Any) -> None:
    """Reject masked values and dates, which NumPy and scikit-learn use as if they were numbers."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise InvalidInputError("X has masked values: fill them before, as in X.filled(0)")
    kind = getattr(X, "dtype", None)
    if getattr(kind, "kind", "f") in "mM":
        raise InvalidTypeError(f"X has values of type {kind}, expected numbers")


def check_given(X: Any) -> None:
    """Check what scikit-learn would convert: masks, and sparse formats that crash SciPy."""
    check_kind(X)
    if sp.issparse(X) and X.format in ("bsr", "lil"):
        check_indices(X)


def canonical(X: Any, dtype: Any) -> Any:
    """Return X as CSR with sorted, unique indices, 32-bit if they fit; X itself is not changed.

    The indices are checked first, because SciPy and the compiled loops do not check them.
    """
    check_indices(X)
    with np.errstate(over="ignore", under="ignore"):
        if X.format == "csr":
            # a new matrix, because flags set earlier on X may be out of date
            end, kind = int(X.indptr[-1]), _index_type(X)
            data = X.data[:end].astype(dtype, copy=False)
            indices, indptr = X.indices[:end], X.indptr
            arrays = (data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False))
            X = sp.csr_array(arrays, shape=X.shape)
        else:
            X = sp.csr_array(X).astype(dtype, copy=False)
            check_indices(X)  # of lists, SciPy copies any
    if not X.has_canonical_format:
        X = X.copy()  # its values may be new, and its indices still those of the caller
        X.sum_duplicates()
    if X.indices.dtype != (kind := _index_type(X)):
        arrays = (X.data, X.indices.astype(kind), X.indptr.astype(kind))
        X = sp.csr_array(arrays, shape=X.shape)
    return X


def _index_type(X: Any) -> Any:
    return np.int32 if max(len(X.data), X.shape[1]) < 2**31 else np.int64


def check_indices(X: Any) -> None:
    """Reject a sparse matrix whose indices are out of range.

    SciPy does not check them when a matrix is created or when its arrays are replaced. Neighbours
    are compared, not subtracted: differences of large or unsigned integers wrap around.
    """
    if X.ndim != 2:
        raise InvalidInputError(
            f"expected a matrix, documents × terms, got a sparse array with {X.ndim} dimension: "
            "make a row of it with X.reshape(1, -1)"
        )
    if X.format == "coo":
        for name, entries, size in zip(("rows", "columns"), X.coords, X.shape, strict=True):
            _check_range(name, entries, size, len(X.data))
        return
    if X.format == "lil":
        lengths = [len(X.rows), *map(len, X.rows)], [len(X.data), *map(len, X.data)]
        if lengths[0] != lengths[1] or len(X.rows) != X.shape[0]:
            raise _damaged("its rows and their values are not of the same length")
        columns = [column for row in X.rows for column in row]
        if columns:
            _check_range("columns", np.asarray(columns), X.shape[1], len(columns))
    if X.format not in ("csr", "csc", "bsr"):
        return
    lines, size = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        high, wide = X.data.shape[1:] if X.data.ndim == 3 and X.data.size else (1, 1)
        if X.data.ndim != 3 or lines % high or size % wide:
            raise _damaged(f"its blocks have shape {X.data.shape[1:]}")
        lines, size = lines // high, size // wide
    starts = np.asarray(X.indptr)
    if starts.dtype.kind not in "iu" or starts.shape != (lines + 1,):
        raise _damaged(f"indptr has shape {starts.shape}, expected {lines + 1} integers")
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        raise _damaged("indptr has to start at 0 and must not decrease")
    if int(starts[-1]) > min(len(X.indices), len(X.data)):
        raise _damaged(f"indptr ends at {starts[-1]}, and there are {len(X.indices)} indices")
    _check_range("indices", np.asarray(X.indices)[: int(starts[-1])], size, int(starts[-1]))


def _check_range(name: str, entries: Array, size: int, count: int) -> None:
    if entries.dtype.kind not in "iu" or entries.ndim != 1 or len(entries) < count:
        raise _damaged(f"{name} are {entries.dtype} of shape {entries.shape}")
    if count and not 0 <= int(entries.min()) <= int(entries.max()) < size:
        raise _damaged(
            f"{name} go from {entries.min()} to {entries.max()}, expected 0 to {size - 1}"
        )


def _damaged(what: str) -> InvalidInputError:
    return InvalidInputError(
        f"X is not a valid sparse matrix: {what}; build it again from its rows, columns and values"
    )


def as_dtype(value: Any) -> Any:
    """Return a dtype; that of objects, which nothing accepts, if the value is none.

    NumPy reads some strings as Python: "01" is a SyntaxError.
    """
    try:
        return np.dtype(value)
    except (TypeError, ValueError, SyntaxError):
        return np.dtype(object)


def precision(wanted: Any, given: Any) -> Any:
    """Return the dtype to compute in: ``wanted``, or by default the one that suits X."""
    if wanted is None:
        double = np.dtype(given).newbyteorder("=") == np.float64  # in any order of bytes
        return np.dtype(np.float64 if double else np.float32)
    dtype = as_dtype(wanted)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidParameterError(f"dtype must be 'float32', 'float64' or None, got {wanted!r}")
    return dtype


def times(
    X: Matrix,
    dense: Array,
    rows: Array | None = None,
    columns: Array | None = None,
    out: Array | None = None,
    offset: int = 0,
) -> Array:
    """Return ``X @ dense + rows ⊗ columns``, on all threads; X is CSR or dense, all of one dtype.

    If ``out`` is given, the result is written to its columns from ``offset`` on.
    """
    n, width = X.shape[0], dense.shape[1]
    dtype = dense.dtype
    if rows is None or columns is None:
        rows, columns = np.zeros(n, dtype=dtype), np.zeros(width, dtype=dtype)
    rows, columns = rows.astype(dtype, copy=False), columns.astype(dtype, copy=False)
    if out is None:
        out = np.empty((n, width), dtype=dtype)
    if not n:
        return out
    if not sp.issparse(X):
        part = out[:, offset : offset + width]
        np.matmul(X, dense, out=part)
        if np.ptp(rows) == 0:  # a bias: no temporary matrix needed
            part += rows[0] * columns
        else:
            part += rows[:, None] * columns
        return out
    from dcot.core.kernels import sparse_times_dense

    arrays = (X.indptr, X.indices, X.data, np.ascontiguousarray(dense), rows, columns, out)
    run_threads(sparse_times_dense, *arrays, offset, work=X.nnz * width)
    return out


def transposed(X: Matrix) -> Matrix:
    """Return ``Xᵀ``; CSR if X is sparse, so that its rows are quick to read."""
    return X.T.tocsr() if sp.issparse(X) else X.T


# Right-hand sides solved at a time: enough for BLAS to reach full speed, and few enough that the
# workspace is small compared with the matrix.
COLUMNS = 512


def column_blocks(n_columns: int, width: int = COLUMNS) -> Iterator[slice]:
    """Yield slices of ``width`` columns."""
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def weighted_sums(matrix: Array, weights: Array) -> Array:
    """Return ``weights @ matrix``; the result does not depend on the number of threads."""
    from dcot.core.kernels import ROWS
    from dcot.core.kernels import weighted_sums as kernel

    sums = np.empty((-(-len(matrix) // ROWS), matrix.shape[1]), dtype=matrix.dtype)
    run_threads(kernel, matrix, weights.astype(matrix.dtype), sums, work=matrix.size)
    return np.asarray(sums.sum(axis=0))


def gram_lower(X: Matrix, transpose: Matrix | None = None, out: Array | None = None) -> Array:
    """Return ``X Xᵀ``, added to ``out`` if given; only the lower triangle is valid."""
    n = X.shape[0]
    if not sp.issparse(X):
        syrk = scipy.linalg.blas.get_blas_funcs("syrk", (X,))
        if out is None:
            out = np.zeros((n, n), dtype=X.dtype)
        # BLAS is column-major: our rows are its columns, our lower triangle is its upper one.
        if X.flags.c_contiguous:
            product = syrk(1.0, X.T, beta=1.0, c=out.T, trans=1, lower=0, overwrite_c=1)
        else:
            product = syrk(1.0, X, beta=1.0, c=out.T, trans=0, lower=0, overwrite_c=1)
        return np.asarray(product.T)
    from dcot.core.kernels import gram_lower as kernel

    T = X.T.tocsr() if transpose is None else transpose
    if out is None:
        out = np.zeros((n, n), dtype=X.dtype)
    arrays = (X.indptr, X.indices, X.data, T.indptr, T.indices, T.data)
    run_threads(kernel, *arrays, out, work=gram_work(X))
    return out


def gram_work(X: Matrix) -> float:
    """Number of multiplications in ``gram_lower(X)``."""
    if not sp.issparse(X):
        return float(0.5 * X.shape[0] ** 2 * X.shape[1])
    lengths = np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64)
    return float(0.5 * (lengths @ lengths))


def _centre_lower(gram: Array, along: Array, across: Array, constant: float) -> Array:
    from dcot.core.kernels import centre_lower

    dtype = gram.dtype.type
    along, across = along.astype(dtype), across.astype(dtype)
    run_threads(centre_lower, gram, along, across, dtype(constant), work=gram.size / 2)
    return gram


@dataclass
class Centred:
    """The matrix ``X − root ⊗ mean``, stored as X, root and mean.

    Attributes
    ----------
    X : CSR or dense matrix, n × d, rows already multiplied by ``root``
    mean : weighted mean of the rows of the original matrix, length d
    root : square roots of the document weights, length n
    """

    X: Matrix
    mean: Array
    root: Array

    @classmethod
    def of(cls, X: Matrix, mean: Array, weights: Array | None = None) -> Centred:
        """Centre X (CSR or dense, of the dtype to compute in) at ``mean``."""
        if weights is None:
            return cls(X, mean, np.ones(X.shape[0]))
        root = np.sqrt(weights)
        return cls(scale_rows(X, root.astype(X.dtype)), mean, root)

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    @property
    def nnz(self) -> int:
        return int(self.X.nnz) if sp.issparse(self.X) else int(self.X.size)

    @cached_property
    def transpose(self) -> Matrix:
        """``Xᵀ``; CSR if X is sparse, so that its rows are quick to read."""
        return transposed(self.X)

    def scaled(self, factor: Array) -> Centred:
        """Return a copy with the columns multiplied by ``factor``."""
        factor = factor.astype(self.dtype)
        if sp.issparse(self.X):
            data = self.X.data * factor[self.X.indices]
            X = sp.csr_array((data, self.X.indices, self.X.indptr), shape=self.X.shape)
        else:
            X = self.X * factor
        scaled = Centred(X, self.mean * factor, self.root)
        if sp.issparse(self.X) and "transpose" in self.__dict__:  # faster than transposing again
            scaled.__dict__["transpose"] = scale_rows(self.transpose, factor)
        return scaled

    def times(self, dense: Array, out: Array | None = None) -> Array:
        """``X_c @ dense``."""
        return times(self.X, dense, self.root, -weighted_sums(dense, self.mean), out)

    def transpose_times(self, dense: Array, out: Array | None = None, offset: int = 0) -> Array:
        """``X_cᵀ @ dense``, written to the columns of ``out`` from ``offset`` on if given."""
        sums = -weighted_sums(dense, self.root)
        return times(self.transpose, dense, self.mean, sums, out, offset)

    def columns(self, which: Array, order: str = "C") -> Array:
        """``X_c[:, which]``, dense."""
        if sp.issparse(self.X):  # rows of the transpose are faster to find than columns
            flipped = self.transpose[which].toarray(order="F" if order == "C" else "C")
            dense = flipped.T
        else:
            dense = np.array(self.X[:, which], order=order)  # type: ignore[call-overload]
        root, mean = self.root.astype(self.dtype), self.mean[which].astype(self.dtype)
        dense -= np.multiply.outer(root, mean) if order == "C" else np.multiply.outer(mean, root).T
        return dense  # type: ignore[no-any-return]

    def gram(self) -> Array:
        """``X_c X_cᵀ``, n × n, lower triangle."""
        gram = gram_lower(self.X, self.transpose)
        across = np.asarray(self.X @ self.mean.astype(self.dtype))
        return _centre_lower(gram, self.root, across, float(self.mean @ self.mean))

    def scatter(self) -> Array:
        """``X_cᵀ X_c``, d × d, lower triangle."""
        scatter = gram_lower(self.transpose, self.X)
        return centre_scatter(scatter, self.mean, float(self.root @ self.root))


def centre_scatter(scatter: Array, mean: Array, n: float) -> Array:
    """``XᵀX − n µµᵀ`` in place, lower triangle."""
    return _centre_lower(scatter, mean, n * mean, n)


def scale_rows(X: Matrix, factor: Array) -> Matrix:
    if not sp.issparse(X):
        return X * factor[:, None]
    data = X.data * np.repeat(factor, np.diff(X.indptr))
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
