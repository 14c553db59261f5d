"""Answers of a reader, as data that can be printed: the meaning of a document, ranked terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dcot.core.options import check_integer
from dcot.errors import InvalidParameterError
from dcot.explain import showing
from dcot.runtime.extras import require
from dcot.runtime.terminal import visible

Array = NDArray[Any]

MAX_WORDS_SHOWN = 4  # next to a prototype
MAX_SHARES_SHOWN = 12  # below the prototypes


@dataclass(frozen=True, eq=False)
class LayerMeaning:
    """The meaning of a document in one layer.

    Attributes
    ----------
    layer : number of the layer, from 1
    prototypes : all prototypes, by decreasing value
    values : reconstructed values without the bias (for the empty document, the bias itself)
    bias : values of the empty document
    word_shares : share of each word in the whole document; they add up to 1
    shares : words × prototypes shown; the shares of a prototype add up to its value

    Examples
    --------
    >>> from dcot import DCoTVectorizer
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
    >>> model = DCoTVectorizer(prototypes=["oil", "prices", "wheat"]).fit(texts)
    >>> layer = model.explain("opec").layer(1)
    >>> layer.layer, layer.top(1)[0][0]
    (1, 'oil')
    """

    layer: int
    prototypes: Array
    values: Array
    bias: Array
    word_shares: Array
    shares: Array

    def top(self, k: int | None = None) -> list[tuple[str, float]]:
        """The prototypes with the largest values."""
        k = self.shares.shape[1] if k is None else k
        names = (str(name) for name in self.prototypes[:k])
        return list(zip(names, map(float, self.values[:k]), strict=True))

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(self.top(len(self.prototypes)))


@dataclass(frozen=True, eq=False)
class Meaning:
    """The meaning of a word or a document, layer by layer.

    It prints as text and shows as tables in a notebook; ``to_frame`` gives the data.

    Attributes
    ----------
    text : the word or document
    words : terms of the document that the model knows, in the order of its columns
    weights : weights of these terms, as the model reads them
    layers : a ``LayerMeaning`` for each layer
    unknown : words that the model does not know and skips
    suggestions : similar spellings of unknown words

    Examples
    --------
    >>> from dcot import DCoTVectorizer
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
    >>> model = DCoTVectorizer(prototypes=["oil", "prices", "wheat"]).fit(texts)
    >>> meaning = model.explain("opec")
    >>> meaning.words, meaning.is_bias, len(meaning.layers)
    (('opec',), False, 2)
    >>> meaning.layer(2).layer
    2
    >>> meaning.to_frame().columns
    ['layer', 'prototype', 'value', 'bias']
    """

    text: str
    words: tuple[str, ...]
    weights: Array
    layers: tuple[LayerMeaning, ...]
    unknown: tuple[str, ...] = ()
    suggestions: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_bias(self) -> bool:
        """Whether no word is known, so that the values are the bias."""
        return not self.words

    def layer(self, number: int) -> LayerMeaning:
        """A layer by its number, from 1.

        Raises
        ------
        InvalidParameterError
            If there is no layer with this number.
        """
        check_integer("layer", number, len(self.layers))
        return self.layers[number - 1]

    def __iter__(self) -> Iterator[LayerMeaning]:
        return iter(self.layers)

    # -- as data ----------------------------------------------------------------------------

    def to_frame(self, what: str = "prototypes") -> Any:
        """The meaning as a polars frame.

        Parameters
        ----------
        what : {"prototypes", "words", "shares"}
            A row per layer and prototype, with value and bias; per layer and word, with weight and
            share in the whole; or per layer, shown prototype and word, with the word's share in
            the prototype's value.

        Raises
        ------
        InvalidParameterError
            If ``what`` is none of these.
        MissingExtraError
            If polars is not installed.
        """
        pl = require("polars", "tables")
        rows: list[tuple[Any, ...]]
        if what == "prototypes":
            names = ("prototype", "value", "bias")
            rows = [
                (part.layer, str(name), float(value), float(bias))
                for part in self.layers
                for name, value, bias in zip(part.prototypes, part.values, part.bias, strict=True)
            ]
        elif what == "words":
            names = ("word", "weight", "share")
            rows = [
                (part.layer, word, float(weight), float(share))
                for part in self.layers
                for word, weight, share in zip(
                    self.words, self.weights, part.word_shares, strict=True
                )
            ]
        elif what == "shares":
            names = ("prototype", "word", "share")
            rows = [
                (part.layer, str(part.prototypes[place]), word, float(part.shares[row, place]))
                for part in self.layers
                for place in range(part.shares.shape[1])
                for row, word in enumerate(self.words)
            ]
        else:
            raise InvalidParameterError(
                f"what must be 'prototypes', 'words' or 'shares', got {what!r}"
            )
        kinds = {"layer": pl.Int64, "prototype": pl.String, "word": pl.String}
        schema = {name: kinds.get(name, pl.Float64) for name in ("layer", *names)}
        return pl.DataFrame(rows, schema=schema, orient="row")

    # -- for people -------------------------------------------------------------------------

    def __str__(self) -> str:
        lines = [self._title()]
        if len(self.words) < 2:
            columns = [[f"{cell}  {name}" for cell, name in _rows(part)] for part in self.layers]
            heads = [f"layer {part.layer}" for part in self.layers]
            text = showing.columns_of_text(heads, columns)
            lines += [f"  {line}" for line in text.splitlines()]
        else:
            for part in self.layers:
                lines += [f"  layer {part.layer}", *self._lines(part)]
        return "\n".join(lines + [f"  {note}" for note in self._notes()])

    def _lines(self, part: LayerMeaning) -> list[str]:
        width = max((len(name) for _, name in _rows(part)), default=0)
        lines = [
            f"    {cell}  {name:<{width}}  from {self._from(part, place)}"
            for place, (cell, name) in enumerate(_rows(part))
        ]
        return [*lines, f"    the whole: {self._whole(part)}"]

    def _from(self, part: LayerMeaning, place: int) -> str:
        """Return the words that contribute most to the value of a prototype."""
        shares = part.shares[:, place]
        digits = showing.decimals([value for _, value in part.top()])  # so that they add up
        order = np.argsort(-np.abs(shares), kind="stable")
        show = partial(showing.signed, digits=digits)
        return self._largest(shares, order, MAX_WORDS_SHOWN, show)

    def _whole(self, part: LayerMeaning) -> str:
        order = np.argsort(-part.word_shares, kind="stable")
        return self._largest(part.word_shares, order, MAX_SHARES_SHOWN, showing.percent)

    def _largest(self, shares: Array, order: Array, most: int, show: Callable[[float], str]) -> str:
        """Return the first words with their shares, and the sum of the others."""
        named = [f"{self.words[row]} {show(shares[row])}" for row in order[:most]]
        if len(order) > most:
            named.append(f"{len(order) - most} more {show(float(shares[order[most:]].sum()))}")
        return ", ".join(named)

    def _title(self) -> str:
        if not self.text.strip() and self.is_bias:
            return "the empty document: the bias"
        text = " ".join(self.text.split())
        text = text if len(text) <= 60 else f"{text[:59]}…"
        if self.is_bias:
            return f"{text}: no word of it is known, so it is the empty document: the bias"
        return f"{text}: what it means, the bias subtracted"

    def _notes(self) -> list[str]:
        return showing.skipped_words(self.unknown, self.suggestions)

    def _repr_html_(self) -> str:
        tables = []
        for part in self.layers:
            rows = _rows(part)
            largest = max((value for _, value in part.top()), default=0.0)
            bars = [value / largest for _, value in part.top()] if largest > 0 else []
            caption, heads = f"layer {part.layer}", ["prototype", "value"]
            cells = [[name, cell] for cell, name in rows]
            if len(self.words) > 1:
                heads.append("from")
                for place, row in enumerate(cells):
                    row.append(self._from(part, place))
            tables.append(showing.html_table(caption, heads, cells, bars))
        if len(self.words) > 1:
            tables.append(self._words_table())
        return showing.html_block(self._title(), self._notes(), tables)

    def _words_table(self) -> str:
        last = self.layers[-1].word_shares
        order = np.argsort(-last, kind="stable")[:MAX_SHARES_SHOWN]
        rows = [
            [self.words[row], *(showing.percent(part.word_shares[row]) for part in self.layers)]
            for row in order
        ]
        heads = ["word", *(f"layer {part.layer}" for part in self.layers)]
        largest = float(last[order].max(initial=0.0))
        bars = [float(last[row]) / largest for row in order] if largest > 0 else []
        return showing.html_table("share in the whole", heads, rows, bars)


def _rows(part: LayerMeaning) -> list[tuple[str, str]]:
    """Values and names of the prototypes to show."""
    digits = showing.decimals([value for _, value in part.top()])
    return [(showing.signed(value, digits), name) for name, value in part.top()]


@dataclass(frozen=True)
class RankedTerms(Sequence[tuple[str, float]]):
    """A list of ``(term, value)`` that prints well.

    Attributes
    ----------
    title : the question
    measure : the name of the values
    terms : the answer, by decreasing value
    values : the value of each term

    Examples
    --------
    >>> from dcot import DCoTVectorizer
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
    >>> model = DCoTVectorizer(prototypes=["oil", "prices", "wheat"]).fit(texts)
    >>> found = model.cohort("oil", 2)
    >>> found.terms
    ('crude', 'opec')
    >>> found.to_frame().columns
    ['term', 'value']
    """

    title: str
    measure: str
    terms: tuple[str, ...]
    values: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.terms)

    @overload
    def __getitem__(self, place: int) -> tuple[str, float]: ...
    @overload
    def __getitem__(self, place: slice) -> RankedTerms: ...
    def __getitem__(self, place: int | slice) -> tuple[str, float] | RankedTerms:
        if isinstance(place, slice):
            return RankedTerms(self.title, self.measure, self.terms[place], self.values[place])
        return self.terms[place], self.values[place]

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(zip(self.terms, self.values, strict=True))

    def __str__(self) -> str:
        if not self.terms:
            return f"{self.title}: none"
        return f"{self.title}\n" + "\n".join(
            f"  {cell}  {visible(term)}" for cell, term in self._rows()
        )

    def _rows(self) -> list[tuple[str, str]]:
        digits = showing.decimals(self.values)
        cells = (showing.signed(value, digits) for value in self.values)
        return list(zip(cells, self.terms, strict=True))

    def to_frame(self) -> Any:
        """The terms as a polars frame, a row each.

        Raises
        ------
        MissingExtraError
            If polars is not installed.
        """
        pl = require("polars", "tables")
        columns = {"term": list(self.terms), self.measure: list(self.values)}
        return pl.DataFrame(columns, schema={"term": pl.String, self.measure: pl.Float64})

    def _repr_html_(self) -> str:
        largest = max(self.values, default=0.0)
        bars = [value / largest for value in self.values] if largest > 0 else []
        rows = [(term, cell) for cell, term in self._rows()]
        return showing.html_block(
            "", [], [showing.html_table(self.title, ("term", self.measure), rows, bars)]
        )
