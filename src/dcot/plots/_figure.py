"""Axes, colours and marks that the figures share."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import Any

from dcot.errors import InvalidTypeError
from dcot.explain import Meaning
from dcot.runtime.extras import require

# The colours of Okabe and Ito, which are safe for colour-blind readers, and a dark red. Marks and
# lines differ too, for print; they repeat if there are many systems.
OURS = "#0072B2"
QUIET = "#C4C4C4"
COLOURS = ("#D55E00", "#009E73", "#CC79A7", "#595959", "#E69F00", "#56B4E9", "#882255")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))


@cache
def _figure_class() -> Any:
    base = require("matplotlib.figure", "plots").Figure

    class Figure(base):  # type: ignore[misc, valid-type]
        """A figure that a notebook shows, although it is made without pyplot."""

        def _repr_png_(self) -> bytes:
            out = BytesIO()
            self.savefig(out, format="png", dpi=110)
            return out.getvalue()

    return Figure


def new_figure(width: float, height: float) -> Any:
    """A new figure; width and height are in inches."""
    return _figure_class()(figsize=(width, height), layout="constrained")


def literal(text: str) -> str:
    """Escape dollar signs, which matplotlib would read as formulas.

    >>> literal("$5 to $10")
    '\\\\$5 to \\\\$10'
    """
    return text.replace("$", r"\$")


def check_meaning(given: object) -> Meaning:
    """Return a ``Meaning``, or raise an error that says what to pass."""
    if isinstance(given, Meaning):
        return given
    raise InvalidTypeError(
        f"expected a Meaning, got {type(given).__name__}: pass the result of explain(text) of a "
        "DCoTVectorizer or DCoT, or of meaning(text) of a DCoTClassifier, whose explain is about a "
        "decision"
    )


def axes_of(ax: Any, width: float, height: float) -> Any:
    """The given axes, or those of a new figure."""
    return new_figure(width, height).subplots() if ax is None else ax


def plain(ax: Any) -> None:
    """Remove the top and right spines."""
    ax.spines[["top", "right"]].set_visible(False)
