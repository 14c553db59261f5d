"""Figure 2: words mean what they should."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dcot import DCoT
from dcot.bench.experiments.words import DEPTH, EMPTY, columns_of
from dcot.bench.tasks import load_task

ARCHIVE = Path(os.environ.get("DCOT_DATA", "")) / "reuters21578.tar.gz"


@pytest.fixture(scope="module")
def result(task):
    learned, _ = task.documents(task.train, task.test)
    terms = task.known_terms(task.train)
    model = DCoT(60).fit(learned.tfidf)
    return columns_of(model, learned.tfidf, terms, ["crudeab", "grainab", "nosuchword"])


def test_columns(result):
    assert result["unknown_words"] == ["nosuchword"]
    for columns in result["columns"].values():
        assert list(columns) == [EMPTY, "crudeab", "grainab"]
        for column in columns.values():
            values = [value for _, value in column]
            assert len(values) == DEPTH
            assert values == sorted(values, reverse=True)


def test_a_word_is_rebuilt_into_its_topic(result):
    for topic in ("crude", "grain"):
        names = [name for name, _ in result["columns"]["layer 1"][f"{topic}ab"][:5]]
        assert sum(name.startswith(topic) for name in names) >= 3


def test_the_empty_document_gives_the_most_frequent(result):
    assert result["empty_among_most_frequent"] >= 0.75


@pytest.mark.skipif(not ARCHIVE.is_file(), reason="DCOT_DATA has no reuters21578.tar.gz")
def test_reuters():
    task = load_task("reuters-text").sample(3000, 1)
    learned, _ = task.documents(task.train, task.test)
    model = DCoT(1000, tol=1e-3).fit(learned.tfidf)
    terms = task.known_terms(task.train)
    found = columns_of(model, learned.tfidf, terms, ["reagan", "nasdaq"])
    assert found["ranks"]["reagan → president"]["layer 1"] <= DEPTH
    assert found["empty_among_most_frequent"] >= 0.75
