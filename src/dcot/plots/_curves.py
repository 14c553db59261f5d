"""Accuracy against the number of labels, a curve for each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dcot.errors import InvalidInputError
from dcot.plots._figure import GREYS, LINES, MARKERS, axes_of, plain


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
    for number, (name, curve) in enumerate(curves.items()):
        if not curve:
            continue
        xs = np.array(sorted(curve), dtype=np.float64)
        draws = [100 * np.asarray(curve[budget], dtype=np.float64) for budget in sorted(curve)]
        ours = number == last
        ax.errorbar(
            xs * 1.02 ** (number - last / 2),  # side by side, so that no bar hides another
            [values.mean() for values in draws],
            yerr=[values.std(ddof=1) if len(values) > 1 else 0 for values in draws],
            label=name,
            marker=MARKERS[number % len(MARKERS)],
            linestyle=LINES[0] if ours else LINES[1 + number % (len(LINES) - 1)],
            color="0.0" if ours else GREYS[1 + number % (len(GREYS) - 1)],
            linewidth=2.2 if ours else 1.3,
            markersize=6,
            markerfacecolor="0.0" if ours else "white",
            capsize=3,
            elinewidth=1,
        )
    if budgets[0] > 0:
        ax.set_xscale("log")
        ax.minorticks_off()
    ax.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    ax.set_xlabel("labelled documents")
    ax.set_ylabel(label)
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, handlelength=3.5)
    ax.set_title(title)
    plain(ax)
    return ax.figure
