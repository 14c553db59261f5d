"""Fit the final ridge classifier to its own predictions for unlabelled documents, too.

A classifier that was fitted to the labelled documents predicts unlabelled ones. A second one is
fitted to both, with the predicted probabilities as targets. Its held-out decisions are made without
the document in both steps; each step has a closed form for documents that are left out together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcot.classifier.calibration import calibrate, probabilities
from dcot.classifier.ridge import Centring, KernelRidge
from dcot.classifier.selection import best_of

Array = NDArray[Any]

# The strength is the selected one times this: with more documents, a smaller one is better.
FACTOR = 0.3
# Predictions become more decided than their calibrated probabilities by this factor.
SHARPENING = 2.0
# All unlabelled documents together have the weight of the labelled ones, at most of this many.
MAX_WEIGHT = 1000
# Plain ridge is used if it is better by more than this many standard errors.
WORSE_STANDARD_ERRORS = 1.5
# Each labelled document is left out alone, or, if there are more than this, in folds.
MAX_LEFT_OUT_ALONE, FOLDS = 100, 20


@dataclass(frozen=True)
class SelfTrained:
    """A ridge classifier of labelled and unlabelled documents.

    Attributes
    ----------
    dual, intercept, alpha : as in ``KernelRidge``; ``dual`` has a row for every document
    held_out : decisions for the evaluated documents by fits without them
    """

    dual: Array
    intercept: Array
    alpha: float
    held_out: Array


def self_train(
    kernel: Array,
    targets: Array,
    weights: Array,
    ridge: KernelRidge,
    counts: Array,
    pool: Array,
    generator: Any,
    factor: float = FACTOR,
) -> SelfTrained:
    """Fit ridge to labelled and unlabelled documents.

    Parameters
    ----------
    kernel : inner products of the labelled documents, seed words and unlabelled documents
    targets, weights : those of the labelled documents and seed words
    ridge : the classifier that was fitted to them
    counts : weights of the labelled documents without class weights
    pool : weights of the unlabelled documents, relative to each other
    generator : draws the folds
    factor : factor of the strength of ``ridge``
    """
    n, judged = len(targets), len(counts)
    new = kernel[n:, :n].astype(np.float64)
    temperature, _ = calibrate(ridge.held_out, targets[:judged], counts, True)

    def with_guesses(decisions: Array) -> Array:
        guesses = 2 * probabilities(decisions, SHARPENING * temperature, True) - 1
        return np.vstack([targets, guesses])

    # an unlabelled document has at most the mean weight of a labelled one
    share = weights.mean() * min(1.0, n / len(pool), MAX_WEIGHT / len(pool))
    system = _System(
        kernel,
        np.concatenate([weights, share * pool / pool.mean()]),
        ridge.alpha * factor,
        judged,
    )
    # all columns of its inverse: small products are faster than solves, and there are many
    first = _System(kernel[:n, :n], weights, ridge.alpha, n)
    held_out, plain = np.empty((2, judged, targets.shape[1]))
    for inside in _folds(judged, generator):
        plain[inside] = first.left_out(inside, targets)
        # a fit without these documents is one that gets its own decisions for them as targets
        without = targets.copy()
        without[inside] = plain[inside]
        dual, intercept = first.solve(without)
        held_out[inside] = system.left_out(inside, with_guesses(new @ dual + intercept))
    if judged and _is_worse(held_out, plain, targets[:judged], counts):
        dual = np.vstack([ridge.dual, np.zeros((len(pool), targets.shape[1]))])
        return SelfTrained(dual, ridge.intercept, ridge.alpha, plain)
    dual, intercept = system.solve(with_guesses(ridge.decision(new)))
    return SelfTrained(dual, intercept, system.alpha, held_out)


def _is_worse(held_out: Array, plain: Array, targets: Array, counts: Array) -> bool:
    """Whether fewer held-out documents are right than without self-training."""
    truth = targets.argmax(axis=1)
    wrong = np.array([each.argmax(axis=1) != truth for each in (held_out, plain)], dtype=float)
    return best_of(wrong, counts, WORSE_STANDARD_ERRORS) == 1


def _folds(n: int, generator: Any) -> list[Array]:
    folds = n if n <= MAX_LEFT_OUT_ALONE else FOLDS
    return [fold for fold in np.array_split(generator.permutation(n), folds or 1) if len(fold)]


class _System:
    """Ridge on the same documents, for any targets.

    Inside, documents are in reverse order, so that the evaluated ones come last: see
    ``_last_columns``.
    """

    def __init__(self, kernel: Array, weights: Array, alpha: float, judged: int) -> None:
        self.centring = Centring(kernel[::-1, ::-1], weights[::-1])
        # a kernel in single precision may have eigenvalues below zero, by rounding
        self.alpha = max(float(alpha), self.centring.rounding)
        matrix = self.centring.kernel
        np.einsum("ii->i", matrix)[:] += self.alpha
        # the transpose is the same matrix, in the memory order that LAPACK can overwrite
        self.factor = scipy.linalg.cho_factor(
            matrix.T, lower=True, overwrite_a=True, check_finite=False
        )
        self.inverse = _last_columns(self.factor[0], judged)

    def solve(self, targets: Array) -> tuple[Array, Array]:
        """Dual coefficients and intercept."""
        right, centre = self._right(targets)
        if self.inverse.shape[1] == len(self.inverse):
            solved = self.inverse @ right
        else:
            solved = scipy.linalg.cho_solve(self.factor, right, check_finite=False)
        dual, intercept = self.centring.undo(solved, centre)
        return dual[::-1], intercept

    def left_out(self, rows: Array, targets: Array) -> Array:
        """Decisions for some evaluated documents by a fit without them."""
        right, _ = self._right(targets)
        places, columns = len(self.inverse) - 1 - rows, self.inverse.shape[1] - 1 - rows
        root, unit = self.centring.root[places], np.sqrt(self.centring.share[places])
        residual = self.alpha * self.inverse[:, columns].T @ right
        # 1 - leverage of these documents, with that of the intercept
        slack = self.alpha * self.inverse[np.ix_(places, columns)] - np.outer(unit, unit)
        return np.asarray(targets[rows] - np.linalg.solve(slack, residual) / root[:, None])

    def _right(self, targets: Array) -> tuple[Array, Array]:
        backwards = targets[::-1]
        centre = self.centring.share @ backwards
        return self.centring.root[:, None] * (backwards - centre), centre


def _last_columns(factor: Array, count: int) -> Array:
    """The last columns of the inverse of L Lᵀ, given the lower triangle L.

    Only a corner of L is needed for the lower part: half the work of solving with all of L.
    """
    first = len(factor) - count
    if not count:
        return np.empty((first, 0))
    corner = scipy.linalg.cho_solve(
        (factor[first:, first:], True), np.eye(count), check_finite=False
    )
    if not first:  # older versions of LAPACK refuse an empty system
        return np.asarray(corner)
    above = scipy.linalg.solve_triangular(
        factor[:first, :first],
        factor[first:, :first].T @ corner,
        trans=1,
        lower=True,
        check_finite=False,
    )
    return np.vstack([-above, corner])
