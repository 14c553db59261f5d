"""The questions one can ask a fitted stack of layers about its terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Matrix
from dcot.core.checks import check_integer
from dcot.core.layers import Layer
from dcot.errors import InvalidParameterError, UnknownTermError
from dcot.explain.meaning import LayerMeaning, Meaning
from dcot.explain.neighbours import cosines, one_word_values, values_of
from dcot.explain.ranking import RankedTerms
from dcot.explain.spelling import near_spellings
from dcot.explain.tracing import Trace

Array = NDArray[Any]

_SUGGESTED = 4  # words of one text that spellings are looked up for


def _same(rows: Any) -> Any:
    return rows


@dataclass(frozen=True)
class Reader:
    """A stack of layers with names.

    Attributes
    ----------
    layers : the fitted stack
    prototypes : columns of the prototypes
    terms : the name of each column
    weigh : from counts to what the layers read, for documents of one word
    hint : what to do about a word that is not known, for models whose names are made up
    """

    layers: Sequence[Layer]
    prototypes: Array
    terms: Array
    weigh: Callable[[Any], Any] = _same
    hint: str = ""

    # -- meanings ---------------------------------------------------------------------------

    def meaning(self, row: Matrix, text: str, k: int, unknown: Sequence[str] = ()) -> Meaning:
        """What a document, a matrix of one row, means."""
        check_integer("k", k)
        trace = Trace.of(row, self.layers)
        layers = tuple(self._layer(trace, depth, k) for depth in range(1, len(self.layers) + 1))
        words = tuple(str(term) for term in self.terms[trace.columns])
        near = {word: near_spellings(word, self.terms, 2) for word in unknown[:_SUGGESTED]}
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

    def similar(self, column: int, k: int, layer: int | None) -> RankedTerms:
        """Terms whose values point the way of a term's."""
        check_integer("k", k)
        depth = self._depth(layer)
        places, values = cosines(self.layers[:depth], column, k, self.weigh)
        title = f"nearest to {self.terms[column]} (layer {depth})"
        return self._ranked(title, "similarity", places, values)

    def cohort(self, column: int, k: int, layer: int | None, rare: bool) -> RankedTerms:
        """Terms that a prototype is rebuilt from."""
        check_integer("k", k)
        depth = self._depth(layer)
        place = int(np.searchsorted(self.prototypes, column))
        values = one_word_values(self.layers[:depth], place, self.weigh)
        left_out = np.array([column])
        if rare and len(self.prototypes) < len(self.terms):
            left_out = self.prototypes
        values[left_out] = -np.inf
        order = np.argsort(-values, kind="stable")[: min(k, len(values) - len(left_out))]
        title = f"translated into {self.terms[column]} (layer {depth})"
        return self._ranked(title, "value", order, values[order])

    def vectors(self, columns: Sequence[int], layer: int | None) -> Array:
        """The values of terms, each a document of its own."""
        places = np.asarray(columns, dtype=np.intp)
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

    def row(self, columns: Sequence[int]) -> Any:
        """A document of these terms, each counted as often as it comes."""
        counted, counts = np.unique(np.asarray(columns, dtype=np.intp), return_counts=True)
        dtype = self.layers[0].coef_.dtype
        cells = (counts.astype(dtype), (np.zeros(len(counted), dtype=np.intp), counted))
        return sp.csr_array(cells, shape=(1, len(self.terms)))

    def find(self, term: Any) -> int | None:
        """The column of a term, or of a number of a column; None if there is none."""
        if isinstance(term, str):
            found = np.flatnonzero(self.terms == term)
            return int(found[0]) if len(found) else None
        if isinstance(term, int | np.integer) and not isinstance(term, bool):
            return int(term) if 0 <= term < len(self.terms) else None
        raise InvalidParameterError(f"expected a term or the number of a column, got {term!r:.60}")

    def column(self, term: Any) -> int:
        """The column of a term; an error with near spellings if there is none."""
        found = self.find(term)
        if found is None:
            raise self.unknown(term)
        return found

    def prototype(self, term: Any) -> int:
        """The column of a prototype."""
        found = self.column(term)
        if found not in self.prototypes:
            name = str(self.terms[found])
            near = near_spellings(name, self.terms[self.prototypes])
            raise InvalidParameterError(
                f"{name!r} is a term but not one of the {len(self.prototypes):,} prototypes: "
                f"nothing is translated into it; similar_terms({name!r}) has its neighbours"
                + (f". Prototypes spelled like it: {', '.join(near)}" if near else "")
            )
        return found

    def unknown(self, term: Any) -> UnknownTermError:
        """The error for a term that the model does not know."""
        if not isinstance(term, str):
            return UnknownTermError(
                f"there is no column {term}: columns go from 0 to {len(self.terms) - 1}", str(term)
            )
        near = near_spellings(term, self.terms)
        what = f"near spellings: {', '.join(near)}" if near else "nothing it knows is spelled alike"
        n = f"{len(self.terms):,}"
        hint = self.hint or "it was not in the documents, or was left out when they were counted"
        return UnknownTermError(
            f"{term!r:.80} is not among the {n} terms of this model: {what} ({hint})", term, near
        )
