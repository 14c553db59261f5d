"""The paper's figure of words: what each word is rebuilt into, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any

from dcot.errors import InvalidInputError
from dcot.explain import Meaning
from dcot.plots._figure import OURS, axes_of, check_meaning, literal

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
    of reconstructions, the bias first.

    Parameters
    ----------
    columns : what ``model.explain`` (of a classifier: ``model.meaning``) returns for some words, or
        a mapping word → (prototype, value) in decreasing order of value
    layer, k : which layer to draw, and how many prototypes
    ax : matplotlib axes to draw on; a new figure if not given
    title : above it all

    Returns
    -------
    The matplotlib figure.
    """
    named = columns if isinstance(columns, Mapping) else _columns(columns, layer, k)
    if not named:
        raise InvalidInputError("there are no words to draw: give at least one")
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
            # the shade says how strong; the order says it too, for those who see no shades
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
    return {
        shorten(meaning.text, 28, placeholder=" …") or EMPTY: meaning.layer(layer).top(k)
        for meaning in map(check_meaning, meanings)
    }


def _width(word: str, column: Sequence[tuple[str, float]]) -> float:
    """Inches for a column: 9 points of type are about an eleventh of an inch a letter."""
    longest = max([1.2 * len(word), *(len(name) for name, _ in column)])
    return max(1.2, 0.3 + longest / 11)
