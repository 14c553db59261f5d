"""The final linear learner, in the span of the labelled documents where that is smaller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from dcot.classifier.labels import Labels
from dcot.classifier.ridge import KernelRidge, finer_alpha, solve_ridge
from dcot.core.centred import Matrix
from dcot.core.representation import combined, products
from dcot.errors import InvalidParameterError

Array = NDArray[Any]

STRENGTHS_C = np.logspace(-2, 2, 5)
FOLDS = 5


@dataclass
class Learner:
    """``features @ coef + intercept``, and where it came from."""

    coef: Array
    intercept: Array
    strength: float
    estimator: Any = None
    held_out: Array | None = None


def fit_linear(
    kind: Any,
    features: Sequence[Matrix],
    labels: Labels,
    ridge: KernelRidge,
    weights: Array | None,
    n_jobs: int | None,
    random_state: Any,
) -> Learner:
    """Learn on the features of the labelled documents, in parts side by side.

    Working with inner products is exact for any linear learner whose penalty is the Euclidean
    length of its weights: the weights lie in the span of the documents, and a rotation of the
    features changes nothing.
    """
    kernel = products(features, features)
    if isinstance(kind, str) and kind == "ridge":
        alpha = ridge.alpha
        if len(kernel) > len(ridge.losses):  # settings were judged on some of the documents
            alpha = finer_alpha(
                kernel, labels.targets, alpha, weights, check_random_state(random_state)
            )
        dual, intercept = solve_ridge(kernel, labels.targets, alpha, weights)
        return Learner(combined(features, dual), intercept, ridge.strength * alpha / ridge.alpha)
    estimator = _estimator(kind, random_state)
    values, vectors = np.linalg.eigh(kernel.astype(np.float64))
    kept = values > values[-1] * 1e-10
    root = np.sqrt(values[kept])
    span = vectors[:, kept] * root
    fitted = _search(estimator, span, labels, weights, n_jobs, random_state, kind)
    w, intercept = _weights_of(fitted, len(labels.classes))
    dual = vectors[:, kept] @ (w.T / root[:, None])
    strength = float(getattr(fitted, "C", getattr(fitted, "alpha", np.nan)))
    return Learner(combined(features, dual), intercept, strength, fitted)


def _estimator(kind: Any, random_state: Any) -> Any:
    if isinstance(kind, str):
        if kind == "svm":
            return LinearSVC(random_state=random_state)
        if kind == "logistic":
            return LogisticRegression(max_iter=1000)
        raise InvalidParameterError(
            f"estimator must be 'ridge', 'svm', 'logistic' or a linear classifier, got {kind!r}"
        )
    if not hasattr(kind, "fit"):
        raise InvalidParameterError(
            f"estimator must be 'ridge', 'svm', 'logistic' or a linear classifier, got {kind!r}"
        )
    return clone(kind)


def _search(
    estimator: Any,
    span: Array,
    labels: Labels,
    weights: Array | None,
    n_jobs: int | None,
    random_state: Any,
    kind: Any,
) -> Any:
    """Fit, with C by cross-validation where it is ours to choose and classes allow it."""
    options = _weighing(estimator, weights)
    if labels.kind != "single":
        return OneVsRestClassifier(estimator, n_jobs=n_jobs).fit(span, labels.targets > 0)
    y = labels.targets.argmax(axis=1)
    folds = min(FOLDS, int(np.bincount(y).min()))
    if not isinstance(kind, str) or folds < 2:
        return estimator.fit(span, y, **options)
    seed = random_state if isinstance(random_state, int | None) else None
    cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    search = GridSearchCV(estimator, {"C": STRENGTHS_C}, cv=cv, n_jobs=n_jobs)
    return search.fit(span, y, **options).best_estimator_


def _weighing(estimator: Any, weights: Array | None) -> dict[str, Any]:
    """Keyword arguments that pass the weights on, where there is something to pass on."""
    if weights is None or np.ptp(weights) == 0:
        return {}
    if not has_fit_parameter(estimator, "sample_weight"):
        raise InvalidParameterError(
            f"{type(estimator).__name__} takes no sample_weight, but documents have different "
            "weights (given, by class_weight, or because some are copies): use another estimator"
        )
    return {"sample_weight": weights}


def _weights_of(fitted: Any, n_classes: int) -> tuple[Array, Array]:
    """Weights and intercepts, a row a class."""
    parts = getattr(fitted, "estimators_", [fitted])
    if not all(hasattr(part, "coef_") for part in parts):
        raise InvalidParameterError(
            f"estimator must be linear, with coef_ and intercept_ after fit; "
            f"{type(fitted).__name__} has none"
        )
    if isinstance(fitted, OneVsRestClassifier):
        w = np.vstack([part.coef_ for part in parts])
        b = np.concatenate([np.atleast_1d(part.intercept_) for part in parts])
    else:
        w, b = np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_)
    if len(w) == 1 and n_classes == 2:
        w, b = np.vstack([-w, w]), np.concatenate([-b, b])
    return w, np.broadcast_to(b, len(w)).astype(np.float64)
