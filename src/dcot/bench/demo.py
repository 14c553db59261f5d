"""The demo on the embedded corpus: learn without labels, classify with few, look up words."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD

from dcot.bench.experiments.words import STAND_IN_WORDS, columns_of
from dcot.bench.features import Block
from dcot.bench.protocol import Candidate, choose, ridge_predictions
from dcot.bench.tasks import COUNTING, Documents, task_of
from dcot.datasets import Corpus, load_everyday
from dcot.estimator import DCoT
from dcot.plots import accuracy_bars, word_columns
from dcot.plots._figure import new_figure
from dcot.vectorizer import DCoTVectorizer

Array = NDArray[Any]
Columns = dict[str, list[tuple[str, float]]]

WORDS = STAND_IN_WORDS
LSI_SIZES = (100, 50, 200, 300)
LABELS_PER_CLASS = 5
DRAWS = 5


@dataclass(frozen=True)
class Demo:
    """Results of the demo."""

    corpus: Corpus
    accuracies: dict[str, list[float]]
    seconds: dict[str, float]
    columns: Columns


def run(corpus: Corpus | None = None, *, words: Sequence[str] = WORDS, draws: int = DRAWS) -> Demo:
    """Compare representations on a corpus of texts, by default the embedded one.

    They are learned from all documents, without labels.
    """
    corpus = load_everyday() if corpus is None else corpus
    task = task_of(corpus)
    rows = np.concatenate([task.train, task.test])
    documents, _ = task.documents(rows, rows[:1])
    DCoT(5, solver="cg").fit(documents.tfidf[:64])  # compiles once per machine
    model = DCoTVectorizer(**COUNTING)  # as for the other systems
    candidates, seconds = _representations(documents, model)
    labels, n = task.labels[rows], len(task.train)
    accuracies: dict[str, list[float]] = {name: [] for name in candidates}
    for draw in range(draws):
        labelled = _few_labels(labels[:n], draw)
        test = np.arange(n, len(rows))
        for name, each in candidates.items():
            choice = choose(each, labels, labelled, [len(labelled)])[len(labelled)]
            found = ridge_predictions(choice, labels, labelled, test)
            accuracies[name].append(float(np.mean(found.labels == labels[n:])))
    weights = model.weigh(documents.texts)
    found_words = columns_of(model.dcot_, weights, model._pipeline.terms, words)["columns"]
    columns: Columns = {
        word: [(name, value) for name, value in column]
        for word, column in found_words["layer 1"].items()
    }
    return Demo(corpus, accuracies, seconds, columns)


def _representations(
    documents: Documents, model: DCoTVectorizer
) -> tuple[dict[str, list[Candidate]], dict[str, float]]:
    """Candidates of each system (LSI in several sizes), and the time to learn them."""
    X = documents.tfidf
    learners: dict[str, Callable[[], Any]] = {
        "bag of words": lambda: Block.of(documents.counts, "unit"),
        "TF-IDF": lambda: Block.of(X),
        "LSI": lambda: TruncatedSVD(max(LSI_SIZES), random_state=0).fit_transform(X),
        "dCoT": lambda: Block.of(model.fit_transform(documents.texts)),
    }
    found, seconds = {}, {}
    for name, learn in learners.items():
        start = time.perf_counter()
        features = learn()
        seconds[name] = time.perf_counter() - start
        blocks = [features]
        if name == "LSI":
            blocks = [Block.of(features[:, :k], "unit") for k in LSI_SIZES]
        found[name] = [Candidate({}, [block]) for block in blocks]
    return found, seconds


def _few_labels(labels: Array, seed: int) -> Array:
    """Positions of a few training documents per class."""
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    chosen = [shuffled[labels[shuffled] == name][:LABELS_PER_CLASS] for name in np.unique(labels)]
    return np.concatenate(chosen)


def picture(demo: Demo) -> Any:
    """Accuracies and words in one figure."""
    figure = new_figure(14, 4.2)
    left, right = figure.subplots(1, 2, width_ratios=(1, 2.2))
    few = f"{LABELS_PER_CLASS} labels per class"
    accuracy_bars(demo.accuracies, ax=left, title=f"{few}, {len(demo.corpus.target_names)} classes")
    word_columns(demo.columns, ax=right, title="What words mean (first column: the empty document)")
    return figure
