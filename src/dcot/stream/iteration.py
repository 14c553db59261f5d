"""Conjugate gradients for many right-hand sides, where a product may be a pass over the corpus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.solvers._base import quiet

Array = NDArray[Any]

# Rounding ends the descent of the residual before the tolerance; so many steps without a better
# one, and we stop: a step may be a pass over a large corpus.
PATIENCE = 5


@dataclass
class Iterated:
    """A solution, and how the iteration went."""

    solution: Array
    n_iter: int
    converged: bool


def conjugate_gradients(
    operator: Callable[[Array], Array],
    right: Array,
    shift: float,
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[float], None] = quiet,
) -> Iterated:
    """Solve ``(operator + shift) x = right`` for every column, to the relative residual tol."""
    scalar = right.dtype.type
    norms = np.sqrt(_dots(right, right))
    solution, residual, direction = np.zeros_like(right), right.copy(), right.copy()
    squares, best, since = norms**2, np.inf, 0
    first = last = 1.0
    for step in range(1, max_iter + 1):
        image = operator(direction)
        image += scalar(shift) * direction
        factor = (squares * _inverse(_dots(direction, image))).astype(right.dtype)
        solution += direction * factor
        image *= factor
        residual -= image
        new = _dots(residual, residual)
        last = float((np.sqrt(new) * _inverse(norms)).max())
        first = last if step == 1 else first
        progress(_fraction(first, last, tol))
        if last <= tol:
            return Iterated(solution, step, True)
        since = 0 if last < 0.9 * best else since + 1
        best = min(best, last)
        if since >= PATIENCE:
            return Iterated(solution, step, False)
        direction *= (new * _inverse(squares)).astype(right.dtype)
        direction += residual
        squares = new
    return Iterated(solution, max_iter, False)


def _dots(left: Array, right: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", left, right, dtype=np.float64))


def _inverse(values: Array) -> Array:
    safe = np.where(values > 0, values, 1.0)
    return np.where(values > 0, 1.0 / safe, 0.0)


def _fraction(first: float, last: float, tol: float) -> float:
    """How far the residual has come down, in steps of equal ratio."""
    if last <= tol or first <= tol or last <= 0:
        return 1.0
    return float(min(0.99, max(0.0, np.log(max(1.0, last) / last) / np.log(1.0 / tol))))
