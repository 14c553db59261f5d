"""Answer questions about the terms of a fitted model; methods of estimators that use this."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from heapq import nlargest
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Matrix
from dcot.core.layers import Layer
from dcot.core.options import check_integer
from dcot.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    UnknownTermError,
)
from dcot.explain.meaning import LayerMeaning, Meaning, RankedTerms
from dcot.explain.neighbours import cosines, one_word_values, values_of
from dcot.explain.tracing import Trace

Array = NDArray[Any]

MAX_SUGGESTED_WORDS = 4  # unknown words of a text that get suggested spellings
MAX_COMPARED_SPELLINGS = 400  # difflib is slow, so it gets only those that share most letters

_NO_NAMES = (
    "this model was fitted without names: pass names=[...], one for each column, such as "
    "vectorizer.get_feature_names_out(), or the number of a column"
)


@dataclass(frozen=True)
class Reader:
    """Fitted layers with names for their terms.

    Attributes
    ----------
    layers : the fitted layers
    prototypes : columns of the prototypes, increasing
    terms : the name of each column
    read : function from a user's documents to the input of the layers
    weigh : function from counts to the input of the layers
    analyze : function from a text to its terms; None for a model of matrices
    frequency : larger for more common terms; breaks ties between similarities
    hint : advice about an unknown word
    lengths : result of ``term_lengths`` for all layers, to answer many questions faster
    """

    layers: Sequence[Layer]
    prototypes: Array
    terms: Array
    read: Callable[[Any], Matrix]
    weigh: Callable[[Any], Any] = lambda rows: rows
    analyze: Callable[[str], list[str]] | None = None
    frequency: Array | None = None
    hint: str = "it was not in the documents, or was left out when they were counted"
    lengths: Array | None = None

    @classmethod
    def of_matrix(
        cls,
        layers: Sequence[Layer],
        prototypes: Array,
        read: Callable[[Any], Matrix],
        *,
        names: Any = None,
        known: Array | None = None,
    ) -> Reader:
        """Build for a model of matrices; ``names`` are from the caller, ``known`` from the fit."""
        n_terms = len(layers[0].coef_)
        if names is None and known is None:
            made_up = np.array([f"x{column}" for column in range(n_terms)], dtype=object)
            return cls(layers, prototypes, made_up, read, hint=_NO_NAMES)
        terms = np.asarray(known if names is None else names, dtype=object)
        if terms.shape != (n_terms,):
            raise InvalidInputError(
                f"names: got {terms.size}, but the model has {n_terms} columns: pass one for each"
            )
        if known is not None and not np.array_equal(terms, known):
            raise InvalidInputError(
                "names differ from those that the model was fitted with: leave names out"
            )
        # names can be numbers; as text they are not taken for numbers of columns
        return cls(layers, prototypes, np.array([str(term) for term in terms], dtype=object), read)

    # -- meanings ---------------------------------------------------------------------------

    def explain(self, document: Any, k: int) -> Meaning:
        """Return the meaning of a text or, for a model of matrices, of words or one row."""
        if self.analyze is not None:
            return self._explain_text(document, k, self.analyze)
        if _is_words(document):
            return self._explain_words(document, k)
        return self._explain_row(self.read(_one_row(document)), k)

    def _explain_text(self, text: Any, k: int, analyze: Callable[[str], list[str]]) -> Meaning:
        """Explain a text; a single word must be known, but a longer text may have none."""
        if not isinstance(text, str):
            raise InvalidTypeError(
                f"explain takes one text, a string, got {type(text).__name__}: explain texts one "
                "by one"
            )
        row, terms = self.read([text]), set(analyze(text))
        unknown = self.skipped(text)
        if len(text.split()) == 1 and len(unknown) == len(terms):
            raise self.unknown(unknown[0] if len(terms) == 1 else text.strip())
        return self.meaning(row, text, k, unknown)

    def skipped(self, text: str) -> list[str]:
        """Return the words of a text that the model does not know."""
        terms = dict.fromkeys(() if self.analyze is None else self.analyze(text))
        known = set(self.terms.tolist())
        return [term for term in terms if term not in known]

    def _explain_words(self, words: str | Sequence[str], k: int) -> Meaning:
        """Explain words, each counted as often as it occurs.

        A string is one term if the model has it; otherwise it is split at whitespace.
        """
        if isinstance(words, str):
            text = words
            words = [words] if self.find(words) is not None else words.split()
        else:
            text = " ".join(words)
        found = {word: self.find(word) for word in words}
        if len(found) == 1 and None in found.values():
            raise self.unknown(words[0])
        columns = [column for word in words if (column := found[word]) is not None]
        unknown = [word for word, column in found.items() if column is None]
        return self.meaning(self._counted(columns), text, k, unknown)

    def _explain_row(self, row: Matrix, k: int) -> Meaning:
        if row.shape[0] != 1:
            raise InvalidInputError(
                f"explain takes one document, got {row.shape[0]}: give one row, as in X[[0]]"
            )
        columns = sp.csr_array(row).indices
        names = [str(term) for term in self.terms[columns[:8]]]
        return self.meaning(row, " ".join(names) + (" …" if len(columns) > 8 else ""), k)

    def meaning(self, row: Matrix, text: str, k: int, unknown: Sequence[str] = ()) -> Meaning:
        """Return the meaning of a document, given as a matrix with one row."""
        check_integer("k", k)
        trace = Trace.of(row, self.layers)
        layers = tuple(self._layer(trace, depth, k) for depth in range(1, len(self.layers) + 1))
        words = tuple(str(term) for term in self.terms[trace.columns])
        near = {word: near_spellings(word, self.terms, 2) for word in unknown[:MAX_SUGGESTED_WORDS]}
        return Meaning(text, words, trace.weights, layers, tuple(unknown), near)

    def _layer(self, trace: Trace, depth: int, k: int) -> LayerMeaning:
        bias = trace.empty[depth - 1]
        values = trace.added[depth - 1] if len(trace.columns) else bias
        order = np.argsort(-values, kind="stable")
        wanted = np.zeros((min(k, len(order)) + 1, len(order)))
        wanted[np.arange(len(wanted) - 1), order[: len(wanted) - 1]] = 1.0
        square = float(values @ values)
        if square > 0:
            wanted[-1] = values / square
        shares = trace.shares(depth, wanted)
        names = self.terms[self.prototypes[order]]
        return LayerMeaning(depth, names, values[order], bias[order], shares[:, -1], shares[:, :-1])

    # -- rankings ---------------------------------------------------------------------------

    def similar(self, word: Any, k: int, layer: int | None) -> RankedTerms:
        """Return the terms whose values have the most similar direction."""
        column, depth = self.column(word), self._depth(layer)
        check_integer("k", k)
        first = self.frequency
        if first is None:  # prototypes are common terms
            first = np.isin(np.arange(len(self.terms)), self.prototypes)
        lengths = self.lengths if depth == len(self.layers) else None
        places, values = cosines(self.layers[:depth], column, k, self.weigh, first, lengths)
        title = f"nearest to {self.terms[column]} (layer {depth})"
        return self._ranked(title, "similarity", places, values)

    def cohort(self, prototype: Any, k: int, layer: int | None, rare: bool) -> RankedTerms:
        """Return the terms that a prototype is reconstructed from."""
        column, depth = self._prototype(prototype), self._depth(layer)
        check_integer("k", k)
        place = int(np.searchsorted(self.prototypes, column))
        values = one_word_values(self.layers[:depth], place, self.weigh)
        left_out = np.array([column])
        if rare and len(self.prototypes) < len(self.terms):
            left_out = self.prototypes
        values[left_out] = -np.inf
        order = np.argsort(-values, kind="stable")[: min(k, len(values) - len(left_out))]
        title = f"translated into {self.terms[column]} (layer {depth})"
        return self._ranked(title, "value", order, values[order])

    def vectors(self, words: Iterable[Any], layer: int | None = None) -> Array:
        """Return the values of one-word documents without the bias: words × prototypes."""
        places = np.array([self.column(word) for word in words], dtype=np.intp)
        return values_of(self.layers[: self._depth(layer)], places, self.weigh)

    def _ranked(self, title: str, measure: str, places: Array, values: Array) -> RankedTerms:
        names = tuple(str(term) for term in self.terms[places])
        return RankedTerms(title, measure, names, tuple(float(value) for value in values))

    def _depth(self, layer: int | None) -> int:
        if layer is None:
            return len(self.layers)
        check_integer("layer", layer, len(self.layers))
        return int(layer)

    # -- names ------------------------------------------------------------------------------

    def _counted(self, columns: Sequence[int]) -> Any:
        """Return a document of these terms, each counted as often as it occurs."""
        counted, counts = np.unique(np.asarray(columns, dtype=np.intp), return_counts=True)
        dtype = self.layers[0].coef_.dtype
        cells = (counts.astype(dtype), (np.zeros(len(counted), dtype=np.intp), counted))
        return sp.csr_array(cells, shape=(1, len(self.terms)))

    def find(self, term: Any) -> int | None:
        """Return the column of a term or column number; None if there is none."""
        if isinstance(term, str):
            found = np.flatnonzero(self.terms == term)
            return int(found[0]) if len(found) else None
        if isinstance(term, int | np.integer) and not isinstance(term, bool):
            return int(term) if 0 <= term < len(self.terms) else None
        raise InvalidParameterError(f"expected a term or the number of a column, got {term!r:.60}")

    def column(self, term: Any) -> int:
        """Return the column of a term as a user writes it, such as ``Nasdaq`` for ``nasdaq``."""
        found = self.find(term)
        if found is None and isinstance(term, str) and self.analyze is not None:
            terms = self.analyze(term)
            found = self.find(terms[0]) if len(terms) == 1 else None
        if found is None:
            raise self.unknown(term)
        return found

    def _prototype(self, term: Any) -> int:
        """Return the column of a prototype."""
        found = self.column(term)
        if found not in self.prototypes:
            name = str(self.terms[found])
            near = near_spellings(name, self.terms[self.prototypes])
            raise InvalidParameterError(
                f"{name!r} is a term but not one of the {len(self.prototypes):,} prototypes: "
                f"nothing is translated into it; similar_terms({name!r}) has its neighbours"
                + (f". Prototypes with a similar spelling: {', '.join(near)}" if near else "")
            )
        return found

    def unknown(self, term: Any) -> UnknownTermError:
        """Return the error for a term that the model does not know."""
        if not isinstance(term, str):
            return UnknownTermError(
                f"there is no column {term}: columns go from 0 to {len(self.terms) - 1}", str(term)
            )
        near = near_spellings(term, self.terms)
        what = f"similar spellings: {', '.join(near)}" if near else "no term has a similar spelling"
        n = f"{len(self.terms):,}"
        return UnknownTermError(
            f"{term!r:.80} is not among the {n} terms of this model: {what} ({self.hint})",
            term,
            near,
        )


class Readable(ABC):
    """``similar_terms``, ``cohort`` and ``explore`` for models that have a ``Reader``."""

    @abstractmethod
    def _reader(self, names: Any = None) -> Reader:
        """Return a reader of the fitted model, with names for its terms."""

    def similar_terms(
        self, word: Any, k: int = 10, *, layer: int | None = None, names: Any = None
    ) -> RankedTerms:
        """Terms with a similar meaning, by the cosine of their values.

        Of equally similar terms, the more frequent ones come first.

        Parameters
        ----------
        word : a term, or the number of its column
        k : maximum number of terms
        layer : layer to compare in; by default the last
        names : names of the columns, for a model of matrices that was fitted without names

        Raises
        ------
        UnknownTermError
            If the model does not know the word. The message has similar spellings.
        InvalidParameterError
            If ``k`` or ``layer`` is out of range.
        ModelNotFittedError
            If the model is not fitted.

        Examples
        --------
        >>> from dcot import DCoTVectorizer
        >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
        >>> model = DCoTVectorizer(prototypes=["oil", "prices", "wheat"]).fit(texts)
        >>> model.similar_terms("crude", k=2).terms
        ('oil', 'opec')
        """
        return self._reader(names).similar(word, k, layer)

    def cohort(
        self,
        prototype: Any,
        k: int = 10,
        *,
        layer: int | None = None,
        rare: bool = True,
        names: Any = None,
    ) -> RankedTerms:
        """Words that are translated into a prototype: those that give it the largest values.

        Parameters
        ----------
        prototype : a prototype, or the number of its column
        k : maximum number of words
        layer : layer to compare in; by default the last
        rare : skip words that are prototypes. If every term is a prototype, only the prototype
            itself is skipped.
        names : names of the columns, for a model of matrices that was fitted without names

        Raises
        ------
        UnknownTermError
            If the model does not know the word. The message has similar spellings.
        InvalidParameterError
            If the word is not a prototype, or ``k`` or ``layer`` is out of range.
        ModelNotFittedError
            If the model is not fitted.

        Examples
        --------
        >>> from dcot import DCoTVectorizer
        >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
        >>> model = DCoTVectorizer(prototypes=["oil", "prices", "wheat"]).fit(texts)
        >>> model.cohort("oil", k=2).terms
        ('crude', 'opec')
        """
        return self._reader(names).cohort(prototype, k, layer, rare)

    def explore(self, documents: Any = None, labels: Any = None, *, metadata: Any = None) -> Any:
        """A page to explore the model: words, documents, a map of them, and its accuracy.

        A notebook shows the page; ``.save("page.html")`` writes it as one file that needs no
        server and no network. The command ``dcot explore`` serves the same page without its limits
        (2000 documents, 4000 words).

        Parameters
        ----------
        documents : texts, optional
        labels : a class or None for each document
        metadata : a dict for each document, to colour the map by

        Raises
        ------
        InvalidTypeError
            If the model was fitted to a matrix.
        InvalidInputError
            If ``labels`` or ``metadata`` do not have one entry per document.
        ModelNotFittedError
            If the model is not fitted.

        Examples
        --------
        >>> from dcot import DCoTVectorizer
        >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
        >>> model = DCoTVectorizer(prototypes=["oil", "prices", "wheat"]).fit(texts)
        >>> page = model.explore(texts)
        >>> page.save("page.html")  # doctest: +SKIP
        """
        # imported by name, because dcot.web is above this package
        return import_module("dcot.web.explore.export").page_of(self, documents, labels, metadata)


def near_spellings(word: str, terms: Iterable[str], k: int = 5) -> list[str]:
    """Return terms with a spelling similar to a word, the most similar first.

    >>> near_spellings("nasdak", ["nasdaq", "oil", "nasal", "Nassau"])
    ['nasdaq', 'nasal', 'Nassau']
    >>> near_spellings("prel", ["purely", "real", "perl"])
    ['perl', 'purely', 'real']
    """
    wanted = word.casefold()
    pieces = set(wanted) | {wanted[place : place + 2] for place in range(len(wanted) - 1)}
    reach = max(2, len(wanted) // 3)
    shortest, longest = len(wanted) - reach, len(wanted) + reach
    forms = {term.casefold(): term for term in terms if shortest <= len(term) <= longest}
    shared = [(sum([piece in form for piece in pieces]), form) for form in forms]
    likely = nlargest(MAX_COMPARED_SPELLINGS, shared, key=lambda entry: entry[0])
    near = get_close_matches(wanted, [form for _, form in likely], n=4 * k, cutoff=0.65)
    near.sort(key=lambda form: sorted(form) != sorted(wanted))  # swapped letters first
    return [forms[form] for form in near[:k]]


def _one_row(document: Any) -> Any:
    """Return a document as a matrix; it may be a vector of numbers."""
    if sp.issparse(document) or hasattr(document, "columns"):
        return document
    with suppress(ValueError):  # rows of different lengths, which the model refuses
        found = np.asarray(document)
        return found[None, :] if found.ndim == 1 else document
    return document


def _is_words(document: Any) -> bool:
    """Whether a document is words rather than numbers."""
    if isinstance(document, str):
        return True
    listed = isinstance(document, list | tuple)
    return listed and all(isinstance(entry, str) for entry in document)
