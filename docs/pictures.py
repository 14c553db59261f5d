"""Draw the picture of the README and of the first page: ``python docs/pictures.py``.

It shows a text none of whose words is in a labelled document, and how it is classified all the
same. Everything in it is computed from the corpus that comes with dcot. Phones get a narrow one.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Curve

from dcot import DCoTClassifier, datasets

IMAGES = Path(__file__).parent / "images"
TEXT = "The jury returned a verdict"
LABELS, PROTOTYPES, CLASSES = 100, 7, 4
# Blue and vermilion of Okabe and Ito: apart for every kind of sight, and one darker than the other.
BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#767676", "#222222"
LIGHT = "#C8C8C8"
WIDE, NARROW = (1.25, 4.6, 8.0, 10.4), (0.95, 3.2, 5.65, 7.3)  # words, meanings, classes, the end
BOX = 1.4  # width


def few_labels() -> DCoTClassifier:
    """The classifier of the README: all documents, 100 of them with a label."""
    corpus = datasets.load("everyday")
    rows = np.random.default_rng(0).choice(corpus.train, LABELS, replace=False)
    labels = np.full(len(corpus.texts), None)
    labels[rows] = corpus.labels[rows]
    return DCoTClassifier().fit(corpus.texts, labels)


def links(explanation: Any) -> tuple[dict[str, dict[str, float]], list[str]]:
    """What each unlabelled word adds through each prototype, and the strongest prototypes."""
    order = {word: place for place, word in enumerate(TEXT.lower().split())}
    found = {
        word.word: {name: value for name, value in word.through if value > 0}
        for word in sorted(explanation.words, key=lambda word: order[word.word])
        if not word.labelled
    }
    totals: dict[str, float] = defaultdict(float)
    for through in found.values():
        for name, value in through.items():
            totals[name] += value
    return found, sorted(totals, key=totals.__getitem__, reverse=True)[:PROTOTYPES]


def heights(names: list[str], top: float, bottom: float) -> dict[str, float]:
    return dict(zip(names, np.linspace(top, bottom, len(names)), strict=True))


def box(ax: Any, x: float, y: float, text: str, colour: str, weight: str = "normal") -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x - BOX / 2, y - 0.19),
            BOX,
            0.38,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor="white",
            edgecolor=colour,
            linewidth=1.6,
            zorder=3,
        )
    )
    ax.text(x, y, text, ha="center", va="center", color=INK, fontsize=13, weight=weight, zorder=4)


def stream(ax: Any, start: tuple[float, float], end: tuple[float, float], **style: Any) -> None:
    middle = (start[0] + end[0]) / 2
    codes = [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
    path = Curve([start, (middle, start[1]), (middle, end[1]), end], codes)
    ax.add_patch(PathPatch(path, facecolor="none", capstyle="butt", zorder=1, **style))


def picture(model: DCoTClassifier, places: tuple[float, float, float, float]) -> Figure:
    words_x, meanings_x, class_x, end = places
    length = 2 * (end - class_x) / 3  # of a bar for 100 %
    explanation = model.explain(TEXT)
    through, prototypes = links(explanation)
    probabilities = model.predict_proba([TEXT])[0]
    best = np.argsort(-probabilities)[:CLASSES]
    words, meanings = heights(list(through), 3.0, 1.0), heights(prototypes, 3.5, 0.5)
    figure = Figure(figsize=(end, 3.95), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, end), ylim=(0.12, 5.0))
    ax.set_axis_off()
    ax.text(0.3, 4.62, f"“{TEXT}”", fontsize=19, weight="bold", color=INK, va="center")
    columns = {
        words_x: (f"words in none of\nthe {LABELS} labelled texts", ORANGE),
        meanings_x: ("what they mean, learned\nfrom texts without labels", BLUE),
        class_x + 0.75: ("the topic", INK),
    }
    for x, (title, colour) in columns.items():
        ax.text(x, 4.05, title, fontsize=11.5, color=colour, ha="center", va="center")
    largest = max(value for each in through.values() for value in each.values())
    for word, y in words.items():
        box(ax, words_x, y, word, ORANGE, "bold")
        for name, value in through[word].items():
            if name in meanings:
                style = {"linewidth": 0.8 + 9 * value / largest, "edgecolor": BLUE, "alpha": 0.30}
                stream(ax, (words_x + BOX / 2, y), (meanings_x - BOX / 2, meanings[name]), **style)
    target = 3.0
    for name, y in meanings.items():
        box(ax, meanings_x, y, name, BLUE)
        width = sum(each.get(name, 0) for each in through.values()) / largest
        style = {"linewidth": 0.8 + 5 * width, "edgecolor": BLUE, "alpha": 0.30}
        stream(ax, (meanings_x + BOX / 2, y), (class_x - 0.75, target), **style)
    for y, place in zip(np.linspace(target, 1.2, CLASSES), best, strict=True):
        chosen = place == best[0]
        share = float(probabilities[place])
        colour, weight = (INK, "bold") if chosen else (GREY, "normal")
        ax.text(class_x, y, str(model.classes_[place]), ha="right", va="center", fontsize=13,
                color=colour, weight=weight)  # fmt: skip
        ax.barh(y, length * share, left=class_x + 0.12, height=0.3, color=BLUE if chosen else LIGHT)
        ax.text(class_x + 0.22 + length * share, y, f"{100 * share:.0f} %", va="center",
                fontsize=12, color=colour, weight=weight)  # fmt: skip
    others = len(model.classes_) - CLASSES
    ax.text(class_x + 0.12, 0.72, f"and {others} more", color=GREY, fontsize=11, va="center")
    return figure


if __name__ == "__main__":
    model = few_labels()
    picture(model, WIDE).savefig(IMAGES / "dcot.png", dpi=150)
    picture(model, NARROW).savefig(IMAGES / "dcot-narrow.png", dpi=150)
