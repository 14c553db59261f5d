"""Checks of parameters and documents, each with an error that says what to do."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.moments import Moments
from dcot.core.solvers.choice import allowance
from dcot.errors import InvalidInputError, InvalidParameterError, OutOfMemoryError
from dcot.runtime.resources import format_bytes

Array = NDArray[Any]


def canonical(X: Any, dtype: Any) -> Any:
    """CSR with sorted, unique indices, 32-bit where they fit; the caller's is left as it is."""
    original = X
    with np.errstate(over="ignore"):
        X = sp.csr_array(X).astype(dtype, copy=False)
    if not X.has_canonical_format:
        shared = X.data is original.data or np.shares_memory(X.data, original.data)
        X = X.copy() if shared else X
        X.sum_duplicates()
    if X.indices.dtype != np.int32 and max(X.nnz, X.shape[1]) < 2**31:
        indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X = sp.csr_array((X.data, indices, indptr), shape=X.shape)
    return X


def check_room(n_terms: int, dtype: Any, limit: float | None) -> None:
    """Refuse moments that are predicted not to fit."""
    needed, allowed = 2.0 * n_terms**2 * dtype.itemsize, allowance(limit)
    if needed > allowed:
        raise OutOfMemoryError(
            f"partial_fit keeps {n_terms} × {n_terms} moments, about {format_bytes(needed)} with "
            f"their solution, and {format_bytes(allowed)} are allowed: use fewer terms (a fixed "
            "vocabulary, or min_df and max_features with fit), or raise memory_limit"
        )


def check_weights(sample_weight: Any, n: int) -> Array | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise InvalidInputError(
            f"sample_weight must have one entry for each of the {n} documents, got shape "
            f"{weights.shape}"
        )
    if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        raise InvalidInputError(
            "sample_weight must be finite, not negative and not all zero: weights say how often "
            "a document counts"
        )
    return weights


def check_not_empty(moments: Moments) -> None:
    if not moments.squares.any():
        raise InvalidInputError(
            f"all {moments.n:g} documents are empty (every value of X is zero): there is nothing "
            "to learn from; check the vocabulary that counted them"
        )


def by_layer(name: str, value: Any, n_layers: int) -> tuple[float, ...]:
    values = [value] if isinstance(value, numbers.Real) else value
    try:
        numbers_ = [float(entry) for entry in values]
    except (TypeError, ValueError):
        numbers_ = []
    if not numbers_ or any(isinstance(entry, str) for entry in values):
        raise InvalidParameterError(
            f"{name} must be a number, or a sequence with one number per layer, got {value!r}"
        )
    return tuple((numbers_ + [numbers_[-1]] * n_layers)[:n_layers])


def check_integer(name: str, value: Any, most: float = float("inf")) -> None:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or not 1 <= int(value) <= most:
        wanted = "a positive integer" if np.isinf(most) else f"an integer from 1 to {most}"
        raise InvalidParameterError(f"{name} must be {wanted}, got {value!r}")


def check_number(name: str, value: Any, positive: bool = False) -> None:
    wanted = "positive" if positive else "zero or more"
    number = float(value) if isinstance(value, numbers.Real) else float("nan")
    if not np.isfinite(number) or number < 0 or (positive and number == 0):
        raise InvalidParameterError(f"{name} must be a number, {wanted}, got {value!r}")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidParameterError(f"{name} must be one of {listed}, got {value!r}")
