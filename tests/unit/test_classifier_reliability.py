"""Abstaining and sets of classes: what held-out decisions promise, kept on new documents."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dcot
from dcot import DCoTClassifier, DcotError
from dcot.classifier.calibration import Reliability


@pytest.fixture(scope="module")
def corpus():
    """Three topics that overlap, so that about a fifth of the documents are in doubt."""
    rng = np.random.default_rng(1)
    y = np.arange(2400) % 3
    rates = np.full((3, 30), 0.15)
    for topic in range(3):
        rates[topic, topic * 10 : (topic + 1) * 10] = 0.35
    return sp.csr_array(rng.poisson(rates[y]).astype(float)), y


@pytest.fixture(scope="module")
def model(corpus):
    X, y = corpus
    return DCoTClassifier(random_state=0).fit(X[:400], y[:400])


@pytest.mark.parametrize("wanted", [0.8, 0.9])
def test_answers_and_sets_are_right_as_often_as_asked(corpus, model, wanted):
    X, y = corpus[0][400:], corpus[1][400:]
    answers = model.predict(X, abstain=wanted)
    given = answers != None  # noqa: E711
    assert 0.2 < given.mean() < 1
    assert (model.predict(X) == y).mean() < 0.9
    assert (answers[given] == y[given]).mean() == pytest.approx(wanted, abs=0.05)
    sets = model.predict_sets(X, wanted)
    covered = np.mean([label in found for label, found in zip(y, sets, strict=True)])
    assert covered == pytest.approx(wanted, abs=0.04)
    assert all(found[0] == best for found, best in zip(sets, model.predict(X), strict=True))


def test_a_loaded_model_promises_the_same(corpus, model, tmp_path):
    X = corpus[0][:50]
    model.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model")
    assert again.predict(X, abstain=0.9).tolist() == model.predict(X, abstain=0.9).tolist()
    assert again.predict_sets(X) == model.predict_sets(X)


def test_thresholds_by_hand():
    own = np.array([0.9, 0.8, 0.7, 0.1, 0.6, 0.6, 0.5, 0.2, 0.9])
    best = np.array([0.9, 0.8, 0.7, 0.7, 0.6, 0.6, 0.5, 0.5, 0.9])
    found = Reliability(best, own, own == best, np.ones(9))
    assert found.answer_from(0.7) == 0.5  # 2 + 1 of 9 + 1 are wrong
    assert found.answer_from(0.75) == 0.6  # 1 + 1 of 7 + 1
    assert found.answer_from(0.8) == np.inf  # 0 + 1 of 3 + 1; both of probability 0.7 count
    assert found.include_from(0.9) == 0.1  # one of ten may be missed
    assert found.include_from(0.8) == 0.2
    assert found.include_from(0.95) == 0.0
    twice = Reliability(best, own, own == best, np.full(9, 2.0))
    copies = Reliability(*(np.repeat(a, 2) for a in (best, own, own == best)), np.ones(18))
    assert twice.answer_from(0.8) == copies.answer_from(0.8) == 0.6


def test_bad_shares_and_several_labels(corpus, model):
    X, y = corpus
    for bad in (0, 1, 1.5, "0.9", True, np.nan):
        with pytest.raises(DcotError, match="between 0 and 1"):
            model.predict(X[:3], abstain=bad)
        with pytest.raises(DcotError, match="between 0 and 1"):
            model.predict_sets(X[:3], bad)
    several = DCoTClassifier(selection="none").fit(X[:60], np.eye(3, dtype=int)[y[:60]])
    with pytest.raises(DcotError, match="one label per document"):
        several.predict(X[:3], abstain=0.9)


def test_where_nothing_is_certain_enough_a_warning_says_so(corpus):
    X, y = corpus
    model = DCoTClassifier(selection="none").fit(X[:6], y[:6])
    with pytest.warns(UserWarning, match="label more documents"):
        assert model.predict(X[:3], abstain=0.99).tolist() == [None] * 3
