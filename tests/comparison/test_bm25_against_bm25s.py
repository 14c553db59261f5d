"""BM25 of a search index, number by number, against bm25s."""

from __future__ import annotations

import numpy as np
import pytest

from dcot import SearchIndex

bm25s = pytest.importorskip("bm25s", reason="bm25s is not installed")

WORDS = [f"w{i}" for i in range(60)]


def documents(n, seed):
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 61)
    weights /= weights.sum()
    return [" ".join(rng.choice(WORDS, rng.integers(1, 30), p=weights)) for _ in range(n)]


def theirs(texts, queries, k1, b):
    """Scores of every document; bm25s leaves out the constant factor k1 + 1."""
    engine = bm25s.BM25(method="lucene", k1=k1, b=b, dtype="float64")
    engine.index([text.split() for text in texts], show_progress=False)
    return [(k1 + 1) * engine.get_scores(query.split()) for query in queries]


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4), (1.5, 0.0), (2.0, 1.0)])
def test_number_by_number(k1, b):
    texts, queries = documents(150, 0), ["w1 w5 w40", "w59 w0 w0", "w3"]
    index = SearchIndex(k1=k1, b=b, hybrid=0).add(texts)
    for found, expected in zip(
        index.search(queries, k=150), theirs(texts, queries, k1, b), strict=True
    ):
        assert len(found) == (expected > 0).sum()
        np.testing.assert_allclose(found.scores, expected[found.ids], rtol=1e-5)
        assert (np.diff(found.scores) <= 0).all()


def test_after_adding_and_removing():
    texts = documents(300, 1)
    index = SearchIndex(hybrid=0).add(texts[:100])
    index.add(texts[100:130], ids=range(100, 130))
    index.remove(range(40, 90))
    index.add(texts[130:], ids=range(130, 300))
    index.remove(range(100, 120))
    held = np.array(index.ids)
    queries = ["w1 w5 w40", "w59 w0", "w3 w3 w30"]
    expected = theirs([texts[i] for i in held], queries, 1.2, 0.75)
    for found, scores in zip(index.search(queries, k=300), expected, strict=True):
        places = np.searchsorted(held, found.ids)
        np.testing.assert_allclose(found.scores, scores[places], rtol=1e-5)
        assert len(found) == (scores > 0).sum()
