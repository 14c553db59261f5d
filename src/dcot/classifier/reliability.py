"""Answers held to a standard: when to abstain, and sets of classes that hold the right one.

Both follow from the held-out decisions on the labelled documents, so they are right on average for
new documents like these, whatever the probabilities are worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import InvalidParameterError

Array = NDArray[Any]

_ROUNDING = 1 + 1e-12  # (1 - 0.9) * 10 should count as 1


@dataclass(frozen=True)
class Reliability:
    """Held-out probabilities of labelled documents; all arrays have one entry per document.

    Attributes
    ----------
    best : probability of the predicted class
    own : probability of the class of the document
    right : whether these are the same
    weights : how often the document counts
    """

    best: Array
    own: Array
    right: Array
    weights: Array

    @classmethod
    def of(cls, probabilities: Array, codes: Array, weights: Array) -> Reliability:
        """From held-out probabilities, documents × classes, and the classes of the documents."""
        rows = np.arange(len(codes))
        right = probabilities.argmax(axis=1) == codes
        return cls(probabilities.max(axis=1), probabilities[rows, codes], right, weights)

    def answer_from(self, accuracy: float) -> float:
        """The least probability from which answers are right as often as ``accuracy`` says.

        One error more than there was is assumed, so few documents promise little. Infinite where
        no probability is enough.
        """
        _check_share("abstain", accuracy)
        order = np.argsort(-self.best, kind="stable")
        best, weights = self.best[order], self.weights[order]
        answered = np.cumsum(weights) + 1
        errors = np.cumsum(weights * ~self.right[order]) + 1
        last = np.append(best[1:] < best[:-1], True)  # equal probabilities are answered together
        enough = np.flatnonzero(last & (errors <= (1 - accuracy) * answered * _ROUNDING))
        return float(best[enough[-1]]) if len(enough) else np.inf

    def include_from(self, coverage: float) -> float:
        """The probability from which a class is in the set, for sets with this coverage.

        This is split conformal prediction, with leave-one-out in the place of the split.
        """
        _check_share("coverage", coverage)
        order = np.argsort(self.own, kind="stable")
        missed = np.cumsum(self.weights[order])
        allowed = (1 - coverage) * (missed[-1] + 1) * _ROUNDING
        count = int(np.searchsorted(missed, allowed, side="right"))
        return float(self.own[order[count - 1]]) if count else 0.0


def _check_share(name: str, value: Any) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not 0 < value < 1
    ):
        raise InvalidParameterError(
            f"{name} must be a number between 0 and 1, such as 0.9, got {value!r}"
        )
