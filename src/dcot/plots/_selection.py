"""The selection of a classifier: every candidate with its error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dcot.core.options import check_integer
from dcot.errors import InvalidInputError
from dcot.plots._figure import new_figure, plain
from dcot.runtime.extras import require

if TYPE_CHECKING:
    from dcot.classifier import DCoTClassifier

_MARKS = {
    "candidate": {"marker": "o", "markersize": 4, "markerfacecolor": "white"},
    "default": {"marker": "s", "markersize": 7, "markerfacecolor": "white"},
    "chosen": {"marker": "D", "markersize": 7, "markerfacecolor": "black"},
}


def selection_results(
    classifier: DCoTClassifier, *, most: int | None = None, title: str = ""
) -> Any:
    """Draw ``cv_results_`` of a ``DCoTClassifier``: leave-one-out error and accuracy by candidate.

    Candidates are named by what they change, and sorted by error. Bars are one standard error of
    the mean. The selection compares candidates with the default *document by document*, which is
    more sensitive than overlapping bars.

    Parameters
    ----------
    classifier : a fitted ``DCoTClassifier``
    most : maximum number of candidates, besides the default and the chosen one
    title : title of the figure

    Returns
    -------
    The matplotlib figure.

    Raises
    ------
    InvalidInputError
        If the classifier is not fitted.
    InvalidParameterError
        If ``most`` is not a whole number, at least 1.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dcot import DCoTClassifier, plots
    >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
    >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
    >>> figure = plots.selection_results(model)
    >>> len(figure.axes)
    2
    """
    results = getattr(classifier, "cv_results_", None)
    if results is None:
        raise InvalidInputError(
            f"a fitted DCoTClassifier is needed, got {type(classifier).__name__} without "
            "cv_results_: call fit first"
        )
    if most is not None:
        check_integer("most", most)
    params = results["params"]
    chosen = classifier.best_index_
    errors, spread = results["mean_test_error"], results["std_test_error"]
    order = [int(place) for place in np.argsort(errors, kind="stable")]
    if most is not None:
        order = [place for rank, place in enumerate(order) if rank < most or place in (0, chosen)]
    figure = new_figure(8.2, 0.26 * len(order) + 1.5)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(2, 1))
    left.axvline(errors[0], color="0.6", linewidth=0.8, linestyle="--")
    right.axvline(100 * results["mean_test_score"][0], color="0.6", linewidth=0.8, linestyle="--")
    names = [_name(params[place], params[0]) for place in order]
    left.set_yticks(range(len(order)), names, fontsize=9)
    for row, place in enumerate(order):
        kind = "chosen" if place == chosen else "candidate" if place else "default"
        style = {"color": "black", **_MARKS[kind]}
        left.errorbar(errors[place], row, xerr=spread[place], capsize=2, linewidth=1, **style)
        right.plot(100 * results["mean_test_score"][place], row, **style)
        if kind != "candidate":
            left.get_yticklabels()[row].set_fontweight("bold")
    left.set_ylim(len(order) - 0.4, -0.6)
    left.set_xlabel("leave-one-out squared error ± one standard error", fontsize=9)
    right.set_xlabel("leave-one-out accuracy (%)", fontsize=9)
    for ax in (left, right):
        plain(ax)
        ax.tick_params(axis="x", labelsize=8)
        ax.locator_params(axis="x", nbins=6 if ax is left else 4)
        ax.margins(x=0.12)
        ax.grid(axis="y", color="0.93", linewidth=0.8)
        ax.set_axisbelow(True)
    _legend(figure, chosen)
    figure.suptitle(title)
    return figure


def _name(row: dict[str, Any], default: dict[str, Any]) -> str:
    """The settings that a candidate changes."""
    words = {"n_prototypes": "prototypes"}
    changed = [
        str(value) if name == "features" else f"{words.get(name, name)} {value:g}"
        for name, value in row.items()
        if value != default[name]
    ]
    return ", ".join(changed) or "default"


def _legend(figure: Any, chosen: int) -> None:
    line = require("matplotlib.lines", "plots").Line2D
    names = {"chosen": "chosen (the default)" if chosen == 0 else "chosen"}
    kinds = ["chosen", "candidate"] if chosen == 0 else ["chosen", "default", "candidate"]
    handles = [
        line([], [], color="black", linestyle="", label=names.get(kind, kind), **_MARKS[kind])
        for kind in kinds
    ]
    handles.append(line([], [], color="0.6", linestyle="--", label="value of the default"))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9
    )
