"""Figure 2: words mean what they should."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from dcot import DCoT
from dcot.bench.experiments.words import DEPTH, EMPTY, NOISE, columns_of
from dcot.bench.tasks import load_task

ARCHIVE = Path(os.environ.get("DCOT_DATA", "")) / "reuters21578.tar.gz"


@pytest.fixture(scope="module")
def result(task):
    learned, _ = task.documents(task.train, task.test)
    terms = task.known_terms(task.train)
    model = DCoT(60).fit(learned.tfidf)
    return columns_of(model, learned.counts, terms, ["crudeab", "grainab", "nosuchword"])


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
    """What the paper's figure 2 shows, on its corpus and by its method."""
    task = load_task("reuters-text")
    rows = np.concatenate([task.train, task.test, task.unlabelled])
    learned, _ = task.documents(rows, rows[:1])
    model = DCoT.paper(1000, NOISE, 2).fit(learned.counts)
    found = columns_of(model, learned.counts, task.known_terms(rows), ["reagan", "nasdaq"])
    for layer in ("layer 1", "layer 2"):
        assert found["ranks"]["reagan → president"][layer] <= DEPTH
        assert found["ranks"]["nasdaq → stock"][layer] <= DEPTH
    assert found["empty_among_most_frequent"] >= 0.75


def test_the_most_frequent_are_so_by_count(task):
    """Whatever the model was learned from: TF-IDF makes frequent words light."""
    learned, _ = task.documents(task.train, task.test)
    terms = task.known_terms(task.train)
    found = columns_of(DCoT(60).fit(learned.tfidf), learned.counts, terms, [])
    totals = np.asarray(learned.counts.sum(axis=0)).ravel()
    most = np.sort(totals)[::-1][:DEPTH]
    assert [totals[list(terms).index(name)] for name in found["most_frequent"]] == list(most)
