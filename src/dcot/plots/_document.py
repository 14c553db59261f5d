"""One document, layer by layer: its own words, and what the layers make of them."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import numpy as np

from dcot.errors import InvalidInputError
from dcot.explain import Meaning
from dcot.plots._figure import OURS, check_meaning, literal, new_figure, plain

_OWN = {"facecolor": "0.25"}
_ADDED = {"facecolor": "#B3D5EA", "hatch": "////", "edgecolor": OURS, "linewidth": 0}


def document_layers(meaning: Meaning, *, k: int = 12, title: str | None = None) -> Any:
    """Draw a document's words beside the strongest prototypes of every layer.

    Dark bars are words of the document itself; hatched ones were added by the model.

    Parameters
    ----------
    meaning : what ``model.explain`` (of a classifier: ``model.meaning``) returns
    k : how many words, and prototypes of each layer, at most
    title : above it all; by default the document, shortened

    Returns
    -------
    The matplotlib figure.
    """
    check_meaning(meaning)
    if not meaning.layers:
        raise InvalidInputError("there are no layers to draw")
    words = [] if meaning.is_bias else _heaviest(meaning, k)
    panels: list[tuple[str, str, list[tuple[str, float]]]] = []
    if words:
        panels.append(("the document", "weight", words))
    what = "bias" if meaning.is_bias else "value, bias subtracted"
    panels += [(f"layer {part.layer}", what, part.top(k)) for part in meaning.layers]
    depth = max(len(rows) for _, _, rows in panels)
    figure = new_figure(2.9 * len(panels), 0.24 * depth + 1.5)
    own = {name for part in meaning for name, _ in part} if meaning.is_bias else set(meaning.words)
    for ax, (name, unit, rows) in zip(
        np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True
    ):
        _bars(ax, rows, own, depth)
        ax.set_title(name, fontsize=10)
        ax.set_xlabel(unit, fontsize=9)
    if words:
        _legend(figure)
    text = " ".join(meaning.text.split()) or "the empty document"
    text = "\n".join(wrap(text, int(33 * len(panels)), max_lines=2, placeholder=" …"))
    figure.suptitle(literal(text) if title is None else title, fontsize=10, style="italic")
    return figure


def _heaviest(meaning: Meaning, k: int) -> list[tuple[str, float]]:
    order = np.argsort(-meaning.weights, kind="stable")[:k]
    return [(meaning.words[place], float(meaning.weights[place])) for place in order]


def _bars(ax: Any, rows: list[tuple[str, float]], own: set[str], depth: int) -> None:
    for place, (name, value) in enumerate(rows):
        ax.barh(place, value, height=0.75, **(_OWN if name in own else _ADDED))
    ax.set_yticks(range(len(rows)), [literal(name) for name, _ in rows], fontsize=9)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_ylim(depth - 0.4, -0.6)  # the same height for a bar in every panel
    ax.axvline(0, color="black", linewidth=0.8)
    ax.locator_params(axis="x", nbins=4)
    plain(ax)


def _legend(figure: Any) -> None:
    from dcot.runtime.extras import require

    patch = require("matplotlib.patches", "plots").Patch
    handles = [
        patch(label="in the document", **_OWN),
        patch(label="added by the model", **_ADDED),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
