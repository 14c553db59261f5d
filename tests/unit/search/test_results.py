"""What a search finds prints well, makes a frame, and shows itself in a notebook."""

from __future__ import annotations

import numpy as np
import polars as pl

from dcot import SearchIndex
from dcot.search import Hit, Hits, Results

TEXTS = ["crude oil prices", "opec oil output", "wheat <b>harvest</b>", "wheat and corn prices"]


def test_a_hit_tells_its_parts():
    index = SearchIndex(store_texts=True).add(TEXTS, metadata=[{"n": i} for i in range(4)])
    hits = index.search("opec oil")
    best = hits[0]
    assert (best.rank, best.id, best.text, best.metadata) == (1, 1, TEXTS[1], {"n": 1})
    alone = {hit.id: hit for hit in index.search("opec oil", hybrid=False)}
    words = {hit.id: hit for hit in index.search("opec oil", hybrid=0)}
    for hit in hits:
        assert hit.similarity == alone[hit.id].score == alone[hit.id].similarity
        assert hit.bm25 == (words[hit.id].score if hit.id in words else 0)
    assert hits.scores == sorted(hits.scores, reverse=True)
    assert alone[1].bm25 is None
    assert words[1].similarity is None


def test_it_prints():
    index = SearchIndex(store_texts=True).add(TEXTS, ids=["a", "b", "c", "d"])
    lines = str(index.search("wheat  harvest", k=2)).splitlines()
    assert lines[0] == "wheat harvest"
    assert lines[1].split() == ["score", "cosine", "BM25"]
    assert lines[2].split()[0::4][:2] == ["1", "c"]
    assert lines[2].endswith("wheat <b>harvest</b>")
    assert len(lines) == 4
    html = index.search("wheat <harvest>", k=2)._repr_html_()
    assert "&lt;b&gt;harvest" in html
    assert "<b>wheat &lt;harvest&gt;</b>" in html
    both = index.search(["oil", "wheat"], k=1)
    assert repr(both).count("\n\n") == 1
    assert both._repr_html_().count("<table>") == 2
    assert isinstance(both[:1], Results)
    assert isinstance(both[0][:1], Hits)
    many = Hits([Hit(rank, rank, 1 / rank) for rank in range(1, 100)])
    assert "79 more" in str(many)


def test_the_numbers_are_named():
    index = SearchIndex().add(TEXTS)
    best = index.search("opec oil")[0]
    assert best.similarity < 1
    assert best.score < 1  # the best of these documents is not a perfect match
    parts = [f"{value:.3f}" for value in (best.score, best.similarity, best.bm25)]
    assert str(index.search("opec oil", k=1)).splitlines()[2].split()[1:4] == parts
    assert all(f"<td>{part}</td>" in index.search("opec oil")._repr_html_() for part in parts)
    for hybrid, name in ((False, "cosine"), (0, "BM25")):
        hits = index.search("opec oil", k=1, hybrid=hybrid)
        assert str(hits).splitlines()[1].split() == [name]
        assert str(hits).splitlines()[2].split()[:2] == ["1", f"{hits[0].score:.3f}"]
    rows = SearchIndex().add(np.eye(2)).search([1.0, 1.0], k=1)
    assert str(rows).split() == ["cosine", "1", "0.707", "0"]


def test_nothing_found_says_why():
    index = SearchIndex().add(np.eye(2))
    assert "row of zeros" in str(index.search([0.0, 0.0]))
    assert "row of zeros" in index.search([0.0, 0.0])._repr_html_()
    assert "passes the filter" in str(index.search([0.0, 1.0], where=[]))
    assert "no word" in str(SearchIndex().add(TEXTS).search("xylophone"))


def test_repr_of_the_index():
    assert repr(SearchIndex()) == "<SearchIndex of 0 documents, hybrid=True>"
    assert repr(SearchIndex(hybrid=0.5)) == "<SearchIndex of 0 documents, hybrid=0.5>"
    assert repr(SearchIndex().add(TEXTS)).endswith("4 texts, DCoTVectorizer, hybrid=True>")
    assert repr(SearchIndex().add(np.eye(2))) == "<SearchIndex of 2 rows of features>"


def test_frames():
    entries = [{"topic": "oil", "rank": 7}, None, {"topic": 3, "odd": [1]}, {"odd": {"x": 1}}]
    index = SearchIndex().add(TEXTS, metadata=entries)
    frame = index.search("oil wheat").to_frame()
    assert frame.columns[:5] == ["rank", "id", "score", "similarity", "bm25"]
    assert set(frame.columns[5:]) == {"topic", "metadata.rank", "odd"}
    assert frame["id"].dtype == pl.Int64
    assert frame.height == 4
    both = index.search(["oil", "unknown", "wheat"], k=2).to_frame()
    assert both["query"].to_list() == [0, 0, 2, 2]
    odd = SearchIndex().add(np.eye(1), ids=["a\ud800"], metadata=[{"k\ud800": "b\ud800", "n": 1}])
    assert odd.search(np.eye(1)).to_frame().select("id", "k\\ud800", "n").rows() == [
        ("a\\ud800", "b\\ud800", 1)
    ]
    names = SearchIndex().add(np.eye(2), ids=["a", 1]).search(np.eye(2)).to_frame()
    assert names["id"].to_list() == ["a", "1", "1", "a"]
    assert index.search([]).to_frame().height == 0
