"""How far one system is above another over the same draws, and whether that is significant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from dcot.bench.experiments.accuracy import ALL, NAME
from dcot.bench.protocol import RIDGE, SVM, mcnemar
from dcot.bench.report.results import Results, systems_of
from dcot.bench.store import Cell
from dcot.bench.systems import FEATURES, OURS, PAPER, PRETRAINED, WITH

SIGNIFICANT = 0.05
METRICS = {"accuracy": "Accuracy", "macro_f1": "Macro-F1"}


@dataclass(frozen=True)
class Gain:
    """Points by which one system is above another; p is NaN where it cannot be tested."""

    points: float
    p: float

    @property
    def significant(self) -> bool:
        """Whether it is more than chance among draws, or documents, explains."""
        return self.p < SIGNIFICANT

    @property
    def tested(self) -> str:
        """The result of the test, to be put after something.

        >>> Gain(1.25, 0.123).tested, Gain(-2.0, 0.0004).tested
        (', p 0.12', ', p < 0.01')
        """
        if not np.isfinite(self.p):
            return ""
        return f", p {self.p:.2f}" if self.p >= 0.01 else ", p < 0.01"


def points(value: float) -> str:
    """A difference as tables show it, never a negative zero.

    >>> points(1.25), points(-0.01)
    ('+1.2', '+0.0')
    """
    return f"{round(value, 1) + 0.0:+.1f}"


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Gain | None:
    """Over the draws that both have, by a paired t-test; None if they share none."""
    draws = sorted(ours.keys() & theirs.keys())
    if not draws:
        return None
    differences = np.array([ours[draw] - theirs[draw] for draw in draws])
    p = np.nan
    if not differences.any():
        p = 1.0
    elif len(draws) > 1 and np.ptp(differences) > 0:
        p = float(ttest_rel([ours[d] for d in draws], [theirs[d] for d in draws]).pvalue)
    return Gain(100 * float(differences.mean()), p)


def gain(ours: Iterable[Cell], theirs: Iterable[Cell], metric: str = "accuracy") -> Gain | None:
    """Of some cells over others that differ in the system only.

    With all labels there is one draw, and documents are paired instead: McNemar's exact test.
    """
    one = {cell.key["draw"]: cell.result for cell in ours}
    other = {cell.key["draw"]: cell.result for cell in theirs}
    found = paired(
        {draw: result[metric] for draw, result in one.items()},
        {draw: result[metric] for draw, result in other.items()},
    )
    if found is None or metric != "accuracy" or not one.keys() == other.keys() == {0}:
        return found
    hits = [side[0]["hits"] for side in (one, other) if "hits" in side[0]]
    return Gain(found.points, mcnemar(hits[0], hits[1])) if len(hits) == 2 else found


def rivals_of(cells: Iterable[Cell]) -> list[str]:
    """Systems that learn from the same documents and are not dCoT's."""
    others = {PAPER, FEATURES, OURS, *PRETRAINED, *WITH}
    return [name for name in systems_of(cells) if name not in others]


def best_of(cells: Sequence[Cell], metric: str) -> list[Cell]:
    """Cells of the system and classifier that turned out best on the test documents."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        place = (cell.key["system"], cell.key.get("classifier", ""))
        found.setdefault(place, []).append(cell)
    return max(found.values(), key=lambda group: np.mean([c.result[metric] for c in group]))


@dataclass(frozen=True)
class Comparison:
    """dCoT against the best rival in one cell of the table."""

    corpus: str
    labels: int | str
    metric: str
    rival: str
    gain: Gain

    def __str__(self) -> str:
        where = f"{self.corpus} with {self.labels} labels"
        return f"{where}, {points(self.gain.points)} against {self.rival}{self.gain.tested}"


def comparisons(results: Results, metric: str = "accuracy") -> Iterator[Comparison]:
    """dCoT against the rival that turned out best, on every corpus and with every budget.

    Rivals with an SVM count where they have the same labels: everywhere, as C is chosen on them.
    """
    for corpus in results.corpora_of(NAME, system=OURS, classifier=RIDGE):
        cells = results.few_labels(corpus)
        among = [cell for cell in cells if cell.key["system"] in rivals_of(cells)]
        for labels in _labels(cell for cell in cells if cell.key["system"] == OURS):
            ours = [c for c in cells if c.key["system"] == OURS and c.key["labels"] == labels]
            theirs = [cell for cell in among if cell.key["labels"] == labels]
            if theirs:
                best = best_of(theirs, metric)
                found = gain(ours, best, metric)
                if found is not None:
                    yield Comparison(corpus, labels, metric, title_of(best[0]), found)


def title_of(cell: Cell) -> str:
    """A system, with its classifier unless that is the usual ridge."""
    name = str(cell.key["system"])
    return f"{name} + SVM" if cell.key.get("classifier") == SVM else name


def _labels(cells: Iterable[Cell]) -> list[Any]:
    found = {cell.key["labels"] for cell in cells}
    return sorted(found, key=lambda labels: (labels == ALL, labels if labels != ALL else 0))


def verdict(results: Results) -> list[str]:
    """The main result in a few sentences: wins, losses, and where no difference was found."""
    said = []
    for metric, measure in METRICS.items():
        found = list(comparisons(results, metric))
        if not found:
            continue
        lost = [c for c in found if c.gain.significant and c.gain.points < 0]
        won = [c for c in found if c.gain.significant and c.gain.points > 0]
        if metric == "accuracy":
            text = (
                "No rival trained on the same documents is significantly more accurate than dCoT"
                if not lost
                else f"A rival trained on the same documents is significantly more accurate than "
                f"dCoT in {len(lost)} of {len(found)} cells ({'; '.join(map(str, lost))})"
            )
        else:
            text = (
                f"{measure}: a rival is significantly better in {len(lost)} of {len(found)} cells"
            )
            if lost:
                text += f" ({'; '.join(map(str, lost))})"
        level = len(found) - len(won) - len(lost)
        said.append(
            f"{text}. dCoT is significantly better than the best rival in {len(won)} of "
            f"{len(found)} cells; in {level} there is no significant difference."
        )
    return said
