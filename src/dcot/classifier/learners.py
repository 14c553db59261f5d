"""The final linear classifier, fitted in the span of few documents, or to the features of many."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from dcot.classifier.labels import Labels
from dcot.classifier.ridge import (
    KernelRidge,
    alpha_for_all,
    kernel_is_less_work,
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
_ROUNDING = 1e-3  # of decisions in single precision, relative to the largest
# With more labelled documents than this, classifiers are fitted to the features: n × n needs n²
# memory.
MAX_KERNEL_LABELS = 4000


@dataclass(frozen=True)
class LinearFit:
    """A linear classifier, ``features @ coef.T + intercept``.

    Attributes
    ----------
    coef, intercept : one row and one number per class
    strength : regularisation strength, in the units of the estimator
    estimator : the fitted scikit-learn classifier, or a list with one per class if documents have
        several labels; None for ridge
    rows, held_out : some of the labelled documents, and decisions for them by classifiers that
        were fitted without them; None if they are the leave-one-out decisions of the selection
    """

    coef: Array
    intercept: Array
    strength: float
    estimator: Any = None
    rows: Array | None = None
    held_out: Array | None = None


def check_estimator(kind: Any) -> None:
    """Reject an ``estimator`` that is no classifier, as far as can be seen before it is fitted."""
    if isinstance(kind, str) and kind in ("ridge", "svm", "logistic"):
        return
    if isinstance(kind, str | type) or not (hasattr(kind, "fit") and hasattr(kind, "get_params")):
        raise InvalidParameterError(
            f"estimator must be 'ridge', 'svm', 'logistic' or a linear classifier, got {kind!r}"
            + (f": give an instance, as in {kind.__name__}()" if isinstance(kind, type) else "")
        )
    if isinstance(kind, BaseEstimator) and is_regressor(kind):
        raise InvalidParameterError(
            f"estimator must be a classifier, and {type(kind).__name__} is a regressor"
        )
    if _has_l1(kind.get_params()):
        raise InvalidParameterError(
            f"estimator {kind!r} has an L1 penalty, which depends on the basis of the features, "
            "and the classifier learns in a rotated one: use an L2 penalty, or fit it to "
            "model.transform(documents)"
        )
    # Of scikit-learn's estimators it is known, of others it turns out when they are fitted.
    if type(kind).__module__.startswith("sklearn.") and not _is_linear(kind):
        raise _not_linear(kind)


def _has_l1(parameters: dict[str, Any]) -> bool:
    penalty, share = parameters.get("penalty", "l2"), parameters.get("l1_ratio")
    return penalty in ("l1", "elasticnet") or (penalty not in ("l2", None) and bool(share))


def _is_linear(estimator: Any) -> bool:
    """Whether a classifier of scikit-learn has one weight per feature and class."""
    bases = {base.__name__ for base in type(estimator).__mro__}
    return "LinearClassifierMixin" in bases or getattr(estimator, "kernel", None) == "linear"


def _not_linear(estimator: Any) -> InvalidParameterError:
    return InvalidParameterError(
        "estimator must be linear, with coef_ and intercept_ after fit; "
        f"{type(estimator).__name__} has none: use 'ridge', 'svm', 'logistic' or another linear "
        "classifier, itself and not inside of a pipeline or a search"
    )


def check_usable(kind: Any, labels: Labels, weights: Array) -> None:
    """Reject labels or weights that the estimator cannot learn from."""
    if kind == "ridge":
        return
    if labels.kind == "soft":
        raise InvalidParameterError(
            f"soft labels are learned by estimator='ridge', got {kind!r}: use it, or give each "
            "document its most probable class"
        )
    estimator = _new_estimator(kind, None)
    by_class = isinstance(estimator.get_params().get("class_weight"), Mapping)
    if by_class and labels.exclusive and labels.classes.tolist() != [*range(len(labels.classes))]:
        raise InvalidParameterError(
            f"estimator {kind!r} has weights by class, but learns from the positions of classes: "
            "set class_weight of DCoTClassifier instead"
        )
    _weighing(estimator, weights)


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
    """Fit a linear classifier to the labelled documents, whose features are blocks of columns.

    Inner products are sufficient for any linear classifier with an L2 penalty: its weights are in
    the span of the documents, and a rotation of the features changes nothing. With many documents,
    it is fitted to the features, and C is chosen on the evaluated documents.

    Parameters
    ----------
    kind : ``"ridge"``, ``"svm"``, ``"logistic"`` or a scikit-learn classifier
    features, labels, weights : those of the labelled documents
    ridge : the classifier that was selected on the evaluated documents
    judged : positions of the evaluated documents among the labelled ones
    held : positions of held-out documents, if there are more labelled documents than evaluated
    """
    if kind == "ridge":
        return fit_ridge(features, labels.targets, weights, ridge, judged, held)
    many = len(weights) > MAX_KERNEL_LABELS
    span, basis = (_joined(features), None) if many else _span(features)
    tried = judged if many else np.arange(len(weights))
    estimator = _tuned(kind, span[tried], labels.take(tried), weights[tried], n_jobs, random_state)
    found, w, intercept = _fit_span(estimator, span, labels, weights, n_jobs)
    coef = w if basis is None else combined(features, basis @ w.T).T
    strength = getattr(estimator, "C", getattr(estimator, "alpha", np.nan))
    strength = float(strength) if isinstance(strength, Real) else np.nan  # or one per class
    held_out = _held_out(
        estimator, span[judged], labels.take(judged), weights[judged], n_jobs, random_state
    )
    return LinearFit(coef, intercept, strength, found, judged, held_out)


def _span(features: Sequence[Matrix]) -> tuple[Array, Array]:
    """Coordinates of documents in the space they span, and its axes as weights of documents."""
    values, vectors = np.linalg.eigh(products(features, features).astype(np.float64))
    kept = values > values[-1] * 1e-10
    root = np.sqrt(values[kept])
    return vectors[:, kept] * root, vectors[:, kept] / root


def _joined(features: Sequence[Matrix]) -> Matrix:
    """Blocks of columns in one matrix, sparse if one of them is."""
    if any(sp.issparse(part) for part in features):
        return sp.hstack(features, format="csr")
    return np.hstack(features)


def fit_ridge(
    features: Sequence[Matrix],
    targets: Array,
    weights: Array,
    ridge: KernelRidge,
    judged: Array,
    held: Array,
    by_kernel: bool | None = None,
) -> LinearFit:
    """Fit ridge to all labelled documents, with the strength selected on the evaluated ones.

    With more documents than evaluated, leave-one-out decisions are computed for all of them. With
    very many, they are computed for the held-out documents only, unless inner products of all
    documents are less work. ``by_kernel`` says whether to use these.
    """
    alpha, rows, held_out = ridge.alpha, None, None
    if by_kernel is None:
        many = len(weights) > MAX_KERNEL_LABELS
        by_kernel = not many or kernel_is_less_work(features, targets.shape[1])
    if not by_kernel:
        coef, intercept, alpha, held_out = ridge_by_features(
            features, targets, alpha, weights, held
        )
        rows = held
    else:
        kernel = products(features, features)
        if len(kernel) > len(judged):
            alpha = alpha_for_all(kernel, targets, alpha, weights, held)
            dual, intercept, held_out = solve_with_left_out(kernel, targets, alpha, weights)
            rows = np.arange(len(kernel))
        else:
            dual, intercept = solve_ridge(kernel, targets, alpha, weights)
        coef = combined(features, dual)
    strength = ridge.strength * alpha / ridge.alpha
    return LinearFit(coef.T, intercept, strength, None, rows, held_out)


def _tuned(
    kind: Any,
    span: Matrix,
    labels: Labels,
    weights: Array,
    n_jobs: int | None,
    random_state: Any,
) -> Any:
    """A new estimator, with C from cross-validation if the user did not pass the estimator."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    estimator = _new_estimator(kind, random_state)
    if not isinstance(kind, str) or not labels.exclusive:
        return estimator
    y = labels.targets.argmax(axis=1)
    folds = min(FOLDS, int(np.bincount(y).min()))
    if folds < 2:
        return estimator
    seed = (
        random_state if isinstance(random_state, Integral | None) else random_state.randint(2**31)
    )
    cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    search = GridSearchCV(estimator, {"C": STRENGTHS_C}, cv=cv, n_jobs=n_jobs, refit=False)
    search.fit(span, y, **_weighing(estimator, weights))
    return estimator.set_params(**search.best_params_)


def _new_estimator(kind: Any, random_state: Any) -> Any:
    if kind == "svm":
        from sklearn.svm import LinearSVC

        # the module numpy.random cannot be copied, but its generator can
        shared = random_state is np.random
        return LinearSVC(random_state=check_random_state(random_state) if shared else random_state)
    if kind == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)
    return clone(kind)


def _weighing(estimator: Any, weights: Array) -> dict[str, Any]:
    """Keyword arguments with the weights; none if all weights are equal."""
    if np.ptp(weights) == 0:
        return {}
    if not has_fit_parameter(estimator, "sample_weight"):
        raise InvalidParameterError(
            f"{type(estimator).__name__} takes no sample_weight, but documents have different "
            "weights (given, by class_weight, or because some are copies): use another estimator"
        )
    return {"sample_weight": weights}


def _fit_span(
    estimator: Any, span: Matrix, labels: Labels, weights: Array, n_jobs: int | None
) -> tuple[Any, Array, Array]:
    """The fitted estimator, its weights and its intercepts, one row per class."""
    options = _weighing(estimator, weights)
    if labels.exclusive:
        fitted = _fit(estimator, span, labels.targets.argmax(axis=1), options)
        return fitted, *_weights_of(fitted, span, labels.targets.shape[1])
    fits = Parallel(n_jobs=n_jobs)(
        delayed(_fit_class)(estimator, span, column, options) for column in labels.targets.T > 0
    )
    w, b = np.vstack([w for _, w, _ in fits]), np.array([b for _, _, b in fits])
    return [fitted for fitted, _, _ in fits], w, b


def _fit_class(
    estimator: Any, span: Matrix, member: Array, options: dict[str, Any]
) -> tuple[Any, Array, float]:
    """One class against the rest; constant if all documents or none have the class."""
    if member.all() or not member.any():
        return None, np.zeros(span.shape[1]), 1.0 if member.all() else -1.0
    fitted = _fit(estimator, span, member, options)
    w, b = _weights_of(fitted, span, 2)
    return fitted, w[1], float(b[1])


def _fit(estimator: Any, span: Matrix, y: Array, options: dict[str, Any]) -> Any:
    """A copy of the estimator, fitted."""
    try:
        return clone(estimator).fit(span, y, **options)
    except (ValueError, TypeError) as error:
        raise InvalidParameterError(
            f"estimator {type(estimator).__name__} cannot be fitted to the features: {error}"
        ) from error


def _weights_of(fitted: Any, span: Matrix, n_classes: int) -> tuple[Array, Array]:
    """Weights and intercepts, one row per class.

    The decisions of the estimator have to be those of its weights. With a row for each pair of
    classes (``SVC``), or with something done afterwards, they are not.
    """
    if not hasattr(fitted, "coef_"):
        raise _not_linear(fitted)
    w, b = np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_)
    if len(w) == 1:
        w, b = np.vstack([-w, w]), np.concatenate([-b, b])
    same = w.shape == (n_classes, span.shape[1])
    if same and hasattr(fitted, "decision_function"):
        own, found = fitted.decision_function(span), span @ w.T + b
        found = found[:, 1] if np.ndim(own) == 1 else found
        same = np.shape(own) == found.shape and bool(
            np.abs(own - found).max() <= _ROUNDING * max(1.0, float(np.abs(found).max()))
        )
    if not same:
        raise InvalidParameterError(
            f"estimator must have one row of coef_ for each class and decide by them alone; "
            f"{type(fitted).__name__} does not, with {n_classes} classes: use 'svm', 'logistic' or "
            "another one that compares each class with all others"
        )
    return w, np.broadcast_to(b, len(w)).astype(np.float64)


def _held_out(
    estimator: Any,
    span: Matrix,
    labels: Labels,
    weights: Array,
    n_jobs: int | None,
    random_state: Any,
) -> Array:
    """Cross-validated decisions for each document, at the selected strength."""
    n = span.shape[0]
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
            warnings.simplefilter("ignore", ConvergenceWarning)  # the main fit has already warned
            _, w, b = _fit_span(estimator, span[outside], known, weights[outside], n_jobs)
        found = span[inside] @ w.T + b
        # a class without training documents in this fold comes last
        decisions[inside] = found.min(axis=1, keepdims=True) - 1.0
        decisions[np.ix_(inside, present)] = found
    return decisions
