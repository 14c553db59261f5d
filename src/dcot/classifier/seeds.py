"""Seed words: words that indicate a class, given in place of labels or in addition to them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.classifier.labels import Labels, as_label_array, is_missing, is_set
from dcot.classifier.ridge import signs
from dcot.core.centred import Matrix, as_documents
from dcot.embedding.vectors import Documents
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from dcot.text.inputs import as_texts
from dcot.text.pipeline import TextPipeline

Array = NDArray[Any]


@dataclass(frozen=True)
class Seeds:
    """One document per word, used to fit the classifier but not to evaluate it.

    Attributes
    ----------
    documents : one for each word
    targets : their targets, words × classes, ±1
    """

    documents: Documents
    targets: Array

    def __len__(self) -> int:
        return len(self.targets)


def check_seed_words(given: Any) -> list[tuple[Any, str]]:
    """Pairs of a class and a word, in the given order.

    >>> check_seed_words({"oil": ["opec", "crude"]})
    [('oil', 'opec'), ('oil', 'crude')]
    """
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            f"seed_words is a {type(given).__name__}, expected a mapping from classes to words, as "
            'in {"oil": ["opec", "crude"]}'
        )
    found = []
    for name, words in given.items():
        if is_set(name) or is_missing(name, None):
            raise InvalidInputError(f"seed_words has the class {name!r}, expected a label")
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise InvalidTypeError(
                f"seed words of {name!r} are a {type(words).__name__}, expected a list of words"
            )
        words = list(words)
        for word in words:
            if not isinstance(word, str):
                raise InvalidTypeError(
                    f"a seed word of {name!r} is a {type(word).__name__}, expected text"
                )
        found += [(name, word) for word in dict.fromkeys(words)]
    if not found:
        raise InvalidInputError("seed_words has no words: give some, or leave it out")
    return found


def read_seeds(
    given: Any,
    labels: Labels,
    weigh: Callable[[list[str]], Matrix],
    encode: Callable[[list[str], Matrix], Array | None] | None,
) -> tuple[Labels, Seeds]:
    """Labels with the classes of the seed words, and the seed words that are known terms.

    Parameters
    ----------
    given : mapping from classes to words
    labels : labels of the documents
    weigh : function from words to a matrix, words × terms
    encode : function from words and their rows to vectors, if vectors are used
    """
    pairs = check_seed_words(given)
    rows = weigh([word for _, word in pairs])
    known = np.asarray((rows != 0).sum(axis=1)).ravel() > 0
    _check_known(pairs, known)
    pairs = [pair for pair, kept in zip(pairs, known, strict=True) if kept]
    labels = _with_classes(labels, dict.fromkeys(name for name, _ in pairs))
    places = {name: place for place, name in enumerate(labels.classes.tolist())}
    codes = np.array([places[name] for name, _ in pairs])
    terms = rows[np.flatnonzero(known)]
    vectors = None if encode is None else encode([word for _, word in pairs], terms)
    return labels, Seeds(Documents(terms, vectors), signs(codes, len(places)))


def _check_known(pairs: list[tuple[Any, str]], known: Array) -> None:
    """Raise an error for a class without known words; warn about other unknown words."""
    unknown = [word for (_, word), found in zip(pairs, known, strict=True) if not found]
    without = {name for name, _ in pairs}
    without -= {name for (name, _), found in zip(pairs, known, strict=True) if found}
    if without:
        raise InvalidInputError(
            f"no seed word of {', '.join(sorted(map(repr, without)))} is a term of the documents: "
            "give words that occur in several of them"
        )
    if unknown:
        warnings.warn(
            f"seed words that are no terms of the documents are skipped: {', '.join(unknown)}",
            stacklevel=4,
        )


def _with_classes(labels: Labels, names: Iterable[Any]) -> Labels:
    """The same labels, with additional classes."""
    known = labels.classes.tolist()
    new = [name for name in names if name not in known]
    if not new:
        return labels
    if labels.kind in ("soft", "indicator"):
        raise InvalidParameterError(
            f"seed words are given for {', '.join(map(repr, new))}, but the classes are the "
            f"columns of y: {', '.join(map(repr, known))}"
        )
    try:
        classes = sorted([*known, *new])
    except TypeError as error:
        raise InvalidTypeError(
            f"classes of seed words and of y cannot be sorted together ({error}): give both as "
            "text, or both as numbers"
        ) from error
    targets = np.full((len(labels.targets), len(classes)), -1.0)
    targets[:, [classes.index(name) for name in known]] = labels.targets
    array = as_label_array(classes)
    if labels.classes.dtype == object and known:
        array = array.astype(object)
    return replace(labels, classes=array, targets=targets)


def rows_of_words(
    words: list[str], pipeline: TextPipeline | None, names: Array | None, dtype: Any
) -> Matrix:
    """One document per word; if documents are a matrix, with a one in the column of that name."""
    if pipeline is not None:
        return as_documents(pipeline.transform(as_texts(words)), dtype)
    if names is None:
        raise InvalidInputError(
            "seed words need the words of the columns: give texts, or a DataFrame whose columns "
            "are named by words"
        )
    place = {str(name): column for column, name in enumerate(names)}
    pairs = [(row, place[word]) for row, word in enumerate(words) if word in place]
    at = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    ones = np.ones(at.shape[1], dtype=dtype)
    return sp.csr_array((ones, (at[0], at[1])), shape=(len(words), len(names)))
