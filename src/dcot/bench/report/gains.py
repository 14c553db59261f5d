"""How far one system is above another over the same draws, and whether draws tell them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from dcot.bench.protocol import mcnemar
from dcot.bench.report.results import Results

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Gain:
    """Points in which one system is above another; p is NaN where it cannot be tested."""

    points: float
    p: float

    @property
    def sure(self) -> bool:
        """Whether it is more than the draws make by themselves."""
        return self.p < SIGNIFICANT

    @property
    def tested(self) -> str:
        """What the test says, to be put after something.

        >>> Gain(1.25, 0.123).tested, Gain(-2.0, 0.0004).tested
        (', p 0.12', ', p < 0.01')
        """
        if not np.isfinite(self.p):
            return ""
        return f", p {self.p:.2f}" if self.p >= 0.01 else ", p < 0.01"


def points(value: float) -> str:
    """A difference as tables show it, never a negative nothing.

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


def gain(
    results: Results,
    experiment: str,
    label: Any,
    ours: str,
    theirs: str,
    metric: str = "accuracy",
    **options: Any,
) -> Gain | None:
    """Of one system over another with so many labels.

    Where there is one draw, with all labels, documents are paired instead: McNemar's exact test.
    """

    def of(system: str) -> dict[int, dict[str, Any]]:
        cells = results.select(experiment, system=system, labels=label, **options)
        return {cell.key["draw"]: cell.result for cell in cells}

    one, other = of(ours), of(theirs)
    found = paired(
        {draw: result[metric] for draw, result in one.items()},
        {draw: result[metric] for draw, result in other.items()},
    )
    if found is None or metric != "accuracy" or not one.keys() == other.keys() == {0}:
        return found
    hits = [side[0]["hits"] for side in (one, other) if "hits" in side[0]]
    return Gain(found.points, mcnemar(hits[0], hits[1])) if len(hits) == 2 else found


def best_of(
    results: Results,
    experiment: str,
    label: Any,
    systems: Sequence[str],
    metric: str = "accuracy",
    **options: Any,
) -> str | None:
    """The system that turned out best on the test documents: a hard comparison, on purpose."""
    means = {}
    for system in systems:
        cells = results.select(experiment, system=system, labels=label, **options)
        if cells:
            means[system] = float(np.mean([cell.result[metric] for cell in cells]))
    return max(means, key=lambda name: means[name]) if means else None
