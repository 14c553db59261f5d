"""What every solver takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dcot.core.centred import Centred
from dcot.core.corruption import System

Array = NDArray[Any]

# Right-hand sides are solved so many at a time: enough for BLAS to be at full speed, few enough
# that the workspace is small beside the matrix.
COLUMNS = 512


@dataclass
class Solution:
    """One solved system.

    Attributes
    ----------
    coef : W, d × r, C-contiguous
    gain : tr WᵀC[:, P], for the loss
    n_iter : iterations; 1 for a direct solver
    converged : False if an iterative solver stopped short of its tolerance
    """

    coef: Array
    gain: float
    n_iter: int = 1
    converged: bool = True


@dataclass(frozen=True)
class Shape:
    """What predictions of time and memory go by."""

    n: int
    d: int
    r: int
    nnz: int
    itemsize: int
    n_systems: int = 1

    @property
    def result(self) -> float:
        """Bytes of one W."""
        return float(self.d) * self.r * self.itemsize

    @property
    def matrix(self) -> float:
        """Bytes of X's transpose, and of scaled values for both; positions are shared."""
        return self.nnz * (4.0 + 3 * self.itemsize)


class Solver(Protocol):
    """A way to solve the systems that share one ``scale``; a module of this shape."""

    def solve(
        self,
        centred: Centred,
        targets: Array,
        systems: Sequence[System],
        *,
        tol: float,
        max_iter: int,
        progress: Callable[[float], None],
    ) -> Iterator[Solution]:
        """Yield a solution for each system, in order."""
        ...

    def memory(self, shape: Shape) -> float:
        """Bytes at the peak, X not counted, the result counted."""
        ...


def quiet(fraction: float) -> None:
    """No progress to show."""


def column_blocks(n_columns: int, width: int = COLUMNS) -> Iterator[slice]:
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def positive_definite(matrix: Array) -> Any:
    """Factorise a symmetric positive definite matrix in place; return a solver for it.

    Only the lower triangle of the C-contiguous ``matrix`` is read and overwritten. Where rounding
    (or no noise) leaves it singular, the least-norm solution takes over.
    """
    from scipy.linalg.lapack import get_lapack_funcs

    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (matrix,))
    # LAPACK thinks in columns: our lower triangle is its upper one.
    factor, info = potrf(matrix.T, lower=0, overwrite_a=1, clean=0)
    if info != 0:
        return None

    def solve(right: Array) -> Array:
        solution, _ = potrs(factor, right, lower=0, overwrite_b=1)
        return solution  # type: ignore[no-any-return]

    return solve


def least_norm(matrix: Array) -> Any:
    """The pseudo-inverse of a symmetric positive semi-definite matrix, as a solver."""
    import scipy.linalg

    wide = matrix.astype(np.float64)
    values, vectors = scipy.linalg.eigh(wide, lower=True, overwrite_a=True, check_finite=False)
    cutoff = max(values[-1], 0.0) * len(values) * np.finfo(matrix.dtype).eps
    kept = values > cutoff
    basis = vectors[:, kept] / np.sqrt(values[kept])

    def solve(right: Array) -> Array:
        return np.asarray(basis @ (basis.T @ right)).astype(matrix.dtype)

    return solve
