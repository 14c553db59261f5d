"""What the figures share: where they are drawn, and marks that need no colour."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import Any

from dcot.runtime.extras import require

# Told apart without colour; as many as any of our figures needs, then they come round again.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))
GREYS = ("0.0", "0.35", "0.55", "0.2", "0.45", "0.65")


@cache
def _figure_class() -> Any:
    base = require("matplotlib.figure", "plots").Figure

    class Figure(base):  # type: ignore[misc, valid-type]
        """A figure that pyplot does not keep alive, and that a notebook shows all the same."""

        def _repr_png_(self) -> bytes:
            out = BytesIO()
            self.savefig(out, format="png", dpi=110)
            return out.getvalue()

    return Figure


def new_figure(width: float, height: float) -> Any:
    """A figure of its own, so many inches large."""
    return _figure_class()(figsize=(width, height), layout="constrained")


def axes_of(ax: Any, width: float, height: float) -> Any:
    """The axes to draw on: those given, or the only ones of a new figure."""
    return new_figure(width, height).subplots() if ax is None else ax


def plain(ax: Any) -> None:
    """Axes without a box around them."""
    ax.spines[["top", "right"]].set_visible(False)
