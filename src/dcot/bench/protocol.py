"""How systems are judged: equal draws, settings from training labels, one look at the test.

Nothing in here is ever given a test label except `score`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from dcot.bench.machines import Blocks, Span, products
from dcot.classifier.model import JUDGED
from dcot.classifier.ridge import KernelRidge, solve_ridge, targets_of
from dcot.classifier.selection import best_of

Array = NDArray[Any]

VALIDATION_SHARE = 0.2
SEED = 11
# The C of the SVM, on features of mean squared length one; the first is tried with all settings.
STRENGTHS = (10.0, 0.1, 1.0, 100.0)
# Settings are compared with at most so many labelled documents.
COMPARED = 1000
WORTH_THREADS = 1000


@dataclass(frozen=True)
class Candidate:
    """A representation with one setting: features of training and test documents."""

    setting: dict[str, Any]
    blocks: Blocks


@dataclass(frozen=True)
class Chosen:
    """A setting and strength, and how well they did on training labels."""

    candidate: int
    strength: float
    score: float


@dataclass(frozen=True)
class Judgement:
    """Predicted labels and how they came about."""

    predicted: Array
    setting: dict[str, Any]
    strength: float
    score: float


def draws(n_train: int, count: int) -> list[Array]:
    """Orders of the training documents; the first b of a draw are labelled with a budget of b.

    The last fifth of a draw is its validation set, where there is one.
    """
    return [np.random.default_rng([SEED, draw]).permutation(n_train) for draw in range(count)]


def score(truth: Array, predicted: Array) -> dict[str, float]:
    """Accuracy, and macro-F1 over the classes of the test documents, those never learned too."""
    classes = np.unique(truth)
    f1 = f1_score(truth, predicted, labels=classes, average="macro", zero_division=0)
    return {"accuracy": float(np.mean(predicted == truth)), "macro_f1": float(f1)}


def hits(truth: Array, predicted: Array) -> str:
    """Which documents were right, a bit each, for tests that pair them."""
    return np.packbits(predicted == truth).tobytes().hex()


def mcnemar(ours: str, theirs: str) -> float:
    """Two-sided p that systems with these `hits` are equally good, by McNemar's exact test.

    >>> round(mcnemar("ff00", "f000"), 3)
    0.125
    """
    one, other = (np.unpackbits(np.frombuffer(bytes.fromhex(h), np.uint8)) for h in (ours, theirs))
    won, lost = int(np.sum(one > other)), int(np.sum(one < other))
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


class Validation:
    """The paper's way: a linear SVM, everything chosen on a validation set.

    A fifth of the training documents is the validation set; its labels choose the setting and C,
    and are not learned from (except with all labels, where the chosen setting is learned again
    from the whole training set). The paper gives neither the size of the set nor C nor how it
    searched. Here: C for the first setting, then the setting for that C, then C again. One
    instance serves one list of candidates: it remembers what it chose.
    """

    name = "validation"
    title = "linear SVM, chosen on a validation set"

    def __init__(self, *, prior: bool = False, strengths: Sequence[float] = STRENGTHS) -> None:
        self.strengths = tuple(strengths)
        self._chosen: dict[bytes, Chosen] = {}

    def judge(
        self, candidates: Sequence[Candidate], labels: Array, order: Array, budget: int, n_test: int
    ) -> Judgement:
        """Predict the test documents, whose rows follow those of the training documents.

        Parameters
        ----------
        candidates : the first is the default
        labels : of the training documents
        order : a draw
        budget : number of labelled documents
        n_test : number of test documents
        """
        with threads_for(budget):
            return self._judge(candidates, labels, order, budget, n_test)

    def _judge(
        self, candidates: Sequence[Candidate], labels: Array, order: Array, budget: int, n_test: int
    ) -> Judgement:
        n = len(order)
        held = min(max(1, round(VALIDATION_SHARE * n)), n - 1)
        learned = order[: min(budget, n - held, COMPARED)]
        chosen = self._choose(candidates, labels, learned, order[n - held :])
        candidate = candidates[chosen.candidate]
        labelled = order[:budget]
        span = Span(candidate.blocks, labelled)
        test = span.coordinates(np.arange(n, n + n_test))
        predicted = span.predict(labels[labelled], chosen.strength, test)
        return Judgement(predicted, candidate.setting, chosen.strength, chosen.score)

    def _choose(
        self, candidates: Sequence[Candidate], labels: Array, learned: Array, held: Array
    ) -> Chosen:
        # Budgets above COMPARED share their comparison: it is made once a draw.
        key = np.concatenate([learned, [-1], held]).tobytes()
        if key in self._chosen:
            return self._chosen[key]

        @lru_cache(maxsize=1)  # strengths of one candidate come after another
        def span(candidate: int) -> tuple[Span, Any]:
            prepared = Span(candidates[candidate].blocks, learned)
            return prepared, prepared.coordinates(held)

        def judged(candidate: int, strength: float) -> float:
            prepared, coordinates = span(candidate)
            predicted = prepared.predict(labels[learned], strength, coordinates)
            return float(np.mean(predicted == labels[held]))

        self._chosen[key] = search(len(candidates), self.strengths, judged)
        return self._chosen[key]


class LeaveOneOut:
    """Our way: a ridge classifier, everything chosen by leave-one-out on the labelled documents.

    No label beyond the budget is used: this is what somebody with few labels can do. With
    ``prior``, another setting replaces the first only if it is better by more than one standard
    error, as in ``DCoTClassifier``.
    """

    name = "leave-one-out"
    title = "ridge, chosen by leave-one-out on the labelled documents"

    def __init__(self, *, prior: bool = False) -> None:
        self.prior = prior

    def judge(
        self, candidates: Sequence[Candidate], labels: Array, order: Array, budget: int, n_test: int
    ) -> Judgement:
        """As `Validation.judge`."""
        with threads_for(budget):
            return self._judge(candidates, labels, order, budget, n_test)

    def _judge(
        self, candidates: Sequence[Candidate], labels: Array, order: Array, budget: int, n_test: int
    ) -> Judgement:
        labelled = order[:budget]
        classes, targets = targets_of(labels[labelled])
        some = np.arange(len(labelled))
        if len(some) > JUDGED:
            some = np.sort(np.random.default_rng(SEED).choice(some, JUDGED, replace=False))
        rows = labelled[some]
        fits = [KernelRidge.fit(products(c.blocks, rows, rows), targets[some]) for c in candidates]
        losses = np.array([fit.losses for fit in fits])
        if self.prior:
            best = best_of(losses, np.ones(len(some)))
        else:
            best = int(losses.mean(axis=1).argmin())
        blocks, fit = candidates[best].blocks, fits[best]
        if len(rows) == len(labelled):
            dual, intercept = fit.dual, fit.intercept
        else:
            kernel = products(blocks, labelled, labelled)
            dual, intercept = solve_ridge(kernel, targets, fit.alpha)
        test = np.arange(len(order), len(order) + n_test)
        decisions = products(blocks, test, labelled, np.float32) @ dual + intercept
        hits = fit.held_out.argmax(axis=1) == targets[some].argmax(axis=1)
        predicted = classes[decisions.argmax(axis=1)]
        return Judgement(predicted, candidates[best].setting, fit.strength, float(hits.mean()))


def threads_for(budget: int) -> Any:
    """One thread for small matrices: two would wait for each other."""
    return threadpool_limits(1 if budget < WORTH_THREADS else None)


def search(n: int, strengths: Sequence[float], judged: Callable[[int, float], float]) -> Chosen:
    """The best of n settings and some strengths, one coordinate at a time; the first of equals."""
    best = max((Chosen(0, c, judged(0, c)) for c in strengths), key=lambda found: found.score)
    first = best.strength
    for candidate in range(1, n):
        found = Chosen(candidate, first, judged(candidate, first))
        best = max(best, found, key=lambda chosen: chosen.score)
    if best.candidate:
        for strength in strengths:
            if strength != first:
                found = Chosen(best.candidate, strength, judged(best.candidate, strength))
                best = max(best, found, key=lambda chosen: chosen.score)
    return best


Way = Validation | LeaveOneOut
WAYS: dict[str, type[Validation] | type[LeaveOneOut]] = {
    Validation.name: Validation,
    LeaveOneOut.name: LeaveOneOut,
}
