"""Progress of labelling: accuracy by number of labels and per class, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier.estimate import wilson
from dcot.web.learning import (
    NO_START,
    Snapshot,
    Start,
    expected_gain,
    held_out_hits,
    learn,
    learn_rows,
)

Array = NDArray[Any]

STEP_LABELS = 25
# Labels before the first point of the curve, and documents drawn at random before any.
MIN_MEASURED_LABELS = 10
MAX_POINTS = 24
FORECAST_LABELS = 50  # labels whose gain is predicted
LITTLE_CHANGE, LITTLE_GAIN = 0.02, 0.01


@dataclass(frozen=True)
class ClassFigures:
    """The accuracy of one class.

    Attributes
    ----------
    labels : documents labelled with it
    recall : share of these that were predicted right when held out
    precision : share of the held-out predictions of the class that were right
    predicted : documents of the corpus that are predicted to be of the class
    """

    name: str
    labels: int
    recall: float | None
    precision: float | None
    predicted: int


@dataclass(frozen=True)
class Point:
    """The accuracy after a number of labels, with its 95 % interval."""

    labels: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Progress:
    """Figures for the page.

    Attributes
    ----------
    curve : accuracy on new documents like these, by number of labels. It is measured on the
        documents that were drawn at random, by classifiers that never saw them: documents that
        were suggested are more difficult than others.
    drawn : how many documents were drawn at random
    changed : share of all predictions that the last ``STEP_LABELS`` labels changed
    gain : what ``FORECAST_LABELS`` labels would probably add to the accuracy
    hint : whether to label more, in words
    doubtful : how many labels the others contradict
    """

    curve: Sequence[Point] = ()
    drawn: int = 0
    classes: Sequence[ClassFigures] = ()
    changed: float | None = None
    gain: float | None = None
    hint: str = "Label a few documents of at least two classes to see how well the classifier does."
    doubtful: int = 0


@dataclass
class CurveCache:
    """The classifiers of the latest curve, by the labels they were fitted on."""

    start: Start = NO_START
    learned: dict[int, Snapshot | None] = field(default_factory=dict)

    def learn(
        self, Z: Array, items: Sequence[tuple[int, str]], sizes: Sequence[int], start: Start
    ) -> list[Snapshot | None]:
        """A classifier from the first labels for each size; those of other sizes are forgotten."""
        before = self.learned if start is self.start else {}
        self.start, self.learned = start, {}
        for size in sizes:
            key = hash(tuple(items[:size]))
            known = before[key] if key in before else learn_rows(Z, dict(items[:size]), start)
            self.learned[key] = known
        return list(self.learned.values())


def curve_sizes(n: int) -> list[int]:
    """Numbers of labels at which the accuracy is measured.

    >>> curve_sizes(60)
    [10, 25, 50, 60]
    """
    step = STEP_LABELS * max(1, -(-n // (STEP_LABELS * MAX_POINTS)))
    return [size for size in (MIN_MEASURED_LABELS, *range(step, n, step)) if size < n] + [n] * (
        n >= MIN_MEASURED_LABELS
    )


def measure(
    Z: Array,
    labels: Mapping[int, str],
    drawn: Mapping[int, str],
    snapshot: Snapshot,
    start: Start,
    cache: CurveCache,
) -> Progress:
    """All figures for these labels; ``drawn`` are those of documents drawn at random."""
    items = list(labels.items())
    before = learn(Z, dict(items[:-STEP_LABELS]), start) if len(items) > STEP_LABELS else None
    changed = None if before is None else _changed(before, snapshot)
    gain = expected_gain(Z, labels, drawn, start, FORECAST_LABELS)
    return Progress(
        _curve(Z, items, drawn, start, cache),
        len(drawn),
        _by_class(snapshot),
        changed,
        gain,
        stop_hint(len(items), changed, gain),
        len(snapshot.issues()) if len(items) else 0,
    )


def _curve(
    Z: Array,
    items: Sequence[tuple[int, str]],
    drawn: Mapping[int, str],
    start: Start,
    cache: CurveCache,
) -> list[Point]:
    if len(drawn) < MIN_MEASURED_LABELS:
        return []
    points = []
    sizes = curve_sizes(len(items))
    for size, learned in zip(sizes, cache.learn(Z, items, sizes, start), strict=True):
        if learned is not None:
            hits = held_out_hits(Z, learned, drawn)
            value = float(hits.mean())
            points.append(Point(size, value, *wilson(value, len(hits))))
    return points


def _changed(before: Snapshot, now: Snapshot) -> float:
    old = np.asarray(before.classes)[before.best]
    return float((old != np.asarray(now.classes)[now.best]).mean())


def _by_class(snapshot: Snapshot) -> list[ClassFigures]:
    held_out = snapshot.held_out.argmax(axis=1)
    predicted = np.bincount(snapshot.best, minlength=len(snapshot.classes))
    figures = []
    for column, name in enumerate(snapshot.classes):
        labelled, said = snapshot.codes == column, held_out == column
        both = int((labelled & said).sum())
        figures.append(
            ClassFigures(
                name,
                int(labelled.sum()),
                both / int(labelled.sum()) if labelled.any() else None,
                both / int(said.sum()) if said.any() else None,
                int(predicted[column]),
            )
        )
    return figures


def stop_hint(n: int, changed: float | None, gain: float | None) -> str:
    """Advice on whether to label more.

    >>> stop_hint(100, 0.005, 0.002)
    'The last 25 labels changed 0.5 % of the predictions. Another 50 would probably add 0.2 points \
of accuracy. You can stop here.'
    """
    if changed is None:
        return _no_hint(n)
    text = f"The last {STEP_LABELS} labels changed {100 * changed:.1f} % of the predictions."
    if gain is None:
        return f"{text} Go on: there are too few labels to say what more would add."
    text += f" Another {FORECAST_LABELS} would probably add {100 * gain:.1f} points of accuracy."
    if changed <= LITTLE_CHANGE and gain <= LITTLE_GAIN:
        return f"{text} You can stop here."
    return f"{text} It is worth going on."


def _no_hint(n: int) -> str:
    """Why there is no hint yet: few labels, or nothing could be learned before the last ones."""
    left = STEP_LABELS + 1 - n
    if left > STEP_LABELS:
        return ""
    if left > 0:
        labels = "1 more label" if left == 1 else f"{left} more labels"
        return f"{labels} until the first hint on when to stop."
    return (
        f"All labels before the last {STEP_LABELS} are of one class. The first hint on when to "
        "stop follows when they are of two."
    )
