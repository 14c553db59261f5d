"""Reading a model, as methods of the estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.explain.meaning import Meaning
from dcot.explain.ranking import RankedTerms
from dcot.explain.reader import Reader

Analyze = Callable[[str], list[str]]


class Readable:
    """``similar_terms`` and ``cohort`` for models that know the names of their terms."""

    def similar_terms(self, word: Any, k: int = 10, *, layer: int | None = None) -> RankedTerms:
        """The terms that mean what a word means: the largest cosines of their values.

        Parameters
        ----------
        word : a term, or the number of its column
        k : how many, at most
        layer : whose values, by default the last layer's, which see furthest

        Raises
        ------
        UnknownTermError : the model does not know the word; near spellings are in the message
        """
        reader = self._reader()
        return reader.similar(self._find(reader, word), k, layer)

    def cohort(
        self, prototype: Any, k: int = 10, *, layer: int | None = None, rare: bool = True
    ) -> RankedTerms:
        """The words that are translated into a prototype: those it gets the largest values from.

        Parameters
        ----------
        prototype : a term among the prototypes, or the number of its column
        k : how many words, at most
        layer : whose values, by default the last layer's
        rare : leave out words that are prototypes themselves. Where every term is a prototype
            there are no others, and all but the prototype itself are ranked.
        """
        reader = self._reader()
        return reader.cohort(reader.prototype(self._find(reader, prototype)), k, layer, rare)

    def _reader(self) -> Reader:
        raise NotImplementedError

    def _find(self, reader: Reader, word: Any) -> int:
        return reader.column(word)


def find_word(reader: Reader, word: Any, analyze: Analyze) -> int:
    """The column of a word as people write it: ``Nasdaq`` is ``nasdaq`` to most models."""
    if isinstance(word, str) and reader.find(word) is None:
        terms = analyze(word)
        if len(terms) == 1 and reader.find(terms[0]) is not None:
            return reader.column(terms[0])
    return reader.column(word)


def explain_text(
    reader: Reader, text: Any, analyze: Analyze, weigh: Callable[[list[str]], Any], k: int
) -> Meaning:
    """What a text means. A single word has to be known; a longer text may have no known word."""
    if not isinstance(text, str):
        raise InvalidTypeError(
            f"explain takes one text, a string, got {type(text).__name__}: explain texts one by one"
        )
    row = weigh([text])
    known = set(reader.terms[sp.csr_array(row).indices].tolist())
    terms = list(dict.fromkeys(analyze(text)))
    unknown = [term for term in terms if term not in known and reader.find(term) is None]
    if len(text.split()) == 1 and len(unknown) == len(terms):
        raise reader.unknown(terms[0] if len(terms) == 1 else text.strip())
    return reader.meaning(row, text, k, unknown)


def explain_words(reader: Reader, words: Any, k: int) -> Meaning:
    """What words mean together, each counted once for every time it comes.

    A string is one term if the model has it, else words with blanks between them.
    """
    if isinstance(words, str):
        text = words
        words = [words] if reader.find(words) is not None else words.split()
    else:
        text = " ".join(map(str, words))
    found = {word: reader.find(word) for word in words}
    if len(found) == 1 and None in found.values():
        raise reader.unknown(words[0])
    columns = [column for word in words if (column := found[word]) is not None]
    unknown = [word for word, column in found.items() if column is None]
    return reader.meaning(reader.row(columns), text, k, [str(word) for word in unknown])


def explain_row(reader: Reader, row: Any, k: int) -> Meaning:
    """What a document given as the row of a matrix means."""
    if row.shape[0] != 1:
        raise InvalidInputError(
            f"explain takes one document, got {row.shape[0]}: give one row, as in X[[0]]"
        )
    columns = sp.csr_array(row).indices
    names = [str(term) for term in reader.terms[columns[:8]]]
    return reader.meaning(row, " ".join(names) + (" …" if len(columns) > 8 else ""), k)


def one_row(document: Any) -> Any:
    """A row as a matrix; a vector of numbers is one too."""
    if not sp.issparse(document) and np.ndim(document) == 1 and not hasattr(document, "columns"):
        return np.asarray(document)[None, :]
    return document


def is_words(document: Any) -> bool:
    """Whether a document is words rather than numbers."""
    if isinstance(document, str):
        return True
    listed = isinstance(document, list | tuple)
    return listed and all(isinstance(entry, str) for entry in document)


def term_vectors(
    model: Any, words: Iterable[Any], layer: int | None = None, **names: Any
) -> NDArray[Any]:
    """The values of words, each a document of its own, the bias subtracted: words × prototypes."""
    reader = model._reader(**names)
    vectors: NDArray[Any] = reader.vectors([model._find(reader, word) for word in words], layer)
    return vectors
