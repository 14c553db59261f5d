"""Names beside points that do not lie on each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.plots._figure import literal

Array = NDArray[Any]

# Directions to try, right and left before above and below; then the same further away.
_ANGLES = np.deg2rad([0, 180, 60, 120, -60, -120, 90, -90, 30, 150, -30, -150])
_DISTANCES = (6, 11, 18, 27, 38, 52, 70)
_PAD = 1.5  # pixels between names


def place_labels(
    ax: Any, points: Array, names: Sequence[str], bold: set[str], fontsize: float = 8.5
) -> None:
    """Write a name beside each point, moved and tied by a line where it would hide another."""
    figure = ax.figure
    figure.draw_without_rendering()  # settles the layout, so that pixels are what they will be
    pixels = ax.transData.transform(points)
    inside = ax.get_window_extent()
    scale = figure.dpi / 72
    taken = [_box(x, y, 3.5 * scale, 3.5 * scale) for x, y in pixels]
    order = sorted(range(len(names)), key=lambda place: names[place] not in bold)
    for place in order:
        weight = "bold" if names[place] in bold else "normal"
        text = ax.annotate(
            literal(names[place]),
            points[place],
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=fontsize,
            fontweight=weight,
        )
        extent = text.get_window_extent()
        half = np.array([extent.width, extent.height]) / 2 + _PAD
        others = np.array(taken[:place] + taken[place + 1 :])
        offset, box, distance = _free_place(pixels[place], half, others, inside, scale)
        text.set_position(tuple(offset / scale))
        taken.append(box)
        if distance > _DISTANCES[1]:
            _tie(ax, points[place], offset / scale, half / scale)


def _free_place(
    point: Array, half: Array, others: Array, inside: Any, scale: float
) -> tuple[Array, Any, float]:
    """Where a name fits: how far from its point, what it covers, and the distance tried."""
    best: tuple[float, Array, Any, float] | None = None
    for distance in _DISTANCES:
        for angle in _ANGLES:
            way = np.array([np.cos(angle), np.sin(angle)])
            offset = way * distance * scale + np.sign(np.round(way, 3)) * half * np.abs(way)
            box = _box(*(point + offset), *half)
            cost = _overlap(box, others) + _outside(box, inside)
            if cost == 0:
                return offset, box, distance
            if best is None or cost < best[0]:
                best = (cost, offset, box, distance)
    assert best is not None
    return best[1:]


def _tie(ax: Any, point: Array, offset: Array, half: Array) -> None:
    """A thin line from a point to its name."""
    reach = 1 - min(1.0, float(np.min(half / np.maximum(np.abs(offset), 1e-9))))
    ax.annotate(
        "",
        point,
        xytext=tuple(offset * reach),
        textcoords="offset points",
        arrowprops={
            "arrowstyle": "-",
            "color": "0.6",
            "linewidth": 0.6,
            "shrinkA": 0,
            "shrinkB": 2,
        },
        zorder=1,
    )


def _box(x: float, y: float, half_width: float, half_height: float) -> Any:
    return (x - half_width, y - half_height, x + half_width, y + half_height)


def _overlap(box: Any, others: Array) -> float:
    width = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    height = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    return float((np.maximum(width, 0) * np.maximum(height, 0)).sum())


def _outside(box: Any, inside: Any) -> float:
    beyond = (inside.x0 - box[0], inside.y0 - box[1], box[2] - inside.x1, box[3] - inside.y1)
    return 1000.0 * sum(max(float(amount), 0.0) for amount in beyond)
