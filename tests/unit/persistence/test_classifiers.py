"""A classifier in a folder: it predicts, explains and reports as before, and takes more labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import RidgeClassifier
from tests.unit.persistence.conftest import TEXTS, contents_of, forge, part, same

import dcot
from dcot import DCoTClassifier, DCoTVectorizer

LABELS = ["oil", "oil", "grain", "grain", None, "grain", None]
SMALL = {"n_prototypes": [4, 3]}


def classifier(**options):
    return DCoTClassifier(grid=SMALL, random_state=0, **options)


@pytest.mark.parametrize(
    ("options", "y"),
    [
        ({}, LABELS),
        ({"selection": "none"}, LABELS),
        ({"estimator": "svm"}, LABELS),
        ({"estimator": "logistic", "class_weight": {"oil": 2.0, "grain": 1.0}}, LABELS),
        ({"vectorizer": DCoTVectorizer(lowercase=False, ngram_range=(1, 2))}, LABELS),
        ({"vectorizer": DCoTVectorizer(analyzer="char_wb", weighting="bm25")}, LABELS),
        ({}, [1, 1, 2, 2, -1, 3, -1]),
        ({}, np.array([True, True, False, False, None, False, None], dtype=object)),
        ({"unlabelled_label": "?"}, ["oil", "oil", "grain", "grain", "?", "grain", "?"]),
        ({}, [["oil"], ["oil", "prices"], ["grain"], ["grain", "prices"], None, ["grain"], None]),
    ],
)
def test_round_trips(tmp_path, options, y):
    model = classifier(**options).fit(TEXTS, y)
    model.save(tmp_path / "model")
    for mmap in (False, True):
        again = dcot.load(tmp_path / "model", mmap=mmap)
        assert type(again) is DCoTClassifier
        assert same(again.decision_function(TEXTS), model.decision_function(TEXTS))
        assert same(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
        predicted = model.predict(TEXTS)
        assert list(again.predict(TEXTS)) == list(predicted)
        if isinstance(predicted, np.ndarray):
            assert again.predict(TEXTS).dtype == predicted.dtype
        assert again.explain(TEXTS[0]) == model.explain(TEXTS[0])
        assert again.summary() == model.summary()
        assert again.estimate_ == model.estimate_
        assert again.best_params_ == model.best_params_
        assert again.calibrated_ == model.calibrated_
        assert set(again.cv_results_) == set(model.cv_results_)
        for name, values in model.cv_results_.items():
            np.testing.assert_array_equal(again.cv_results_[name], values)
        ours, theirs = (m.get_params(deep=False) for m in (again, model))
        ours.pop("vectorizer"), theirs.pop("vectorizer")
        assert ours == theirs
    if model.vectorizer is not None:
        assert again.vectorizer._short_params() == model.vectorizer._short_params()


@pytest.mark.parametrize("kind", ["sparse", "dense", "frame"])
def test_matrices(X, tmp_path, kind):
    given = {
        "sparse": sp.csr_array(X),
        "dense": X.astype(np.float64),
        "frame": pd.DataFrame(X, columns=[f"term {i}" for i in range(X.shape[1])]),
    }[kind]
    y = np.arange(len(X)) % 3
    model = classifier().fit(given, y)
    model.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model")
    assert same(again.decision_function(given), model.decision_function(given))
    assert again.explain(given[:1]) == model.explain(given[:1])
    if kind != "frame":
        with pytest.raises(dcot.DcotError, match="features"):
            again.predict(given[:, :5])


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in "ab":
        classifier().fit(TEXTS, LABELS).save(tmp_path / name)
    assert contents_of(tmp_path / "a") == contents_of(tmp_path / "b")


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_less_precision(tmp_path, precision):
    model = classifier().fit(TEXTS, LABELS)
    model.save(tmp_path / "model", precision=precision)
    again = dcot.load(tmp_path / "model")
    difference = again.decision_function(TEXTS) - model.decision_function(TEXTS)
    assert 0 < np.abs(difference).max() < 0.05


def test_the_card_says_how_good_it_is(tmp_path):
    model = classifier().fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"{100 * model.estimate_.dcot.accuracy:.1f} %" in card
    assert "7, 5 with labels" in card
    assert "2: grain, oil" in card


def test_the_card_names_the_learner_of_the_fit(tmp_path):
    """Also if the parameter is another one by now, which an estimator that is no text needs."""

    def named(path):
        return next(
            line for line in (path / "README.md").read_text().splitlines() if "learner" in line
        )

    model = classifier(estimator=RidgeClassifier(alpha=3.0)).fit(TEXTS, LABELS)
    model.set_params(estimator="ridge").save(tmp_path / "a")
    assert "RidgeClassifier(alpha=3.0)" in named(tmp_path / "a")
    again = dcot.load(tmp_path / "a")
    again.save(tmp_path / "b")
    assert "RidgeClassifier(alpha=3.0)" in named(tmp_path / "b")
    again.refit(TEXTS, LABELS).save(tmp_path / "c")
    assert named(tmp_path / "c") == "| learner | ridge |"


def test_more_labels_after_loading(tmp_path):
    few = ["oil", None, "grain", None, None, None, None]
    model = classifier(selection="none").fit(TEXTS, few)
    model.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model").refit(TEXTS, LABELS)
    # without selection, the representation does not depend on labels: as if all had been there
    whole = classifier(selection="none").fit(TEXTS, LABELS)
    np.testing.assert_allclose(
        again.decision_function(TEXTS), whole.decision_function(TEXTS), atol=1e-5
    )
    assert again.n_labelled_ == 5
    assert again.n_documents_ == len(TEXTS)
    assert again.estimate_.n == whole.estimate_.n


def test_refit_takes_other_classes_and_only_labelled_documents(tmp_path):
    model = classifier().fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model", mmap=True)
    again.refit(TEXTS[:4], ["up", "flat", "down", "down"])
    assert again.classes_.tolist() == ["down", "flat", "up"]
    assert again.predict(TEXTS[:4]).tolist() == ["up", "flat", "down", "down"]
    with pytest.raises(dcot.DcotError, match="only one class"):
        again.refit(TEXTS[:2], ["up", "up"])
    assert again.classes_.tolist() == ["down", "flat", "up"]  # as before the error


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(dcot.DcotError, match="not fitted"):
        DCoTClassifier().save(tmp_path / "model")
    model = classifier(estimator=RidgeClassifier()).fit(TEXTS, LABELS)
    with pytest.raises(dcot.DcotError, match=r"set_params\(estimator='ridge'\)"):
        model.save(tmp_path / "model")
    model = classifier().fit(TEXTS, LABELS)
    with pytest.raises(dcot.DcotError, match="keeps no moments"):
        model.save(tmp_path / "model", keep_moments=True)
    assert not (tmp_path / "model").exists()


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(TEXTS, LABELS)


@pytest.mark.parametrize("name", ["coef", "intercept", "known_terms", "cv.mean_test_score"])
def test_arrays_that_do_not_fit(fitted, tmp_path, name):
    folder = tmp_path / "model"
    fitted.save(folder)
    from dcot.persistence import tensors

    path = part(folder, "arrays")
    arrays = {key: array.copy() for key, array in tensors.views(path.read_bytes(), path).items()}
    arrays[name] = arrays[name][1:]
    forge(folder, arrays=arrays)
    with pytest.raises(dcot.DcotError, match=name):
        dcot.load(folder)
