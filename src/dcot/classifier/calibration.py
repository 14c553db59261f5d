"""From held-out decisions to probabilities, and to how far these can be relied on.

``calibrate`` fits a temperature. ``Reliability`` says when to abstain, and gives sets of classes
that contain the correct one with a given probability. It is correct on average for new documents
similar to the labelled ones, even if the probabilities are not well calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit, log_softmax, softmax

from dcot.errors import InvalidParameterError

Array = NDArray[Any]

# Typical for least squares on ±1 targets; used if there are too few labels to estimate it.
DEFAULT_TEMPERATURE = 3.0
MIN_CALIBRATION_LABELS = 20
_ROUNDING = 1 + 1e-12  # (1 - 0.9) * 10 should count as 1


def probabilities(decisions: Array, temperature: float, exclusive: bool) -> Array:
    """Probabilities that sum to one if classes are exclusive, else one for each class."""
    scaled = temperature * decisions
    return np.asarray(softmax(scaled, axis=1) if exclusive else expit(2 * scaled))


def calibrate(
    held_out: Array, targets: Array, weights: Array, exclusive: bool
) -> tuple[float, bool]:
    """The temperature of maximum likelihood, and whether there were enough labels for it."""
    if len(targets) < MIN_CALIBRATION_LABELS:
        return DEFAULT_TEMPERATURE, False
    share = weights / weights.sum()
    of_label = ((targets + 1) / 2 * held_out).sum(axis=1)

    def slope(log_temperature: float) -> float:
        """Derivative of the loss by the temperature, in which the loss is convex."""
        scaled = np.exp(log_temperature) * held_out
        if exclusive:
            return float(share @ ((softmax(scaled, axis=1) * held_out).sum(axis=1) - of_label))
        right = targets * held_out
        return -float(share @ (right * expit(-2 * scaled * targets)).mean(axis=1))

    # find a zero of the derivative: near the minimum the loss is flat, and rounding would decide
    low, high = np.log(0.05), np.log(200.0)
    if slope(low) >= 0:
        return float(np.exp(low)), True
    if slope(high) <= 0:  # every document is right: the likelihood has no maximum
        return _without_errors(held_out, targets, share, exclusive, float(np.exp(high))), True
    return float(np.exp(brentq(slope, low, high, xtol=1e-12))), True


def _without_errors(
    held_out: Array, targets: Array, share: Array, exclusive: bool, most: float
) -> float:
    """The temperature at which the mean probability of the labels is (n + 1) / (n + 2).

    This is Laplace's rule for n documents that are all right: another one may be wrong.
    """
    n, of_label = len(targets), (targets + 1) / 2

    def excess(temperature: float) -> float:
        chances = probabilities(held_out, temperature, exclusive)
        if exclusive:
            right = (of_label * chances).sum(axis=1)
        else:
            right = (of_label * chances + (1 - of_label) * (1 - chances)).mean(axis=1)
        return float(share @ right) - (n + 1) / (n + 2)

    return most if excess(most) <= 0 else float(brentq(excess, 0.0, most, xtol=1e-12))


def log_losses(held_out: Array, targets: Array, weights: Array, exclusive: bool) -> Array:
    """Negative log-likelihood of each document's labels, at the temperature of ``calibrate``."""
    temperature, _ = calibrate(held_out, targets, weights, exclusive)
    if exclusive:
        scores = log_softmax(temperature * held_out, axis=1)
        return -np.asarray(((targets + 1) / 2 * scores).sum(axis=1))
    return -np.asarray(log_expit(2 * temperature * held_out * targets).mean(axis=1))


@dataclass(frozen=True)
class Reliability:
    """Held-out probabilities of labelled documents; all arrays have one entry per document.

    Attributes
    ----------
    best : probability of the predicted class
    own : probability of the class of the document
    right : whether the predicted class is correct
    weights : weight of the document
    """

    best: Array
    own: Array
    right: Array
    weights: Array

    @property
    def _one(self) -> float:
        """The weight of a document: 1, or less if weights are small."""
        return min(1.0, float(self.weights.mean()))

    @classmethod
    def of(cls, chances: Array, codes: Array, weights: Array) -> Reliability:
        """From held-out probabilities, documents × classes, and the classes of the documents."""
        rows = np.arange(len(codes))
        right = chances.argmax(axis=1) == codes
        return cls(chances.max(axis=1), chances[rows, codes], right, weights)

    def answer_from(self, accuracy: float) -> float:
        """The smallest probability from which predictions have this accuracy.

        One more error than observed is assumed, which matters if there are few documents.
        Infinite if no probability is large enough.
        """
        _check_share("abstain", accuracy)
        order = np.argsort(-self.best, kind="stable")
        best, weights = self.best[order], self.weights[order]
        answered = np.cumsum(weights) + self._one
        errors = np.cumsum(weights * ~self.right[order]) + self._one
        last = np.append(best[1:] < best[:-1], True)  # equal probabilities are treated alike
        enough = np.flatnonzero(last & (errors <= (1 - accuracy) * answered * _ROUNDING))
        return float(best[enough[-1]]) if len(enough) else np.inf

    def include_from(self, coverage: float) -> float:
        """The smallest probability of classes in a set, for sets with this coverage.

        This is split conformal prediction, with leave-one-out in the place of the split.
        """
        _check_share("coverage", coverage)
        order = np.argsort(self.own, kind="stable")
        missed = np.cumsum(self.weights[order])
        allowed = (1 - coverage) * (missed[-1] + self._one) * _ROUNDING
        count = int(np.searchsorted(missed, allowed, side="right"))
        return float(self.own[order[count - 1]]) if count else 0.0


def _check_share(name: str, value: Any) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.integer | np.floating)
        or not 0 < value < 1
    ):
        raise InvalidParameterError(
            f"{name} must be a number between 0 and 1, such as 0.9, got {value!r}"
        )
