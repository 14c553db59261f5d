"""The simulated labeller: what it answers, and what it writes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dcot import DcotError
from dcot.bench import labeller


@pytest.fixture
def given(made, monkeypatch):
    """Any name is this corpus; a few of its documents have no label."""
    found = made(n=120, unlabelled=20)
    found = replace(found, labels=np.where(np.arange(120) < 100, found.labels, ""))
    monkeypatch.setattr(labeller, "load_corpus", lambda *_: found)
    return found


def test_tables_and_figure(given, tmp_path):
    for folder in ("tables", "images"):
        (tmp_path / folder).mkdir()
    by_labels, by_words = labeller.run("made", labels=50, draws=1, docs=tmp_path)
    assert "made, 100 documents, 4 classes; one draw" in by_labels.title  # all have a label
    assert by_labels.head == ["labels", "10", "25", "50"]
    accuracies = {name: [*map(float, cells)] for name, *cells in by_labels.rows}
    assert list(accuracies) == ["at random", "suggested, 3 seed words", "suggested"]
    assert all(values[-1] > 50 for values in accuracies.values())  # a quarter by chance
    assert accuracies["suggested, 3 seed words"][0] > accuracies["at random"][0]
    assert by_words.head == ["seed words per class", *map(str, labeller.SEED_WORDS)]
    written = (tmp_path / "tables" / "label-curve.md").read_text()
    assert written == f"{by_labels.markdown()}\n{by_words.markdown()}"
    assert "<svg" in (tmp_path / "images" / "label-curve.svg").read_text()


def test_a_label_for_every_document_is_the_most(given):
    table, _ = labeller.run("made", documents=8, labels=400, draws=1)
    assert table.head == ["labels", "8"]


def test_counts_cannot_be_read(given, monkeypatch):
    counts = replace(given, texts=None, counts=csr_matrix(np.ones((120, 3))))
    monkeypatch.setattr(labeller, "load_corpus", lambda *_: counts)
    with pytest.raises(DcotError, match="made has counts but no texts"):
        labeller.run("made")
