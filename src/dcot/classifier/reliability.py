"""When to abstain, and sets of classes that contain the correct one with a given probability.

Both use the held-out decisions on the labelled documents. They are correct on average for new
documents similar to these, even if the probabilities are not well calibrated.
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
    def of(cls, probabilities: Array, codes: Array, weights: Array) -> Reliability:
        """From held-out probabilities, documents × classes, and the classes of the documents."""
        rows = np.arange(len(codes))
        right = probabilities.argmax(axis=1) == codes
        return cls(probabilities.max(axis=1), probabilities[rows, codes], right, weights)

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
        or not isinstance(value, int | float | np.number)
        or not 0 < value < 1
    ):
        raise InvalidParameterError(
            f"{name} must be a number between 0 and 1, such as 0.9, got {value!r}"
        )
