"""The final linear learner, in the span of the labelled documents where that is smaller."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from dcot.classifier.labels import Labels
from dcot.classifier.ridge import (
    KernelRidge,
    finer_alpha,
    ridge_by_features,
    solve_ridge,
    solve_with_left_out,
)
from dcot.core.centred import Matrix
from dcot.core.representation import combined, products
from dcot.errors import InvalidParameterError

Array = NDArray[Any]

STRENGTHS_C = np.logspace(-2, 2, 5)
FOLDS = 5
# With more labelled documents than this, ridge is solved by features: n × n takes n² memory.
MAX_KERNEL_LABELS = 4000


@dataclass(frozen=True)
class LinearFit:
    """``features @ coef.T + intercept``, and where it came from.

    Attributes
    ----------
    coef, intercept : a row, and a number, per class
    strength : of the regularisation, in the learner's own units
    estimator : the fitted scikit-learn classifier, one per class with several labels per
        document; None for ridge
    rows, held_out : some of the labelled documents, and decisions for them by learners that never
        saw them; None where the leave-one-out decisions of the chosen ridge are just these
    """

    coef: Array
    intercept: Array
    strength: float
    estimator: Any = None
    rows: Array | None = None
    held_out: Array | None = None


def fit_linear(
    kind: Any,
    features: Sequence[Matrix],
    labels: Labels,
    weights: Array,
    ridge: KernelRidge,
    judged: Array,
    held: Array,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> LinearFit:
    """Learn on the features of the labelled documents, given in parts side by side.

    Working with inner products is exact for any linear learner whose penalty is the Euclidean
    length of its weights: the weights lie in the span of the documents, and a rotation of the
    features changes nothing.

    Parameters
    ----------
    kind : ``"ridge"``, ``"svm"``, ``"logistic"`` or a scikit-learn classifier
    features, labels, weights : of the labelled documents
    ridge : the one that was chosen on the judged documents
    judged : their positions among the labelled ones
    held : positions of those that are held out where there are more labelled documents than judged
    """
    if isinstance(kind, str) and kind == "ridge":
        return fit_ridge(features, labels.targets, weights, ridge, judged, held)
    kernel = products(features, features)
    if labels.kind == "soft":
        raise InvalidParameterError(
            f"soft labels are learned by estimator='ridge', got {kind!r}: use it, or give each "
            "document its most probable class"
        )
    values, vectors = np.linalg.eigh(kernel.astype(np.float64))
    kept = values > values[-1] * 1e-10
    root = np.sqrt(values[kept])
    span = vectors[:, kept] * root
    estimator = _tuned(kind, span, labels, weights, n_jobs, random_state)
    found, w, intercept = _fit_span(estimator, span, labels, weights, n_jobs)
    dual = vectors[:, kept] @ (w.T / root[:, None])
    strength = float(getattr(estimator, "C", getattr(estimator, "alpha", np.nan)))
    held_out = _held_out(
        estimator, span[judged], labels.take(judged), weights[judged], n_jobs, random_state
    )
    return LinearFit(combined(features, dual).T, intercept, strength, found, judged, held_out)


def fit_ridge(
    features: Sequence[Matrix],
    targets: Array,
    weights: Array,
    ridge: KernelRidge,
    judged: Array,
    held: Array,
) -> LinearFit:
    """Ridge on all labelled documents, its strength from the one on the judged documents.

    With more documents than judged, decisions for all of them are left out again; with very many,
    those for the documents that are held out.
    """
    alpha, rows, held_out = ridge.alpha, None, None
    if len(weights) > MAX_KERNEL_LABELS:
        coef, intercept, alpha, held_out = ridge_by_features(
            features, targets, alpha, weights, held
        )
        rows = held
    else:
        kernel = products(features, features)
        if len(kernel) > len(judged):
            alpha = finer_alpha(kernel, targets, alpha, weights, held)
            dual, intercept, held_out = solve_with_left_out(kernel, targets, alpha, weights)
            rows = np.arange(len(kernel))
        else:
            dual, intercept = solve_ridge(kernel, targets, alpha, weights)
        coef = combined(features, dual)
    strength = ridge.strength * alpha / ridge.alpha
    return LinearFit(coef.T, intercept, strength, None, rows, held_out)


def _tuned(
    kind: Any,
    span: Array,
    labels: Labels,
    weights: Array,
    n_jobs: int | None,
    random_state: Any,
) -> Any:
    """A new learner, with C by cross-validation where it is ours to choose and classes allow it."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    estimator = _new_estimator(kind, random_state)
    if not isinstance(kind, str) or not labels.exclusive:
        return estimator
    y = labels.targets.argmax(axis=1)
    folds = min(FOLDS, int(np.bincount(y).min()))
    if folds < 2:
        return estimator
    seed = random_state if isinstance(random_state, int | None) else None
    cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    search = GridSearchCV(estimator, {"C": STRENGTHS_C}, cv=cv, n_jobs=n_jobs, refit=False)
    search.fit(span, y, **_weighing(estimator, weights))
    return estimator.set_params(**search.best_params_)


def _new_estimator(kind: Any, random_state: Any) -> Any:
    if isinstance(kind, str) and kind == "svm":
        from sklearn.svm import LinearSVC

        return LinearSVC(random_state=random_state)
    if isinstance(kind, str) and kind == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)
    if isinstance(kind, str) or not hasattr(kind, "fit"):
        raise InvalidParameterError(
            f"estimator must be 'ridge', 'svm', 'logistic' or a linear classifier, got {kind!r}"
        )
    return clone(kind)


def _weighing(estimator: Any, weights: Array) -> dict[str, Any]:
    """Keyword arguments that pass the weights on, where there is something to pass on."""
    if np.ptp(weights) == 0:
        return {}
    if not has_fit_parameter(estimator, "sample_weight"):
        raise InvalidParameterError(
            f"{type(estimator).__name__} takes no sample_weight, but documents have different "
            "weights (given, by class_weight, or because some are copies): use another estimator"
        )
    return {"sample_weight": weights}


def _fit_span(
    estimator: Any, span: Array, labels: Labels, weights: Array, n_jobs: int | None
) -> tuple[Any, Array, Array]:
    """The fitted learner, its weights and its intercepts, a row per class."""
    options = _weighing(estimator, weights)
    if labels.exclusive:
        fitted = clone(estimator).fit(span, labels.targets.argmax(axis=1), **options)
        return fitted, *_weights_of(fitted)
    fits = Parallel(n_jobs=n_jobs)(
        delayed(_fit_class)(estimator, span, column, options) for column in labels.targets.T > 0
    )
    w, b = np.vstack([w for _, w, _ in fits]), np.array([b for _, _, b in fits])
    return [fitted for fitted, _, _ in fits], w, b


def _fit_class(
    estimator: Any, span: Array, member: Array, options: dict[str, Any]
) -> tuple[Any, Array, float]:
    """One class against the rest; a class of all documents or of none is always decided so."""
    if member.all() or not member.any():
        return None, np.zeros(span.shape[1]), 1.0 if member.all() else -1.0
    fitted = clone(estimator).fit(span, member, **options)
    w, b = _weights_of(fitted)
    return fitted, w[1], float(b[1])


def _weights_of(fitted: Any) -> tuple[Array, Array]:
    """Weights and intercepts, a row per class."""
    if not hasattr(fitted, "coef_"):
        raise InvalidParameterError(
            f"estimator must be linear, with coef_ and intercept_ after fit; "
            f"{type(fitted).__name__} has none"
        )
    w, b = np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_)
    if len(w) == 1:
        w, b = np.vstack([-w, w]), np.concatenate([-b, b])
    return w, np.broadcast_to(b, len(w)).astype(np.float64)


def _held_out(
    estimator: Any,
    span: Array,
    labels: Labels,
    weights: Array,
    n_jobs: int | None,
    random_state: Any,
) -> Array:
    """Decisions for each document by cross-validation, at the chosen strength."""
    n = len(span)
    fold = check_random_state(random_state).permutation(np.arange(n) % min(FOLDS, n))
    decisions = np.empty((n, len(labels.classes)))
    for number in np.unique(fold):
        inside, outside = fold == number, np.flatnonzero(fold != number)
        present = (labels.targets[outside] > 0).any(axis=0) | (not labels.exclusive)
        if present.sum() == 1 and labels.exclusive:
            decisions[inside] = np.where(present, 1.0, -1.0)
            continue
        known = labels.take(outside)
        known = Labels(known.labelled, known.targets[:, present], labels.classes, labels.kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the learner itself has warned
            _, w, b = _fit_span(estimator, span[outside], known, weights[outside], n_jobs)
        found = span[inside] @ w.T + b
        # a class that was not there to be learned is the last choice
        decisions[inside] = found.min(axis=1, keepdims=True) - 1.0
        decisions[np.ix_(inside, present)] = found
    return decisions
