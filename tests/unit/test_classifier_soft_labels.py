"""Soft labels: rows of probabilities as targets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import dcot
from dcot import DCoT, DCoTClassifier, DcotError
from dcot.classifier.labels import read_labels, with_class_weights
from dcot.classifier.selection import Candidate

NAMES = ["wheat", "oil", "gold"]


@pytest.fixture(scope="module")
def corpus():
    """Documents of three topics, and how sure annotators are of each: their votes."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    rates = np.full((3, 30), 0.05)
    for topic in range(3):
        rates[topic, topic * 10 : (topic + 1) * 10] = 0.3
    X = sp.csr_array(rng.poisson(rates[y]).astype(float))
    votes = np.array([rng.multinomial(5, np.where(np.arange(3) == k, 0.7, 0.15)) for k in y]) / 5
    votes[40:] = np.nan
    return X, y, votes


def test_certain_soft_labels_are_labels(corpus):
    X, y, _ = corpus
    almost = np.where(y[:, None] == np.arange(3), 1 - 2e-9, 1e-9)
    almost[40:] = np.nan
    soft = DCoTClassifier(random_state=0).fit(X, almost)
    hard = DCoTClassifier(random_state=0).fit(X, np.where(np.arange(150) < 40, y, -1))
    np.testing.assert_allclose(soft.predict_proba(X), hard.predict_proba(X), atol=1e-5)
    assert soft.estimate_ == hard.estimate_
    assert soft.predict(X).tolist() == hard.predict(X).tolist()
    assert soft.predict_sets(X) == hard.predict_sets(X)


def test_they_are_targets_of_ridge(corpus):
    X, y, votes = corpus
    model = DCoTClassifier(class_weight=None, random_state=0, self_training=False).fit(X, votes)
    F = DCoT(**Candidate(**model.best_params_).parameters()).fit(X).transform(X)
    centred = F[:40] - F[:40].mean(0)
    alpha = model.strength_ * np.linalg.eigvalsh(centred @ centred.T).clip(0).mean()
    expected = Ridge(alpha=alpha).fit(F[:40], 2 * votes[:40] - 1).predict(F)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=5e-3)
    assert model.score(X[40:], y[40:]) > 0.8
    assert model.score(X, votes) == np.mean(model.predict(X[:40]) == votes[:40].argmax(1))
    assert 0 < len(model.label_issues()) < 20


def test_probabilities_of_the_calibration_are_those_of_the_votes(corpus):
    """Where voters often disagree, probabilities must not be as sure as their majority."""
    X, _, votes = corpus
    unsure = DCoTClassifier(random_state=0).fit(X, votes)
    majority = DCoTClassifier(random_state=0).fit(
        X, [row.argmax() if row[0] == row[0] else None for row in votes]
    )
    assert unsure.predict_proba(X).max(axis=1).mean() < majority.predict_proba(X).max(axis=1).mean()


def test_every_form_of_them(corpus):
    votes = corpus[2]
    expected = read_labels(votes, 150)
    assert (expected.kind, expected.classes.tolist()) == ("soft", [0, 1, 2])
    assert expected.labelled.tolist() == list(range(40))
    np.testing.assert_allclose(expected.targets, 2 * votes[:40] - 1)
    rows = [None if row[0] != row[0] else row.tolist() for row in votes]
    marked = np.where(np.isnan(votes), -1.0, votes)
    frames = [pd.DataFrame(votes, columns=NAMES), pl.DataFrame(votes, schema=NAMES)]
    for form in (rows, marked, votes.astype(np.float32), *frames):
        found = read_labels(form, 150)
        np.testing.assert_array_equal(found.labelled, expected.labelled)
        np.testing.assert_allclose(found.targets, expected.targets, atol=1e-6)
        assert found.classes.tolist() == (NAMES if hasattr(form, "columns") else [0, 1, 2])
    assert read_labels(np.eye(3), 3).kind == "indicator"
    assert read_labels([[1, 2], [2]], 2).kind == "sets"


def test_a_class_weighs_by_its_probabilities(corpus):
    known = read_labels(corpus[2], 150)
    sizes = corpus[2][:40].sum(axis=0)
    found = with_class_weights(known, np.ones(40), "sqrt")
    expected = corpus[2][:40] @ sizes**-0.5
    np.testing.assert_allclose(found, expected * 40 / expected.sum())


def test_named_classes_are_predicted_saved_and_refitted(corpus, tmp_path):
    X, y, votes = corpus
    frame = pd.DataFrame(votes, columns=NAMES)
    model = DCoTClassifier(random_state=0).fit(X, frame)
    assert set(model.predict(X)) == set(NAMES)
    assert model.score(X[40:], np.array(NAMES)[y[40:]]) > 0.8
    model.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.refit(X, frame).predict(X).tolist() == model.predict(X).tolist()
    assert again.predict(X, abstain=0.7).shape == (150,)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([[0.5, 0.6], [1.0, 0.0]], "row 0 of y.*sum to 1"),
        ([[1.0, 0.0], [1.5, -0.5]], "row 1 of y.*zero or more"),
        ([[0.5, np.nan], [0.5, 0.5]], "row 0 of y"),
        ([[0.5, np.inf], [0.5, 0.5]], "row 0 of y"),
        (pd.DataFrame([[0.5, 0.5]] * 2, columns=["a", "a"]), "same name"),
    ],
)
def test_bad_probabilities(y, words):
    with pytest.raises(DcotError, match=words):
        DCoTClassifier().fit(["oil price", "wheat corn"], y)


def test_other_learners_are_refused(corpus):
    with pytest.raises(DcotError, match="estimator='ridge'"):
        DCoTClassifier(estimator="svm").fit(corpus[0], corpus[2])


def test_a_table_of_arrow_has_names_too(corpus):
    X, y, votes = corpus
    table = pa.table(dict(zip(NAMES, votes.T, strict=True)))
    model = DCoTClassifier(random_state=0).fit(X, table)
    assert model.classes_.tolist() == NAMES
    assert model.score(X, pa.table({"y": np.array(NAMES)[y]})["y"]) > 0.8
    assert model.score(X, table) > 0.8
