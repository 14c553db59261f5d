"""The direct solvers: primal (by terms, d × d) and dual (by documents, n × n)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import get_lapack_funcs

from dcot.core.centred import Centred, column_blocks
from dcot.core.corruption import Solution, System
from dcot.runtime.progress import quiet
from dcot.runtime.resources import run_threads

Array = NDArray[Any]


# -- by terms -----------------------------------------------------------------------------------


def solve_by_terms(
    centred: Centred,
    targets: Array,
    systems: Sequence[System],
    *,
    tol: float = 0.0,
    max_iter: int = 0,
    progress: Callable[[float], None] = quiet,
) -> Iterator[Solution]:
    """Solve by Cholesky factorisation of the scatter matrix, d × d."""
    return solve_scatter(centred.scatter(), targets, systems, progress)


def solve_scatter(
    scatter: Array,
    targets: Array,
    systems: Sequence[System],
    progress: Callable[[float], None] = quiet,
) -> Iterator[Solution]:
    """Solve from a centred scatter matrix (lower triangle), which is overwritten."""
    _mirror(scatter)
    for index, system in enumerate(systems):
        matrix = scatter if index == len(systems) - 1 else scatter.copy()
        solution = _solve_scatter(matrix, targets, system)
        progress((index + 1) / len(systems))
        yield solution


def _solve_scatter(scatter: Array, targets: Array, system: System) -> Solution:
    # Dividing rows and columns by the root of the scale keeps rare terms from being lost to
    # rounding.
    root = system.inverse_root.astype(scatter.dtype)
    variation = np.einsum("ii->i", scatter).copy()
    scatter *= root[:, None]
    scatter *= root
    if len(targets) == len(root) and (found := _solve_all(scatter, variation, root, system)):
        return found
    apply = _factorise_scatter(scatter, variation * root**2, system)
    coef = np.empty((len(root), len(targets)), dtype=scatter.dtype)
    gain = 0.0
    for block in column_blocks(len(targets)):
        chosen = targets[block]
        right = _columns(scatter, variation * root**2, chosen)
        solution = apply(right.copy(order="F"))
        # undo the scaling: of the terms in the rows, of the prototypes in the columns
        width = np.divide(1, root[chosen], where=root[chosen] > 0, out=np.zeros(len(chosen)))
        gain += float(np.einsum("ij,ij->j", solution, right, dtype=np.float64) @ width**2)
        coef[:, block] = solution * root[:, None] * width.astype(scatter.dtype)
    return Solution(coef, gain)


def _solve_all(scaled: Array, variation: Array, root: Array, system: System) -> Solution | None:
    """Reconstruct every term from all terms with one symmetric inverse.

    With S the scaled scatter and A = q·S + t·I, ``A⁻¹ S = (I − t A⁻¹) / q``. This takes d³
    operations instead of the 2⅓ d³ of one solve per term. Returns None if A is singular.
    """
    if not system.is_regular(scaled.dtype):
        return None
    dtype = scaled.dtype.type
    keep, shift = dtype(system.keep), dtype(system.shift)
    diagonal = variation * root**2
    potrf, potri = get_lapack_funcs(("potrf", "potri"), (scaled,))
    np.einsum("ii->i", scaled)[:] = diagonal + shift / keep
    # LAPACK is column-major: our lower triangle is its upper one. Our upper one keeps S.
    factor, info = potrf(scaled.T, lower=0, overwrite_a=1, clean=0)
    if info != 0:
        scaled[:] = np.triu(scaled, 1) + np.triu(scaled, 1).T
        np.einsum("ii->i", scaled)[:] = diagonal
        return None
    inverse = np.asarray(potri(factor, lower=0, overwrite_c=1)[0]).T  # of A / q
    width = np.divide(1, root, where=root > 0, out=np.zeros(len(root), dtype=root.dtype))
    squares = width.astype(np.float64) ** 2
    shared = -float(shift / keep**2) * _triangle_products(inverse, squares)
    _mirror(inverse)
    inverse *= -shift / keep**2
    np.einsum("ii->i", inverse)[:] += 1 / keep
    if (still := diagonal == 0).any():  # constant terms: exactly zero, not rounded
        inverse[still] = 0
        inverse[:, still] = 0
    # tr WᵀC, entry by entry: shorter formulas are differences of nearly equal numbers
    solved = np.einsum("ii->i", inverse).astype(np.float64)
    gain = shared + float(squares @ (diagonal * solved))
    inverse *= root[:, None]
    inverse *= width
    return Solution(inverse, gain)


def _factorise_scatter(scaled: Array, diagonal: Array, system: System) -> Any:
    """Factorise ``q·scaled + t·I`` into the lower triangle; the upper one keeps ``scaled``."""
    if system.is_regular(scaled.dtype):
        lower = diagonal + scaled.dtype.type(system.shift / system.keep)
        np.einsum("ii->i", scaled)[:] = lower
        solver = positive_definite(scaled)
        if solver is not None:
            return lambda right: solver(right) / scaled.dtype.type(system.keep)
    full = np.triu(scaled, 1)
    full += full.T
    np.einsum("ii->i", full)[:] = diagonal
    full *= scaled.dtype.type(system.keep)
    np.einsum("ii->i", full)[:] += scaled.dtype.type(system.shift)
    return least_norm(full)


def _columns(scaled: Array, diagonal: Array, chosen: Array) -> Array:
    """Return columns of a symmetric matrix, given its upper triangle and diagonal."""
    rows = np.arange(len(scaled))[:, None]
    right = np.where(rows < chosen, scaled[:, chosen], scaled[chosen].T)
    right[chosen, np.arange(len(chosen))] = diagonal[chosen]
    return np.asfortranarray(right)


def _triangle_products(matrix: Array, weights: Array) -> float:
    """Return the sum of products of entries below the diagonal with those above it."""
    from dcot.core.kernels import triangle_products

    sums = np.empty(len(matrix))
    run_threads(triangle_products, matrix, weights, sums, work=matrix.size / 2)
    return float(sums.sum())


def _mirror(matrix: Array) -> None:
    from dcot.core.kernels import mirror_lower

    run_threads(mirror_lower, matrix, work=matrix.size / 2)


# -- by documents -------------------------------------------------------------------------------


def solve_by_documents(
    centred: Centred,
    targets: Array,
    systems: Sequence[System],
    *,
    tol: float = 0.0,
    max_iter: int = 0,
    progress: Callable[[float], None] = quiet,
) -> Iterator[Solution]:
    """Solve by Cholesky factorisation of the Gram matrix, n × n, which all systems share.

    With ``Y = X_c B^{-½}`` and ``G = Y Yᵀ``, ``W = B^{-½} Yᵀ V`` where
    ``(q·G + t·I) V = X_c[:, P]``.
    """
    root = systems[0].inverse_root
    Y = centred.scaled(root)
    gram = Y.gram()
    for index, system in enumerate(systems):
        matrix = gram if index == len(systems) - 1 else gram.copy()
        solution = _solve_gram(centred, Y, matrix, targets, system)
        progress((index + 1) / len(systems))
        yield solution


def _solve_gram(
    centred: Centred, Y: Centred, gram: Array, targets: Array, system: System
) -> Solution:
    apply = _factorise_gram(Y, gram, system)
    d = centred.shape[1]
    twice = Y.scaled(system.inverse_root)
    coef = np.empty((d, len(targets)), dtype=gram.dtype)
    gain = 0.0
    for block in column_blocks(len(targets)):
        right = centred.columns(targets[block], order="F")
        dual = apply(right.copy(order="F"))
        # tr WᵀC[:, P] is the inner product of X_c W = G V = (X_c[:, P] − t V) / q and X_c[:, P]
        squares, cross = np.vdot(right, right), np.vdot(dual, right)
        gain += float(squares - system.shift * cross) / system.keep
        twice.transpose_times(np.ascontiguousarray(dual), coef, block.start)
    return Solution(coef, gain)


def _factorise_gram(Y: Centred, gram: Array, system: System) -> Any:
    if system.is_regular(gram.dtype):
        solver = positive_definite(_shifted(gram, system))
        if solver is not None:
            return solver
        gram = Y.gram()  # the factorisation has overwritten it
    return least_norm(_shifted(gram, system))


def _shifted(gram: Array, system: System) -> Array:
    gram *= gram.dtype.type(system.keep)
    np.einsum("ii->i", gram)[:] += gram.dtype.type(system.shift)
    return gram


# -- symmetric systems --------------------------------------------------------------------------


def positive_definite(matrix: Array) -> Any:
    """Factorise a symmetric positive definite matrix in place; return a solver for it.

    Only the lower triangle of the C-contiguous ``matrix`` is read and overwritten. Returns None if
    the matrix is singular, up to rounding; ``least_norm`` solves these.
    """
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (matrix,))
    # LAPACK is column-major: our lower triangle is its upper one.
    factor, info = potrf(matrix.T, lower=0, overwrite_a=1, clean=0)
    if info != 0:
        return None

    def solve(right: Array) -> Array:
        solution, _ = potrs(factor, right, lower=0, overwrite_b=1)
        return solution  # type: ignore[no-any-return]

    return solve


def least_norm(matrix: Array) -> Any:
    """Return a solver with the pseudo-inverse of a symmetric positive semi-definite matrix."""
    import scipy.linalg

    wide = matrix.astype(np.float64)
    values, vectors = scipy.linalg.eigh(wide, lower=True, overwrite_a=True, check_finite=False)
    cutoff = max(values[-1], 0.0) * len(values) * np.finfo(matrix.dtype).eps
    kept = values > cutoff
    basis = vectors[:, kept] / np.sqrt(values[kept])

    def solve(right: Array) -> Array:
        return np.asarray(basis @ (basis.T @ right)).astype(matrix.dtype)

    return solve
