"""The embedded corpus: short texts in 17 everyday topics, shipped with the package."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import numpy as np

from dcot.datasets._corpus import Corpus

__all__ = ["load_everyday"]

_TEST_PER_TOPIC = 20


def load_everyday() -> Corpus:
    """Load 1054 short English texts in 17 everyday topics, such as cooking, law and weather.

    The texts were written for dcot and are part of the package: nothing is downloaded, and the
    corpus is the same on every machine. Each topic has 62 documents of 15 to 45 words, 42 for
    training and 20 for testing. The split is by a hash of the text.

    Examples
    --------
    >>> corpus = load_everyday()
    >>> corpus
    <Corpus everyday: 1054 documents, 17 classes, 714 train + 340 test>
    >>> corpus.target_names[:4]
    ('astronomy', 'banking', 'birds', 'chess')
    """
    folder = files("dcot.datasets").joinpath("everyday")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".txt"))
    texts: list[str] = []
    labels: list[str] = []
    test: list[int] = []
    for name in names:
        documents = folder.joinpath(name).read_text(encoding="utf-8").splitlines()
        test += [len(texts) + row for row in _test_rows(documents)]
        texts += documents
        labels += [name.removesuffix(".txt")] * len(documents)
    return Corpus(
        name="everyday",
        texts=texts,
        labels=np.array(labels),
        train=np.setdiff1d(np.arange(len(texts)), test),
        test=np.array(sorted(test)),
        licence="BSD-3-Clause, as dcot itself",
        citation="The dcot developers.",
        description="Short English texts in 17 everyday topics, written for dcot. People, places "
        "and figures in them are made up.",
    )


def _test_rows(documents: list[str]) -> list[int]:
    """Rows of the test documents of one topic: those with the smallest hashes."""
    hashes = [hashlib.sha256(text.encode()).digest() for text in documents]
    return sorted(range(len(documents)), key=hashes.__getitem__)[:_TEST_PER_TOPIC]
