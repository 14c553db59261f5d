"""Seed words: a few words for a class, more words like them, and documents ranked by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dcot.errors import InvalidParameterError, UnknownTermError
from dcot.web.space import Array, Space

PER_WORD = 12


@dataclass(frozen=True)
class Proposal:
    """A word to add to the seed words, and those it was found by."""

    word: str
    because: tuple[str, ...]


def propose(
    space: Space, words: Sequence[str], rejected: Sequence[str] = (), k: int = 12
) -> list[Proposal]:
    """More words for a class: those most similar to its words, and those translated into them.

    A word that several seed words lead to comes before one that a single word leads to.
    """
    places: dict[str, float] = {}
    found: dict[str, list[str]] = {}
    for word in words:
        for ranked in _lists(space, word):
            for place, term in enumerate(ranked):
                places[term] = places.get(term, 0.0) + 1.0 / (place + 2)
                if word not in found.setdefault(term, []):
                    found[term].append(word)
    excluded = {*words, *rejected}
    order = sorted(places, key=lambda term: (-len(found[term]), -places[term]))
    return [Proposal(term, tuple(found[term])) for term in order if term not in excluded][:k]


def _lists(space: Space, word: str) -> list[list[str]]:
    """The neighbours of a word, and its cohort if it is a prototype."""
    model = space.vectorizer
    lists = []
    for ask in (model.similar_terms, model.cohort):
        try:
            lists.append([term for term in ask(word, PER_WORD).terms if term != word])
        except (UnknownTermError, InvalidParameterError):
            continue  # not a word of the corpus, or not a prototype
    return lists


def unknown_words(space: Space, words: Sequence[str]) -> list[str]:
    """The words that no document has, or that were left out when counting."""
    if not words:
        return []
    lengths = np.diff(space.vectorizer.weigh(list(words)).indptr)
    return [word for word, length in zip(words, lengths, strict=True) if not length]


def seed_vectors(space: Space, seeds: Mapping[str, Sequence[str]]) -> dict[str, Array]:
    """Vectors of each class's words, without those that the model does not know."""
    known = known_seeds(space, seeds)
    return {name: space.vectors(words) for name, words in known.items()}


def known_seeds(space: Space, seeds: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The same classes and words, without those that the model does not know."""
    found = {}
    for name, words in seeds.items():
        unknown = set(unknown_words(space, words))
        found[name] = [word for word in words if word not in unknown]
    return {name: words for name, words in found.items() if words}


def ranked_by(space: Space, words: Sequence[str], among: Array, k: int) -> Array:
    """Rows of the documents that are closest to seed words, best first."""
    text = " ".join(words)  # the words as one document
    if not space.vectorizer.weigh([text]).nnz:
        return among[:0]
    return space.nearest(space.vectors([text])[0], among, k)
