"""Measures of a ranking, against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.metrics import average_precision_score, ndcg_score

from dcot import DcotError, InvalidInputError, InvalidParameterError, SearchIndex
from dcot.search.metrics import average_precision, ndcg, paired_p_value


def test_as_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 40))
        scores, grades = rng.permutation(n).astype(float), rng.integers(0, 3, n)
        grades[rng.integers(n)] = 1
        ranked = np.argsort(-scores).tolist()
        relevant = {
            i: float(grade) for i, grade in enumerate(grades) if grade or rng.random() < 0.5
        }
        for k in (1, 5, 10, 100):
            expected = ndcg_score([grades], [scores], k=k)
            assert ndcg(ranked, relevant, k) == pytest.approx(expected)
        expected = average_precision_score(grades > 0, scores)
        assert average_precision(ranked, relevant) == pytest.approx(expected)


def test_by_hand():
    assert ndcg(["x", "a"], {"a": 1}) == pytest.approx(1 / np.log2(3))
    assert ndcg(["a"], {"a": 1, "b": 1}) == pytest.approx(1 / (1 + 1 / np.log2(3)))
    assert average_precision(["a"], {"a": 1, "b": 1}) == 0.5  # one was not found
    assert average_precision(["x", "a", "y", "b"], {"a": 1, "b": 1}) == 0.5
    assert ndcg([], {"a": 1}) == average_precision([], {"a": 1}) == 0
    assert ndcg(["a"], {}) == average_precision(["a"], {}) == 0


def test_p_values():
    rng = np.random.default_rng(0)
    left = rng.random(80)
    for shift in (0.0, 0.03, 0.1, 0.3):
        right = left + rng.normal(shift, 0.3, 80)
        found, expected = paired_p_value(left, right), ttest_rel(left, right).pvalue
        assert found == pytest.approx(expected, abs=0.03)
    assert paired_p_value([1.0] * 20, [0.0] * 20) < 0.001
    for left, right in (([], []), ([1.0, 0.5], [1.0])):
        with pytest.raises(DcotError):
            paired_p_value(left, right)


def test_rankings_that_would_be_measured_wrongly():
    hits = SearchIndex().add(["crude oil", "opec"], ids=["a", "b"]).search("oil")
    for measure in (ndcg, average_precision):
        assert measure(hits, {"a": 1}) == 1.0
        with pytest.raises(DcotError, match="the id 'a' twice"):  # it would count twice
            measure(["a", "b", "a"], {"a": 1})
        with pytest.raises(DcotError, match=r"dict\.fromkeys\(ids, 1\)"):
            measure(["a"], {"a"})
    with pytest.raises(DcotError, match="k must be"):
        ndcg(["a"], {"a": 1}, k=-1)


@pytest.mark.parametrize("grade", [np.nan, np.inf, -np.inf, "high", None, [1], 10**400])
def test_grades_are_finite_numbers(grade):
    """A grade of NaN or infinity made the result NaN."""
    for metric in (ndcg, average_precision):
        with pytest.raises(InvalidInputError, match="the grade of 'b' must be a finite number"):
            metric(["a"], {"a": 1, "b": grade})


def test_grades_of_any_kind_of_number():
    for grade in (True, np.True_, 1, np.int8(1), 1.0, np.float32(1)):
        assert ndcg(["a"], {"a": grade}) == average_precision(["a"], {"a": grade}) == 1


def test_scores_are_finite_numbers():
    """With NaN no draw was as extreme, so every difference was significant."""
    for wrong in ([0.5, np.nan], [np.inf, 0.5], ["a", "b"], [[1], [2, 3]], [10**400, 1]):
        for pair in ((wrong, [0.5, 0.5]), ([0.5, 0.5], wrong)):
            with pytest.raises(InvalidInputError, match=r"scores (must be|are NaN)"):
                paired_p_value(*pair)


@pytest.mark.parametrize("options", [{"draws": 0}, {"draws": 1.5}, {"seed": -1}, {"seed": "a"}])
def test_draws_and_seed(options):
    with pytest.raises(InvalidParameterError):
        paired_p_value([0.5], [0.4], **options)
