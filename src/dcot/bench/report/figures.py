"""Figures of the report, drawn with ``dcot.plots``."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO, StringIO
from typing import Any

import numpy as np

from dcot.bench.experiments.accuracy import ALL, FEW_LABELS, NAME, UNLABELLED
from dcot.bench.experiments.words import EMPTY
from dcot.bench.protocol import CLASSIFIERS
from dcot.bench.report.results import METRICS, Results, systems_of, values, where
from dcot.bench.report.tables import unlabelled_cells, unlabelled_panels
from dcot.bench.store import Cell
from dcot.bench.systems import FEATURES, NAMES, OURS, PAPER
from dcot.plots import label_curves, noise_heatmap, word_columns
from dcot.plots._figure import new_figure
from dcot.runtime.extras import require

# What people use, the strongest rival, and ours; the others are only in the tables.
DRAWN = ("TF-IDF", "LSI", "LSI, self-trained", "LDA", PAPER, FEATURES, OURS)
# Pretrained systems are in a figure of their own, with ours.
GROUPS = {
    "": "systems that learn from the same documents",
    "-pretrained": "pretrained vectors, alone and with dCoT",
}


def figures(results: Results) -> Iterator[tuple[str, str, str, Any]]:
    """``(experiment, name, caption, figure)`` for every experiment with results."""
    makers = {"words": _words, "noise": _noise, FEW_LABELS: _few_labels, UNLABELLED: _unlabelled}
    for experiment, make in makers.items():
        if experiment in results.experiments:
            yield from ((experiment, *made) for made in make(results))


def _axes(columns: int, width: float, height: float, rows: int = 1) -> tuple[Any, list[Any]]:
    figure = new_figure(width * columns, height * rows)
    return figure, list(np.ravel(figure.subplots(rows, columns)))


def _words(results: Results) -> Iterator[tuple[str, str, Any]]:
    for system in systems_of(results.select("words")):
        cell = results.select("words", system=system)[0]
        for layer, columns in cell.result["columns"].items():
            words = [word for word in (EMPTY, *cell.key["words"]) if word in columns]
            shown = {word: [tuple(pair) for pair in columns[word]] for word in words}
            figure, (ax,) = _axes(1, 1.35 * len(shown), 4.2)
            word_columns(shown, ax=ax)
            name = f"words-{slug(system)}-{slug(layer)}"
            when = "before" if layer == "layer 1" else "after"
            caption = (
                f"{system}, {layer} ({when} recursion), {cell.key['corpus']}: what each word is "
                "reconstructed as, strongest on top, without the bias. The first column is the "
                "empty document: the bias."
            )
            yield name, caption, figure


def _noise(results: Results) -> Iterator[tuple[str, str, Any]]:
    cells = results.select("noise")
    systems = systems_of(cells)
    if not systems:
        return
    noises = sorted({cell.key["noise"] for cell in cells})
    depths = sorted({cell.key["layers"] for cell in cells})
    figure, axes = _axes(1, 0.75 * len(noises) + 2, 0.5 * len(depths) + 1.8, len(systems))
    for ax, system in zip(axes, systems, strict=True):
        grid = np.full((len(depths), len(noises)), np.nan)
        for row, depth in enumerate(depths):
            row_cells = results.select("noise", system=system, layers=depth)
            for noise, each in values(row_cells, "noise", "accuracy").items():
                grid[row, noises.index(noise)] = 100 * each.mean()
        noise_heatmap(grid, noises, depths, ax=ax, title=system)
    labels = cells[0].key["labels"]
    draws = len({cell.key["draw"] for cell in cells})
    caption = (
        f"{cells[0].key['corpus']}: accuracy by noise and layers with {labels} labels (ridge, "
        f"mean of {draws} draw{'s' if draws > 1 else ''}). The representation is learned from the "
        "whole dataset, without labels."
    )
    yield "noise", caption, figure


def _few_labels(results: Results) -> Iterator[tuple[str, str, Any]]:
    for classifier, about in CLASSIFIERS.items():
        shown = {}
        for corpus in results.corpora_of(NAME, classifier=classifier):
            cells = results.few_labels(corpus, classifier=classifier)
            if any(cell.key["labels"] != ALL for cell in cells):
                shown[corpus] = cells
        for metric, title in METRICS.items():
            for group, what in GROUPS.items():
                drawn = {corpus: _drawn(cells, group) for corpus, cells in shown.items()}
                panels = {
                    corpus: _curves(shown[corpus], names, metric)
                    for corpus, names in drawn.items()
                    if len(names) > 1
                }
                if not panels:
                    continue
                figure = _panels(panels, label=f"{title} on test documents (%)")
                caption = (
                    f"{title} of {what}, by number of labels ({about}). Bars are one standard "
                    "deviation over draws; the rightmost points have all labels."
                )
                yield f"{FEW_LABELS}-{slug(classifier)}-{slug(title)}{group}", caption, figure


def _drawn(cells: list[Cell], group: str) -> list[str]:
    """The systems in a figure of this group."""
    names = systems_of(cells)
    if group:
        return [name for name in names if name not in NAMES or name in (OURS, FEATURES)]
    # the curve of LSI would be hidden by that of the self-trained one
    hidden = {"LSI"} if "LSI, self-trained" in names else set()
    return [name for name in names if name in DRAWN and name not in hidden]


def _panels(panels: dict[str, dict[str, Any]], **options: str) -> Any:
    """Curves by title, in rows of two panels.

    All panels have the same systems, some of them empty, so that each keeps its style. Ours is
    last, which is drawn boldest.
    """
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    names.sort(key=lambda name: name in (OURS, FEATURES))
    columns = min(len(panels), 2)
    figure, axes = _axes(columns, 5.3, 3.7, -(-len(panels) // columns))
    for ax in axes[len(panels) :]:
        ax.remove()
    for ax, (title, curves) in zip(axes, panels.items(), strict=False):
        alike = {name: curves.get(name, {}) for name in names}
        label_curves(alike, ax=ax, title=title, **options)
        ax.tick_params(axis="x", labelsize=9)  # so that 500 and 1,000 do not touch
    return figure


def _curves(cells: list[Cell], names: list[str], metric: str) -> dict[str, dict[int, Any]]:
    curves = {}
    sizes = {cell.key["labels"]: cell.result["labelled"] for cell in cells}
    for name in names:
        found = values(where(cells, system=name), "labels", metric)
        curves[name] = {sizes[labels]: each for labels, each in found.items()}
    return curves


def _unlabelled(results: Results) -> Iterator[tuple[str, str, Any]]:
    panels = {}
    for corpus, labels in unlabelled_panels(results):
        cells = unlabelled_cells(results, corpus, labels)
        panels[f"{corpus}, {labels} labels"] = {
            name: values(where(cells, system=name), "learned", "accuracy")
            for name in systems_of(cells)
        }
    if not panels:
        return
    figure = _panels(panels, label="Accuracy on test documents (%)")
    for ax in figure.axes:
        ax.set_xlabel("documents to learn the representation from")
    caption = "Accuracy by number of documents that the representation is learned from."
    yield UNLABELLED, caption, figure


def slug(text: str) -> str:
    """A file name from a text.

    >>> slug("dCoT (paper)")
    'dcot-paper'
    """
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return "-".join(words)


def png(figure: Any) -> bytes:
    """The figure as PNG."""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=130, metadata={"Software": None})
    return out.getvalue()


def svg(figure: Any) -> str:
    """The figure as SVG; the same figure gives the same text.

    Panels beside one another are views: ``figure.svg#panel-1`` shows the first alone.
    """
    out = StringIO()
    same = {"svg.hashsalt": "dcot", "svg.fonttype": "path"}
    with require("matplotlib", "bench").rc_context(same):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :].replace("</svg>", f"{_views(figure)}</svg>")


def _views(figure: Any) -> str:
    """A view for each panel of a figure with several columns, if each has a scale of its own."""
    axes = figure.axes
    first, last = axes[0], axes[-1]
    several = first.get_subplotspec().get_gridspec().ncols > 1
    if not several or first.get_shared_y_axes().joined(first, last):
        return ""
    height, scale = figure.get_figheight() * 72, 72 / figure.dpi
    views = []
    for number, ax in enumerate(axes, 1):
        box = ax.get_tightbbox()
        values = (scale * box.x0, height - scale * box.y1, scale * box.width, scale * box.height)
        place = " ".join(f"{value:.1f}" for value in values)
        views.append(f' <view id="panel-{number}" viewBox="{place}"/>\n')
    return "".join(views)
