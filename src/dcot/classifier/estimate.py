"""Estimate the accuracy of a classifier on the labelled documents.

Every labelled document is predicted by a model that was fitted without it. These decisions give the
expected accuracy, compared with TF-IDF and the majority class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from dcot.classifier.selection import SelectionResult

Array = NDArray[Any]

FOLDS = 10
RESAMPLES = 400
Z95 = 1.959964  # standard errors of a 95 % interval


@dataclass(frozen=True)
class Score:
    """Accuracy and macro-F1, each with a 95 % interval."""

    name: str
    accuracy: float
    accuracy_interval: tuple[float, float]
    macro_f1: float
    macro_f1_interval: tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """Scores of dCoT, TF-IDF and the majority class on the same held-out documents.

    With several labels per document, the majority class is the most frequent set of labels.
    They are valid for new documents similar to the labelled ones. Documents from ``suggest`` are
    harder than others, so the estimate is too low if their labels are used. With seed words and no
    labelled documents, ``n`` is 0 and every score is NaN.
    """

    n: int
    dcot: Score
    tfidf: Score
    majority: Score

    @classmethod
    def unknown(cls) -> Estimate:
        """The estimate without labelled documents."""
        nothing = (np.nan, (np.nan, np.nan), np.nan, (np.nan, np.nan))
        return cls(0, *(Score(name, *nothing) for name in ("dCoT", "TF-IDF", "majority class")))

    @property
    def beaten(self) -> bool:
        """Whether TF-IDF is as accurate or more accurate."""
        return self.n > 0 and not self.one_per_class and self.tfidf.accuracy >= self.dcot.accuracy

    @property
    def one_per_class(self) -> bool:
        """Whether no class has two documents, so that no held-out document can be right."""
        none_right = self.dcot.accuracy == 0 and self.tfidf.accuracy == 0
        return none_right and self.majority.accuracy * self.n < 1.5

    def sentence(self) -> str:
        if not self.n:
            return "No document is labelled, so nobody knows how good it is."
        if self.one_per_class:
            return (
                "How good it is cannot be estimated yet, because each class has only one labelled "
                "document: give it at least two."
            )
        low, high = self.dcot.accuracy_interval
        return (
            f"Expect between {100 * low:.0f} and {100 * high:.0f} % of new documents like these to "
            f"be classified correctly (95 % interval; {100 * self.dcot.accuracy:.1f} % of "
            f"{self.n} held-out documents were, {100 * self.tfidf.accuracy:.1f} % by TF-IDF, and "
            f"{100 * self.majority.accuracy:.1f} % are of the majority class)."
        )

    def warning(self, features: str) -> str:
        """What to do where dCoT, with these features, does not beat TF-IDF."""
        found = (
            f"dCoT ({100 * self.dcot.accuracy:.1f} %) does not beat TF-IDF "
            f"({100 * self.tfidf.accuracy:.1f} %) on these {self.n} labelled documents"
        )
        if self.dcot.accuracy == 1:
            return f"{found}, for which both are always right"
        advice = "more unlabelled documents or word vectors (embedding) may help"
        if not features.startswith("x"):
            advice += ", or the words themselves among the features (x and LSI and both layers)"
        return f"{found}: {advice}"

    def table(self) -> str:
        lines = [
            f"{'':16} {'accuracy':>9} {'95 % interval':>15} {'macro-F1':>9} {'95 % interval':>15}"
        ]
        for score in (self.dcot, self.tfidf, self.majority):
            a, f = score.accuracy_interval, score.macro_f1_interval
            spans = [f"{100 * low:5.1f} – {100 * high:5.1f}" for low, high in (a, f)]
            lines.append(
                f"{score.name:16} {100 * score.accuracy:8.1f}% {spans[0]:>15} "
                f"{100 * score.macro_f1:8.1f}% {spans[1]:>15}"
            )
        return "\n".join(lines)


def held_out_by_fold(selection: SelectionResult, generator: Any) -> Array:
    """Leave-one-out decisions without a bias from the selection among candidates.

    The selection is repeated for each fold, without the errors of the fold.
    """
    ridges = selection.ridges
    n = len(ridges[0].losses)
    if not n:
        return ridges[0].held_out
    fold = generator.permutation(np.arange(n) % min(FOLDS, n))
    held_out = np.empty_like(ridges[0].held_out)
    for number in np.unique(fold):
        inside, outside = fold == number, fold != number
        best = selection.selected_on(outside) if outside.sum() > 1 else 0
        held_out[inside] = ridges[best].held_out[inside]
    return held_out


def estimate(
    held_out: Array,
    tfidf: Array,
    targets: Array,
    weights: Array,
    exclusive: bool,
    random_state: Any,
) -> Estimate:
    """Scores from held-out decisions.

    Parameters
    ----------
    held_out : decisions of the classifier, documents × classes
    tfidf : decisions of ridge on TF-IDF
    targets : targets of the same documents, ±1, or between for soft labels
    weights : how often each document counts
    exclusive : whether a document has exactly one class
    """
    if not len(targets):
        return Estimate.unknown()
    # without a seed, the interval is the same every time
    generator = check_random_state(0 if random_state is None else random_state)
    truth = _predictions(targets, exclusive)
    n = len(targets)
    rows = {
        "dCoT": held_out,
        "TF-IDF": tfidf,
        "majority class": np.tile(_majority(truth, weights, exclusive), (n, 1)),
    }
    scores = [
        _score(name, _predictions(decisions, exclusive), truth, weights, generator)
        for name, decisions in rows.items()
    ]
    return Estimate(n, *scores)


def _majority(truth: Array, weights: Array, exclusive: bool) -> Array:
    """Decisions for the most frequent class, or set of classes."""
    if exclusive:
        return np.asarray(weights @ truth)
    sets, member = np.unique(truth, axis=0, return_inverse=True)
    return np.where(sets[np.bincount(member.ravel(), weights=weights).argmax()], 1.0, -1.0)


def _predictions(decisions: Array, exclusive: bool) -> Array:
    if not exclusive:
        return decisions > 0
    return np.asarray(decisions.argmax(axis=1)[:, None] == np.arange(decisions.shape[1]))


def _score(name: str, predicted: Array, truth: Array, weights: Array, generator: Any) -> Score:
    hits = (predicted == truth).all(axis=1)
    accuracy = float(np.average(hits, weights=weights))
    # with few labels a class may be missing, as it may be among other documents
    draws = (generator.randint(0, len(hits), len(hits)) for _ in range(RESAMPLES))
    counts = weights * np.array([np.bincount(rows, minlength=len(hits)) for rows in draws])
    low, high = np.percentile(_macro_f1(predicted, truth, counts), [2.5, 97.5])
    # with many rare classes, which are harder, resamples with fewer of them are better
    macro_f1 = float(_macro_f1(predicted, truth, weights[None])[0])
    return Score(
        name,
        accuracy,
        wilson(accuracy, float(weights.sum() ** 2 / (weights @ weights))),
        macro_f1,
        (min(float(low), macro_f1), max(float(high), macro_f1)),
    )


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, measured on n documents.

    >>> low, high = wilson(0.9, 100)
    >>> round(low, 3), round(high, 3)
    (0.826, 0.945)
    """
    middle = share + Z95**2 / (2 * n)
    half = Z95 * np.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
    scale = 1 + Z95**2 / n
    return max(0.0, float(middle - half) / scale), min(1.0, float(middle + half) / scale)


def _macro_f1(predicted: Array, truth: Array, counts: Array) -> Array:
    """Means over the classes that occur; faster than scikit-learn for many resamples.

    ``counts`` are resamples × documents: how often each document was drawn.
    """
    counts = counts.astype(np.float64)
    both, guessed, real = (
        counts @ mask.astype(float) for mask in (predicted & truth, predicted, truth)
    )
    total, occurs = guessed + real, real > 0
    scores = np.divide(2 * both, total, out=np.zeros_like(both), where=occurs)
    return np.asarray(scores.sum(axis=1) / np.maximum(occurs.sum(axis=1), 1))
