"""Input that people give by mistake: it is refused in words, or read as it was meant."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from dcot import DCoTClassifier, DCoTVectorizer
from dcot.errors import InvalidParameterError

TEXTS = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat", "opec", "corn"]
LABELS = ["oil", "oil", "grain", "grain", None, None]


def easy(n_classes):
    """A matrix with a column for each class, and the classes."""
    codes = np.arange(15 * n_classes) % n_classes
    X = np.random.default_rng(1).poisson(0.7, (len(codes), 12)).astype(float)
    X[np.arange(len(codes)), codes] += 4
    return X, np.array(list("abcdefgh"))[codes]


# -- estimators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [3, 4])
def test_weights_for_pairs_of_classes_are_not_taken_for_those_of_classes(n_classes):
    X, y = easy(n_classes)
    model = DCoTClassifier(estimator=SVC(kernel="linear"), class_weight=None)
    with pytest.raises(InvalidParameterError, match="one row of coef_ for each class"):
        model.fit(X, y)


@pytest.mark.parametrize("estimator", [LinearSVC(), RidgeClassifier(), SGDClassifier(), "svm"])
def test_linear_estimators_of_several_classes(estimator):
    X, y = easy(4)
    model = DCoTClassifier(estimator=estimator, class_weight=None, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.9


def test_a_linear_kernel_with_two_classes():
    X, y = easy(2)
    model = DCoTClassifier(estimator=SVC(kernel="linear"), class_weight=None).fit(X, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(),
        MultinomialNB(),
        SVC(),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
)
def test_estimators_without_coefficients_are_refused_before_the_work(estimator, monkeypatch):
    def no_work(*_):
        raise AssertionError("the representation was fitted first")

    monkeypatch.setattr("dcot.classifier.model.fit_classifier", no_work)
    with pytest.raises(InvalidParameterError, match=r"must be linear.*use 'ridge'"):
        DCoTClassifier(estimator=estimator).fit(TEXTS, LABELS)


class Unknown(ClassifierMixin, BaseEstimator):
    """An estimator of somebody else, without coefficients."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self


def test_estimators_of_others_are_refused_when_they_are_fitted():
    with pytest.raises(InvalidParameterError, match="Unknown has none"):
        DCoTClassifier(estimator=Unknown()).fit(TEXTS, LABELS)


def test_an_estimator_that_refuses_its_parameters():
    with pytest.raises(InvalidParameterError, match=r"LogisticRegression cannot be .* 'C'"):
        DCoTClassifier(estimator=LogisticRegression(C=-1)).fit(TEXTS, LABELS)


# -- the grid -----------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["3 layers", "layer 3", "x and 3 layers"])
def test_features_with_more_layers_than_the_vectorizer(features):
    model = DCoTClassifier(grid={"features": ["both layers", features]}).fit(TEXTS, LABELS)
    assert len(model.cv_results_["params"]) == 2
    alone = DCoTClassifier(grid={"features": [features]}).fit(TEXTS, LABELS)
    assert alone.best_params_["features"] == features
    assert alone.dcot_.n_layers == 3
    deep = DCoTClassifier(vectorizer=DCoTVectorizer(n_layers=3), grid={"features": [features]})
    expected = deep.fit(TEXTS, LABELS).predict_proba(TEXTS)
    assert alone.predict_proba(TEXTS) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"noise": (noise for noise in [0.5])}, r"\['noise'\] must be a list of values"),
        ({"noise": iter([0.5])}, r"\['noise'\] must be a list of values"),
        ({"noise": np.array([[0.5, 0.6]])}, "noise must be in"),
        ({"noise": np.array([])}, r"\['noise'\] must have a value"),
    ],
)
def test_grids_that_are_no_lists(grid, words):
    with pytest.raises(InvalidParameterError, match=words):
        DCoTClassifier(grid=grid).fit(TEXTS, LABELS)
