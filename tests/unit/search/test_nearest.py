"""Exact cosine search, against scikit-learn and against loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from dcot import DCoT, SearchIndex
from dcot.search import encoding, ranking
from dcot.search.encoding import unit_rows


def features(n, width=20, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


@pytest.fixture(scope="module")
def F():
    return features(5000)


@pytest.fixture(scope="module")
def index(F):
    return SearchIndex().add(F)


def test_as_scikit_learn(index, F):
    Q = features(300, seed=1)
    nearest = NearestNeighbors(n_neighbors=7, metric="cosine", algorithm="brute").fit(F)
    distances, rows = nearest.kneighbors(Q)
    found = index.search(Q, k=7)
    assert np.array_equal([hits.ids for hits in found], rows)
    np.testing.assert_allclose([hits.scores for hits in found], 1 - distances, atol=1e-6)


def test_one_query_as_in_a_batch(index, F):
    Q = features(40, seed=2)
    batch = index.search(Q, k=12)
    for query, hits in zip(Q, batch, strict=True):
        assert index.search(query, k=12) == hits  # to the last bit
    with threadpool_limits(1):
        assert index.search(Q, k=12) == batch


def test_ties_in_the_order_they_came():
    F = features(3, width=7)
    index = SearchIndex().add(np.tile(F, (2000, 1)))
    for k in (1, 5, 1000, 5000):
        hits = index.search(F[1], k=k)
        same = min(k, 2000)
        assert hits.ids[:same] == list(range(1, 3 * same, 3))
        assert len(set(hits.scores[:same])) == 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_against_a_loop(data):
    """Few values, so that there are ties; blocks of a few rows, so that there are many."""
    n, width = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 4))
    values = st.sampled_from([-1.0, 0.0, 1.0, 2.0])
    rows = st.lists(st.lists(values, min_size=width, max_size=width), min_size=n, max_size=n)
    F, query = np.array(data.draw(rows)), np.array(data.draw(rows)[0])
    k, allowed = data.draw(st.integers(1, 50)), data.draw(st.sets(st.integers(0, n - 1)))
    index = SearchIndex().add(F)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "DOCUMENTS_PER_BLOCK", 3)
        patch.setattr(ranking, "QUERIES_PER_BLOCK", 2)
        patch.setattr(ranking, "N_SPARE", 40)
        found = index.search(np.tile(query, (3, 1)), k=k, where=allowed)

    def cosine(row):
        lengths = np.linalg.norm(row) * np.linalg.norm(query)
        return np.float32(row @ query / lengths) if lengths else np.float32(0)

    scores = {row: round(float(cosine(F[row])), 5) for row in allowed}
    expected = sorted(scores, key=lambda row: (-scores[row], row))[:k] if query.any() else []
    assert all(hits == found[0] for hits in found)
    assert found[0].ids == expected
    assert found[0].known == bool(query.any())
    np.testing.assert_allclose(found[0].scores, [scores[row] for row in expected], atol=1e-5)


def test_blocks_do_not_change_the_vectors(monkeypatch):
    F = features(50, width=8)
    model = TruncatedSVD(3, random_state=0).fit(F)
    whole = encoding.encode_rows(model, F, None)
    monkeypatch.setattr(encoding, "DOCUMENTS_PER_BLOCK", 7)
    monkeypatch.setattr(encoding, "VALUES_PER_BLOCK", 10)
    # scikit-learn's product has last digits that depend on its shape
    np.testing.assert_allclose(encoding.encode_rows(model, F, None), whole, rtol=1e-5, atol=1e-7)
    assert np.array_equal(unit_rows(F), np.vstack([unit_rows(row[None]) for row in F]))
    lengths = np.linalg.norm(F.astype(np.float64), axis=1)
    np.testing.assert_allclose(unit_rows(F), F / lengths[:, None], rtol=1e-6)


def test_very_large_and_very_small_values():
    F = np.array([[1e300, 0.0], [1e-300, 1e-300], [0.0, 5e-324]])
    found = SearchIndex().add(F).search([0.0, 1.0], k=3)
    assert found.ids == [2, 1, 0]
    np.testing.assert_allclose(found.scores, [1, 0.5**0.5, 0], atol=1e-6)
    assert unit_rows(np.zeros((0, 3))).shape == (0, 3)


def test_dcot_on_a_matrix():
    X = sp.random_array((60, 30), density=0.3, random_state=0, dtype=np.float32).tocsr()
    model = DCoT(10, n_layers=2).fit(X)
    index = SearchIndex(model).add(X)
    Z = unit_rows(model.reconstruct(X, layer=1, subtract_bias=True))
    expected = np.argsort(-(Z[:5] @ Z.T), axis=1)[:, :3]
    assert [hits.ids for hits in index.search(X[:5], k=3)] == expected.tolist()
    own = SearchIndex(model, layer=None).add(X)
    Z = unit_rows(model.transform(X))
    expected = np.argsort(-(Z[:5] @ Z.T), axis=1)[:, :3]
    assert [hits.ids for hits in own.search(X[:5], k=3)] == expected.tolist()


def test_another_transformer_fitted_on_the_way():
    X = sp.random_array((60, 30), density=0.3, random_state=0).tocsr()
    svd = TruncatedSVD(5, random_state=0)
    index = SearchIndex(svd).add(X)
    assert not hasattr(svd, "components_")
    Z = unit_rows(svd.fit_transform(X))
    assert index.search(X[:1], k=4)[0].ids == np.argsort(-(Z[0] @ Z.T))[:4].tolist()


def test_similar_leaves_itself_out(index, F):
    hits = index.similar(17, k=5)
    assert hits.ids == index.search(F[17], k=6).ids[1:]
    assert (
        index.similar(17, k=5, where=range(20)).ids
        == [name for name in index.search(F[17], k=5000).ids if name < 20 and name != 17][:5]
    )
