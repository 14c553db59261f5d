"""Sums over blocks against the plain product, in whatever pieces the documents come."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dcot import DCoT
from dcot.stream import sums
from dcot.stream.packed import PackedScatter
from dcot.stream.sums import Block, MomentsSum, PanelSum, SparsePanelSum, panels_of


def documents(n, d, density, seed=0):
    rng = np.random.default_rng(seed)
    return sp.csr_array(sp.random_array((n, d), density=density, random_state=rng, format="csr"))


def scatter_of(kind, blocks, d, rows):
    totals = []
    for bounds in panels_of(d, rows):
        one = kind(*bounds, np.float64)
        total = one.empty()
        for block in blocks:
            total = one.add(total, block)
        totals.append(total)
    return PackedScatter.of_parts(totals, panels_of(d, rows), np.float64).full()


@pytest.mark.parametrize("kind", [PanelSum, SparsePanelSum])
@pytest.mark.parametrize("few", [0, 32, 10**9])  # noting what was met, either, looking at all
@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 120),
    d=st.integers(1, 90),
    density=st.sampled_from([0.01, 0.1, 0.6]),
    cut=st.integers(0, 120),
    weighted=st.booleans(),
)
def test_panels_make_the_scatter_matrix(kind, few, n, d, density, cut, weighted):
    X = documents(n, d, density)
    weights = np.linspace(0.5, 2, n) if weighted else None
    whole = Block(X, weights)
    blocks = [whole.rows(0, min(cut, n)), whole.rows(min(cut, n), n)]
    before, sums.CELLS_PER_PAIR = sums.CELLS_PER_PAIR, few
    try:
        got = scatter_of(kind, [b for b in blocks if b.shape[0]], d, 40)
    finally:
        sums.CELLS_PER_PAIR = before
    dense = X.toarray() * np.sqrt(np.ones(n) if weights is None else weights)[:, None]
    np.testing.assert_allclose(np.tril(got), np.tril(dense.T @ dense), atol=1e-12)


def test_a_sparse_sum_that_fills_up_becomes_dense_and_goes_on():
    X = documents(400, 50, 0.4)
    blocks = [Block(X[i : i + 50]) for i in range(0, 400, 50)]
    one = SparsePanelSum(0, 50, np.float64)
    total = one.empty()
    for block in blocks:
        total = one.add(total, block)
    assert [type(part) for part in total] == [np.ndarray]
    other = one.add(one.empty(), Block(X[:200].toarray()))  # a dense block, into a dense sum
    other = one.add(other, Block(X[200:].toarray()))
    for found in (total, other):
        whole = PackedScatter.of_parts([list(found)], [(0, 50)], np.float64).full()
        np.testing.assert_allclose(np.tril(whole), np.tril((X.T @ X).toarray()))
        assert not np.triu(sum(np.asarray(sp.csr_array(part).todense()) for part in found), 1).any()


def test_what_merges_has_no_data_and_says_how_large_totals_are():
    X, d = documents(40, 600, 0.05), 600
    mean, targets = np.asarray(X.mean(axis=0)), np.arange(30)
    layer = DCoT(30, random_state=0).fit(X).layers_[:1]
    one, two = Block(X[:15], start=0), Block(X[15:], start=15)
    for sum_of in (
        MomentsSum(),
        PanelSum(0, d, np.float64),
        SparsePanelSum(0, d, np.float64),
        sums.ProductSum(np.ones((d, 3)), mean),
        sums.ColumnsSum(targets, mean, np.float64),
        sums.OutputsSum(layer, np.zeros(30)),
        sums.MeanOutputSum(layer),
        sums.CountSum(),
        sums.RowsSum(np.arange(40)),
    ):
        parts = [sum_of.add(sum_of.empty(), block) for block in (one, two)]
        light, (left, right) = sum_of.for_merging(), pickle.loads(pickle.dumps(parts))
        merged = pickle.dumps(light.merge(*parts))
        assert merged == pickle.dumps(sum_of.merge(left, right))
        assert len(pickle.dumps(light)) < 300
        if sum_of.total_bytes:
            assert len(merged) <= 1.1 * sum_of.total_bytes + 1000
        else:
            assert not isinstance(parts[0], np.ndarray)


def test_blocks_stack_slice_and_travel():
    X = documents(30, 12, 0.3)
    weights = np.arange(30.0)
    whole = Block(X, weights, start=5)
    _ = whole.transpose, whole.rooted
    pieces = [whole.rows(0, 11), whole.rows(11, 30)]
    assert [piece.start for piece in pieces] == [5, 16]
    again = Block.stack(pieces)
    assert (again.X != X).nnz == 0
    np.testing.assert_array_equal(again.weights, weights)
    assert again.start == 5
    sent = pickle.loads(pickle.dumps(whole))
    assert set(vars(sent)) == {
        "X",
        "weights",
        "start",
        "names",
    }  # what can be made again is not sent
    dense = Block.stack([Block(X[:4].toarray()), Block(X[4:].toarray())])
    np.testing.assert_array_equal(dense.X, X.toarray())
    assert dense.weights is None
    assert dense.nbytes == X.shape[0] * X.shape[1] * 8


def test_moments_do_not_depend_on_the_pieces(monkeypatch):
    X = documents(500, 20, 0.3)
    weights = np.linspace(0, 1, 500)
    one = MomentsSum()
    expected, size = one.add(None, Block(X, weights))
    monkeypatch.setattr("dcot.core.layers.BLOCK_BYTES", 64 * 32 * 6)
    got, again = one.add(None, Block(X, weights))
    np.testing.assert_allclose(got.squares, expected.squares)
    np.testing.assert_allclose(got.document_frequency, expected.document_frequency)
    assert got.n == pytest.approx(expected.n)
    assert again[:2].tolist() == size[:2].tolist() == [500, X.nnz]
    assert again[2] == pytest.approx(size[2])


def test_blocks_of_two_kinds_stack():
    X = documents(20, 6, 0.4)
    both = Block.stack([Block(X[:5].toarray()), Block(X[5:])])
    assert (both.X != X).nnz == 0


def test_a_block_without_documents_adds_nothing():
    one = PanelSum(0, 6, np.float64)
    total = one.add(one.empty(), Block(sp.csr_array((0, 6))))
    assert not total.any()
    assert SparsePanelSum(0, 6, np.float64).add([], Block(sp.csr_array((0, 6)))) == []
