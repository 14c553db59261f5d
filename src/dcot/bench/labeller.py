"""``dcot bench labeller``: the accuracy of the labelling page, per label and per seed word.

The true labels answer instead of a person. Documents are chosen and learned as by `dcot label`:
one in a few is drawn at random, the others are suggested. Accuracy is that on all documents.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dcot.bench.report.figures import svg
from dcot.bench.report.tables import Table
from dcot.bench.tasks import load_corpus
from dcot.errors import InvalidInputError
from dcot.plots import label_curves
from dcot.plots._figure import new_figure
from dcot.runtime.extras import require
from dcot.runtime.files import write_atomically
from dcot.runtime.progress import Progress, silent
from dcot.web.learning import NO_START, Snapshot, Start, choose_next, learn
from dcot.web.session import RANDOM_EVERY
from dcot.web.space import Space, learn_space, seed_vectors

BUDGETS = (10, 25, 50, 100, 200, 400, 800)
SEED_WORDS = (1, 2, 3, 5, 10)  # per class
FIRST_SEED_WORDS = 3  # of them, before any label
LABELS_PER_REFIT = 10  # labels between two refits
Curve = dict[int, list[float]]


def run(
    corpus: str = "dmoz",
    *,
    documents: int = 8000,
    labels: int = 400,
    draws: int = 2,
    data: str | os.PathLike[str] | None = None,
    docs: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> list[Table]:
    """Simulate a labeller, and return the tables by labels and by seed words.

    Parameters
    ----------
    corpus : one of `dcot.datasets.available`, with texts
    documents : how many of its documents to label from, drawn at random
    labels : most labels to give
    draws : number of random orders of documents
    data : directory with research corpora
    docs : folder of the documentation; its table and figure are written
    progress : called with a message and the fraction that is done
    """
    require("matplotlib", "bench")  # before the work
    texts, truth = _documents(corpus, documents, data)
    space = learn_space(texts)
    if space is None:
        raise InvalidInputError(f"{corpus}: its texts have too few words to learn from")
    most = min(labels, len(texts))
    sizes = [size for size in BUDGETS if size <= most] or [most]
    few = Start(_seed_words(space, truth, FIRST_SEED_WORDS))
    ways = {
        "at random": (False, NO_START),
        f"suggested, {FIRST_SEED_WORDS} seed words": (True, few),
        "suggested": (True, NO_START),
    }
    curves: dict[str, Curve] = {}
    for number, (way, (suggested, start)) in enumerate(ways.items()):
        progress(way, number / len(ways))
        rows = [_curve(space, truth, suggested, start, sizes, seed) for seed in range(draws)]
        curves[way] = {size: [row[k] for row in rows] for k, size in enumerate(sizes)}
    seeded: dict[str, Curve] = {"no label": {}}
    for words in SEED_WORDS:
        snapshot = learn(space.Z, {}, Start(_seed_words(space, truth, words)))
        seeded["no label"][words] = [_right(snapshot, truth)]
    progress("labeller", 1.0)
    drawn = "one draw" if draws == 1 else f"mean of {draws} draws"
    about = f"{corpus}, {len(texts):,} documents, {len(set(truth))} classes"
    tables = [
        _table(f"Accuracy (%) by labels; {about}; {drawn}", "labels", curves),
        _table(f"Accuracy (%) by seed words; {about}", "seed words per class", seeded),
    ]
    if docs is not None:
        text = "\n".join(table.markdown() for table in tables)
        write_atomically(Path(docs) / "tables" / "label-curve.md", text.encode())
        drawing = svg(_figure(curves, seeded))
        write_atomically(Path(docs) / "images" / "label-curve.svg", drawing.encode())
    return tables


def _documents(name: str, n: int, data: Any) -> tuple[list[str], list[str]]:
    """A random n of a corpus's documents, and their classes."""
    found = load_corpus(name, data)
    if found.texts is None:
        raise InvalidInputError(f"{name} has counts but no texts, which a labeller reads")
    rows = np.random.RandomState(0).permutation(len(found.texts))
    rows = np.sort(rows[found.labels[rows] != ""][:n])  # some have no label
    return [found.texts[row] for row in rows], [str(found.labels[row]) for row in rows]


def _curve(
    space: Space, truth: list[str], suggested: bool, start: Start, sizes: list[int], seed: int
) -> list[float]:
    """The accuracy on all documents after each number of labels."""
    generator = np.random.RandomState(seed)
    order = [int(row) for row in generator.permutation(len(truth))]
    labels: dict[int, str] = {}
    if suggested and not start.seeds:
        first = space.first_documents(np.arange(len(truth)), sizes[0], generator)
        labels = {int(row): truth[row] for row in first}
    scores = []
    for size in sizes:
        while len(labels) < size:
            free = np.array([row for row in order if row not in labels])
            snapshot = learn(space.Z, labels, start) if suggested else None
            wanted = min(LABELS_PER_REFIT, size - len(labels))
            chosen = free[:wanted]
            if snapshot is not None:
                chosen = choose_next(snapshot, space.Z, np.sort(free), wanted, generator)
                drawn = wanted // RANDOM_EVERY
                chosen = np.concatenate([chosen[: wanted - drawn], free[:drawn]])
            labels |= {int(row): truth[row] for row in chosen}
        scores.append(_right(learn(space.Z, labels, start), truth))
    return scores


def _right(snapshot: Snapshot | None, truth: list[str]) -> float:
    if snapshot is None:
        return 0.0
    return float((np.asarray(snapshot.classes)[snapshot.best] == np.asarray(truth)).mean())


def _seed_words(space: Space, truth: list[str], words: int) -> dict[str, Any]:
    """The best that one could choose: for each class the words that set it apart the most."""
    codes = np.asarray(truth)
    counts = (space.X > 0).astype(np.float64)
    share = np.asarray(counts.mean(axis=0)).ravel() + 1e-6
    seeds = {}
    for name in sorted(set(truth)):
        inside = np.asarray(counts[np.flatnonzero(codes == name)].mean(axis=0)).ravel()
        best = np.argsort(-(inside * np.log((inside + 1e-6) / share)))[:words]
        seeds[name] = [str(space.terms[k]) for k in best]
    return seed_vectors(space, seeds)


def _table(title: str, head: str, curves: dict[str, Curve]) -> Table:
    columns = list(next(iter(curves.values())))
    rows = [
        [name, *(f"{100 * np.mean(values):.1f}" for values in curve.values())]
        for name, curve in curves.items()
    ]
    return Table(title, [head, *map(str, columns)], rows)


def _figure(curves: dict[str, Curve], seeded: dict[str, Curve]) -> Any:
    figure = new_figure(9.6, 3.6)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    label_curves(
        curves, ax=left, label="accuracy on all documents (%)", title="by number of labels"
    )
    label_curves(seeded, ax=right, label="", title="by seed words, without labels")
    right.set_xlabel("seed words per class")
    return figure
