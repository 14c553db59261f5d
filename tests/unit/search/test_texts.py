"""Searching texts, by the definition: dense matrices, whole rankings, one query at a time."""

from __future__ import annotations

import numpy as np
import pytest

from dcot import DCoTVectorizer, SearchIndex
from dcot.search import RETRIEVAL, ranking
from dcot.text import TermCounter, TermWeighting, weighting

RNG = np.random.default_rng(3)
WORDS = [f"word{i}" for i in range(80)]
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(0, 25))) for _ in range(120)]
QUERIES = [" ".join(RNG.choice(WORDS, 3)) for _ in range(15)] + ["word1 word1 nothing"]


@pytest.fixture(scope="module", params=[{}, {"weighting": "bm25"}, {"n_layers": 2, "noise": 0.9}])
def model(request):
    return DCoTVectorizer(n_prototypes=30, **{**RETRIEVAL, **request.param}).fit(TEXTS)


def cosines(model, layer=1):
    def features(texts):
        z = model.reconstruct(texts, layer=layer, subtract_bias=True).astype(np.float64)
        norms = np.linalg.norm(z, axis=1, keepdims=True)
        return z / np.where(norms > 0, norms, 1)

    return features(QUERIES) @ features(TEXTS).T


def bm25(model):
    counts, asked = (model.counter_.transform(texts) for texts in (TEXTS, QUERIES))
    weighting = TermWeighting("bm25").fit(counts)
    return (asked @ weighting.transform(counts).T).toarray()


def compare(found, expected):
    for hits, row in zip(found, expected, strict=True):
        assert len(hits) == 20
        np.testing.assert_allclose(hits.scores, row[hits.ids], atol=2e-6)
        np.testing.assert_allclose(hits.scores, np.sort(row)[::-1][:20], atol=2e-6)


def test_meaning(model):
    index = SearchIndex(model).add(TEXTS)
    compare(index.search(QUERIES, k=20, hybrid=False), cosines(model))


def test_a_deeper_layer():
    model = DCoTVectorizer(n_prototypes=30, n_layers=2).fit(TEXTS)
    index = SearchIndex(model, layer=2, hybrid=False).add(TEXTS)
    compare(index.search(QUERIES, k=20), cosines(model, layer=2))


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("at_once", [1, 1 << 23])
def test_hybrid(model, share, at_once, monkeypatch):
    monkeypatch.setattr(ranking, "MAX_PRODUCTS", at_once)  # one query at a time, or all
    index = SearchIndex(model, hybrid=share).add(TEXTS[:70]).add(TEXTS[70:])
    words = bm25(model)
    words /= words.max(axis=1, keepdims=True)
    compare(index.search(QUERIES, k=20), share * cosines(model) + (1 - share) * words)


@pytest.mark.parametrize(("analyzer", "factor"), [("word", 1), ("char", 12), ("char_wb", 12)])
def test_n_grams_of_characters_are_not_words(analyzer, factor, monkeypatch):
    """A word has many of them, so the same query has fewer words, and documents are shorter."""
    model = DCoTVectorizer(n_prototypes=30, analyzer=analyzer, ngram_range=(1, 3), **RETRIEVAL)
    index = SearchIndex(model.fit(TEXTS)).add(TEXTS)
    share = index.search("word1 word2").weights[0]
    counter = model.counter_
    counts = counter.transform(["word1 word2"])
    lengths = counter.transform(TEXTS).sum(axis=1)
    frequency = np.bincount(counter.transform(TEXTS).indices, minlength=counts.shape[1])
    idf = np.log1p((len(TEXTS) - frequency + 0.5) / (frequency + 0.5))
    weights = counts.toarray()[0] * idf
    n_words = weights.sum() ** 2 / (weights @ weights) / factor
    length = min(lengths.mean() / factor / weighting.LONG_DOCUMENT_TERMS, 1)
    expected = min((n_words / weighting.EQUAL_WORDS) ** 2, 1) * length
    assert share / (1 - share) == pytest.approx(expected, rel=1e-5)
    usual = model.to_sparse("word1 word2", query=True)
    monkeypatch.setattr(TermCounter, "_terms_per_word", 1.0)
    as_words = model.to_sparse("word1 word2", query=True)
    meaning = [name for name in usual if name.startswith("~")]
    assert all((usual[name] < as_words[name]) == (factor > 1) for name in meaning)


def test_each_query_has_its_own_share(model):
    """By the number of words that decide, Σ² / Σ of squares of their weights."""
    queries = ["word1", "word1 word1", "word1 word2", " ".join(WORDS[:30]), "unknown"]
    texts = [f"{text} common" for text in TEXTS]
    index = SearchIndex(model).add(texts)
    shares = [hits.weights[0] for hits in index.search(queries)]
    assert shares[0] == shares[1] < shares[2] < shares[3]
    length = np.mean([len(text.split()) for text in texts])
    weight = shares[0] / (1 - shares[0])
    np.testing.assert_allclose(
        weight, length / weighting.LONG_DOCUMENT_TERMS / weighting.EQUAL_WORDS**2
    )
    np.testing.assert_allclose(shares[3] / (1 - shares[3]), length / weighting.LONG_DOCUMENT_TERMS)
    assert shares[4] == 0
    (again,) = index.search(["word1 common common"])  # a word of every document decides nothing
    np.testing.assert_allclose(again.weights[0], shares[0], rtol=0.02)
    for hits in index.search(queries):
        a, b = hits.weights
        parts = [a * hit.similarity + b * hit.bm25 for hit in hits]
        np.testing.assert_allclose(hits.scores, parts, rtol=1e-5)


def test_the_models_own_features(model):
    index = SearchIndex(model, layer=None, hybrid=False).add(TEXTS)
    D, Q = (model.transform(texts).astype(np.float64) for texts in (TEXTS, QUERIES))
    D, Q = (F / np.linalg.norm(F, axis=1, keepdims=True) for F in (D, Q))
    compare(index.search(QUERIES, k=20), Q @ D.T)


def test_alone_as_in_a_batch(model):
    index = SearchIndex(model).add(TEXTS)
    for hybrid in (True, False, 0):
        batch = index.search(QUERIES, k=9, hybrid=hybrid)
        for query, hits in zip(QUERIES, batch, strict=True):
            alone = index.search(query, k=9, hybrid=hybrid)
            assert alone.ids == hits.ids
            np.testing.assert_allclose(alone.scores, hits.scores, rtol=1e-6)


def test_similar_is_the_search_for_its_text(model):
    index = SearchIndex(model, hybrid=False).add(TEXTS[:50]).add(TEXTS[50:])
    for row in (0, 60):
        expected = [hit for hit in index.search(TEXTS[row], k=10) if hit.id != row]
        found = index.similar(row, k=8)
        assert found.ids == [hit.id for hit in expected][:8]
        np.testing.assert_allclose(found.scores, [hit.score for hit in expected][:8], atol=1e-6)


def test_terms_that_the_model_left_out_can_be_searched():
    model = DCoTVectorizer(n_prototypes=5, min_df=2, max_features=20).fit(TEXTS)
    index = SearchIndex(model).add([*TEXTS, "zanzibar"])
    assert index.search("zanzibar").ids[0] == len(TEXTS)


def test_the_default_model():
    index = SearchIndex().add(TEXTS)
    assert index.model_.dcot_.noise == RETRIEVAL["noise"]
    given = SearchIndex(DCoTVectorizer(**RETRIEVAL)).add(TEXTS)
    assert given.search(QUERIES) == index.search(QUERIES)
    assert not hasattr(given.model, "dcot_")  # a clone was fitted


@pytest.mark.parametrize("container", [tuple, np.array, iter])
def test_containers_of_texts(container):
    assert SearchIndex().add(container(TEXTS)).search("word1").ids == (
        SearchIndex().add(TEXTS).search("word1").ids
    )


def test_columns_of_frames():
    import pandas as pd
    import polars as pl

    expected = SearchIndex().add(TEXTS).search(QUERIES)
    for column in (pl.Series(TEXTS), pd.Series(TEXTS, index=range(5, 125))):
        assert SearchIndex().add(column).search(QUERIES) == expected
