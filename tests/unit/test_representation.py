"""Features of documents, one at a time by their definition."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from tests.reference import counts

from dcot import DCoT
from dcot.core import representation
from dcot.core.representation import (
    Representation,
    _inverse_norms,
    _scaled_down,
    combined,
    orthonormal,
    products,
    sampled_rows,
)

X = 0.3 * counts(np.random.default_rng(0), 11, 7)
X[4] = 0


def by_hand(made, x):
    """The features of one document."""
    outputs, z = [], x
    for layer in made.layers:
        z = z @ layer.coef_ + layer.intercept_
        z = np.tanh(z) if layer.squash == "tanh" else z
        outputs.append(z if made.normalize is None else z - layer.mean_)
        z = outputs[-1] if made.normalize is None else z
    if made.normalize == "unit":
        outputs = [one / np.linalg.norm(one) for one in outputs]
    elif made.normalize == "shared":
        length, spreads = np.linalg.norm(outputs[0]), [layer.spread_ for layer in made.layers]
        outputs = [
            one / length * np.sqrt(spreads[0] / spread)
            for one, spread in zip(outputs, spreads, strict=True)
        ]
    if made.output == "last":
        return outputs[-1]
    if made.output == "layers":
        return np.hstack(outputs)
    inputs = []
    if made.output in ("concat", "all"):
        inputs.append((x, 1.0))
    if made.output in ("lsi", "all"):
        inputs.append((x @ made.directions, made.lsi_weight))
    scaled = made.normalize in ("unit", "shared")
    inputs = [w * v / ((np.linalg.norm(v) or 1.0) if scaled else 1.0) for v, w in inputs]
    return np.hstack([*inputs, *outputs])


@pytest.mark.parametrize("output", ["concat", "layers", "last", "lsi", "all"])
@pytest.mark.parametrize("normalize", ["shared", "unit", "center", None])
@pytest.mark.parametrize(("squash", "n_layers"), [("identity", 1), ("identity", 3), ("tanh", 2)])
def test_every_way_to_the_features(output, normalize, squash, n_layers, monkeypatch):
    monkeypatch.setattr(representation, "DOCUMENTS_PER_DIRECTION", 4)
    options = {"output": output, "normalize": normalize, "squash": squash, "n_layers": n_layers}
    made = replace(DCoT(3, **options).fit(X)._fitted().representation, lsi_weight=2.0)
    cut = lambda n, *sizes: iter([slice(0, 5), slice(5, n)])  # noqa: E731
    monkeypatch.setattr(representation, "row_blocks", cut)
    expected = np.array([by_hand(made, x) for x in X])
    weights = np.random.default_rng(1).standard_normal((expected.shape[1], 4))
    for matrix in (X, sp.csr_array(X)):
        features = made.transform(matrix)
        features = features.toarray() if sp.issparse(features) else features
        np.testing.assert_allclose(features, expected, atol=1e-10)
        np.testing.assert_allclose(made.times(matrix, weights), expected @ weights, atol=1e-10)
        parts = made.parts(matrix)
        dual = np.random.default_rng(2).standard_normal((len(X), 2))
        np.testing.assert_allclose(combined(parts, dual), expected.T @ dual, atol=1e-10)
        np.testing.assert_allclose(products(parts, parts), expected @ expected.T, atol=1e-10)


def test_one_column():
    made = DCoT(1, n_layers=1, output="concat").fit(X)._fitted().representation
    features = made.transform(sp.csr_array(X))
    assert features.shape == (11, 8)
    np.testing.assert_allclose(features.toarray(), made.transform(X), atol=1e-12)


@pytest.mark.parametrize(("n", "each"), [(60, 10), (10, 5)], ids=["many", "fewer than terms"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_lsi_projects_on_right_singular_vectors(weighted, sparse, n, each, monkeypatch):
    """As TruncatedSVD does. A weight of two is a copy, and the order does not matter.

    With fewer documents than terms, the iteration is in the space of documents.
    """
    monkeypatch.setattr(representation, "DOCUMENTS_PER_DIRECTION", each)
    monkeypatch.setattr(representation, "N_ITERATIONS", 200)  # until it does not change
    rng = np.random.default_rng(0)
    documents = counts(rng, n, 12) * np.linspace(3, 1, 12)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    given = sp.csr_array(documents) if sparse else documents
    found = DCoT(5, output="lsi").fit(given, sample_weight=weights)._fitted().representation
    copies = documents if weights is None else np.repeat(documents, weights.astype(int), axis=0)
    k = len(copies) // each
    expected = np.linalg.svd(copies)[2][:k].T
    expected *= np.sign(expected[np.abs(expected).argmax(0), np.arange(k)])
    np.testing.assert_allclose(found.directions, expected, atol=1e-6)
    again = DCoT(5, output="lsi").fit(rng.permutation(copies))._fitted().representation
    np.testing.assert_allclose(again.directions, found.directions, atol=1e-6)


@pytest.mark.parametrize("n_terms", [90, 900], ids=["many documents", "fewer than terms"])
def test_a_few_iterations_are_enough(n_terms):
    rng = np.random.default_rng(0)
    decay = np.diag(0.9 ** np.arange(40))
    documents = rng.normal(size=(300, 40)) @ decay @ rng.normal(size=(40, n_terms))
    found = DCoT(5, output="lsi").fit(documents)._fitted().representation.directions
    k = found.shape[1]
    assert 20 < k <= 30  # directions that hold next to nothing are dropped
    best = np.linalg.svd(documents)[1][:30]
    assert np.linalg.norm(documents @ found) > 0.998 * np.linalg.norm(best)
    np.testing.assert_allclose(found.T @ found, np.eye(k), atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_compression_of_some_documents(monkeypatch, weighted):
    """Directions are right singular vectors of the weighted features of the chosen documents."""
    monkeypatch.setattr(representation, "MAX_SAMPLED_DOCUMENTS", 9)
    weights = np.linspace(0.5, 2, 11) if weighted else None
    whole = DCoT(3).fit(X)._fitted().representation
    generator = np.random.RandomState(0)
    found = whole.learned_from(*representation.sample(X, weights, generator), 11, 2, generator)
    chosen = np.sort(np.random.RandomState(0).choice(11, 9, replace=False))
    features = whole.transform(X[chosen])
    if weights is not None:
        features = features * np.sqrt(weights[chosen])[:, None]
    expected = np.linalg.svd(features)[2][:2].T
    expected *= np.sign(expected[np.abs(expected).argmax(0), [0, 1]])
    np.testing.assert_allclose(found.components, expected, atol=1e-8)
    np.testing.assert_allclose(found.transform(X), whole.transform(X) @ expected, atol=1e-8)


@pytest.mark.parametrize(
    ("spreads", "expected"),
    [((0.5, 0.25), (1.0, 2**0.5)), ((0.5, 0.0), (1.0, 1.0)), ((0.0, 0.5), (1.0, 1.0))],
)
def test_layers_that_do_not_vary_are_not_scaled(spreads, expected):
    layers = [SimpleNamespace(spread_=spread) for spread in spreads]
    assert Representation(layers, "layers", "shared").scales == pytest.approx(expected)
    assert Representation(layers, "layers", "unit").scales == [1.0, 1.0]


def test_a_basis_of_columns_that_are_zero_or_repeated():
    columns = np.array([[3.0, 0.0, 6.0], [4.0, 0.0, 8.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(np.abs(orthonormal(columns)), [[0.6], [0.8], [0.0]], atol=1e-12)
    assert orthonormal(np.zeros((3, 2))).shape == (3, 0)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_products_are_kept_near_one(size):
    matrix = np.array([[1.0, -3.0], [2.0, 0.0]]) * size
    found = _scaled_down(matrix)
    assert 0.5 <= np.abs(found).max() < 1
    np.testing.assert_allclose(found * (np.abs(matrix).max() / np.abs(found).max()), matrix)


def test_few_documents_have_one_direction_and_are_all_used():
    assert DCoT(3, output="lsi").fit(X)._fitted().representation.directions.shape[1] == 1
    assert sampled_rows(representation.MAX_SAMPLED_DOCUMENTS, None) is None


def test_rows_of_zeros_stay_zeros():
    np.testing.assert_allclose(_inverse_norms(np.array([0.0, 0.25, 4.0])), [0.0, 2.0, 0.5])


@pytest.mark.parametrize("output", ["concat", "all", "lsi", "layers"])
def test_no_documents(output):
    model = DCoT(3, output=output).fit(sp.csr_array(X))
    assert model.transform(sp.csr_array(X)[:0]).shape == (0, model.transform(X).shape[1])


@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
@pytest.mark.parametrize("shape", [(400, 40), (30, 40)])
def test_spreads_are_those_of_the_outputs(shape, solver):
    """Also in single precision, with values far from zero, where a short formula cancels."""
    documents = np.random.default_rng(0).poisson(1, shape).astype(np.float32) + 1
    model = DCoT(solver=solver, n_layers=3, noise=(0.9, 0.8, 0.8), shrinkage=(1, 0, 0))
    Z = documents.astype(np.float64)
    for layer in model.fit(documents).layers_:
        Z = Z @ layer.coef_ + layer.intercept_
        spread = ((Z - Z.mean(axis=0)) ** 2).sum(axis=1).mean()
        if spread > 1e-6:  # less is rounding
            assert layer.spread_ == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("n", [1, 7, 3000])
@pytest.mark.parametrize("normalize", ["shared", "unit"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [sp.csr_array, np.asarray])
def test_equal_documents_have_no_features(n, normalize, dtype, kind):
    row = np.random.default_rng(0).random((1, 12)).astype(dtype) / 3
    X, new = kind(np.repeat(row, n, axis=0)), kind(np.vstack([row, 2 * row, np.eye(12)[:3]]))
    model = DCoT(normalize=normalize)
    for fitted in (
        clone(model).fit(X),
        clone(model).partial_fit(X).partial_fit(X),
        clone(model).fit([X, X]),
        clone(model).fit(X, sample_weight=np.full(n, 1 / n)),
    ):
        assert not fitted.transform(new).any()
        np.testing.assert_allclose(fitted.reconstruct(new, 1), np.repeat(row, 5, 0), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 5, 30, 3000])
@pytest.mark.parametrize("normalize", ["shared", "unit", "center"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_nor_do_they_with_squashing(n, normalize, dtype, n_layers):
    """The mean of equal outputs is that output, not a sum of roundings."""
    row = np.random.default_rng(0).random((1, 12)).astype(dtype)
    X = np.repeat(row, n, axis=0)
    model = DCoT(5, squash="tanh", normalize=normalize, n_layers=n_layers)
    weighted = clone(model).fit(X, sample_weight=np.full(n, 0.3))
    for fitted in (clone(model).fit(X), clone(model).fit([X, X]), weighted):
        assert not fitted.transform(np.vstack([row, np.eye(12)[:3]]).astype(dtype)).any()


@pytest.mark.filterwarnings("ignore:reconstructed values differ so little")
def test_one_large_column_does_not_make_documents_equal():
    X = np.random.default_rng(0).random((300, 12))
    X[:, 0] += 1e8
    model = DCoT(n_layers=1, normalize="center").fit(X)
    assert model.layers_[0].coef_.any()


@pytest.mark.parametrize(
    ("offset", "options"),
    [
        (1000, {"n_layers": 1}),
        (1000, {"n_layers": 2, "normalize": None}),
        (10, {"n_layers": 2, "normalize": "unit"}),
        (10, {"n_layers": 3, "normalize": "center"}),
    ],
)
def test_features_that_are_rounding_are_said(offset, options):
    """Of a single layer too, and of later layers if their means are subtracted."""
    X = np.random.default_rng(0).poisson(0.7, (35, 10)).astype(np.float32)
    model = DCoT(6, prototypes="frequent", **options)
    model.fit(X)
    for documents in (X + offset, [X + offset, X + offset]):
        with pytest.warns(UserWarning, match="mostly rounding in float32: subtract the mean"):
            clone(model).fit(documents)
    with pytest.warns(UserWarning, match="mostly rounding"):
        clone(model).partial_fit(X + offset).transform(X)
    DCoT(6, n_layers=1, normalize=None).fit(X + offset)  # nothing is subtracted


@pytest.mark.parametrize("offset", [10, 100, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_layers_have_the_same_weight_if_columns_have_large_means(offset, dtype):
    X = np.random.default_rng(0).poisson(1.0, (300, 20)).astype(dtype)
    X[:, : 20 if offset < 1000 else 1] += offset
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "reconstructed values differ so little")
        models = DCoT().fit(X), DCoT().fit([X[:200], X[200:]]), DCoT(solver="primal").fit(X)
    for model in models:
        Z = model.transform(X)
        lengths = model.layers_[0].outputs(X) - model.layers_[0].mean_
        squares = (lengths**2).sum(axis=1)
        mean = [(squares * (part**2).sum(axis=1)).mean() for part in np.hsplit(Z, 2)]
        np.testing.assert_allclose(mean[1], mean[0], rtol=0.1)


@pytest.mark.parametrize("columns", [1, 20])
def test_a_warning_if_features_are_rounding(columns):
    X = np.random.default_rng(0).poisson(1.0, (300, 20)).astype(float)
    X[:, :columns] += 1e5
    for documents in (X, [X[:200], X[200:]]):
        with pytest.warns(UserWarning, match="mostly rounding in float32.*dtype='float64'"):
            DCoT(dtype="float32").fit(documents)
    assert np.linalg.norm(DCoT(dtype="float64").fit_transform(X - X.mean(axis=0))) > 1
    if columns == 1:
        DCoT(dtype="float64").fit(X)
