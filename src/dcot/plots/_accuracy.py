"""Figures of accuracy: by system, by number of labels, and by noise and layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcot.errors import InvalidInputError
from dcot.plots._figure import COLOURS, LINES, MARKERS, OURS, QUIET, axes_of, literal, plain
from dcot.runtime.extras import require


def accuracy_bars(
    accuracies: Mapping[str, Sequence[float]], *, ax: Any = None, title: str = ""
) -> Any:
    """Draw the mean accuracy of each system as a bar, and every draw as a dot.

    Parameters
    ----------
    accuracies : accuracy (0 to 1) in each draw, by system; the last system is drawn dark
    ax : matplotlib axes to draw on; by default those of a new figure
    title : title of the figure

    Returns
    -------
    The matplotlib figure.

    Raises
    ------
    InvalidInputError
        If there is no system, or no value for one.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dcot import plots
    >>> figure = plots.accuracy_bars({"TF-IDF": [0.5, 0.6], "dCoT": [0.7, 0.72]})
    >>> figure.savefig("bars.png")  # doctest: +SKIP
    """
    if not isinstance(accuracies, Mapping) or not accuracies:
        raise InvalidInputError("expected names of systems, with at least one accuracy each")
    accuracies = {name: _draws(values).tolist() for name, values in accuracies.items()}
    ax = axes_of(ax, 5, 0.6 * len(accuracies) + 1)
    dots = {"markersize": 4, "markerfacecolor": "white", "markeredgecolor": "black"}
    for row, given in enumerate(accuracies.values()):
        values = [100 * value for value in given]
        mean = sum(values) / len(values)
        ours = row == len(accuracies) - 1
        ax.barh(row, mean, color=OURS if ours else QUIET, height=0.7)
        ax.plot(values, [row] * len(values), "o", markeredgewidth=0.6, **dots)
        weight, place = "bold" if ours else "normal", max(*values, mean) + 2
        ax.text(place, row, f"{mean:.1f} %", va="center", ha="left", weight=weight)
    ax.set_yticks(range(len(accuracies)), list(accuracies))
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("accuracy on held-out documents (%)")
    plain(ax)
    ax.set_title(title)
    return ax.figure


def _draws(values: Any) -> Any:
    """Accuracies as an array; an error if they are no numbers."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"accuracies must be numbers: {error}") from error
    if found.ndim != 1 or not found.size:
        raise InvalidInputError(
            f"expected lists of numbers with at least one draw each, got {values!r:.60}"
        )
    return found


def label_curves(
    curves: Mapping[str, Mapping[int, Sequence[float]]],
    *,
    label: str = "accuracy on held-out documents (%)",
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw mean accuracy by number of labels; bars are one standard deviation over draws.

    Parameters
    ----------
    curves : accuracy (0 to 1) in each draw, by system and number of labels; the last system is
        drawn boldest. An empty system is not drawn but keeps its style, for several panels
    label : label of the vertical axis
    ax : matplotlib axes to draw on; by default those of a new figure
    title : title of the figure

    Returns
    -------
    The matplotlib figure.

    Raises
    ------
    InvalidInputError
        If there is no number of labels, or no draw for one.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dcot import plots
    >>> curves = {"TF-IDF": {10: [0.5], 100: [0.7]}, "dCoT": {10: [0.6], 100: [0.8]}}
    >>> figure = plots.label_curves(curves)
    >>> figure.axes[0].get_xlabel()
    'labelled documents'
    """
    nested = isinstance(curves, Mapping) and all(isinstance(c, Mapping) for c in curves.values())
    budgets = sorted({budget for curve in curves.values() for budget in curve}) if nested else []
    if not budgets:
        raise InvalidInputError("expected numbers of labels, with at least one draw each")
    curves = {
        name: {budget: _draws(values) for budget, values in curve.items()}
        for name, curve in curves.items()
    }
    ax = axes_of(ax, 5.6, 3.8)
    last = len(curves) - 1
    ends: list[tuple[float, float, str, str, str]] = []
    for number, (name, curve) in enumerate(curves.items()):
        if not curve:
            continue
        xs = np.array(sorted(curve), dtype=np.float64) * 1.01 ** (number - last / 2)
        draws = [100 * np.asarray(curve[budget]) for budget in sorted(curve)]
        means = [float(values.mean()) for values in draws]
        ours = number == last
        colour = OURS if ours else COLOURS[number % len(COLOURS)]
        ax.errorbar(
            xs,  # slightly shifted, so that no bar hides another
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
        ends.append((xs[-1], means[-1], name, colour, "bold" if ours else "normal"))
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
    """A tick for each number of labels, with its number if there is room."""
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


def _name_ends(ax: Any, ends: Sequence[tuple[float, float, str, str, str]]) -> None:
    """Write the name of each curve at its right end, without overlaps."""
    low, high = ax.get_ylim()
    points = ax.get_window_extent().height * 72 / ax.figure.dpi
    room = 11.5 * (high - low) / points
    ends = sorted(ends, key=lambda end: end[1])
    heights = [end[1] for end in ends]
    for _ in range(200):
        for lower in range(len(heights) - 1):
            lack = room - (heights[lower + 1] - heights[lower])
            if lack > 1e-9:
                heights[lower] -= lack / 2
                heights[lower + 1] += lack / 2
    for (x, y, name, colour, weight), height in zip(ends, heights, strict=True):
        ax.annotate(
            literal(name),
            (x, y),
            xytext=(1.03, height),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=9,
            color=_ink(colour),
            weight=weight,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                "shrinkB": 4,
                "relpos": (0, 0.5),  # from the left of the name, so that no line crosses another
            },
        )
    ax.set_ylim(low, high)


def _ink(colour: str) -> tuple[float, ...]:
    """A darker shade: orange and light blue are hard to read as text on white."""
    rgb = require("matplotlib.colors", "plots").to_rgb(colour)
    scale = 1.0 if colour == OURS else 0.72
    return tuple(scale * part for part in rgb)


def noise_heatmap(
    values: ArrayLike,
    noises: Sequence[float],
    layers: Sequence[int] | None = None,
    *,
    label: str = "accuracy (%)",
    better: str = "higher",
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw a cell for each layer and noise level, darker for better values, with a framed best.

    Parameters
    ----------
    values : layers × noise levels; NaN for missing values
    noises : labels of the columns
    layers : labels of the rows; by default layers are numbered from 1
    label : name of the values
    better : {"higher", "lower"}
    ax : matplotlib axes to draw on; by default those of a new figure
    title : title of the figure

    Returns
    -------
    The matplotlib figure.

    Raises
    ------
    InvalidInputError
        If ``values`` do not have a row per layer and a column per noise level, ``noises`` are no
        list of numbers, or ``better`` is neither of these.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dcot import plots
    >>> figure = plots.noise_heatmap([[70.0, 75.0], [71.0, 76.0]], noises=[0.5, 0.9])
    >>> figure.axes[0].get_xlabel()
    'noise'
    """
    try:
        grid = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"values must be a table of numbers: {error}") from error
    noises = _list_of("noises", noises)
    if not all(isinstance(noise, Real) for noise in noises):
        raise InvalidInputError(f"noises must be numbers, got {noises!r:.60}")
    rows = list(range(1, len(grid) + 1)) if layers is None else _list_of("layers", layers)
    if grid.shape != (len(rows), len(noises)) or not grid.size:
        raise InvalidInputError(
            f"values must have a row for each of {len(rows)} layers and a column for each of "
            f"{len(noises)} noise levels, got shape {grid.shape}"
        )
    if not isinstance(better, str) or better not in ("higher", "lower"):
        raise InvalidInputError(f"better must be 'higher' or 'lower', got {better!r}")
    ax = axes_of(ax, 0.72 * len(noises) + 1.9, 0.5 * len(rows) + 1.4)
    good = grid if better == "higher" else -grid
    known = np.isfinite(good)
    low = float(good[known].min()) if known.any() else 0.0
    span = (float(good[known].max()) - low if known.any() else 0.0) or 1.0
    for row, column in np.ndindex(*grid.shape):
        if not known[row, column]:
            ax.text(column, row, "–", ha="center", va="center")
            continue
        shade = float(good[row, column] - low) / span
        ax.add_patch(_cell(row, column, facecolor=_colour(shade), edgecolor="white"))
        ink = "white" if shade > 0.55 else "black"
        text = f"{grid[row, column]:.{_digits(grid[known])}f}"
        ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=9)
    if known.any():
        row, column = np.unravel_index(np.argmax(np.where(known, good, -np.inf)), grid.shape)
        for ink, width in (("black", 5), ("white", 1.5)):  # visible on dark and light cells
            frame = {"fill": False, "edgecolor": ink, "linewidth": width, "zorder": 3}
            ax.add_patch(_cell(row, column, 0.93, **frame))
    ax.set_xlim(-0.5, len(noises) - 0.5)
    ax.set_ylim(-0.5, len(rows) - 0.5)
    ax.set_xticks(range(len(noises)), [f"{noise:g}" for noise in noises])
    ax.set_yticks(range(len(rows)), [str(row) for row in rows])
    ax.tick_params(length=0)
    ax.set_xlabel("noise")
    ax.set_ylabel("layers")
    ax.spines[:].set_visible(False)
    ax.set_title(f"{title}\n{label}, best framed".strip(), fontsize=10)
    return ax.figure


def _list_of(name: str, given: Any) -> list[Any]:
    listed = isinstance(given, Iterable) and not isinstance(given, str)
    if not listed or getattr(given, "ndim", 1) == 0:
        raise InvalidInputError(f"{name} must be a list, got {given!r:.60}")
    return list(given)


def _colour(shade: float) -> tuple[float, ...]:
    """From nearly white to dark blue: one hue, so that print keeps the order."""
    light, dark = (0.96, 0.97, 0.99), (0.0, 0.27, 0.45)
    return tuple(one + shade * (other - one) for one, other in zip(light, dark, strict=True))


def _cell(row: Any, column: Any, size: float = 1.0, **style: Any) -> Any:
    rectangle = require("matplotlib.patches", "plots").Rectangle
    return rectangle((column - size / 2, row - size / 2), size, size, **style)


def _digits(values: Any) -> int:
    """Decimals that show the differences between values."""
    if not np.ptp(values):
        return 1
    return int(np.clip(np.round(2 - np.log10(float(np.ptp(values)))), 0, 4))
