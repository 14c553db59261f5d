"""The paper's figure of words: what each word is rebuilt into, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dcot._extras import require


def word_columns(
    columns: Mapping[str, Sequence[tuple[str, float]]], *, ax: Any = None, title: str = ""
) -> Any:
    """Draw a column of prototypes under each word, the strongest on top.

    Parameters
    ----------
    columns : word → (prototype, value) in decreasing order of value
    ax : matplotlib axes to draw on; a new figure if not given
    title : above it all

    Returns
    -------
    The matplotlib figure.
    """
    pyplot = require("matplotlib.pyplot", "plots")
    depth = max(len(column) for column in columns.values())
    if ax is None:
        size = (1.5 * len(columns), 0.3 * depth + 1)
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    for position, (word, column) in enumerate(columns.items()):
        largest = max((value for _, value in column), default=1.0) or 1.0
        ax.text(position, -0.9, word, ha="center", va="center", weight="bold", style="italic")
        for row, (prototype, value) in enumerate(column):
            strength = max(value, 0.0) / largest
            # the shade says how strong; the order says it too, for those who see no shades
            ax.barh(
                row, 0.92, left=position - 0.46, height=0.86, color="0.55", alpha=0.7 * strength
            )
            ax.text(position, row, prototype, ha="center", va="center", fontsize=9)
    ax.axhline(-0.5, color="black", linewidth=0.8)
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(depth - 0.4, -1.4)
    ax.set_axis_off()
    ax.set_title(title)
    return ax.figure
