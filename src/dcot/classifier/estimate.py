"""An honest word on how good a classifier is, from the labelled documents alone.

Every labelled document is predicted by a model that never saw it (closed-form leave-one-out). So
that choosing the setting does not flatter the figure, the choice is made again for each fold,
without the fold's own errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.utils import check_random_state

from dcot.classifier.ridge import KernelRidge
from dcot.classifier.selection import Choice, best_of

Array = NDArray[Any]

FOLDS = 10
RESAMPLES = 400


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
    """Scores of dCoT, TF-IDF and the majority class on the same held-out documents."""

    n: int
    dcot: Score
    tfidf: Score
    majority: Score

    @property
    def beaten(self) -> bool:
        """Whether TF-IDF did as well or better."""
        return self.tfidf.accuracy >= self.dcot.accuracy

    def sentence(self) -> str:
        low, high = self.dcot.accuracy_interval
        return (
            f"Expect an accuracy of {100 * self.dcot.accuracy:.1f} % on new documents like these "
            f"(95 % interval {100 * low:.1f} to {100 * high:.1f}, from {self.n} held-out "
            f"predictions); TF-IDF reached {100 * self.tfidf.accuracy:.1f} %, the majority class "
            f"{100 * self.majority.accuracy:.1f} %."
        )

    def warning(self) -> str:
        return (
            f"dCoT ({100 * self.dcot.accuracy:.1f} %) does not beat TF-IDF "
            f"({100 * self.tfidf.accuracy:.1f} %) on these {self.n} labelled documents: more "
            "unlabelled documents may help, or TF-IDF may be all that is needed here"
        )

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


def estimate(
    choice: Choice, targets: Array, tfidf: KernelRidge, exclusive: bool, random_state: Any
) -> Estimate:
    """Scores from held-out decisions; ``targets`` are ±1, documents × classes."""
    generator = check_random_state(random_state)
    n = len(targets)
    fold = generator.permutation(np.arange(n) % min(FOLDS, n))
    losses = np.array([candidate.ridge.losses for candidate in choice.candidates])
    weights = choice.ridge.weights
    held_out = np.empty_like(targets)
    for number in np.unique(fold):
        inside, outside = fold == number, fold != number
        taken = best_of(losses[:, outside], weights[outside]) if outside.sum() > 1 else 0
        held_out[inside] = choice.candidates[taken].ridge.held_out[inside]
    counts = (targets > 0).sum(axis=0)
    others = counts - (targets > 0)  # the majority, too, must not see the document itself
    rows = {"dCoT": held_out, "TF-IDF": tfidf.held_out, "majority class": others - n / 2}
    scores = [
        _score(name, _predictions(decisions, exclusive), targets > 0, exclusive, generator)
        for name, decisions in rows.items()
    ]
    return Estimate(n, *scores)


def _predictions(decisions: Array, exclusive: bool) -> Array:
    if not exclusive:
        return decisions > 0
    return np.asarray(decisions.argmax(axis=1)[:, None] == np.arange(decisions.shape[1]))


def _score(name: str, predicted: Array, truth: Array, exclusive: bool, generator: Any) -> Score:
    hits = (predicted == truth).all(axis=1)
    interval = binomtest(int(hits.sum()), len(hits)).proportion_ci(method="wilson")
    resampled = [
        _macro_f1(predicted[rows], truth[rows])
        for rows in _resamples(truth.argmax(axis=1) if exclusive else None, len(hits), generator)
    ]
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Score(
        name,
        float(hits.mean()),
        (float(interval.low), float(interval.high)),
        _macro_f1(predicted, truth),
        (float(low), float(high)),
    )


def _resamples(codes: Array | None, n: int, generator: Any) -> Iterator[Array]:
    """Documents drawn with replacement; within their class, so that no class gets lost."""
    codes = np.zeros(n, dtype=np.intp) if codes is None else codes
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = (np.cumsum(sizes) - sizes)[codes[order]]
    for _ in range(RESAMPLES):
        yield order[starts + (generator.random_sample(n) * sizes[codes[order]]).astype(np.intp)]


def _macro_f1(predicted: Array, truth: Array) -> float:
    """Mean over the classes that occur; quicker than scikit-learn's for many resamples."""
    both = (predicted & truth).sum(axis=0)
    total = predicted.sum(axis=0) + truth.sum(axis=0)
    occurs = truth.any(axis=0)
    scores = np.divide(2.0 * both, total, out=np.zeros(len(both)), where=total > 0)
    return float(scores[occurs].mean()) if occurs.any() else 0.0
