"""Figures of meanings: words side by side, and one document layer by layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from textwrap import shorten, wrap
from typing import Any

import numpy as np

from dcot.core.options import check_integer
from dcot.errors import InvalidInputError
from dcot.explain import Meaning
from dcot.plots._figure import OURS, axes_of, check_meaning, literal, new_figure, plain
from dcot.runtime.extras import require

Columns = Mapping[str, Sequence[tuple[str, float]]]

EMPTY = "(empty)"


def word_columns(
    columns: Columns | Iterable[Meaning],
    *,
    layer: int = 1,
    k: int = 10,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw a column of prototypes under each word, the strongest on top.

    ``word_columns([model.explain(word) for word in ("", "nasdaq", "opec")])`` is the paper's figure
    of reconstructions, with the bias first.

    Parameters
    ----------
    columns : results of ``model.explain`` (for a classifier, ``model.meaning``) for some words, or
        a mapping from words to lists of (prototype, value), by decreasing value
    layer : layer to draw
    k : number of prototypes
    ax : matplotlib axes to draw on; by default those of a new figure
    title : title of the figure

    Returns
    -------
    The matplotlib figure.

    Raises
    ------
    InvalidInputError
        If there are no words.
    InvalidTypeError
        If ``columns`` has anything else than such results.
    InvalidParameterError
        If ``k`` is not a whole number, at least 1.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dcot import DCoTVectorizer, plots
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
    >>> model = DCoTVectorizer(n_prototypes=3).fit(texts)
    >>> figure = plots.word_columns([model.explain(word) for word in ("", "opec", "harvest")])
    >>> len(figure.axes)
    1
    """
    check_integer("k", k)
    if not isinstance(columns, Mapping | Iterable):
        check_meaning(columns)
    named = columns if isinstance(columns, Mapping) else _columns(columns, layer, k)
    if not named:
        raise InvalidInputError("there are no words to draw: pass at least one")
    depth = max(len(column) for column in named.values())
    widths = [_width(word, column) for word, column in named.items()]
    ax = axes_of(ax, sum(widths), 0.3 * depth + 1)
    starts = [sum(widths[:place]) for place in range(len(widths))]
    for (word, column), start, width in zip(named.items(), starts, widths, strict=True):
        middle = start + width / 2
        largest = max((value for _, value in column), default=1.0) or 1.0
        ax.text(
            middle, -0.9, literal(word), ha="center", va="center", weight="bold", style="italic"
        )
        for row, (prototype, value) in enumerate(column):
            strength = max(value, 0.0) / largest
            # the shade shows the strength, and so does the order
            ax.barh(
                row,
                0.94 * width,
                left=start + 0.03 * width,
                height=0.86,
                color=OURS,
                alpha=0.45 * strength,
            )
            ax.text(middle, row, literal(prototype), ha="center", va="center", fontsize=9)
    ax.axhline(-0.5, color="black", linewidth=0.8)
    ax.set_xlim(0, sum(widths))
    ax.set_ylim(depth - 0.4, -1.4)
    ax.set_axis_off()
    ax.set_title(title)
    return ax.figure


def _columns(meanings: Iterable[Meaning], layer: int, k: int) -> Columns:
    found: dict[str, Sequence[tuple[str, float]]] = {}
    for meaning in map(check_meaning, meanings):
        text = shorten(meaning.text, 28, placeholder=" …") or EMPTY
        # equal texts, of two models for example, or long ones that begin alike
        numbers = (f"{text} ({number})" for number in count(2))
        name = text if text not in found else next(n for n in numbers if n not in found)
        found[name] = meaning.layer(layer).top(k)
    return found


def _width(word: str, column: Sequence[tuple[str, float]]) -> float:
    """Width of a column in inches: a letter of 9 points is about an eleventh of an inch wide."""
    longest = max([1.2 * len(word), *(len(name) for name, _ in column)])
    return max(1.2, 0.3 + longest / 11)


_PRESENT = {"facecolor": "0.25"}
_ADDED = {"facecolor": "#B3D5EA", "hatch": "////", "edgecolor": OURS, "linewidth": 0}


def document_layers(meaning: Meaning, *, k: int = 12, title: str | None = None) -> Any:
    """Draw a document's words beside the strongest prototypes of every layer.

    Dark bars are words of the document itself; hatched bars were added by the model.

    Parameters
    ----------
    meaning : result of ``model.explain`` (for a classifier, ``model.meaning``)
    k : maximum number of words, and of prototypes per layer
    title : title of the figure; by default the shortened document

    Returns
    -------
    The matplotlib figure.

    Raises
    ------
    InvalidTypeError
        If ``meaning`` is not such a result.
    InvalidInputError
        If it has no layers.
    InvalidParameterError
        If ``k`` is not a whole number, at least 1.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dcot import DCoTVectorizer, plots
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
    >>> model = DCoTVectorizer(n_prototypes=3).fit(texts)
    >>> figure = plots.document_layers(model.explain("opec oil prices"))
    >>> len(figure.axes)
    3
    """
    check_integer("k", k)
    check_meaning(meaning)
    if not meaning.layers:
        raise InvalidInputError("there are no layers to draw")
    words = [] if meaning.is_bias else _heaviest(meaning, k)
    panels: list[tuple[str, str, list[tuple[str, float]]]] = []
    if words:
        panels.append(("the document", "weight", words))
    what = "bias" if meaning.is_bias else "value, bias subtracted"
    panels += [(f"layer {part.layer}", what, part.top(k)) for part in meaning.layers]
    depth = max(len(rows) for _, _, rows in panels)
    figure = new_figure(2.9 * len(panels), 0.24 * depth + 1.5)
    present = (
        {name for part in meaning for name, _ in part} if meaning.is_bias else set(meaning.words)
    )
    for ax, (name, unit, rows) in zip(
        np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True
    ):
        _bars(ax, rows, present, depth)
        ax.set_title(name, fontsize=10)
        ax.set_xlabel(unit, fontsize=9)
    if words:
        _legend(figure)
    text = " ".join(meaning.text.split()) or "the empty document"
    text = "\n".join(wrap(text, int(33 * len(panels)), max_lines=2, placeholder=" …"))
    figure.suptitle(literal(text) if title is None else title, fontsize=10, style="italic")
    return figure


def _heaviest(meaning: Meaning, k: int) -> list[tuple[str, float]]:
    order = np.argsort(-meaning.weights, kind="stable")[:k]
    return [(meaning.words[place], float(meaning.weights[place])) for place in order]


def _bars(ax: Any, rows: list[tuple[str, float]], present: set[str], depth: int) -> None:
    for place, (name, value) in enumerate(rows):
        ax.barh(place, value, height=0.75, **(_PRESENT if name in present else _ADDED))
    ax.set_yticks(range(len(rows)), [literal(name) for name, _ in rows], fontsize=9)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_ylim(depth - 0.4, -0.6)  # the same height for a bar in every panel
    ax.axvline(0, color="black", linewidth=0.8)
    ax.locator_params(axis="x", nbins=4)
    plain(ax)


def _legend(figure: Any) -> None:
    patch = require("matplotlib.patches", "plots").Patch
    handles = [
        patch(label="in the document", **_PRESENT),
        patch(label="added by the model", **_ADDED),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
