"""Accuracy against the number of labels, a curve for each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dcot.errors import InvalidInputError
from dcot.plots._figure import COLOURS, LINES, MARKERS, OURS, axes_of, literal, plain


def label_curves(
    curves: Mapping[str, Mapping[int, Sequence[float]]],
    *,
    label: str = "accuracy on held-out documents (%)",
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw mean accuracy by number of labels; bars are one standard deviation over the draws.

    Parameters
    ----------
    curves : system → number of labels → accuracy (0 to 1) in each draw; the last system is drawn
        boldest. One without numbers is not drawn, but keeps its style: for panels side by side
    label : of the vertical axis
    ax : matplotlib axes to draw on; a new figure if not given
    title : above it

    Returns
    -------
    The matplotlib figure.
    """
    budgets = sorted({budget for curve in curves.values() for budget in curve})
    if not budgets or any(not len(draws) for curve in curves.values() for draws in curve.values()):
        raise InvalidInputError("expected numbers of labels, and draws for each of them")
    ax = axes_of(ax, 5.6, 3.8)
    last = len(curves) - 1
    ends: list[tuple[float, float, str, dict[str, Any]]] = []
    for number, (name, curve) in enumerate(curves.items()):
        if not curve:
            continue
        xs = np.array(sorted(curve), dtype=np.float64) * 1.01 ** (number - last / 2)
        draws = [100 * np.asarray(curve[budget], dtype=np.float64) for budget in sorted(curve)]
        means = [float(values.mean()) for values in draws]
        ours = number == last
        colour = OURS if ours else COLOURS[number % len(COLOURS)]
        ax.errorbar(
            xs,  # slightly side by side, so that no bar hides another
            means,
            yerr=[values.std(ddof=1) if len(values) > 1 else 0 for values in draws],
            label=name,
            marker=MARKERS[number % len(MARKERS)],
            linestyle=LINES[0] if ours else LINES[1 + number % (len(LINES) - 1)],
            color=colour,
            linewidth=2.4 if ours else 1.2,
            markersize=6 if ours else 5,
            markerfacecolor=colour if ours else "white",
            elinewidth=0.8,
            zorder=3 if ours else 2,
        )
        ends.append(
            (
                xs[-1],
                means[-1],
                name,
                {"color": colour, "weight": "bold"} if ours else {"color": colour},
            )
        )
    _set_ticks(ax, budgets)
    ax.set_xlabel("labelled documents")
    ax.set_ylabel(label)
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_title(title)
    plain(ax)
    _name_ends(ax, ends)
    return ax.figure


def _set_ticks(ax: Any, budgets: Sequence[int]) -> None:
    """A tick for each number of labels, named where there is room."""
    places = np.array(budgets, dtype=np.float64)
    if budgets[0] > 0:
        ax.set_xscale("log")
        ax.minorticks_off()
        places = np.log(places)
    names, room, previous = [], 0.08 * float(np.ptp(places)), -np.inf
    for budget, place in zip(budgets, places, strict=True):
        named = place - previous >= room
        names.append(f"{budget:,}" if named else "")
        previous = place if named else previous
    ax.set_xticks(budgets, names)


def _name_ends(ax: Any, ends: Sequence[tuple[float, float, str, dict[str, Any]]]) -> None:
    """The name of each curve at its right end; names that would overlap are moved apart."""
    low, high = ax.get_ylim()
    points = ax.get_window_extent().height * 72 / ax.figure.dpi
    room = 11.5 * (high - low) / points
    order = sorted(range(len(ends)), key=lambda place: ends[place][1])
    heights = [ends[place][1] for place in order]
    for _ in range(200):
        for lower in range(len(heights) - 1):
            lack = room - (heights[lower + 1] - heights[lower])
            if lack > 1e-9:
                heights[lower] -= lack / 2
                heights[lower + 1] += lack / 2
    for place, height in zip(order, heights, strict=True):
        x, y, name, style = ends[place]
        ax.annotate(
            literal(name),
            (x, y),
            xytext=(1.03, height),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=9,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": style["color"], "linewidth": 0.5, "shrinkB": 4},
            **style,
        )
    ax.set_ylim(low, high)
