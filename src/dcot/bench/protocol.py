"""How systems are compared: the same draws, and settings chosen on the labelled documents.

Only the labels of a draw are used to choose settings and to learn. Test labels are passed to
`score` and `hits` alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from dcot.bench.features import Blocks, Coordinates, products
from dcot.classifier import DCoTClassifier
from dcot.classifier.calibration import log_losses
from dcot.classifier.labels import read_labels, with_class_weights
from dcot.classifier.ridge import (
    KernelRidge,
    alpha_for_all,
    held_out_rows,
    solve_ridge,
    targets_of,
)
from dcot.classifier.selection import selected, weight_of
from dcot.classifier.self_training import FACTOR, self_train

Array = NDArray[Any]

SEED = 11
RIDGE, SVM = "ridge", "SVM"
CLASSIFIERS = {
    RIDGE: "ridge, strength chosen by leave-one-out",
    SVM: "linear SVM, C chosen by cross-validation",
}
# Settings are compared with at most this many labelled documents, as in DCoTClassifier.
MAX_COMPARED = 1500
# Values of C, for features of mean squared length one; the first wins ties.
SVM_STRENGTHS = (10.0, 1.0, 100.0)
SVM_FOLDS, SVM_MAX_COMPARED = 5, 1000
SVM_ONE_FOLD_FROM = 500  # with more labelled documents, one held-out fifth is enough
SVM_TOL, SVM_MAX_ITER = 1e-3, 1000


def default_class_weight() -> Any:
    """The default of ``DCoTClassifier``, used for every rival."""
    return DCoTClassifier().get_params(deep=False)["class_weight"]


@dataclass(frozen=True)
class Candidate:
    """A representation with one setting: features of training and then test documents."""

    setting: dict[str, Any]
    blocks: Blocks


@dataclass(frozen=True)
class Choice:
    """The setting chosen by leave-one-out on some labelled documents."""

    candidate: Candidate
    ridge: KernelRidge
    compared: int  # number of labelled documents that settings were compared on


@dataclass(frozen=True)
class Prediction:
    """Predicted labels of the test documents, and the strength of the classifier."""

    labels: Array
    strength: float


def draws(n_train: int, count: int) -> list[Array]:
    """Random orders of the training documents; with b labels, the first b are labelled."""
    return [np.random.default_rng([SEED, draw]).permutation(n_train) for draw in range(count)]


def score(truth: Array, predicted: Array) -> dict[str, float]:
    """Accuracy, and macro-F1 over all classes of the test documents."""
    classes = np.unique(truth)
    f1 = f1_score(truth, predicted, labels=classes, average="macro", zero_division=0)
    return {"accuracy": float(np.mean(predicted == truth)), "macro_f1": float(f1)}


def hits(truth: Array, predicted: Array) -> str:
    """Which predictions are right, one bit each, for tests that pair documents."""
    return np.packbits(predicted == truth).tobytes().hex()


def mcnemar(ours: str, theirs: str) -> float:
    """Two-sided p-value of McNemar's exact test between systems with these `hits`.

    >>> round(mcnemar("ff00", "f000"), 3)
    0.125
    """
    one, other = (np.unpackbits(np.frombuffer(bytes.fromhex(h), np.uint8)) for h in (ours, theirs))
    won, lost = int(np.sum(one > other)), int(np.sum(one < other))
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def document_weights(labels: Array, class_weight: Any) -> Array:
    """Weights of labelled documents, by the rule of ``DCoTClassifier``."""
    known = read_labels(labels, len(labels), None)
    return with_class_weights(known, np.ones(len(labels)), class_weight)


def choose(
    candidates: Sequence[Candidate],
    labels: Array,
    order: Array,
    budgets: Sequence[int],
    class_weight: Any = None,
    without_lsi: int | None = None,
    by_likelihood: bool = False,
) -> dict[int, Choice]:
    """Choose a setting for every budget of one draw by leave-one-out; the first is the default.

    As in ``DCoTClassifier``, another setting replaces the default only if it is better by more
    than three standard errors; ``without_lsi`` is the one that leaves out LSI. With
    ``by_likelihood``, the rule is that for weights of vectors. Budgets are nested, so the inner
    products of each candidate are computed once for all of them.
    """
    sizes = sorted({min(budget, MAX_COMPARED) for budget in budgets})
    compared = order[: sizes[-1]]
    problems = {}
    for size in sizes:
        known = labels[compared[:size]]
        problems[size] = targets_of(known)[1], document_weights(known, class_weight)
    fits: dict[int, list[KernelRidge]] = {size: [] for size in sizes}
    for candidate in candidates:
        kernel = products(candidate.blocks, compared, compared)
        for size, (targets, weights) in problems.items():
            fits[size].append(KernelRidge.fit(kernel[:size, :size], targets, weights=weights))
    chosen = {}
    for size, found in fits.items():
        targets, weights = problems[size]
        if by_likelihood:
            ones = np.ones(size)
            logs = [log_losses(fit.held_out, targets, ones, True) for fit in found]
            best = weight_of(np.array(logs), ones)
        else:
            best = selected(np.array([fit.losses for fit in found]), weights, without_lsi)
        chosen[size] = Choice(candidates[best], found[best], size)
    return {budget: chosen[min(budget, MAX_COMPARED)] for budget in budgets}


def ridge_predictions(
    choice: Choice,
    labels: Array,
    labelled: Array,
    test: Array,
    class_weight: Any = None,
    pool: Array | None = None,
    factor: float = FACTOR,
) -> Prediction:
    """Predict with ridge and the chosen setting, learned from all labelled documents.

    With a ``pool`` of unlabelled documents it learns from its predictions for them, too, as
    ``DCoTClassifier`` does.
    """
    classes, targets = targets_of(labels[labelled])
    blocks, fit = choice.candidate.blocks, choice.ridge
    dual, intercept, alpha = fit.dual, fit.intercept, fit.alpha
    if len(labelled) > choice.compared:
        weights = document_weights(labels[labelled], class_weight)
        kernel = products(blocks, labelled, labelled)
        held = held_out_rows(len(kernel), np.random.RandomState(SEED))
        alpha = alpha_for_all(kernel, targets, alpha, weights, held)
        dual, intercept = solve_ridge(kernel, targets, alpha, weights)
    elif pool is not None and len(pool):
        weights = document_weights(labels[labelled], class_weight)
        labelled = np.concatenate([labelled, pool])
        found = self_train(
            products(blocks, labelled, labelled),
            targets,
            weights,
            fit,
            np.ones(len(targets)),
            np.ones(len(pool)),
            np.random.RandomState(SEED),
            factor,
        )
        dual, intercept, alpha = found.dual, found.intercept, found.alpha
    decisions = products(blocks, test, labelled, np.float32) @ dual + intercept
    return Prediction(classes[decisions.argmax(axis=1)], float(alpha))


def svm_predictions(
    choice: Choice, labels: Array, labelled: Array, test: Array, class_weight: Any = None
) -> Prediction:
    """Predict with a linear SVM on the chosen features; C is chosen by cross-validation."""
    coordinates = Coordinates(choice.candidate.blocks, labelled)
    known = labels[labelled]
    weights = document_weights(known, class_weight)
    n = min(len(labelled), SVM_MAX_COMPARED)
    folds = np.arange(n) % SVM_FOLDS  # documents are in a random order
    judged = 1 if n > SVM_ONE_FOLD_FROM else SVM_FOLDS

    def correct(C: float) -> int:
        total = 0
        for fold in range(judged):
            inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            found = fit_svm(
                coordinates.labelled[inside],
                known[inside],
                C,
                weights[inside],
                coordinates.labelled[outside],
            )
            total += int(np.sum(found == known[outside]))
        return total

    best = max(SVM_STRENGTHS, key=correct) if n > 1 else SVM_STRENGTHS[0]
    predicted = fit_svm(coordinates.labelled, known, best, weights, coordinates.of(test))
    return Prediction(predicted, best)


def fit_svm(X: Any, labels: Array, C: float, weights: Array, wanted: Any) -> Array:
    """Fit a linear SVM (one-vs-rest, squared hinge) and predict the wanted rows."""
    if len(np.unique(labels)) == 1:  # nothing to separate
        return np.full(wanted.shape[0], labels[0])
    # The seed only sets the order of the solver's steps.
    model = LinearSVC(C=C, tol=SVM_TOL, max_iter=SVM_MAX_ITER, dual=True, random_state=0)
    with warnings.catch_warnings():
        # With a large C on wide features the last digits do not converge, and change no label.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Few labels and many classes are the point of the experiment.
        warnings.filterwarnings("ignore", "The number of unique classes is greater")
        model.fit(X, labels, sample_weight=weights)
    return np.asarray(model.predict(wanted))
