"""Find problems in a corpus: copies, outliers, and labels that may be wrong.

The labels are those that held-out decisions contradict. The decisions come from the fit, so they
cost nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier.calibration import probabilities
from dcot.classifier.fit import FittedClassifier
from dcot.core.centred import Matrix
from dcot.errors import InvalidInputError
from dcot.runtime.extras import require, series

Array = NDArray[Any]

NEIGHBOURS = 10
SIMILAR_VECTORS, SIMILAR_WORDS = 0.9, 0.75  # cosines from which a document is a near copy
ALONE_DEVIATIONS = 4.0  # below the median similarity, in robust standard deviations
_BLOCK_CELLS = 1 << 24  # similarities in memory at a time


@dataclass(frozen=True)
class Copy:
    """A document that repeats an earlier one; ``similarity`` is 1 if every character is equal."""

    row: int
    of: int
    similarity: float


def exact_copies(texts: Sequence[str]) -> list[Copy]:
    """Documents with the same text as an earlier one.

    >>> exact_copies(["a", "b", "a"])
    [Copy(row=2, of=0, similarity=1.0)]
    """
    first: dict[str, int] = {}
    found = []
    for row, text in enumerate(texts):
        place = first.setdefault(text, row)
        if place != row and text.strip():
            found.append(Copy(row, place, 1.0))
    return found


@dataclass(frozen=True)
class Neighbours:
    """The nearest other documents of each document; rows × neighbours, the nearest first."""

    rows: Array
    cosines: Array


def neighbours(Z: Array, k: int = NEIGHBOURS) -> Neighbours:
    """The k nearest other documents of each document, by the cosine of their vectors."""
    n = len(Z)
    k = min(k, n - 1)
    lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    unit = Z / np.where(lengths > 0, lengths, 1.0)[:, None]
    rows, cosines = np.empty((n, k), dtype=np.intp), np.empty((n, k), dtype=Z.dtype)
    step = max(1, _BLOCK_CELLS // n)
    for start in range(0, n, step):
        block = slice(start, min(start + step, n))
        near = unit[block] @ unit.T
        near[np.arange(near.shape[0]), np.arange(block.start, block.stop)] = -np.inf
        top = np.argpartition(-near, k - 1, axis=1)[:, :k] if k else rows[block]
        values = np.take_along_axis(near, top, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        rows[block] = np.take_along_axis(top, order, axis=1)
        cosines[block] = np.take_along_axis(values, order, axis=1)
    return Neighbours(rows, cosines)


def near_copies(X: Matrix, near: Neighbours, skip: Sequence[int] = ()) -> list[Copy]:
    """Documents that share most of their words with an earlier one, the most similar first.

    Parameters
    ----------
    X : weighted terms of the documents, CSR
    near : their neighbours
    skip : rows to leave out, such as exact copies
    """
    left_out = set(skip)
    pairs = np.argwhere(near.cosines >= SIMILAR_VECTORS)
    best: dict[int, Copy] = {}
    for row, place in pairs:
        other = int(near.rows[row, place])
        if other >= row or int(row) in left_out or other in left_out:
            continue
        copy = Copy(int(row), other, _cosine(X, int(row), other))
        before = best.get(copy.row)
        if copy.similarity >= max(SIMILAR_WORDS, before.similarity if before else 0.0):
            best[copy.row] = copy
    return sorted(best.values(), key=lambda copy: (-copy.similarity, copy.row))


def _cosine(X: Matrix, row: int, other: int) -> float:
    a, b = X[[row]], X[[other]]
    product = float(a.multiply(b).sum())
    length = float(np.sqrt(a.multiply(a).sum() * b.multiply(b).sum()))
    return product / length if length > 0 else 0.0


def alone(near: Neighbours, known: Array) -> Array:
    """Rows of outliers, the most extreme first.

    Their mean similarity to their neighbours is far below that of other documents.

    Parameters
    ----------
    near : neighbours of all documents
    known : whether each document has a known word; the others are left out
    """
    if near.cosines.shape[1] == 0 or not known.any():
        return np.empty(0, dtype=np.intp)
    similarity = near.cosines.mean(axis=1)
    usual = float(np.median(similarity[known]))
    spread = 1.4826 * float(np.median(np.abs(similarity[known] - usual)))
    rows = np.flatnonzero(known & (similarity < usual - ALONE_DEVIATIONS * spread))
    return np.asarray(rows[np.argsort(similarity[rows], kind="stable")])


# -- labels -------------------------------------------------------------------------------------


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
