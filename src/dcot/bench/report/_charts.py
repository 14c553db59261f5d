"""Curves and a heat map for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcot._extras import require

_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("--", "-.", ":")


def label_curves(
    curves: Mapping[str, Mapping[int, Sequence[float]]],
    *,
    label: str = "accuracy on test documents (%)",
    ax: Any = None,
    title: str = "",
) -> Any:
    """Mean by number of labels, bars of one standard deviation; the last system is boldest."""
    if ax is None:
        _, ax = require("matplotlib.pyplot", "bench").subplots(layout="constrained")
    budgets = sorted({budget for curve in curves.values() for budget in curve})
    last = len(curves) - 1
    for number, (name, curve) in enumerate(curves.items()):
        ours = number == last
        draws = [100 * np.asarray(curve[budget]) for budget in sorted(curve)]
        ax.errorbar(
            np.array(sorted(curve)) * 1.02 ** (number - last / 2),
            [values.mean() for values in draws],
            yerr=[values.std() for values in draws],
            label=name,
            marker=_MARKS[number % len(_MARKS)],
            linestyle="-" if ours else _LINES[number % len(_LINES)],
            color="black" if ours else f"C{number}",
            linewidth=2.2 if ours else 1.3,
            markersize=5,
            capsize=2,
        )
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    ax.set_xlabel("labelled documents")
    ax.set_ylabel(label)
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(title)
    return ax.figure


def noise_heatmap(
    values: ArrayLike,
    noises: Sequence[float],
    layers: Sequence[int],
    *,
    label: str = "accuracy (%)",
    ax: Any = None,
    title: str = "",
) -> Any:
    """A cell for each layer and noise level, dark where it is good."""
    if ax is None:
        _, ax = require("matplotlib.pyplot", "bench").subplots(layout="constrained")
    grid = np.asarray(values, dtype=np.float64)
    ax.imshow(grid, cmap="Greys", origin="lower", aspect="auto")
    middle = (np.nanmin(grid) + np.nanmax(grid)) / 2
    for (row, column), value in np.ndenumerate(grid):
        ink = "white" if value > middle else "black"
        text = f"{value:.1f}" if np.isfinite(value) else "–"
        ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=9)
    ax.set_xticks(range(len(noises)), [f"{noise:g}" for noise in noises])
    ax.set_yticks(range(len(layers)), [str(layer) for layer in layers])
    ax.set_xlabel("noise")
    ax.set_ylabel("layers")
    ax.set_title(f"{title}\n{label}".strip())
    return ax.figure
