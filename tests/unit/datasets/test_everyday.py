"""The embedded corpus: fixed, varied, and the same everywhere."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

import pytest

from dcot.datasets import Corpus, load_everyday

# Figures in the README and the documentation depend on these texts and on their split.
CHECKSUM = "e51566f4e10b247a860a461721a3df7518577133529b4c0ae6d1af7314533366"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_everyday()


def test_texts_labels_and_split_are_fixed(corpus: Corpus) -> None:
    content = repr((corpus.texts, corpus.labels.tolist(), corpus.train.tolist()))
    assert hashlib.sha256(content.encode()).hexdigest() == CHECKSUM


def test_size(corpus: Corpus) -> None:
    assert len(corpus.target_names) == 17
    assert set(Counter(corpus.labels.tolist()).values()) == {62}
    assert all(15 <= len(text.split()) <= 45 for text in corpus.documents())


def test_split(corpus: Corpus) -> None:
    assert sorted([*corpus.train, *corpus.test]) == list(range(corpus.n_documents))
    assert set(Counter(corpus.test_labels.tolist()).values()) == {20}


def test_no_sentence_twice(corpus: Corpus) -> None:
    sentences = [one for text in corpus.documents() for one in re.split(r"(?<=[.!?])\s+", text)]
    assert len(set(sentences)) == len(sentences)


def test_vocabulary_has_rare_words_and_shared_ones(corpus: Corpus) -> None:
    documents = Counter[str]()
    topics: dict[str, set[str]] = {}
    for text, label in zip(corpus.documents(), corpus.labels.tolist(), strict=True):
        words = set(re.findall(r"[a-z]{2,}", text.lower()))
        documents.update(words)
        for word in words:
            topics.setdefault(word, set()).add(label)
    assert sum(count == 1 for count in documents.values()) > 2000
    assert len(topics["wind"]) >= 5
    assert sum(len(found) >= 3 for found in topics.values()) > 500
