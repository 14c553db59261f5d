"""Labels that are probably wrong: documents whose held-out decision contradicts their label.

The held-out decisions come from the fit, so the list costs nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier.calibration import probabilities
from dcot.classifier.fit import FittedClassifier
from dcot.errors import InvalidInputError
from dcot.runtime.extras import require
from dcot.runtime.frames import series

Array = NDArray[Any]


@dataclass(frozen=True)
class LabelIssues:
    """Doubtful labels, the most doubtful first; all arrays have one entry per document.

    Attributes
    ----------
    positions : positions of the documents
    given, predicted : columns of the given and of the predicted class
    given_probability, predicted_probability : held-out probabilities of the two
    """

    positions: Array
    given: Array
    predicted: Array
    given_probability: Array
    predicted_probability: Array

    def __len__(self) -> int:
        return len(self.positions)

    def to_frame(self, classes: Array) -> Any:
        """A polars frame with a row for each document."""
        pl = require("polars", "tables")
        names = series(classes.tolist())
        return pl.DataFrame(
            {
                "document": self.positions.astype(np.int64),
                "label": names.gather(self.given),
                "suggested": names.gather(self.predicted),
                "label_probability": self.given_probability,
                "suggested_probability": self.predicted_probability,
            }
        )


def label_issues_of(fitted: FittedClassifier) -> LabelIssues:
    """Doubtful labels among the documents that a classifier was fitted to."""
    if not fitted.exclusive:
        raise InvalidInputError(
            "label_issues needs one label per document: with several, look at the classes one by "
            "one, each with a classifier of its own"
        )
    held_out = fitted.held_out
    if held_out is None:
        raise InvalidInputError(
            "a loaded classifier does not hold what it decided about its labelled documents: call "
            "refit(documents, y) with them first"
        )
    found = find_label_issues(held_out.decisions, held_out.targets, fitted.temperature)
    return replace(found, positions=held_out.rows[found.positions])


def find_label_issues(held_out: Array, targets: Array, temperature: float) -> LabelIssues:
    """Documents whose held-out prediction is not their label.

    Parameters
    ----------
    held_out : decisions of models fitted without the document, documents × classes
    targets : ±1, one +1 per document
    temperature : temperature of the calibration, see ``probabilities``
    """
    chance = probabilities(held_out, temperature, True)
    given, predicted = targets.argmax(axis=1), held_out.argmax(axis=1)
    rows = np.arange(len(targets))
    label_chance, best_chance = chance[rows, given], chance[rows, predicted]
    wrong = np.flatnonzero(given != predicted)
    worst = wrong[np.argsort(label_chance[wrong] - best_chance[wrong], kind="stable")]
    return LabelIssues(
        worst, given[worst], predicted[worst], label_chance[worst], best_chance[worst]
    )
