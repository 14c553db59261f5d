"""How a model was selected and how accurate it is: selection, estimate, confusions, card."""

from __future__ import annotations

from copy import copy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier import DCoTClassifier
from dcot.errors import DcotError
from dcot.persistence.folder import card
from dcot.web.explore.subject import Subject

Array = NDArray[Any]


@dataclass(frozen=True)
class Confusion:
    """Labelled documents by their class and by their predicted class.

    Attributes
    ----------
    classes : names
    rows : the documents, by row of the corpus
    given, predicted : columns of their classes; predictions are by models that never saw them
    """

    classes: tuple[str, ...]
    rows: Array
    given: Array
    predicted: Array

    @property
    def counts(self) -> Array:
        counts = np.zeros((len(self.classes), len(self.classes)), dtype=int)
        np.add.at(counts, (self.given, self.predicted), 1)
        return counts

    def documents(self, given: str, predicted: str) -> list[int]:
        """The rows in a cell; none if there is no such class."""
        if given not in self.classes or predicted not in self.classes:
            return []
        cell = self.given == self.classes.index(given)
        cell &= self.predicted == self.classes.index(predicted)
        return [int(row) for row in self.rows[cell]]


def confusion_of(subject: Subject) -> Confusion | None:
    """Held-out decisions on the labelled documents; None if there are none.

    A loaded classifier does not have them. The linear classifier is then learned again from the
    labels of the corpus, on the representation as it is, which gives leave-one-out decisions.
    """
    classifier, corpus = subject.classifier, subject.corpus
    if classifier is None or corpus is None or corpus.n_classes < 2:
        return None
    fitted = classifier._fitted()
    if not subject.learned_here:
        try:
            again = copy(classifier).refit(list(corpus.documents.texts), list(corpus.labels))
        except DcotError:  # no classifier can be fitted to these labels
            return None
        fitted = again._fitted()
    held_out = fitted.held_out
    if held_out is None or not fitted.exclusive:
        return None
    classes = tuple(str(name) for name in fitted.classes)
    given, predicted = held_out.targets.argmax(axis=1), held_out.decisions.argmax(axis=1)
    return Confusion(classes, held_out.rows, given, predicted)


def model_report(subject: Subject, confusion: Confusion | None) -> dict[str, Any]:
    """Everything the page shows about the model."""
    classifier = subject.classifier
    model = subject.index or classifier or subject.vectorizer
    contents = model._contents(False)
    sizes = {name: a.nbytes for name, a in {**contents.arrays, **contents.weights}.items()}
    found: dict[str, Any] = {
        "facts": [list(fact) for fact in contents.facts],
        "card": card(contents.kind, contents.facts, None, sizes),
        "summary": "",
        "estimate": None,
        "selection": [],
        "confusion": None,
    }
    if classifier is not None:
        found |= _classifier_report(classifier)
    if confusion is not None:
        counts = confusion.counts
        found["confusion"] = {"classes": list(confusion.classes), "counts": counts.tolist()}
    return found


def _classifier_report(classifier: DCoTClassifier) -> dict[str, Any]:
    results = classifier.cv_results_
    rows = [
        {
            **{name: str(value) for name, value in parameters.items()},
            "accuracy": _rounded(results["mean_test_score"][place]),
            "error": _rounded(results["mean_test_error"][place]),
            "chosen": place == classifier.best_index_,
        }
        for place, parameters in enumerate(results["params"])
    ]
    estimate = classifier.estimate_
    scores = [asdict(score) for score in (estimate.dcot, estimate.tfidf, estimate.majority)]
    return {
        "summary": classifier.summary(),
        "estimate": {"n": estimate.n, "beaten": estimate.beaten, "scores": scores}
        if estimate.n
        else None,
        "selection": sorted(rows, key=lambda row: row["error"] or 0.0),
    }


def _rounded(value: float) -> float | None:
    """Four digits; None for NaN, which JSON does not have."""
    return None if np.isnan(value) else round(float(value), 4)
