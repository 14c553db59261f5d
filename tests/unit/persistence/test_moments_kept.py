"""A model whose moments were kept goes on after loading as if it had never been away."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.persistence.conftest import same

import dcot
from dcot import DCoT, DCoTVectorizer
from dcot.persistence.fitted import packed_lower, unpacked_lower


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mmap", [False, True])
def test_dcot_goes_on(X, tmp_path, dtype, mmap):
    X = X.astype(dtype)
    straight = DCoT(5).partial_fit(X[:10])
    straight.save(tmp_path, keep_moments=True)
    again = dcot.load(tmp_path, mmap=mmap)
    assert same(again.transform(X), straight.transform(X))
    assert same(again.partial_fit(X[10:]).transform(X), straight.partial_fit(X[10:]).transform(X))
    assert same(again.transform(X), DCoT(5).partial_fit(X[:10]).partial_fit(X[10:]).transform(X))


@pytest.mark.parametrize("weighting", ["tfidf", "counts"])
def test_vectorizer_goes_on_and_learns_new_words(texts, tmp_path, weighting):
    straight = DCoTVectorizer(weighting=weighting, n_prototypes=6).partial_fit(texts[:3])
    straight.save(tmp_path, keep_moments=True)
    again = dcot.load(tmp_path)
    straight.partial_fit(texts[3:])
    again.partial_fit(texts[3:])
    assert again.vocabulary_ == straight.vocabulary_
    assert again.counter_.n_documents_ == straight.counter_.n_documents_
    assert same(again.transform(texts), straight.transform(texts))
    again.save(tmp_path, keep_moments=True)
    assert same(dcot.load(tmp_path).transform(texts), straight.transform(texts))


def test_without_moments_it_behaves_as_after_fit(X, texts, tmp_path):
    DCoT(5).partial_fit(X[:10]).save(tmp_path / "a")
    with pytest.warns(UserWarning, match="starts a new model"):
        again = dcot.load(tmp_path / "a").partial_fit(X[10:])
    assert same(again.transform(X), DCoT(5).partial_fit(X[10:]).transform(X))
    DCoTVectorizer().partial_fit(texts[:3]).save(tmp_path / "b")
    with pytest.warns(UserWarning, match="starts a new model"):
        again = dcot.load(tmp_path / "b").partial_fit(texts[:2])
    assert "wheat" not in again.vocabulary_


def test_fit_has_no_moments_to_keep(model, vectorizer, tmp_path):
    for fitted in (model, vectorizer):
        with pytest.raises(dcot.DcotError, match=r"keep_moments=True needs .*partial_fit"):
            fitted.save(tmp_path / "new", keep_moments=True)
    assert not (tmp_path / "new").exists()


def test_weights_may_be_small_beside_exact_moments(X, tmp_path):
    straight = DCoT(5).partial_fit(X[:10])
    straight.save(tmp_path, keep_moments=True, precision="int8")
    again = dcot.load(tmp_path).partial_fit(X[10:])
    assert same(again.transform(X), straight.partial_fit(X[10:]).transform(X))


def test_triangles():
    lower = np.tril(np.arange(16.0).reshape(4, 4))
    np.testing.assert_array_equal(unpacked_lower(packed_lower(lower), 4), lower)
