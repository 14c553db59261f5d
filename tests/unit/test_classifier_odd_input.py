"""Input that people give by mistake: it is refused in words, or read as it was meant."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from dcot import DCoTClassifier, DCoTVectorizer
from dcot.classifier.labels import read_labels
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError

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


# -- labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [set("abcdef"), frozenset("abcdef"), dict.fromkeys("abcdef", 1)])
def test_labels_without_an_order(y):
    with pytest.raises(InvalidTypeError, match="in the order of the documents"):
        DCoTClassifier().fit(TEXTS, y)
    with pytest.raises(InvalidTypeError, match="in the order of the documents"):
        DCoTClassifier(selection="none").fit(TEXTS, LABELS).score(TEXTS, y)


def test_masked_labels_are_missing():
    masked = np.ma.array([1, 2, 1, 2, 7, 7], mask=[0, 0, 0, 0, 1, 1])
    labels = read_labels(masked, 6)
    assert labels.labelled.tolist() == [0, 1, 2, 3]
    assert labels.classes.tolist() == [1, 2]
    rows = np.ma.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], mask=[[0, 0], [0, 0], [1, 1]])
    assert read_labels(rows, 3).labelled.tolist() == [0, 1]
    whole = np.ma.array([[1, 0], [0, 1]])
    assert read_labels(whole, 2).kind == "indicator"


def test_dates_that_are_missing():
    dates = np.array(["2020-01-01", "2021-01-01", "NaT"], dtype="M8[D]")
    assert read_labels(dates, 3).labelled.tolist() == [0, 1]
    assert read_labels(dates - dates[0], 3).labelled.tolist() == [0, 1]


def test_large_whole_numbers_stay_different():
    names = [2**63 + 1, 2**63 + 2, 5]
    assert read_labels(names, 3).classes.tolist() == sorted(names)
    assert read_labels([[name] for name in names] + [[]], 4).classes.tolist() == sorted(names)
    assert read_labels([1, 2, 1], 3).classes.dtype == np.int64


@pytest.mark.parametrize("y", [["a", "a\0", "b"], [b"a", b"a\0", b"b"], [["a"], ["a\0"], []]])
def test_labels_that_would_become_one(y):
    with pytest.raises(InvalidInputError, match="end in NUL"):
        read_labels(y, 3)


@pytest.mark.parametrize("nothing", [None, "", float("nan")])
def test_nothing_among_the_labels_of_a_document(nothing):
    with pytest.raises(InvalidInputError, match="among the labels of document 1"):
        read_labels([["a"], ["b", nothing], None], 3)


def test_names_of_columns_of_two_kinds():
    frame = pd.DataFrame([[0.9, 0.1], [0.2, 0.8]], columns=["a", 1])
    with pytest.raises(InvalidTypeError, match="mixed types"):
        read_labels(frame, 2)


def test_soft_labels_are_scored_by_name_or_by_place():
    soft = pd.DataFrame({"a": [0.9, 0.2, 0.6, 1.0, None], "b": [0.1, 0.8, 0.4, 0.0, None]})
    model = DCoTClassifier(selection="none").fit(TEXTS[:5], soft)
    right = np.array(["a", "b", "a", "a"]) == model.predict(TEXTS[:4])
    assert 0 < right.mean() < 1 or right.all()
    one_hot = pd.DataFrame({"a": [1, 0, 1, 1], "b": [0, 1, 0, 0]})
    for y in (soft, soft[["b", "a"]], soft.to_numpy()):
        assert model.score(TEXTS[:5], y) == right.mean()
    for y in (one_hot, one_hot[["b", "a"]], one_hot.to_numpy(), one_hot.to_numpy(float)):
        assert model.score(TEXTS[:4], y) == right.mean()
    for y in (np.zeros((4, 2)), [["a"]] * 4, np.eye(4)):
        with pytest.raises(InvalidInputError, match=r"y (must have|has 4 columns)"):
            model.score(TEXTS[:4], y)


@pytest.mark.parametrize(
    "y", [["oil"] * 6, [3] * 6, [["oil"], "oil", *[None] * 4], [[["oil"]]] * 6]
)
def test_lists_of_labels_are_scored_by_lists(y):
    sets = [["oil"], ["oil"], ["grain"], ["grain", "oil"], None, None]
    model = DCoTClassifier(selection="none").fit(TEXTS, sets)
    assert model.score(TEXTS, sets) > 0.5
    with pytest.raises(InvalidTypeError, match="lists of labels"):
        model.score(TEXTS, y)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([[1, 0], [1], *[[0, 0]] * 4], r"shape \(6,\), expected \(6, 2\)"),
        (np.full((6, 2), 0.5), "indicator matrix of 0 and 1"),
        ([["a", "b"]] * 6, "indicator matrix of 0 and 1"),
        (np.full((6, 2), np.nan), "indicator matrix of 0 and 1"),
    ],
)
def test_indicators_are_scored_by_indicators(y, words):
    rows = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [-1, -1], [-1, -1]])
    model = DCoTClassifier(selection="none").fit(TEXTS, rows)
    assert 0 <= model.score(TEXTS, rows) <= 1
    with pytest.raises(InvalidInputError, match=words):
        model.score(TEXTS, y)


# -- weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0, -1, np.nan, np.inf, None, "x", [1, 2], 1e-300, 1e300])
def test_class_weights_that_are_no_weights(weight):
    model = DCoTClassifier(class_weight={"oil": weight, "grain": 1})
    with pytest.raises(InvalidParameterError, match="class_weight of 'oil' must be a positive"):
        model.fit(TEXTS, LABELS)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weight", [1e308, 10**400, np.inf, np.nan])
def test_weights_of_documents_that_are_too_large(weight):
    with pytest.raises(InvalidInputError, match="sample_weight must be"):
        DCoTClassifier().fit(TEXTS, LABELS, sample_weight=[1.0] * 2 + [weight] * 4)


# -- use ----------------------------------------------------------------------------------------


def test_any_label_for_documents_without_known_terms():
    model = DCoTClassifier(selection="none").fit(TEXTS, LABELS)
    for label in (("a", "b"), [1, 2], None):
        found = model.predict(["opec", "zebra", "lion"], unknown=label).tolist()
        assert found == ["oil", label, label]


def test_documents_without_known_terms_may_be_of_any_class():
    model = DCoTClassifier(selection="none").fit(TEXTS, LABELS)
    known, *unknown = model.predict_sets(["opec", "zebra", ""], coverage=0.5)
    assert known == ("oil",)
    assert [sorted(classes) for classes in unknown] == [["grain", "oil"]] * 2
    best = model.predict(["zebra", ""]).tolist()
    assert [classes[0] for classes in unknown] == best


@pytest.mark.parametrize("target", [np.array(["a", "b", "c"]), ["oil"], ("oil",), "lead", 3])
def test_a_target_that_is_no_class(target):
    model = DCoTClassifier(selection="none").fit(TEXTS, LABELS)
    with pytest.raises(InvalidParameterError, match="target must be one of the classes"):
        model.explain("opec", target=target)


def test_a_stored_zero_is_no_term():
    X, y = easy(2)
    model = DCoTClassifier(selection="none").fit(sp.csr_array(X), y)
    rows = sp.csr_array(([0.0, 0.0, 2.0], [0, 1, 1], [0, 1, 3, 3]), shape=(3, 12))
    assert model.has_known_terms(rows).tolist() == [False, True, False]
    assert model.has_known_terms(rows.toarray()).tolist() == [False, True, False]
    assert model.predict(rows, unknown="?").tolist()[::2] == ["?", "?"]


def test_parameters_of_a_vectorizer_that_is_not_there():
    model = DCoTClassifier()
    with pytest.raises(InvalidParameterError, match=r"vectorizer is None: .*DCoTVectorizer\(\)"):
        model.set_params(vectorizer__noise=0.5)
    with pytest.raises(InvalidParameterError, match="estimator is 'ridge'"):
        model.set_params(estimator__C=3)
    with pytest.raises(InvalidParameterError, match="Invalid parameter 'depth'"):
        model.set_params(depth=3)
    model.set_params(vectorizer=DCoTVectorizer(), vectorizer__noise=0.5)
    assert model.fit(TEXTS, LABELS).dcot_.noise == (0.5, 0.5)
    assert model.set_params(estimator=LinearSVC(), estimator__C=3).estimator.C == 3


@pytest.mark.parametrize("labels", [[b"oil", b"grain"], [date(2020, 1, 1), date(2021, 1, 1)]])
def test_labels_that_a_folder_cannot_hold_say_what_to_do(labels, tmp_path):
    texts = ["oil price", "wheat price", "crude oil", "wheat harvest"]
    model = DCoTClassifier().fit(texts, labels * 2)
    with pytest.raises(InvalidTypeError, match=r"learn from labels that are text"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
