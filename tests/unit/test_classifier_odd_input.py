"""Input that people give by mistake: it is refused in words, or read as it was meant."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import Enum
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils._set_output import PandasAdapter

from dcot import DCoT, DCoTClassifier, DcotError, DCoTVectorizer, load
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


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(class_weight={1: 9}), LinearSVC(class_weight={"a": 2})]
)
def test_class_weights_belong_to_the_classifier(estimator):
    """The estimator learns from positions of classes, so 1 would be the class 2."""
    with pytest.raises(InvalidParameterError, match="set class_weight of DCoTClassifier"):
        DCoTClassifier(estimator=estimator).fit(TEXTS, [1, 1, 2, 2, None, None])
    same = LogisticRegression(class_weight={0: 1, 1: 99})  # positions are the classes
    model = DCoTClassifier(estimator=same, class_weight=None)
    assert model.fit(TEXTS, [0, 0, 1, 1, None, None]).predict([""]).tolist() == [1]


def test_an_estimator_with_a_list_of_strengths():
    X, y = easy(2)
    model = DCoTClassifier(estimator=RidgeClassifier(alpha=np.array([1.0])), class_weight=None)
    assert np.isnan(model.fit(X, y).strength_)


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
    assert read_labels(dates - np.datetime64("2020-01-02"), 3).labelled.tolist() == [0, 1]  # -1 day


def test_large_whole_numbers_stay_different():
    names = [2**63 + 1, 2**63 + 2, 5]
    assert read_labels(names, 3).classes.tolist() == sorted(names)
    assert read_labels([[name] for name in names] + [[]], 4).classes.tolist() == sorted(names)
    assert read_labels([1, 2, 1], 3).classes.dtype == np.int64
    assert read_labels([2**53, 2**53 + 1, 1.0], 3).classes.tolist() == [1.0, 2**53, 2**53 + 1]


def test_large_whole_numbers_stay_different_in_a_folder(tmp_path):
    names = np.array([2**63 + 1, 2**63 + 2, 5, 5], dtype=np.uint64)
    model = DCoTClassifier(selection="none").fit(TEXTS[:4], names)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").classes_.tolist() == [5, 2**63 + 1, 2**63 + 2]


@pytest.mark.parametrize(
    "y",
    [
        [[1, [2]], [3, 4]],  # rows of different depth
        [[("a", "b")], [("c",)]],  # labels that are tuples
        [Decimal("sNaN"), Decimal(1)],
    ],
)
def test_labels_that_cannot_be_sorted(y):
    with pytest.raises(InvalidTypeError, match="cannot be sorted"):
        read_labels(y, 2)


def test_bytes_and_numbers_are_not_mixed():
    with pytest.raises(InvalidTypeError, match="mixed types, numbers and bytes"):
        read_labels([b"1", 1, b"2"], 3)


def test_missing_numbers_of_any_kind():
    assert read_labels([Decimal(1), Decimal("NaN"), Decimal(2)], 3).labelled.tolist() == [0, 2]


@pytest.mark.parametrize("y", [LABELS, np.eye(2, dtype=int)[[0, 0, 1, 1, 0, 1]]])
def test_a_missing_value_may_mark_unlabelled_documents(y):
    model = DCoTClassifier(unlabelled_label=pd.NA, selection="none").fit(TEXTS, y)
    assert model.score(TEXTS, y) == 1


@pytest.mark.parametrize("mark", [pd.Series([1, 2]), {}, {1}, np.array([1])])
def test_a_mark_is_one_label(mark):
    with pytest.raises(InvalidParameterError, match="unlabelled_label must be one label"):
        DCoTClassifier(unlabelled_label=mark).fit(TEXTS, [1, 1, 2, 2, None, None])


def test_soft_labels_to_score_by_may_come_one_by_one():
    rows = [[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9], None, None]
    model = DCoTClassifier(selection="none").fit(TEXTS, rows)
    assert model.score(TEXTS, iter(rows)) == model.score(TEXTS, rows)


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
        ([[1, 0], [1], *[[0, 0]] * 4], r"other rows, expected \(6, 2\)"),
        (np.full((6, 2), 0.5), "indicator matrix of 0 and 1"),
        ([["a", "b"]] * 6, "a row of 0 and 1 per document"),
        (np.full((6, 2), np.nan), "no document has a label"),
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


@pytest.mark.parametrize(
    "target",
    [np.array(["a", "b", "c"]), ["oil"], ("oil",), "lead", 3, pd.NA, pd.Series(["oil", "a"])],
)
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


@pytest.mark.parametrize("y", [LABELS, None])
@pytest.mark.parametrize("dropped", [0, 5])
def test_weights_of_zero_and_seed_words(y, dropped):
    """Classes that only seed words have stay."""
    weights = np.ones(len(TEXTS))
    weights[dropped] = 0
    seeds = {"oil": ["opec"], "food": ["corn"]}
    model = DCoTClassifier().fit(TEXTS, y, sample_weight=weights, seed_words=seeds)
    assert {"oil", "food"} <= set(model.classes_)
    assert model.predict(["opec", "corn"]).tolist() == ["oil", "food"]
    model.refit(TEXTS, y, sample_weight=weights, seed_words=seeds)
    assert model.predict(["corn"]).tolist() == ["food"]


def test_copies_of_one_document_are_too_few():
    with pytest.raises(InvalidInputError, match="at least two different documents"):
        DCoTClassifier().fit(["oil price", "oil price", "corn"], [["a"], ["a"], None])


def test_features_that_a_frozen_vectorizer_cannot_make():
    frozen = FrozenEstimator(DCoTVectorizer().fit(TEXTS))
    with pytest.raises(InvalidParameterError, match=r"needs 3 layers, but the frozen .* has 2"):
        DCoTClassifier(vectorizer=frozen, grid={"features": ["3 layers"]}).fit(TEXTS, LABELS)


def test_a_score_of_documents_without_weight():
    model = DCoTClassifier().fit(TEXTS, LABELS)
    with pytest.raises(InvalidInputError, match="have weight zero"):
        model.score(TEXTS, LABELS, sample_weight=[0, 0, 0, 0, 1, 1])


def test_a_classifier_without_directions_can_be_loaded(tmp_path):
    """No word of the documents is known, so LSI has nothing to project on."""
    frozen = FrozenEstimator(DCoTVectorizer().fit(TEXTS))
    model = DCoTClassifier(vectorizer=frozen).fit(["zebra", "lion", "tiger"], ["a", "b", "a"])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))


@pytest.mark.parametrize("scale", [1e-12, 1e9])
def test_features_do_not_depend_on_the_scale_of_the_documents(scale):
    X, y = easy(3)
    found = [
        DCoTClassifier(selection="none", random_state=0).fit((factor * X).astype(np.float32), y)
        for factor in (1.0, scale)
    ]
    one, other = (model._learned.dcot.representation.directions for model in found)
    assert one.shape == other.shape
    np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("seed", [np.int64(3), 3])
def test_other_learners_are_reproducible(seed):
    X, y = easy(4)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.4, "a", y)
    found = [DCoTClassifier(estimator="logistic", random_state=seed).fit(X, y) for _ in range(4)]
    assert len({model.strength_ for model in found}) == 1
    states = [np.random.RandomState(0) for _ in range(2)]
    one, two = (DCoTClassifier(estimator="svm", random_state=state).fit(X, y) for state in states)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_the_estimate_counts_copies_and_weights():
    texts = ["oil price"] * 90 + [f"wheat of {year}" for year in range(1980, 1990)]
    y = ["a"] * 90 + ["b"] * 10
    copies = DCoTClassifier(random_state=0).fit(texts, y).estimate_
    weights = [90.0] + [1.0] * 10
    few = DCoTClassifier(random_state=0).fit(texts[89:], y[89:], sample_weight=weights).estimate_
    for found in (copies, few):
        assert found.n == 11
        assert found.majority.accuracy == pytest.approx(0.9)
        low, high = found.majority.accuracy_interval
        assert low < 0.3 < 0.9 < high  # hardly more than one document


def test_small_weights_promise_the_same_as_large_ones():
    generator = np.random.default_rng(0)
    X = generator.poisson(0.7, (300, 12)).astype(float)
    y = np.array(["a", "b", "c"])[generator.integers(0, 3, 300)]
    X[np.arange(300), (y == "b") + 2 * (y == "c")] += generator.random(300) * 3
    sets = []
    for weight in (1.0, 1 / 300):
        model = DCoTClassifier(selection="none", self_training=False, random_state=0)
        model.fit(X, y, sample_weight=np.full(300, weight))
        assert model.calibrated_
        sets.append(
            np.mean([label in s for label, s in zip(y, model.predict_sets(X), strict=True)])
        )
    assert min(sets) > 0.88


# -- forms of labels ----------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [None, -1, float("nan")])
@pytest.mark.parametrize("number", [int, float])
def test_rows_of_indicators_with_unlabelled_documents(missing, number):
    rows = [
        [number(1), number(0)] if label == "oil" else [number(0), number(1)] for label in LABELS
    ]
    y = [row if label else missing for row, label in zip(rows, LABELS, strict=True)]
    model = DCoTClassifier().fit(TEXTS, y)
    assert (model.n_labelled_, model._learned.kind) == (4, "indicator")
    assert model.predict(["oil", "wheat"]).tolist() == [[1, 0], [0, 1]]
    assert model.score(TEXTS, y) == 1
    array = np.array([row if label else [np.nan] * 2 for row, label in zip(rows, LABELS)])  # noqa: B905
    assert DCoTClassifier().fit(TEXTS, array).score(TEXTS, array) == 1


def test_rows_with_one_number_are_lists_of_one_label():
    y = [[1], [1], [0], [0], None, None]
    assert DCoTClassifier().fit(TEXTS, y).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["float64", "Float64"])
def test_probabilities_that_are_all_certain_are_probabilities(dtype):
    """The form of the predictions must not depend on whether anyone was in doubt."""
    votes = pd.DataFrame({"oil": [1.0, 1, 0, 0, 1, 0], "grain": [0.0, 0, 1, 1, 0, 1]})
    votes.iloc[5] = np.nan
    votes = votes.astype(dtype)
    model = DCoTClassifier().fit(TEXTS, votes)
    assert model.predict(["oil", "wheat"]).tolist() == ["oil", "grain"]
    assert (model.n_labelled_, model.score(TEXTS, votes)) == (5, 1.0)


def test_labels_of_an_enum():
    class Language(str, Enum):  # noqa: UP042  a StrEnum has another str()
        BRITISH = "en-gb"
        AMERICAN = "en-us"

    y = [Language.BRITISH, Language.BRITISH, Language.AMERICAN, Language.AMERICAN, None, None]
    model = DCoTClassifier().fit(TEXTS, y)
    assert model.classes_.tolist() == ["en-gb", "en-us"]
    assert model.score(TEXTS, y) == 1


@pytest.mark.parametrize(
    "estimator", [LinearSVC(penalty="l1"), SGDClassifier(penalty="elasticnet")]
)
def test_penalties_that_depend_on_the_basis(estimator):
    with pytest.raises(InvalidParameterError, match="L1 penalty"):
        DCoTClassifier(estimator=estimator).fit(TEXTS, LABELS)


def test_numbers_of_numpy_and_whole_numbers_as_classes_can_be_saved(tmp_path):
    grid = {
        "n_prototypes": np.array([4, 5]),
        "shrinkage": np.array([1, 2]),
        "noise": np.array([0.9], dtype=np.float32),
    }
    vectorizer = DCoTVectorizer(n_prototypes=np.int64(4), random_state=np.int64(0))
    model = DCoTClassifier(vectorizer=vectorizer, grid=grid, class_weight={0: 1.0, 1: 2.0})
    model.fit(TEXTS, [0, 0, 1, 1, None, None]).save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert again.class_weight == {0: 1.0, 1: 2.0}
    assert again.refit(TEXTS, [0, 0, 1, 1, None, None]).predict(["oil"]).tolist() == [0]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_a_sparse_matrix_is_left_as_it_is(dtype):
    """Unsorted columns of another dtype: sorted in place, values went to other terms."""
    X = np.random.default_rng(0).poisson(0.7, (30, 12)).astype(dtype)
    unsorted = sp.csr_array(X)
    for start, end in pairwise(unsorted.indptr):
        unsorted.indices[start:end] = unsorted.indices[start:end][::-1]
        unsorted.data[start:end] = unsorted.data[start:end][::-1]
    unsorted.has_sorted_indices = False
    for array in (unsorted.data, unsorted.indices, unsorted.indptr):
        array.flags.writeable = False
    model = DCoT(4, dtype="float32")
    found, expected = model.fit_transform(unsorted), model.fit_transform(X)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert (unsorted.toarray() == X).all()


def test_the_estimate_is_the_same_every_time():
    X, y = easy(3)
    one, two = (DCoTClassifier(selection="none").fit(X, y).estimate_ for _ in range(2))
    assert one == two


def test_a_classifier_of_other_features_is_no_linear_one():
    with pytest.raises(InvalidParameterError, match="one row of coef_ for each class"):
        DCoTClassifier(estimator=DCoTClassifier(selection="none")).fit(*easy(3))


def test_sparse_features_in_a_frame():
    model = DCoTClassifier(grid={"features": ["x and LSI and both layers"]}).fit(TEXTS, LABELS)
    with pytest.raises(InvalidParameterError, match=r"frames of pandas cannot hold them"):
        model.set_output(transform="pandas").transform(TEXTS)
    assert sp.issparse(model.set_output(transform="default").transform(TEXTS))


def test_fit_transform_reads_documents_once():
    model = DCoTClassifier(selection="none")
    features = model.fit_transform(iter(TEXTS), LABELS)
    np.testing.assert_array_equal(features, model.transform(TEXTS))
    frame = model.set_output(transform="pandas").fit_transform(iter(TEXTS), LABELS)
    np.testing.assert_array_equal(frame.to_numpy(), features)


@pytest.mark.parametrize("y", [3, np.int8(3), np.float64(0.5), np.array(3)])
def test_one_number_is_no_labels(y):
    with pytest.raises(DcotError, match=r"expected a sequence|one or two dimensions"):
        DCoTClassifier().fit(TEXTS, y)


def test_features_of_a_column_have_its_index():
    column = pd.Series(TEXTS, index=range(100, 100 + len(TEXTS)))
    if PandasAdapter().create_container(np.ones((6, 1)), column, None).index[0] != 100:
        pytest.skip("this version of scikit-learn keeps the index of frames, not of columns")
    model = DCoTClassifier().set_output(transform="pandas")
    for frame in (model.fit_transform(column, LABELS), model.transform(column)):
        assert frame.index.tolist() == column.index.tolist()
        assert frame.columns.tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("kind", [list, np.array])
def test_fit_transform_takes_what_fit_takes(kind):
    X, V = np.eye(6) + 1, np.random.default_rng(0).normal(size=(6, 3))
    for documents, unlabelled in ((TEXTS[:4], TEXTS[4:]), (kind(X[:4].tolist()), X[4:])):
        model = DCoTClassifier(selection="none")
        features = model.fit_transform(
            documents, LABELS[:4], unlabelled=unlabelled, vectors=kind(V.tolist())
        )
        expected = model.transform(documents, vectors=V[:4])
        np.testing.assert_array_equal(features, expected)


def test_numbers_that_only_look_like_shares_or_counts():
    model = DCoTClassifier(selection="none").fit(TEXTS, LABELS)
    with pytest.raises(InvalidParameterError, match="abstain must be a number"):
        model.predict(TEXTS, abstain=np.complex128(0.5))
    with pytest.raises(InvalidParameterError, match="k must be a whole number"):
        model.suggest(TEXTS, k=True)


@pytest.mark.parametrize(
    "options",
    [
        {"grid": {"n_prototypes": [2**50]}},
        {"vectorizer": DCoTVectorizer(n_prototypes=2**70)},
        {"vectorizer": DCoTVectorizer(stop_words=np.array(["x" * 3000, *map(str, range(3000))]))},
        {"embedding": {"oil": [1e15], "corn": [-1e15]}, "grid": {"embedding": [1e5]}},
    ],
)
def test_large_settings_can_be_loaded(options, tmp_path):
    model = DCoTClassifier(**options).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"embedding": {"oil": [1e16], "corn": [1.0]}}, "finite numbers up to"),
        ({"embedding": {"oil": [1.0]}, "grid": {"embedding": [1e6]}}, "at most 100000"),
        ({"embedding": {"oil": [1.0]}, "grid": {"embedding": [1e300]}}, "at most 100000"),
        ({"vectorizer": DCoTVectorizer(idf_floor=1e7)}, "at most 100000"),
    ],
)
def test_settings_that_could_not_be_loaded_are_refused(options, words):
    with pytest.raises((InvalidInputError, InvalidParameterError), match=words):
        DCoTClassifier(**options).fit(TEXTS, LABELS)


def test_the_generator_of_numpy_seeds_other_learners():
    X, y = easy(2)
    assert DCoTClassifier(estimator="svm", random_state=np.random).fit(X, y).score(X, y) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda text: text.split(), r"document 0 is \['.*join its tokens"),
        (lambda text: tuple(text.split()), "join its tokens"),
        (lambda text: {"text": text}, "of type dict, expected a string"),
    ],
)
def test_texts_inside_of_something_say_what_to_do(make, words):
    with pytest.raises(InvalidInputError, match=words):
        DCoTClassifier().fit([make(text) for text in TEXTS], LABELS)


def test_an_array_of_texts_with_two_dimensions_says_what_to_do():
    for kind in (str, object):
        with pytest.raises(InvalidInputError, match=r"pass array.ravel\(\)"):
            DCoTClassifier().fit(np.array(TEXTS, dtype=kind)[:, None], LABELS)
