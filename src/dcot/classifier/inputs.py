"""What ``DCoTClassifier`` is given, read and checked: documents, weights, enough labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from dcot.classifier.labels import Labels
from dcot.core.centred import Matrix
from dcot.errors import InvalidInputError, InvalidParameterError

Array = NDArray[Any]


def is_text(documents: Any) -> bool:
    """Whether documents are texts: strings, or a reader or column of them."""
    if isinstance(documents, str | bytes):
        raise InvalidInputError("got a single string, expected many documents: pass [text]")
    if hasattr(documents, "batches"):
        return True
    if sp.issparse(documents) or getattr(documents, "ndim", 1) != 1:
        return False
    kind = getattr(getattr(documents, "dtype", None), "kind", None)
    if kind is not None and kind in "iufcb":
        return False
    first = next(iter(documents), None) if hasattr(documents, "__len__") else None
    return isinstance(first, str)


def check_weights(sample_weight: Any, n: int, n_all: int) -> Array | None:
    """Of all documents; those that came as ``unlabelled`` count once."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise InvalidInputError(
            f"sample_weight must have {n} finite entries that are not negative, one a document, "
            f"got shape {weights.shape}"
        )
    if not weights.any():
        raise InvalidInputError("sample_weight is zero for every document: some must count")
    return np.concatenate([weights, np.ones(n_all - n)])


def without_zeros(X: Matrix, labels: Labels, weights: Array) -> tuple[Matrix, Labels, Array]:
    kept = weights > 0
    place = np.cumsum(kept) - 1
    counted = kept[labels.labelled]
    rows, targets = place[labels.labelled[counted]], labels.targets[counted]
    present = (targets > 0).any(axis=0) | (labels.kind != "single")
    labels = Labels(rows, targets[:, present], labels.classes[present], labels.kind)
    return X[kept], labels, weights[kept]


def class_weights(given: Any, classes: Array, names: Array, own: Array) -> Array:
    if isinstance(given, str) and given == "balanced":
        totals = np.array([own[names == name].sum() for name in classes])
        by_class = own.sum() / (len(classes) * np.maximum(totals, 1e-300))
        return np.asarray(by_class[np.searchsorted(classes, names)])
    try:
        return np.asarray(compute_sample_weight(given, names))
    except ValueError as error:
        raise InvalidParameterError(str(error)) from error


def check_enough(labels: Labels) -> None:
    count, n_classes = len(labels.labelled), len(labels.classes)
    if not count:
        raise InvalidInputError(
            "no document has a label: label a few of each class, and mark the others with None"
        )
    if labels.kind == "single" and n_classes < 2:
        name = labels.classes[0]
        raise InvalidInputError(
            f"Classifier can't train when only one class is present: all {count} labelled "
            f"documents are {name!r}; label documents of at least one more class"
        )
    if count < 2 or not n_classes:
        raise InvalidInputError(f"at least two labelled documents are needed, got {count}")
