"""Neighbours and cohorts, against loops over all terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.reference import counts

from dcot import DCoT, DCoTVectorizer
from dcot.errors import DcotError

RNG = np.random.default_rng(1)
X = counts(RNG, 60, 40)
TEXTS = [" ".join(RNG.choice([f"w{i}" for i in range(30)], 8)) for _ in range(40)]


def values_of_terms(model, layer, weights=None):
    """A document of each term, one at a time, by ``reconstruct``."""
    rows = np.eye(model.n_features_in_)
    if weights is not None:
        rows *= weights
    found = [model.reconstruct(row[None, :], layer, subtract_bias=True)[0] for row in rows]
    return np.array(found, dtype=np.float64)


def by_cosine(values, column):
    scores = {}
    for term, row in enumerate(values):
        lengths = np.linalg.norm(row) * np.linalg.norm(values[column])
        if term != column and lengths > 0:
            scores[term] = row @ values[column] / lengths
    return sorted(scores.items(), key=lambda entry: -entry[1])


@pytest.mark.parametrize("squash", ["identity", "tanh"])
@pytest.mark.parametrize("layer", [1, 2, 3, None])
def test_similar_terms(squash, layer):
    model = DCoT(15, n_layers=3, noise=0.4, squash=squash).fit(X)
    values = values_of_terms(model, layer)
    for column in (0, 7, 39):
        expected = by_cosine(values, column)
        found = model.similar_terms(column, 39, layer=layer)
        assert [int(term[1:]) for term in found.terms] == [term for term, _ in expected]
        np.testing.assert_allclose(found.values, [score for _, score in expected], atol=1e-9)
        assert list(found[:5]) == list(model.similar_terms(column, 5, layer=layer))


def test_bounds_rule_out_only_what_is_not_among_the_nearest(monkeypatch):
    monkeypatch.setattr("dcot.explain.neighbours.TERMS_PER_STEP", 3)
    monkeypatch.setattr("dcot.explain.neighbours.N_DIRECTIONS", 2)
    model = DCoT(30, n_layers=3, noise=0.3, shrinkage=0.1).fit(X)
    values = values_of_terms(model, 3)
    for column in range(40):
        expected = by_cosine(values, column)[:6]
        found = model.similar_terms(column, 6)
        np.testing.assert_allclose(found.values, [score for _, score in expected], atol=1e-9)


def test_a_term_without_values_is_near_nothing():
    Y = X.copy()
    Y[:, 4] = 0
    for layers in (1, 2):
        model = DCoT(10, n_layers=layers, prototypes=list(range(10, 20))).fit(Y)
        assert len(model.similar_terms(4)) == 0
        assert "x4" not in model.similar_terms(5, 40).terms
        assert "none" in str(model.similar_terms(4))


def test_of_equally_similar_terms_the_frequent_come_first():
    """A word that is always beside another one has the same values as it, whatever its weight."""
    Y = np.hstack([X, X[:, [3]], X[:, [3]] * (RNG.random((60, 1)) < 0.9)])
    for layers in (1, 2):
        model = DCoT(10, n_layers=layers, prototypes=list(range(10, 20))).fit(Y)
        reader = model._reader()
        assert model.similar_terms(3, 1).terms == ("x40",)
        for first, other in ((40, 41), (41, 40)):
            frequency = np.zeros(42)
            frequency[first] = 1
            same = replace(
                reader,
                layers=[twin(reader.layers[0], 41, 3), *reader.layers[1:]],
                frequency=frequency,
            )
            assert same.similar(3, 2, None).terms == (f"x{first}", f"x{other}")
            assert same.similar(3, 1, None).terms == (f"x{first}",)


def twin(layer, column, other):
    """The layer with the values of one term for another."""
    coef = layer.coef_.copy()
    coef[column] = 0.5 * coef[other]
    return replace(layer, coef_=coef)


def test_frequent_terms_of_a_vectorizer():
    texts = ["opec oil rig"] * 2 + ["oil"] * 3 + ["rig oil"] + ["corn wheat", "wheat", "corn"]
    reader = DCoTVectorizer(n_prototypes=3).fit(texts)._reader()
    order = reader.terms[np.argsort(-reader.frequency, kind="stable")]
    assert order.tolist()[0] == "oil"
    assert order.tolist()[-3:] == ["corn", "opec", "wheat"]


@pytest.mark.parametrize("squash", ["identity", "tanh"])
@pytest.mark.parametrize("layer", [1, 2])
def test_cohort(squash, layer):
    model = DCoT(15, n_layers=2, noise=0.4, squash=squash).fit(X)
    values = values_of_terms(model, layer)
    for place, prototype in enumerate(model.prototypes_[:3]):
        rare = [term for term in range(40) if term not in model.prototypes_]
        rare.sort(key=lambda term: -values[term, place])
        found = model.cohort(int(prototype), 100, layer=layer)
        assert [int(term[1:]) for term in found.terms] == rare
        np.testing.assert_allclose(found.values, values[rare, place], atol=1e-9)
        everyone = model.cohort(int(prototype), 100, layer=layer, rare=False)
        assert len(everyone) == 39
        assert f"x{prototype}" not in everyone.terms


def test_where_every_term_is_a_prototype_the_cohort_is_all_others():
    model = DCoT(40).fit(X)
    assert len(model.cohort(3, 100)) == 39


@pytest.mark.parametrize("weighting", ["bm25", "counts", "tfidf"])
@pytest.mark.parametrize("squash", ["identity", "tanh"])
def test_words_of_a_vectorizer_weigh_what_they_weigh_alone(weighting, squash):
    model = DCoTVectorizer(
        n_prototypes=10, weighting=weighting, squash=squash, noise=0.5, dtype="float64"
    ).fit(TEXTS)
    terms = model.counter_.get_feature_names_out()
    values = model.reconstruct(terms.tolist(), subtract_bias=True)
    place = 4
    prototype = terms[model.prototypes_[place]]
    found = dict(model.cohort(prototype, 5))
    for term, value in found.items():
        assert value == pytest.approx(values[list(terms).index(term), place], abs=1e-9)
    expected = by_cosine(values, 3)[:4]
    near = model.similar_terms(terms[3], 4)
    np.testing.assert_allclose(near.values, [score for _, score in expected], atol=1e-9)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (lambda model: model.similar_terms("x3", layer=9), "layer must be an integer from 1 to 2"),
        (lambda model: model.similar_terms("x3", 0), "k must be a positive integer"),
        (lambda model: model.similar_terms(40), "no column 40: columns go from 0 to 39"),
        (lambda model: model.similar_terms(2.5), "expected a term or the number of a column"),
        (lambda model: model.cohort(int(rare_one(model))), "not one of the 15 prototypes"),
        (lambda model: model.similar_terms("x3", names=["a"]), "names: .*pass one for each"),
        (lambda model: model.explain("oil"), "fitted without names: pass names="),
    ],
)
def test_bad_questions(question, words):
    with pytest.raises(DcotError, match=words):
        question(DCoT(15).fit(X))


def rare_one(model):
    return next(term for term in range(40) if term not in model.prototypes_)
