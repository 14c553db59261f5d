"""The shape of a corpus."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dcot.datasets import Corpus
from dcot.datasets._corpus import check_figures
from dcot.errors import DatasetError, InvalidParameterError, NotAvailableError


def make(**changes: object) -> Corpus:
    fields: dict[str, object] = {
        "name": "tiny",
        "texts": ["oil price", "wheat crop", "oil field", "gold"],
        "labels": np.array(["crude", "grain", "crude", ""]),
        "train": np.array([0, 1]),
        "test": np.array([2]),
        "unlabelled": np.array([3]),
        "licence": "CC0",
        "citation": "A. Author. " + "A long title. " * 10,
        "description": "A tiny corpus.",
    }
    return Corpus(**(fields | changes))  # type: ignore[arg-type]


def test_parts() -> None:
    corpus = make()
    assert corpus.n_documents == 4
    assert corpus.target_names == ("crude", "grain")
    assert corpus.train_texts == ["oil price", "wheat crop"]
    assert corpus.test_texts == ["oil field"] == corpus.documents("test")
    assert corpus.unlabelled_texts == ["gold"]
    assert corpus.train_labels.tolist() == ["crude", "grain"]
    assert corpus.test_labels.tolist() == ["crude"]
    assert corpus.documents() == corpus.texts
    assert corpus.rows().tolist() == [0, 1, 2, 3]


def test_counts_instead_of_texts() -> None:
    counts = csr_matrix(np.eye(4))
    corpus = make(texts=None, counts=counts, labels=np.array([1, 2, 1, 2]))
    assert corpus.target_names == ("1", "2")
    assert corpus.documents() is counts
    assert corpus.documents("train").shape == (2, 4)
    with pytest.raises(NotAvailableError, match=r"documents\('train'\)"):
        _ = corpus.train_texts


def test_several_labels() -> None:
    corpus = make(labels=np.array(["a b", "", "b", "c"]), label_separator=" ")
    assert corpus.label_sets == [("a", "b"), (), ("b",), ("c",)]
    assert corpus.target_names == ("a", "b", "c")
    assert make().label_sets[0] == ("crude",)


def test_describe_prints_everything_in_short_lines() -> None:
    text = make().describe()
    for part in (
        "tiny: 4 documents, 2 classes, 2 train + 1 test + 1 unlabelled",
        "CC0",
        "A. Author",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 88
    assert "4 terms" in make(texts=None, counts=csr_matrix(np.eye(4))).describe()


def test_is_frozen() -> None:
    with pytest.raises(AttributeError):
        make().name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"texts": None}, "either texts or counts"),
        ({"labels": np.array(["a"])}, "4 documents but 1 labels"),
    ],
)
def test_inconsistent(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make(**changes)


def test_unknown_part() -> None:
    with pytest.raises(InvalidParameterError, match="'validation'"):
        make().rows("validation")  # type: ignore[arg-type]


def test_figures() -> None:
    corpus = make()
    assert check_figures(corpus, "f", train=2, test=1, classes=2, unlabelled=1) is corpus
    with pytest.raises(DatasetError, match=r"file\.tsv .* 2 train \(expected 3\), 1 test \(exp"):
        check_figures(corpus, "file.tsv", train=3, test=4, documents=4)
