"""Bars of accuracy, one per system, with the spread over draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dcot.plots._figure import OURS, QUIET, axes_of, plain


def accuracy_bars(
    accuracies: Mapping[str, Sequence[float]], *, ax: Any = None, title: str = ""
) -> Any:
    """Draw the mean accuracy of each system, and every draw as a dot.

    Parameters
    ----------
    accuracies : system → accuracy (0 to 1) in each draw; the last system is drawn dark
    ax : matplotlib axes to draw on; a new figure if not given
    title : above it

    Returns
    -------
    The matplotlib figure.
    """
    ax = axes_of(ax, 5, 0.6 * len(accuracies) + 1)
    names = list(accuracies)
    for row, name in enumerate(names):
        values = [100 * value for value in accuracies[name]]
        mean = sum(values) / len(values)
        ours = row == len(names) - 1
        ax.barh(row, mean, color=OURS if ours else QUIET, height=0.7)
        dots = {"markersize": 4, "markerfacecolor": "white", "markeredgecolor": "black"}
        ax.plot(values, [row] * len(values), "o", markeredgewidth=0.6, **dots)
        ax.text(
            max(*values, mean) + 1,
            row,
            f"{mean:.1f} %",
            va="center",
            ha="left",
            weight="bold" if ours else "normal",
        )
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("accuracy on held-out documents (%)")
    plain(ax)
    ax.set_title(title)
    return ax.figure
