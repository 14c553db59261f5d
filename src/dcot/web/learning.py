"""What has been learned from the labels so far: a classifier on the vectors of the documents.

``learn`` takes vectors, labels and what else is known (``Start``), and returns a frozen
``Snapshot``. It takes milliseconds for hundreds of labels, so it is repeated after every few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier.audit import LabelIssues, find_label_issues
from dcot.classifier.calibration import calibrate, log_losses, probabilities
from dcot.classifier.ridge import KernelRidge, signs
from dcot.classifier.selection import EMBEDDING_WEIGHTS, weight_of
from dcot.classifier.suggestion import most_informative, uncertainty

Array = NDArray[Any]

POOL_DOCUMENTS = 1000  # documents that are compared when the next ones are chosen
_BLOCK = 50_000  # documents that are classified at a time
_FORECAST_DRAWS = 8  # of some of the labels, for a forecast


@dataclass(frozen=True)
class Prior:
    """The classifier that labelling started from, on the vectors of the documents.

    Attributes
    ----------
    classes : names, in the order of the columns
    coef, intercept, temperature, calibrated, alpha : as in ``Snapshot``
    anchors : vectors of some documents, on which its decisions are kept: it was learned from
        labels too, and the first few of others should not overrule them everywhere
    """

    classes: tuple[str, ...]
    coef: Array
    intercept: Array
    temperature: float
    calibrated: bool
    alpha: float
    anchors: Array

    def columns(self, classes: Sequence[str]) -> tuple[Array, Array]:
        """Coefficients and intercept for these classes; unknown ones are never predicted."""
        coef = np.zeros((len(self.coef), len(classes)), dtype=self.coef.dtype)
        intercept = np.full(len(classes), -1.0)
        for column, name in enumerate(classes):
            if name in self.classes:
                known = self.classes.index(name)
                coef[:, column], intercept[column] = self.coef[:, known], self.intercept[known]
        return coef, intercept

    def renamed(self, names: Mapping[str, str]) -> Prior | None:
        """With other names. Classes of one name become one, a class without a name is left out."""
        kept = [name for name in self.classes if name in names]
        classes = tuple(dict.fromkeys(names[name] for name in kept))
        if not classes:
            return None
        parts = [[self.classes.index(o) for o in kept if names[o] == name] for name in classes]
        coef = np.stack([self.coef[:, part].sum(axis=1) for part in parts], axis=1)
        # targets are ±1: those of a joined class are the sum of the parts' plus one for each more
        intercept = np.array([self.intercept[part].sum() + len(part) - 1 for part in parts])
        return replace(self, classes=classes, coef=coef, intercept=intercept)


@dataclass(frozen=True)
class Start:
    """What is known in addition to the labels.

    Attributes
    ----------
    seeds : vectors of each class's seed words; a word is one more document, as in
        ``DCoTClassifier.fit``
    prior : a classifier that was given; what is learned is the difference to its decisions
    n_beside : number of columns, the last ones, that come from an embedding; their weight is chosen
    """

    seeds: Mapping[str, Array] = field(default_factory=dict)
    prior: Prior | None = None
    n_beside: int = 0


NO_START = Start()


@dataclass(frozen=True)
class Snapshot:
    """A classifier, and what it says about every document.

    Attributes
    ----------
    classes : names, in the order of the columns
    coef, intercept : decisions are ``Z @ coef + intercept``
    temperature, calibrated : of the probabilities, and whether labels sufficed to learn it
    alpha : strength of the ridge
    scale : what the columns of the vectors are multiplied by, in inner products
    rows, codes : the labelled documents and the columns of their classes, in labelling order
    held_out : decisions for these by models that never saw them
    best : column of the predicted class of every document
    doubt : between 0 and 1, large where the best two classes are close
    """

    classes: tuple[str, ...]
    coef: Array
    intercept: Array
    temperature: float
    calibrated: bool
    alpha: float
    scale: Array
    rows: Array
    codes: Array
    held_out: Array
    best: Array
    doubt: Array

    def probabilities(self, Z: Array) -> Array:
        return probabilities(Z @ self.coef + self.intercept, self.temperature, True)

    def weights_for(self, name: str, vector: Array) -> Array:
        """Weights of the decision for a class against the best other one for a document."""
        column = self.classes.index(name)
        decisions = vector @ self.coef + self.intercept
        other = next(k for k in np.argsort(-decisions, kind="stable") if k != column)
        return np.asarray(self.coef[:, column] - self.coef[:, other])

    @property
    def targets(self) -> Array:
        """±1, labelled documents × classes."""
        return signs(self.codes, len(self.classes))

    def issues(self) -> LabelIssues:
        return find_label_issues(self.held_out, self.targets, self.temperature)


def learn(Z: Array, labels: Mapping[int, str], start: Start = NO_START) -> Snapshot | None:
    """Learn from labels and from what else is known; None with fewer than two classes.

    Parameters
    ----------
    Z : vectors of all documents
    labels : class by row, in labelling order
    start : seed words, and a classifier that was given
    """
    names = [*labels.values(), *(name for name, words in start.seeds.items() for _ in words)]
    prior = start.prior
    classes = tuple(sorted({*names, *(prior.classes if prior is not None else ())}))
    if len(classes) < 2:
        return None
    codes = np.array([classes.index(name) for name in names], dtype=np.intp)
    rows, n = np.fromiter(labels, dtype=np.intp, count=len(labels)), len(labels)
    features = np.vstack([Z[rows], *start.seeds.values()])
    targets = signs(codes, len(classes))
    coef, intercept = np.zeros((Z.shape[1], len(classes)), dtype=Z.dtype), np.zeros(len(classes))
    if prior is not None:
        coef, intercept = prior.columns(classes)
        features = np.vstack([features, prior.anchors])
    offset = features @ coef + intercept
    missing = np.zeros_like(offset)
    missing[: len(names)] = targets - offset[: len(names)]
    scale, held_out = np.ones(Z.shape[1], dtype=Z.dtype), np.zeros((0, len(classes)))
    alpha = 1.0 if prior is None else prior.alpha
    if len(names):
        ridge, scale = _ridge(features, missing, offset[:n], targets[:n], start.n_beside)
        held_out, alpha = ridge.held_out + offset[:n], ridge.alpha
        coef = coef + scale[:, None] ** 2 * (features.T @ ridge.dual.astype(features.dtype))
        intercept = intercept + ridge.intercept
    temperature, calibrated = calibrate(held_out, targets[:n], np.ones(n), True)
    if prior is not None and not calibrated:
        temperature, calibrated = prior.temperature, prior.calibrated
    coef = np.ascontiguousarray(coef)
    best, doubt = _classified(Z, coef, intercept)
    return Snapshot(
        classes,
        coef,
        intercept,
        temperature,
        calibrated,
        alpha,
        scale,
        rows,
        codes[:n],
        held_out,
        best,
        doubt,
    )


def _ridge(
    features: Array, missing: Array, offset: Array, targets: Array, n_beside: int
) -> tuple[KernelRidge, Array]:
    """The ridge on labelled documents and what comes after them, and the scale of the columns.

    ``missing`` is what is left to learn, ``offset`` and ``targets`` are the decisions before and
    the targets of the labelled documents. The weight of an embedding is chosen as in
    ``DCoTClassifier``.
    """
    n = len(targets)
    split = features.shape[1] - n_beside
    weights = EMBEDDING_WEIGHTS if n_beside else (1.0,)
    scales = np.ones((len(weights), features.shape[1]), dtype=features.dtype)
    scales[:, split:] = np.sqrt(weights)[:, None]
    ridges = [KernelRidge.from_features(features * scale, missing, n) for scale in scales]
    chosen = 0
    if n and n_beside:
        ones = np.ones(n)
        losses = [log_losses(ridge.held_out + offset, targets, ones, True) for ridge in ridges]
        chosen = weight_of(np.array(losses), ones)
    return ridges[chosen], scales[chosen]


def _classified(Z: Array, coef: Array, intercept: Array) -> tuple[Array, Array]:
    """The best class and the doubt about it, for every document."""
    n = len(Z)
    best, margins = np.empty(n, dtype=np.intp), np.empty((n, 2))
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        decisions = Z[part] @ coef + intercept
        best[part] = decisions.argmax(axis=1)
        margins[part] = np.partition(decisions, -2, axis=1)[:, -2:]
    return best, uncertainty(margins, True)


def choose_next(
    snapshot: Snapshot, Z: Array, among: Array, k: int, generator: np.random.RandomState
) -> Array:
    """Rows to label next: uncertain ones that say the most about the others."""
    if len(among) <= POOL_DOCUMENTS:
        pool = among
    else:
        order = among[np.argsort(-snapshot.doubt[among], kind="stable")]
        doubtful, rest = order[: POOL_DOCUMENTS // 2], order[POOL_DOCUMENTS // 2 :]
        pool = np.concatenate(
            [doubtful, generator.choice(rest, POOL_DOCUMENTS // 2, replace=False)]
        )
    labelled, new = Z[snapshot.rows] * snapshot.scale, Z[pool] * snapshot.scale
    if not len(labelled):  # no labels: a row of zeros has no effect
        labelled = np.zeros((1, Z.shape[1]), dtype=Z.dtype)
    k = min(k, len(pool))
    chosen = most_informative([new], [labelled], snapshot.doubt[pool], snapshot.alpha, k)
    return np.asarray(pool[chosen])


# -- how good it is -------------------------------------------------------------------------


def held_out_hits(Z: Array, snapshot: Snapshot, drawn: Mapping[int, str]) -> Array:
    """Whether documents drawn at random are predicted right by a model that never saw them.

    Parameters
    ----------
    Z : vectors of all documents
    snapshot : the classifier; it may have learned from some of the drawn documents
    drawn : classes of the drawn documents by row
    """
    place = {int(row): k for k, row in enumerate(snapshot.rows)}
    rows = np.fromiter(drawn, dtype=np.intp, count=len(drawn))
    decisions = Z[rows] @ snapshot.coef + snapshot.intercept
    for k, row in enumerate(rows):
        if int(row) in place:
            decisions[k] = snapshot.held_out[place[int(row)]]
    found = np.asarray(snapshot.classes)[decisions.argmax(axis=1)]
    return np.asarray(found == np.asarray(list(drawn.values())))


def expected_gain(
    Z: Array,
    labels: Mapping[int, str],
    drawn: Mapping[int, str],
    start: Start = NO_START,
    more: int = 50,
) -> float | None:
    """The accuracy that ``more`` labels would probably add; None if there are too few to tell.

    Classifiers learn from a quarter, a half and all of the labels. Their errors on the documents
    drawn at random are fitted by a power of the number of labels.
    """
    items, generator = list(labels.items()), np.random.RandomState(0)
    n = len(items)
    if n < 40 or len(drawn) < 10:
        return None
    sizes, errors = [], []
    for size, repeats in ((n // 4, _FORECAST_DRAWS), (n // 2, _FORECAST_DRAWS), (n, 1)):
        misses = []
        for _ in range(repeats):
            some = dict(items[place] for place in generator.permutation(n)[:size])
            learned = learn_rows(Z, some, start)
            if learned is not None:
                missed = len(drawn) - int(held_out_hits(Z, learned, drawn).sum())
                misses.append((missed + 0.5) / (len(drawn) + 1))  # none seen is not none there
        if misses:
            sizes.append(size)
            errors.append(float(np.mean(misses)))
    return _extrapolated(sizes, errors, more) if len(sizes) == 3 else None


def learn_rows(Z: Array, labels: Mapping[int, str], start: Start = NO_START) -> Snapshot | None:
    """The same as ``learn``, but only the labelled documents are classified."""
    rows = np.fromiter(labels, dtype=np.intp, count=len(labels))
    learned = learn(Z[rows], dict(enumerate(labels.values())), start)
    return None if learned is None else replace(learned, rows=rows)


def _extrapolated(sizes: Sequence[int], errors: Sequence[float], more: int) -> float:
    """The decrease of the error from the last size to ``more`` labels beyond it.

    >>> round(_extrapolated([25, 50, 100], [0.4, 0.2, 0.1], 100), 3)
    0.05
    """
    power = min(0.0, float(np.polyfit(np.log(sizes), np.log(errors), 1)[0]))
    return float(errors[-1] * (1 - (1 + more / sizes[-1]) ** power))
