"""DCoTVectorizer: its parts in a row, and nothing else."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from dcot import DCoT, DcotError, DCoTVectorizer

TEXTS = [
    "Crude oil prices rose as OPEC cut output",
    "OPEC ministers agreed on oil output",
    "The wheat harvest was poor, corn was worse",
    "Wheat and corn prices fell",
    "Oil fell, wheat rose",
    "corn corn corn",
    "",
]


def test_equals_its_parts():
    weights = TfidfVectorizer(sublinear_tf=True).fit_transform(TEXTS)
    expected = DCoT(5).fit_transform(weights)
    model = DCoTVectorizer(n_prototypes=5, dtype="float64")
    np.testing.assert_allclose(model.fit_transform(TEXTS), expected, atol=1e-12)
    np.testing.assert_allclose(model.transform(TEXTS), expected, atol=1e-12)
    small = DCoTVectorizer(n_prototypes=5).fit_transform(TEXTS)
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, expected, atol=1e-4)


def test_every_parameter_of_its_parts_is_reachable():
    from dcot.text import TermCounter, TermWeighting

    ours = set(DCoTVectorizer().get_params())
    assert set(DCoT().get_params()) <= ours
    assert set(TermCounter().get_params()) - {"dtype"} <= ours
    assert set(TermWeighting().get_params()) - {"scheme"} <= ours


def test_defaults_agree_with_those_of_dcot():
    ours, theirs = DCoTVectorizer().get_params(), DCoT().get_params()
    different = {name for name, value in theirs.items() if ours[name] != value}
    assert different == {"dtype"}


@pytest.mark.parametrize(
    "options",
    [
        {"weighting": "bm25", "stop_words": "english"},
        {"weighting": "counts", "output": "concat", "squash": "tanh"},
        {"analyzer": "char_wb", "ngram_range": (2, 3)},
        {"n_components": 2, "random_state": 0},
        {"prototypes": ["oil", "corn"]},
    ],
)
def test_settings_reach_their_part(options):
    model = DCoTVectorizer(**options).fit(TEXTS)
    features = model.transform(TEXTS)
    assert features.shape == (len(TEXTS), len(model.get_feature_names_out()))
    assert np.isfinite(features.toarray() if hasattr(features, "toarray") else features).all()


def test_prototypes_may_be_words():
    model = DCoTVectorizer(prototypes=["oil", "corn"], n_layers=1).fit(TEXTS)
    assert list(model.get_feature_names_out()) == ["dcot1_corn", "dcot1_oil"]
    with pytest.raises(DcotError, match="'gold'"):
        DCoTVectorizer(prototypes=["gold"]).fit(TEXTS)


def test_any_source_of_texts():
    expected = DCoTVectorizer().fit_transform(TEXTS)
    for source in (tuple(TEXTS), (text for text in TEXTS), np.array(TEXTS), pl.Series(TEXTS)):
        np.testing.assert_array_equal(DCoTVectorizer().fit_transform(source), expected)


def test_unknown_and_empty_texts_give_the_bias():
    model = DCoTVectorizer().fit(TEXTS)
    features = model.transform(["", "xylophone quark"])
    assert np.isfinite(features).all()
    np.testing.assert_array_equal(features[0], features[1])


def test_words_mean_what_they_should():
    model = DCoTVectorizer(noise=0.5, shrinkage=0.1, n_layers=1).fit(TEXTS)
    names = [name.removeprefix("dcot1_") for name in model.get_feature_names_out()]
    opec, wheat = (
        dict(zip(names, model.reconstruct([word], subtract_bias=True)[0], strict=True))
        for word in ("opec", "wheat")
    )
    assert opec["oil"] > 0 > wheat["oil"] - opec["oil"]
    assert opec["output"] > opec["harvest"]


def test_in_a_pipeline():
    labels = ["oil", "oil", "grain", "grain", "oil", "grain", "grain"]
    pipe = make_pipeline(DCoTVectorizer(), RidgeClassifier()).fit(TEXTS, labels)
    assert pipe.predict(["opec oil"])[0] == "oil"
    pipe.set_params(dcotvectorizer__noise=0.5).fit(TEXTS, labels)


def test_clone_and_pickle():
    model = DCoTVectorizer(n_prototypes=4, stop_words="english").fit(TEXTS)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))


@pytest.mark.parametrize("weighting", ["counts", "binary", "log"])
def test_partial_fit_with_a_growing_vocabulary_equals_fit(weighting):
    options = {"weighting": weighting, "norm": "l2", "dtype": "float64", "n_prototypes": 4}
    whole = DCoTVectorizer(**options).fit(TEXTS)
    pieces = DCoTVectorizer(**options)
    for part in (TEXTS[:2], TEXTS[2:3], TEXTS[3:]):
        pieces.partial_fit(part)
    assert set(pieces.vocabulary_) == set(whole.vocabulary_)
    names, others = whole.get_feature_names_out(), pieces.get_feature_names_out()
    if set(names) == set(others):  # ties between prototypes go by column
        order = [list(others).index(name) for name in names]
        found = pieces.transform(TEXTS)[:, order]
        np.testing.assert_allclose(found, whole.transform(TEXTS), atol=1e-8)
    everything = DCoTVectorizer(**{**options, "n_prototypes": 100})
    many = clone(everything).fit(TEXTS)
    for part in (TEXTS[:2], TEXTS[2:3], TEXTS[3:]):
        everything.partial_fit(part)
    order = [
        list(everything.get_feature_names_out()).index(n) for n in many.get_feature_names_out()
    ]
    found = everything.transform(TEXTS)[:, order]
    np.testing.assert_allclose(found, many.transform(TEXTS), atol=1e-8)


def test_partial_fit_with_a_fixed_vocabulary():
    words = ["oil", "wheat", "corn", "prices"]
    options = {"vocabulary": words, "weighting": "counts", "dtype": "float64"}
    whole = DCoTVectorizer(**options).fit(TEXTS)
    pieces = DCoTVectorizer(**options).partial_fit(TEXTS[:3]).partial_fit(iter(TEXTS[3:]))
    np.testing.assert_allclose(pieces.transform(TEXTS), whole.transform(TEXTS), atol=1e-8)


def test_partial_fit_keeps_the_first_idf():
    model = DCoTVectorizer().partial_fit(TEXTS[:2])
    before = model.weighting_.idf_.copy()
    model.partial_fit(TEXTS[2:])
    after = model.weighting_.idf_
    np.testing.assert_array_equal(after[: len(before)], before)
    assert len(after) > len(before)
    assert np.isfinite(model.transform(TEXTS)).all()


def test_partial_fit_after_fit_starts_again():
    model = DCoTVectorizer().fit(TEXTS).partial_fit(TEXTS[:2])
    assert "wheat" not in model.vocabulary_


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: DCoTVectorizer().fit("one text"), "single str"),
        (lambda: DCoTVectorizer().fit(["a b", None]), "document 1 is None"),
        (lambda: DCoTVectorizer().fit(["", "?"]), "."),
        (lambda: DCoTVectorizer(noise=1.0).fit(TEXTS), "noise must be"),
        (lambda: DCoTVectorizer().transform(TEXTS), "not fitted"),
        (lambda: DCoTVectorizer(dtype="int8").fit(TEXTS), "dtype must be"),
        (lambda: DCoTVectorizer(weighting="x").fit(TEXTS), "scheme must be"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(DcotError, match=words):
        call()


def test_partial_fit_that_cannot_be_exact_is_not_offered():
    assert not hasattr(DCoTVectorizer(squash="tanh"), "partial_fit")
    assert hasattr(DCoTVectorizer(), "partial_fit")


@pytest.mark.parametrize(
    "name",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_valid_tag_types",
        "check_no_attributes_set_in_init",
        "check_get_params_invariance",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_mixin_order",
    ],
)
def test_scikit_learns_checks_of_parameters(name):
    """Those that need no matrix; the others would feed numbers to an estimator of texts."""
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check("DCoTVectorizer", DCoTVectorizer())


@pytest.mark.parametrize("bad", [[1, 2], [b"bytes"], [float("nan")], "text", np.ones((2, 2))])
def test_transform_refuses_what_is_not_text(bad):
    model = DCoTVectorizer().fit(TEXTS)
    with pytest.raises(DcotError):
        model.transform(bad)
