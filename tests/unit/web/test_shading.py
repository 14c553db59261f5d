"""Pieces of a text with their shares, and the columns of their words."""

from __future__ import annotations

from dcot.text import TermCounter
from dcot.web import shading
from dcot.web.shading import WordColumns, shaded

TEXTS = ["crude oil, Crude-oil prices", "wheat prices", "oil"]


def test_words_have_the_shares_of_their_terms():
    counter = TermCounter(ngram_range=(1, 1)).fit(TEXTS)
    column = {str(term): k for k, term in enumerate(counter.get_feature_names_out())}
    shares = {column["oil"]: 2.0, column["wheat"]: -1.0}
    words = WordColumns(counter)
    asked = ["Oil", "wheat", "crude", "unknown", "OIL"]
    for _ in range(2):  # new words, then known ones
        assert words.shares_of(asked, shares) == [2.0, -1.0, 0, 0, 2.0]
    assert words.shares_of(["Oil"], {column["crude"]: 1.0}) == [0]
    assert words.shares_of([], shares) == []
    found = shaded("Oil and wheat", lambda given: words.shares_of(given, shares))
    assert found == [("Oil", 1.0), (" and ", 0.0), ("wheat", -0.5)]


def test_only_so_many_words_are_kept(monkeypatch):
    monkeypatch.setattr(shading, "MAX_KNOWN", 3)
    words = WordColumns(TermCounter().fit(TEXTS))
    shares = dict.fromkeys(range(4), 1.0)
    for asked in (["oil", "wheat"], ["wheat", "x", "prices"], ["a", "b", "c", "oil", "d"]):
        expected = [float(word in ("oil", "wheat", "prices")) for word in asked]
        assert words.shares_of(asked, shares) == expected
        assert len(words._known) <= 5
