"""Figures of the report, by name; drawn with the plots that everybody can use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO, StringIO
from typing import Any

import numpy as np

from dcot.bench.experiments.words import EMPTY
from dcot.bench.protocol import WAYS
from dcot.bench.report.results import Results, in_order
from dcot.bench.systems import OURS, PAPER
from dcot.plots import label_curves, noise_heatmap, word_columns
from dcot.runtime.extras import require

# Those of the paper's figure 4 and SDA; the others are in the tables, to keep curves apart.
DRAWN = ("bag of words", "TF-IDF", "LSI", "LDA", "SDA", PAPER, OURS)


def figures(results: Results) -> Iterator[tuple[str, str, Any]]:
    """``(name, caption, figure)`` of everything that there are results for."""
    makers: tuple[Callable[[Results], Iterator[tuple[str, str, Any]]], ...] = (
        _words,
        _noise,
        _few_labels,
        _time,
        _unlabelled,
    )
    for make in makers:
        yield from make(results)


def _axes(columns: int, width: float, height: float, rows: int = 1) -> tuple[Any, list[Any]]:
    figure = require("matplotlib.figure", "bench").Figure(
        figsize=(width * columns, height * rows), layout="constrained"
    )
    return figure, list(np.ravel(figure.subplots(rows, columns)))


def _words(results: Results) -> Iterator[tuple[str, str, Any]]:
    for system in results.systems_of("words"):
        cell = results.select("words", system=system)[0]
        for layer, columns in cell.result["columns"].items():
            words = [word for word in (EMPTY, *cell.key["words"]) if word in columns]
            shown = {word: [tuple(pair) for pair in columns[word]] for word in words}
            figure, (ax,) = _axes(1, 1.35 * len(shown), 4.2)
            word_columns(shown, ax=ax)
            name = f"words-{slug(system)}-{slug(layer)}"
            when = "before" if layer == "layer 1" else "after"
            caption = (
                f"{system}, {layer} ({when} recursion), {results.title(cell.key['corpus'])}: "
                "what each word is rebuilt into, strongest on top, the bias subtracted; the first "
                "column is the empty document, which is the bias."
            )
            yield name, caption, figure


def _noise(results: Results) -> Iterator[tuple[str, str, Any]]:
    systems = results.systems_of("noise")
    if not systems:
        return
    cells = results.select("noise")
    noises = sorted({cell.key["noise"] for cell in cells})
    depths = sorted({cell.key["layers"] for cell in cells})
    figure, axes = _axes(1, 0.75 * len(noises) + 2, 0.5 * len(depths) + 1.8, len(systems))
    for ax, system in zip(axes, systems, strict=True):
        grid = np.full((len(depths), len(noises)), np.nan)
        for row, depth in enumerate(depths):
            found = results.values("noise", "noise", "accuracy", system=system, layers=depth)
            for noise, values in found.items():
                grid[row, noises.index(noise)] = 100 * values.mean()
        noise_heatmap(grid, noises, depths, ax=ax, title=system)
    labels = cells[0].key["labels"]
    draws = len({cell.key["draw"] for cell in cells})
    caption = (
        f"{results.title(cells[0].key['corpus'])}: accuracy by noise and layers, {labels} labelled "
        f"documents, linear SVM, mean of {draws} draw{'s' if draws > 1 else ''}; the "
        "representation is learned on the whole dataset, without labels."
    )
    yield "noise", caption, figure


def _few_labels(results: Results) -> Iterator[tuple[str, str, Any]]:
    for experiment in ("few-labels", "compare"):
        corpora = results.corpora_of(experiment)
        for way, kind in WAYS.items():
            shown = [c for c in corpora if results.select(experiment, corpus=c, way=way)]
            for metric, title in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
                if not shown:
                    continue
                figure, axes = _axes(len(shown), 5.6, 4.2)
                panels = [_curves(results, experiment, c, way, metric) for c in shown]
                label = f"{title} on test documents (%)"
                for ax, corpus, curves in zip(axes, shown, _alike(panels), strict=True):
                    label_curves(curves, ax=ax, title=results.title(corpus), label=label)
                _one_legend(figure, axes)
                caption = (
                    f"{title[0].upper()}{title[1:]} by number of labelled documents "
                    f"({kind.title}); bars are one standard deviation over the draws, the "
                    "right end is all labels."
                )
                yield f"{experiment}-{slug(way)}-{slug(title)}", caption, figure


def _curves(
    results: Results, experiment: str, corpus: str, way: str, metric: str
) -> dict[str, dict[int, Any]]:
    curves = {}
    for system in results.systems_of(experiment, corpus=corpus, way=way):
        options = {"corpus": corpus, "way": way, "system": system}
        found = results.values(experiment, "labels", metric, **options)
        if system in DRAWN or system not in _known():
            sizes = {
                cell.key["labels"]: cell.result["labelled"]
                for cell in results.select(experiment, **options)
            }
            curves[system] = {sizes[label]: values for label, values in found.items()}
    return curves


def _alike(panels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same systems in all panels, so that each has one style; some may be empty."""
    names = in_order({name for curves in panels for name in curves})
    return [{name: curves.get(name, {}) for name in names} for curves in panels]


def _one_legend(figure: Any, axes: list[Any]) -> None:
    """Below the panels, where it hides no curve and leaves them their width."""
    found: dict[str, Any] = {}
    for ax in axes:
        ax.get_legend().remove()
        handles, names = ax.get_legend_handles_labels()
        found |= dict(zip(names, handles, strict=True))
    order = in_order(found)
    options = {"loc": "outside lower center", "frameon": False, "handlelength": 3.5}
    handles = [found[name] for name in order]
    figure.legend(handles, order, ncols=min(5, len(order)), **options)


def _known() -> set[str]:
    from dcot.bench.systems import SYSTEMS

    return set(SYSTEMS)


def _time(results: Results) -> Iterator[tuple[str, str, Any]]:
    corpora = results.corpora_of("time")
    if not corpora:
        return
    systems = results.systems_of("time")
    figure, axes = _axes(len(corpora), 5.2, 0.36 * len(systems) + 1.2)
    for ax, corpus in zip(axes, corpora, strict=True):
        shown = results.systems_of("time", corpus=corpus)
        seconds = [
            results.select("time", corpus=corpus, system=s)[0].result["seconds"] for s in shown
        ]
        colours = ["0.25" if s.startswith("dCoT") else "0.75" for s in shown]
        ax.barh(range(len(shown)), seconds, color=colours, height=0.7)
        for row, value in enumerate(seconds):
            ax.text(value * 1.1, row, f"{value:.3g} s", va="center", fontsize=8)
        ax.set_yticks(range(len(shown)), shown)
        ax.invert_yaxis()
        ax.set_xscale("log")
        ax.set_xlim(min(seconds) / 2, max(seconds) * 6)
        ax.set_xlabel("seconds to learn (logarithmic)")
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_title(results.title(corpus))
    yield "time", "Time to learn each representation once, with its default setting.", figure


def _unlabelled(results: Results) -> Iterator[tuple[str, str, Any]]:
    cells = results.select("unlabelled")
    panels = list(dict.fromkeys((cell.key["corpus"], cell.key["labels"]) for cell in cells))
    if not panels:
        return
    columns = len({labels for _, labels in panels})
    rows = -(-len(panels) // columns)
    figure, axes = _axes(columns, 5.2, 3.6, rows)
    curves_of = [
        {
            system: results.values(
                "unlabelled", "documents", "accuracy", system=system, corpus=corpus, labels=labels
            )
            for system in results.systems_of("unlabelled", corpus=corpus, labels=labels)
        }
        for corpus, labels in panels
    ]
    for ax in axes[len(panels) :]:
        ax.remove()
    axes = axes[: len(panels)]
    for ax, (corpus, labels), curves in zip(axes, panels, _alike(curves_of), strict=True):
        label_curves(curves, ax=ax, title=f"{results.title(corpus)}, {labels} labels")
        ax.set_xlabel("documents learned from, without labels")
        ax.tick_params(axis="x", labelsize=8)
    _one_legend(figure, axes)
    caption = "Accuracy by the number of documents that the representation is learned from."
    yield "unlabelled", caption, figure


def slug(text: str) -> str:
    """A name for a file.

    >>> slug("dCoT (paper)")
    'dcot-paper'
    """
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return "-".join(words)


def png(figure: Any) -> bytes:
    """As pixels."""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=130, metadata={"Software": None})
    return out.getvalue()


def svg(figure: Any) -> str:
    """As drawing, the same bytes for the same figure."""
    out = StringIO()
    with require("matplotlib", "bench").rc_context(
        {"svg.hashsalt": "dcot", "svg.fonttype": "path"}
    ):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]
