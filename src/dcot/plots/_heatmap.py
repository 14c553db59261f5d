"""The paper's question of noise and depth: a number for every noise level and layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcot.errors import InvalidInputError
from dcot.plots._figure import axes_of


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
    """Draw a cell for each layer and noise level, dark where it is good, the best one framed.

    Parameters
    ----------
    values : layers × noise levels; NaN where there is nothing to show
    noises, layers : of the columns and rows; layers are counted from 1 if not given
    label : what the values are
    better : {"higher", "lower"}
    ax : matplotlib axes to draw on; a new figure if not given
    title : above it

    Returns
    -------
    The matplotlib figure.
    """
    grid = np.atleast_2d(np.asarray(values, dtype=np.float64))
    rows = list(range(1, len(grid) + 1)) if layers is None else list(layers)
    if grid.shape != (len(rows), len(noises)) or not grid.size:
        raise InvalidInputError(
            f"values must have a row for each of {len(rows)} layers and a column for each of "
            f"{len(noises)} noise levels, got shape {grid.shape}"
        )
    if better not in ("higher", "lower"):
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
        for ink, width in (("black", 5), ("white", 1.5)):  # seen on dark cells and on light ones
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
    ax.set_title(f"{title}\n{label}, best one framed".strip(), fontsize=10)
    return ax.figure


def _colour(shade: float) -> tuple[float, ...]:
    """From nearly white to dark blue: one hue, so the order is seen in print as well."""
    light, dark = (0.96, 0.97, 0.99), (0.0, 0.27, 0.45)
    return tuple(one + shade * (other - one) for one, other in zip(light, dark, strict=True))


def _cell(row: Any, column: Any, size: float = 1.0, **style: Any) -> Any:
    from dcot.runtime.extras import require

    rectangle = require("matplotlib.patches", "plots").Rectangle
    return rectangle((column - size / 2, row - size / 2), size, size, **style)


def _digits(values: Any) -> int:
    """Digits after the point that tell the values apart."""
    if not np.ptp(values):
        return 1
    return int(np.clip(np.round(2 - np.log10(float(np.ptp(values)))), 0, 4))
