"""``to_sparse``: the inner product of a query and a document is that of the search index."""

from __future__ import annotations

import numpy as np
import pytest

import dcot
from dcot import DCoTVectorizer
from dcot.errors import InvalidParameterError, ModelNotFittedError
from dcot.text import TermWeighting
from dcot.text.weighting import EQUAL_WORDS, LONG_DOCUMENT_TERMS

RNG = np.random.default_rng(4)
WORDS = [f"word{i}" for i in range(60)]
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(1, 25))) for _ in range(90)]
QUERIES = [" ".join(RNG.choice(WORDS, n, replace=False)) for n in (1, 2, 5, 8, 15)]


@pytest.fixture(scope="module")
def model():
    return DCoTVectorizer(weighting="bm25", n_prototypes=20, n_layers=1, min_df=1).fit(TEXTS)


def product(query, document):
    return sum(weight * document.get(word, 0.0) for word, weight in query.items())


def test_the_product_is_bm25_plus_the_cosine_of_meaning(model):
    documents, queries = model.to_sparse(TEXTS), model.to_sparse(QUERIES, query=True)
    counts, asked = model.counter_.transform(TEXTS), model.counter_.transform(QUERIES)
    weighting = TermWeighting("bm25").fit(counts)
    bm25 = (asked @ weighting.transform(counts).T).toarray()
    Z, V = (
        np.maximum(model.reconstruct(texts, 1, subtract_bias=True), 0) for texts in (TEXTS, QUERIES)
    )
    cosines = (V @ Z.T) / np.outer(np.linalg.norm(V, axis=1), np.linalg.norm(Z, axis=1))
    for i, words in enumerate(asked.toarray() * weighting.idf_):
        n_words = words.sum() ** 2 / (words**2).sum()
        weight = min((n_words / EQUAL_WORDS) ** 2, 1) * min(
            counts.sum() / len(TEXTS) / LONG_DOCUMENT_TERMS, 1
        )
        expected = bm25[i] + weight * words.sum() * cosines[i]
        found = [product(queries[i], document) for document in documents]
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("how", ["fit", "source", "saved"])
@pytest.mark.parametrize("weighting", ["tfidf", "bm25"])
def test_bm25_is_that_of_the_index_if_rare_words_were_left_out(tmp_path, weighting, how):
    rng = np.random.default_rng(0)
    texts = [
        " ".join([*rng.choice(WORDS, rng.integers(2, 30)), f"rare{i}", *[f"odd{i}"] * (i % 5)])
        for i in range(1000)
    ]
    given = (lambda: [texts[:300], texts[300:]]) if how == "source" else texts
    model = DCoTVectorizer(weighting=weighting, n_prototypes=10, n_layers=1).fit(given)
    if how == "saved":
        model.save(tmp_path / "model")
        model = dcot.load(tmp_path / "model")
    assert "rare1" not in model.vocabulary_  # min_df="auto" was active
    index = dcot.SearchIndex(model).add(texts)
    queries = ["word1", "word2 word3 word4", "rare7 word5", "odd9 rare9"]
    documents = model.to_sparse(texts)
    for query, words in zip(queries, model.to_sparse(queries, query=True), strict=True):
        alone = {word: weight for word, weight in words.items() if word[0] != "~"}
        hits = index.search(query, k=50, hybrid=0)
        found = [product(alone, documents[hit.id]) for hit in hits]
        np.testing.assert_allclose(found, [hit.bm25 for hit in hits], rtol=1e-4)


def test_at_most_so_many_prototypes_and_all_positive(model):
    whole, short = model.to_sparse(TEXTS, top=20), model.to_sparse(TEXTS, top=3)
    for text, more, fewer in zip(TEXTS, whole, short, strict=True):
        assert set(text.split()) == {word for word in fewer if not word.startswith("~")}
        strong = sorted((more[word] for word in more if word[0] == "~"), reverse=True)[:3]
        assert sorted((fewer[word] for word in fewer if word[0] == "~"), reverse=True) == strong
        assert min(fewer.values()) > 0
    assert model.to_sparse(TEXTS[0]) == model.to_sparse(TEXTS)[0]
    assert model.to_sparse(["", "word1"])[0] == {}
    assert model.to_sparse([]) == []


def test_words_that_fit_left_out():
    texts = [*TEXTS, "zeppelin word1"]
    model = DCoTVectorizer(min_df=2).fit(texts)
    before = model.vocabulary_
    vector = model.to_sparse("zeppelin word1")
    assert vector["zeppelin"] > vector["word1"]
    assert model.vocabulary_ == before
    assert "zeppelin" not in before
    chosen = DCoTVectorizer(max_features=30).fit(texts)
    assert not {word for word in chosen.to_sparse("zeppelin word1") if word[0] == "z"}


def test_bad_input(model):
    with pytest.raises(InvalidParameterError, match="top must be"):
        model.to_sparse("word1", top=0)
    with pytest.raises(ModelNotFittedError):
        DCoTVectorizer().to_sparse("word1")
