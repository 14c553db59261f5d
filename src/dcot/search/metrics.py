"""Metrics of rankings: nDCG, average precision, and a test between two systems."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcot.core.options import as_number, check_integer, check_seed
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.search.results import Hits

Ranking = Sequence[Hashable] | Hits
Judgements = Mapping[Any, float]


def ndcg(ranked: Ranking, relevant: Judgements, k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first ``k`` documents; the gain is the grade.

    Parameters
    ----------
    ranked : ids, the best first, or the hits of a search
    relevant : grades of the relevant documents by id; other documents have grade 0

    Raises
    ------
    InvalidInputError
        If an id is ranked twice, or a grade is not a finite number.
    InvalidTypeError
        If ``relevant`` is not a mapping.
    InvalidParameterError
        If ``k`` is not a positive integer.

    Examples
    --------
    >>> round(ndcg(["a", "x", "b"], {"a": 1, "b": 1}), 3)
    0.92
    """
    check_integer("k", k)
    ids = _checked_ids(ranked, relevant)
    grades = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)[:k]
    if not grades:
        return 0.0
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    gains = [max(float(relevant.get(name, 0.0)), 0.0) for name in ids[:k]]
    return float(discounts[: len(gains)] @ gains / (discounts[: len(grades)] @ grades))


def average_precision(ranked: Ranking, relevant: Judgements) -> float:
    """Mean precision at the ranks of the relevant documents; 0 for those that are not found.

    Parameters and errors are those of ``ndcg``.

    Examples
    --------
    >>> round(average_precision(["a", "x", "b"], {"a": 1, "b": 2}), 3)
    0.833
    """
    ids = _checked_ids(ranked, relevant)
    wanted = {name for name, grade in relevant.items() if grade > 0}
    found, total = 0, 0.0
    for place, name in enumerate(ids, start=1):
        if name in wanted:
            found += 1
            total += found / place
    return total / len(wanted) if wanted else 0.0


def _checked_ids(ranked: Ranking, relevant: Judgements) -> list[Any]:
    if not isinstance(relevant, Mapping):
        raise InvalidTypeError(
            f"relevant must be a mapping from ids to grades, got {type(relevant).__name__}: for a "
            "list of ids, give dict.fromkeys(ids, 1)"
        )
    for name, grade in relevant.items():
        if not isinstance(grade, bool | np.bool_) and not np.isfinite(as_number(grade)):
            raise InvalidInputError(
                f"the grade of {name!r:.80} must be a finite number, got {grade!r:.60}"
            )
    ids = ranked.ids if isinstance(ranked, Hits) else list(ranked)
    if len(set(ids)) < len(ids):  # it would count twice, and the result be above 1
        twice = next(name for place, name in enumerate(ids) if name in ids[:place])
        raise InvalidInputError(
            f"ranked has the id {twice!r:.80} twice: keep the first, as in list(dict.fromkeys(ids))"
        )
    return ids


def paired_p_value(
    left: ArrayLike, right: ArrayLike, *, draws: int = 10_000, seed: int = 0
) -> float:
    """P-value of a paired randomisation test between two systems, over queries.

    Under the null hypothesis the two scores of a query can be swapped. They are swapped at random,
    and the p-value is the share of draws with at least the observed mean difference.

    Raises
    ------
    InvalidInputError
        If the scores are not two lists of finite numbers of the same length, with at least one
        query.
    InvalidParameterError
        If ``draws`` is not a positive integer, or ``seed`` is no seed.

    Examples
    --------
    >>> paired_p_value([0.5, 0.4, 0.9], [0.5, 0.4, 0.9])
    1.0
    """
    check_integer("draws", draws)
    check_seed(seed)
    try:
        one, other = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"scores must be numbers: {error}") from error
    if one.ndim != 1 or one.shape != other.shape or not len(one):
        raise InvalidInputError("expected two lists with a score for each query")
    if not np.isfinite(one).all() or not np.isfinite(other).all():  # NaN is not less than anything
        raise InvalidInputError(
            "some scores are NaN or infinite: leave these queries out of both lists"
        )
    difference = one - other
    rng = np.random.default_rng(seed)
    found, extreme = abs(difference.mean()) - 1e-12, 0
    step = max(1, 4_000_000 // len(difference))
    for start in range(0, draws, step):
        shape = (min(step, draws - start), len(difference))
        signs = rng.integers(0, 2, shape, dtype=np.int8) * 2 - 1
        extreme += int((np.abs((signs @ difference) / len(difference)) >= found).sum())
    return (extreme + 1) / (draws + 1)
