"""What must hold for any corpus."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dcot import DCoT
from dcot.core.moments import Moments

CASE = settings(max_examples=40, deadline=None)


@st.composite
def corpora(draw, max_documents=12, max_terms=8):
    n = draw(st.integers(1, max_documents))
    d = draw(st.integers(1, max_terms))
    X = draw(arrays(np.float64, (n, d), elements=st.integers(0, 5).map(float)))
    X[0, 0] += 1
    return X


noises = st.sampled_from([0.1, 0.5, 0.9])
shrinkages = st.sampled_from([0.0, 0.5, 2.0])
solvers = st.sampled_from(["primal", "dual", "cg"])


def coef(X, **options):
    return (
        DCoT(n_layers=1, tol=1e-13, prototypes=np.arange(X.shape[1]), **options).fit(X).layers_[0]
    )


@CASE
@given(corpora(), noises, shrinkages, solvers, st.randoms(use_true_random=False))
def test_order_of_documents_does_not_matter(X, noise, shrinkage, solver, random):
    order = random.sample(range(len(X)), len(X))
    options = {"noise": noise, "shrinkage": shrinkage, "solver": solver}
    np.testing.assert_allclose(coef(X, **options).coef_, coef(X[order], **options).coef_, atol=1e-8)


@CASE
@given(corpora(), noises, shrinkages, solvers, st.randoms(use_true_random=False))
def test_permuted_terms_permute_the_model(X, noise, shrinkage, solver, random):
    order = np.array(random.sample(range(X.shape[1]), X.shape[1]))
    options = {"noise": noise, "shrinkage": shrinkage, "solver": solver}
    plain, mixed = coef(X, **options), coef(X[:, order], **options)
    np.testing.assert_allclose(plain.coef_[np.ix_(order, order)], mixed.coef_, atol=1e-8)
    np.testing.assert_allclose(plain.intercept_[order], mixed.intercept_, atol=1e-8)


@CASE
@given(corpora(), noises, shrinkages, solvers, st.sampled_from([0.01, 7.0, 1e4]))
def test_rescaling_everything_changes_nothing(X, noise, shrinkage, solver, factor):
    options = {"noise": noise, "shrinkage": shrinkage, "solver": solver}
    plain, scaled = coef(X, **options), coef(factor * X, **options)
    np.testing.assert_allclose(plain.coef_, scaled.coef_, atol=1e-8)
    np.testing.assert_allclose(factor * plain.intercept_, scaled.intercept_, rtol=1e-7, atol=1e-8)


@CASE
@given(corpora(), noises, solvers, st.integers(2, 5))
def test_without_shrinkage_a_duplicated_corpus_changes_nothing(X, noise, solver, times):
    plain = coef(X, noise=noise, shrinkage=0.0, solver=solver).coef_
    often = coef(np.tile(X, (times, 1)), noise=noise, shrinkage=0.0, solver=solver).coef_
    np.testing.assert_allclose(plain, often, atol=1e-8)


@CASE
@given(corpora(), noises, solvers, st.data())
def test_without_shrinkage_rescaled_terms_rescale_the_model(X, noise, solver, data):
    scale = data.draw(arrays(np.float64, X.shape[1], elements=st.sampled_from([0.1, 1.0, 20.0])))
    plain = coef(X, noise=noise, shrinkage=0.0, solver=solver).coef_
    scaled = coef(X * scale, noise=noise, shrinkage=0.0, solver=solver).coef_
    np.testing.assert_allclose(plain * scale / scale[:, None], scaled, atol=1e-7)


@CASE
@given(corpora(), noises, shrinkages, solvers)
def test_zero_columns_change_nothing(X, noise, shrinkage, solver):
    options = {"noise": noise, "shrinkage": shrinkage, "solver": solver}
    padded = np.hstack([X, np.zeros((len(X), 2))])
    d = X.shape[1]
    wide = coef(padded, **options)
    np.testing.assert_allclose(wide.coef_[:d, :d], coef(X, **options).coef_, atol=1e-8)
    assert not wide.coef_[d:].any()
    assert not wide.coef_[:, d:].any()


@CASE
@given(corpora(), st.sampled_from([0.0, 0.5, 0.9]), st.sampled_from(["identity", "tanh"]))
def test_features_are_finite_and_of_unit_length_or_zero(X, noise, squash):
    model = DCoT(noise=noise, squash=squash, n_layers=2)
    shared = model.fit_transform(X)
    assert np.isfinite(shared).all()
    first = np.linalg.norm(np.split(shared, 2, axis=1)[0], axis=1)
    assert (np.isclose(first, 1) | (first < 1e-6)).all()
    features = model.set_params(normalize="unit").fit_transform(X)
    assert np.isfinite(features).all()
    for block in np.split(features, 2, axis=1):
        lengths = np.linalg.norm(block, axis=1)
        assert (np.isclose(lengths, 1) | (lengths < 1e-6)).all()


@CASE
@given(corpora(), corpora())
def test_moments_add(X, Y):
    d = min(X.shape[1], Y.shape[1])
    X, Y = X[:, :d], Y[:, :d]
    both = np.vstack([X, Y])
    expected = Moments.of(both)
    in_place = Moments.empty(d, np.float64)
    in_place.add(X)
    in_place.add(Y)
    for found in (Moments.of(X) + Moments.of(Y), in_place):
        assert found.n == expected.n
        for name in ("total", "squares", "document_frequency"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(np.tril(in_place.scatter), np.tril(both.T @ both), atol=1e-9)


def test_moments_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="2 and 3 terms"):
        Moments.of(np.ones((1, 2))) + Moments.of(np.ones((1, 3)))


@CASE
@given(corpora(), noises, shrinkages)
def test_the_loss_never_exceeds_that_of_the_mean(X, noise, shrinkage):
    """Predicting the mean is among the candidates, so learning can only do better."""
    model = DCoT(noise=noise, shrinkage=shrinkage, n_layers=1, n_prototypes=100).fit(X)
    variance = ((X - X.mean(0)) ** 2).sum() / (2 * len(X))
    assert -1e-12 <= model.loss_[0] <= variance + 1e-9
