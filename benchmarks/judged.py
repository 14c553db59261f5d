"""Judged collections made from corpora, so that no choice is made for one collection alone.

Two kinds, at two ends: *items*, where a piece was cut out of a document and has to find the rest of
it, which is a matter of words; and *classes*, where every document of the query's class is
relevant, which is a matter of meaning.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

from dcot import DcotError
from dcot.datasets import Corpus, JudgedCollection, load

QUERIES = 300
MOST_DOCUMENTS = 8000
Cut = Callable[[str], tuple[str, str] | None]


def items(name: str, corpus: Corpus, cut: Cut) -> JudgedCollection:
    """``cut`` makes a query and a rest of a text, or None where that cannot be done."""
    rng = np.random.default_rng(0)
    pieces = [cut(corpus.texts[i]) for i in rng.permutation(len(corpus.texts))]
    pairs = [pair for pair in pieces if pair is not None][:MOST_DOCUMENTS]
    asked = rng.choice(len(pairs), QUERIES, replace=False).tolist()
    ids = [str(i) for i in range(len(pairs))]
    queries = [pairs[i][0] for i in asked]
    numbers = [str(i) for i in asked]
    relevant = [{number: 1.0} for number in numbers]
    return JudgedCollection(name, ids, [rest for _, rest in pairs], numbers, queries, relevant)


def classes(name: str, corpus: Corpus, n_words: int) -> JudgedCollection:
    """The first words of test documents; relevant are training documents of the same class."""
    rng = np.random.default_rng(0)
    asked = rng.choice(corpus.test, QUERIES, replace=False)
    held = rng.permutation(corpus.train)[:MOST_DOCUMENTS]
    labels = corpus.labels[held]
    relevant = [
        {str(held[j]): 1.0 for j in np.flatnonzero(labels == corpus.labels[i])} for i in asked
    ]
    queries = [" ".join(corpus.texts[i].split()[:n_words]) for i in asked]
    texts = [corpus.texts[i] for i in held]
    kept = [place for place, grades in enumerate(relevant) if grades]
    return JudgedCollection(
        name,
        [str(i) for i in held],
        texts,
        [str(asked[place]) for place in kept],
        [queries[place] for place in kept],
        [relevant[place] for place in kept],
    )


def made() -> Iterator[JudgedCollection]:
    """Those whose corpora can be had; the others are named on standard error."""
    recipes: dict[str, Callable[[], JudgedCollection]] = {
        "reuters-items": lambda: items("reuters-items", load("reuters-text"), at("\n\n", least=20)),
        "dmoz-items": lambda: items("dmoz-items", load("dmoz"), first_words(4, least=6)),
        "r52-classes": lambda: classes("r52-classes", load("r52"), 8),
        "20newsgroups-classes": lambda: classes("20newsgroups-classes", load("20newsgroups"), 12),
    }
    for name, recipe in recipes.items():
        try:
            yield recipe()
        except DcotError as error:
            print(f"{name}: left out ({error})", file=sys.stderr)


def at(separator: str, least: int) -> Cut:
    """Cut at the first separator; the rest has to have some words."""

    def cut(text: str) -> tuple[str, str] | None:
        query, found, rest = text.partition(separator)
        return (query, rest) if found and len(rest.split()) >= least else None

    return cut


def first_words(n_words: int, least: int) -> Cut:
    """Cut after some words, about a title; the rest has to have some words."""

    def cut(text: str) -> tuple[str, str] | None:
        words = text.split()
        rest = words[n_words:]
        return (" ".join(words[:n_words]), " ".join(rest)) if len(rest) >= least else None

    return cut
