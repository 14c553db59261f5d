"""Which terms are rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.moments import Moments
from dcot.errors import InvalidParameterError, InvalidTypeError

Array = NDArray[Any]
PrototypeChoice = str | Sequence[Any] | Array | Callable[..., Any]


def choose_prototypes(
    choice: PrototypeChoice, n_prototypes: int, moments: Moments, names: Array | None = None
) -> Array:
    """Column indices of the prototypes, in increasing order.

    Parameters
    ----------
    choice : ``"frequent"``, ``"document_frequency"``, indices, names, or a callable that takes
        the moments and the number of prototypes and returns indices
    n_prototypes : how many; more than there are terms means all. Explicit choices ignore it.
    moments : of the corpus
    names : of the terms, where they are known
    """
    if isinstance(choice, str):
        if choice == "frequent":
            return _top(moments.total, n_prototypes)
        if choice == "document_frequency":
            # ties between document frequencies are broken by the total count
            return _top(moments.document_frequency, n_prototypes, moments.total)
        raise InvalidParameterError(
            "prototypes must be 'frequent', 'document_frequency', column indices, feature names "
            f"or a callable, got {choice!r}"
        )
    if callable(choice):
        choice = choice(moments, n_prototypes)
    return _explicit(choice, moments.n_terms, names)


def _top(score: Array, count: int, tie: Array | None = None) -> Array:
    """The highest scores; the first columns where all else is equal."""
    keys = (-score,) if tie is None else (-tie, -score)
    order = np.lexsort((np.arange(len(score)), *keys))
    return np.sort(order[:count])


def _explicit(choice: Any, n_terms: int, names: Array | None) -> Array:
    wanted = np.asarray(choice)
    if wanted.ndim != 1 or wanted.size == 0:
        raise InvalidParameterError(
            f"prototypes must be a list of at least one term, got shape {wanted.shape}"
        )
    if wanted.dtype.kind in "OUST":
        wanted = columns_of(wanted, names)
    elif wanted.dtype.kind == "b":
        if len(wanted) != n_terms or not wanted.any():
            raise InvalidParameterError(
                f"a mask of prototypes must have {n_terms} entries, one a term, not all False"
            )
        wanted = np.flatnonzero(wanted)
    elif wanted.dtype.kind not in "iu":
        raise InvalidTypeError(
            f"prototypes must be column indices or feature names, got {wanted.dtype} values"
        )
    if wanted.min() < 0 or wanted.max() >= n_terms:
        bad = wanted[(wanted < 0) | (wanted >= n_terms)][0]
        raise InvalidParameterError(
            f"prototypes has column {bad}, but there are {n_terms} terms: "
            f"indices go from 0 to {n_terms - 1}"
        )
    return np.unique(wanted).astype(np.intp)


def columns_of(wanted: Array, names: Array | None) -> Array:
    """The columns of terms given by name."""
    if names is None:
        raise InvalidParameterError(
            "prototypes are given by name, but the columns have no names: fit on a DataFrame, "
            "or give column indices"
        )
    index = {str(name): column for column, name in enumerate(names)}
    missing = [str(name) for name in wanted if str(name) not in index]
    if missing:
        shown = ", ".join(repr(name) for name in missing[:5])
        raise InvalidParameterError(
            f"{len(missing)} of the prototypes are not among the {len(names)} terms: {shown}"
        )
    return np.array([index[str(name)] for name in wanted])
