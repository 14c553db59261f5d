"""The dual, n × n: for few documents.

With ``Y = X_c B^{-½}`` and ``G = Y Yᵀ``, ``W = B^{-½} Yᵀ V`` where ``(q·G + t·I) V = X_c[:, P]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.centred import Centred
from dcot.core.corruption import System
from dcot.core.solvers._base import (
    COLUMNS,
    Shape,
    Solution,
    column_blocks,
    least_norm,
    positive_definite,
    quiet,
)

Array = NDArray[Any]


def solve(
    centred: Centred,
    targets: Array,
    systems: Sequence[System],
    *,
    tol: float = 0.0,
    max_iter: int = 0,
    progress: Callable[[float], None] = quiet,
) -> Iterator[Solution]:
    """Solve by Cholesky factorisation; all systems share the Gram matrix."""
    root = systems[0].inverse_root
    Y = centred.scaled(root)
    gram = Y.gram()
    for index, system in enumerate(systems):
        own = gram if index == len(systems) - 1 else gram.copy()
        solution = _solve_one(centred, Y, own, targets, system)
        progress((index + 1) / len(systems))
        yield solution


def _solve_one(
    centred: Centred, Y: Centred, gram: Array, targets: Array, system: System
) -> Solution:
    apply = _factorise(Y, gram, system)
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


def _factorise(Y: Centred, gram: Array, system: System) -> Any:
    if system.shift > 0:
        solver = positive_definite(_shifted(gram, system))
        if solver is not None:
            return solver
        gram = Y.gram()  # the factorisation has overwritten it
    return least_norm(_shifted(gram, system))


def _shifted(gram: Array, system: System) -> Array:
    gram *= gram.dtype.type(system.keep)
    np.einsum("ii->i", gram)[:] += gram.dtype.type(system.shift)
    return gram


def memory(shape: Shape) -> float:
    gram = float(shape.n) ** 2 * shape.itemsize * (2 if shape.n_systems > 1 else 1)
    columns = min(shape.r, COLUMNS) * shape.itemsize
    # X's columns, their solution in two layouts
    twice = 2.0 * shape.nnz * shape.itemsize
    return gram + shape.result + shape.matrix + twice + columns * 3 * shape.n


def flops(shape: Shape) -> float:
    """Dense operations for one system."""
    return shape.n**3 / 3 + 2.0 * shape.n**2 * shape.r
