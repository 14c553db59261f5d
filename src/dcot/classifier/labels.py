"""Labels as people give them: some missing, one or several a document."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.classifier.ridge import targets_of
from dcot.errors import InvalidInputError, InvalidTypeError

Array = NDArray[Any]


@dataclass
class Labels:
    """Which documents have a label, and targets of ±1 for them.

    Attributes
    ----------
    labelled : rows of the documents with labels
    targets : labelled documents × classes, ±1
    classes : sorted
    kind : ``"single"``, ``"indicator"`` or ``"sets"``: how labels were given, and are given back
    """

    labelled: Array
    targets: Array
    classes: Array
    kind: str


def read_labels(y: Any, n: int, mark: Any = -1) -> Labels:
    """Tell labelled documents from those marked None, NaN or ``mark``.

    >>> read_labels(["oil", None, "grain"], 3).labelled
    array([0, 2])
    """
    if y is None:
        raise InvalidInputError(
            "y is missing (requires y to be passed, but the target y is None): give a label for "
            "each document, None for those without"
        )
    if sp.issparse(y):
        y = y.toarray()
    if hasattr(y, "__array__"):
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            _warn_about_column()
            y = y.ravel()
        if y.ndim == 2:
            return _indicator(_of_length(y, n), mark)
        if y.ndim != 1:
            raise InvalidInputError(f"y must have one or two dimensions, got {y.ndim}")
        values = list(y)
    else:
        values = list(y)
        if values and all(isinstance(v, list | tuple | np.ndarray) for v in values):
            array = _as_indicator(values, mark)
            if array is not None:
                return _indicator(_of_length(array, n), mark)
    values = _of_length(values, n)
    if any(_is_set(value) for value in values):
        return _sets(values, mark)
    return _single(values, mark)


def _warn_about_column() -> None:
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected: pass y.ravel()",
        DataConversionWarning,
        stacklevel=4,
    )


def without_duplicates(rows: Any, targets: Array, weights: Array) -> tuple[Array, Array]:
    """Positions of distinct labelled documents, and the weight of all copies of each.

    Copies of one document are left out together: one of them must not vouch for the other.
    """
    keys: dict[bytes, int] = {}
    member = np.empty(len(targets), dtype=np.intp)
    for i in range(len(targets)):
        if sp.issparse(rows):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            key = rows.indices[part].tobytes() + b"|" + rows.data[part].tobytes()
        else:
            key = rows[i].tobytes()
        member[i] = keys.setdefault(key + b"|" + targets[i].tobytes(), len(keys))
    _, first = np.unique(member, return_index=True)
    return first, np.bincount(member, weights=weights)


def _of_length(y: Any, n: int) -> Any:
    if len(y) != n:
        raise InvalidInputError(
            f"Found input variables with inconsistent numbers of samples: {n} documents, "
            f"{len(y)} labels; give one label for each document, None for those without"
        )
    return y


def _is_set(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset)


def _missing(value: Any, mark: Any) -> bool:
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return True
    if mark is None or _is_set(value) or isinstance(mark, str) != isinstance(value, str):
        return False
    return bool(value == mark)


def _single(values: list[Any], mark: Any) -> Labels:
    labelled = np.array([i for i, v in enumerate(values) if not _missing(v, mark)], dtype=np.intp)
    kept = [values[i] for i in labelled]
    _check_kinds(kept)
    classes, targets = targets_of(np.asarray(kept)) if kept else (np.array([]), np.empty((0, 0)))
    return Labels(labelled, targets, classes, "single")


def _check_kinds(values: Iterable[Any]) -> None:
    kinds = {"text" if isinstance(v, str | np.str_) else "number" for v in values}
    if len(kinds) > 1:
        raise InvalidTypeError(
            "y has labels of mixed types, text and numbers: expected one kind; convert them, as in "
            "[str(label) for label in y]"
        )
    for value in values:
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            raise InvalidInputError("Input y contains infinity: expected finite labels")
        if isinstance(value, float | np.floating) and value != int(value):
            raise InvalidInputError(
                f"Unknown label type: continuous. y has {value!r}, expected classes"
            )


def _as_indicator(values: list[Any], mark: Any) -> Array | None:
    """Rows of 0, 1 (and the mark) of one length, else None."""
    lengths = {len(value) for value in values}
    if len(lengths) != 1 or lengths == {0}:
        return None
    array = np.asarray(values)
    if array.dtype.kind not in "iufb" or not np.isin(array, [0, 1, mark]).all():
        return None
    return array


def _indicator(y: Array, mark: Any) -> Labels:
    marked = (y == mark).all(axis=1) if not isinstance(mark, str) else np.zeros(len(y), dtype=bool)
    labelled = np.flatnonzero(~marked)
    kept = y[labelled]
    if kept.dtype.kind not in "iufb" or not np.isin(kept, [0, 1]).all():
        raise InvalidInputError(
            "y with two dimensions must be an indicator matrix of 0 and 1 (a document without "
            f"labels has {mark!r} in every column)"
        )
    return Labels(labelled, np.where(kept > 0, 1.0, -1.0), np.arange(y.shape[1]), "indicator")


def _sets(values: list[Any], mark: Any) -> Labels:
    labelled = [i for i, value in enumerate(values) if not _missing(value, mark)]
    bad = [i for i in labelled if not _is_set(values[i])]
    if bad:
        raise InvalidTypeError(
            f"y has lists of labels and, at position {bad[0]}, {values[bad[0]]!r}: give every "
            "document a list, or None for those without labels"
        )
    names = sorted({name for i in labelled for name in values[i]})
    _check_kinds(names)
    column = {name: k for k, name in enumerate(names)}
    targets = np.full((len(labelled), len(names)), -1.0)
    for row, i in enumerate(labelled):
        targets[row, [column[name] for name in values[i]]] = 1.0
    return Labels(np.array(labelled, dtype=np.intp), targets, np.asarray(names), "sets")
