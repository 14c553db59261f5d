"""The demo on the embedded corpus: learn without labels, classify with few, look at words.

Run as ``python -m dcot.bench.demo``; ``make demo`` does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from dcot.bench.experiments.words import STAND_IN_WORDS, columns_of
from dcot.classifier.ridge import KernelRidge, targets_of
from dcot.datasets import Corpus, load_everyday
from dcot.estimator import DCoT
from dcot.text import TermCounter, TermWeighting

Array = NDArray[Any]
Columns = dict[str, list[tuple[str, float]]]

WORDS = STAND_IN_WORDS
LSI_SIZES = (50, 100, 200, 300)
LABELS_PER_CLASS = 5
DRAWS = 5


@dataclass
class Demo:
    """Results of the demo."""

    corpus: Corpus
    accuracies: dict[str, list[float]]
    seconds: dict[str, float]
    columns: Columns


def run(
    corpus: Corpus | None = None,
    *,
    words: Sequence[str] = WORDS,
    draws: int = DRAWS,
    say: Callable[[str], None] = print,
) -> Demo:
    """Compare the representations on a corpus of texts, by default the embedded one."""
    corpus = load_everyday() if corpus is None else corpus
    say(f"{corpus}\n")
    counter = TermCounter(
        stop_words="english", token_pattern=r"(?u)\b[^\W\d_]{2,}\b", min_df=2, dtype=np.float32
    )
    counts = counter.fit_transform(corpus.texts)
    tfidf = TermWeighting("tfidf", sublinear_tf=True).fit_transform(counts)
    DCoT(5, solver="cg").fit(tfidf[:64])  # compiles once per machine, which is not learning time
    model = DCoT()
    candidates, seconds = _representations(counts, tfidf, model)
    say(f"{model.solver_} solver, {len(model.prototypes_)} prototypes, {len(model.layers_)} layers")
    accuracies: dict[str, list[float]] = {name: [] for name in candidates}
    for draw in range(draws):
        labelled = _few_labels(corpus, draw)
        for name, features in candidates.items():
            accuracies[name].append(_accuracy(features, corpus, labelled))
    found = columns_of(model, counts, counter.get_feature_names_out(), words)["columns"]["layer 1"]
    columns = {word: [(name, value) for name, value in column] for word, column in found.items()}
    return Demo(corpus, accuracies, seconds, columns)


def _representations(
    counts: Any, tfidf: Any, model: DCoT
) -> tuple[dict[str, list[Any]], dict[str, float]]:
    """Features of all documents by system (LSI in several sizes), and the time to learn them."""
    seconds = {}

    def timed(name: str, learn: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        features = learn()
        seconds[name] = time.perf_counter() - start
        return features

    bag = timed("bag of words", lambda: normalize(counts))
    weighted = timed("TF-IDF", lambda: tfidf)
    lsi = timed("LSI", lambda: TruncatedSVD(max(LSI_SIZES), random_state=0).fit_transform(tfidf))
    ours = timed("dCoT", lambda: model.fit_transform(tfidf))
    features = {
        "bag of words": [bag],
        "TF-IDF": [weighted],
        "LSI": [normalize(lsi[:, :size]) for size in LSI_SIZES],
        "dCoT": [ours],
    }
    return features, seconds


def _few_labels(corpus: Corpus, seed: int) -> Array:
    """A few training documents of each class."""
    shuffled = np.random.default_rng(seed).permutation(corpus.train)
    labels = corpus.labels[shuffled]
    chosen = [shuffled[labels == name][:LABELS_PER_CLASS] for name in np.unique(labels)]
    return np.concatenate(chosen)


def _accuracy(features: list[Any], corpus: Corpus, labelled: Array) -> float:
    """Accuracy on the test documents, with the features of least leave-one-out error."""

    def products(F: Any, rows: Array) -> Array:
        kernel = F[rows] @ F[labelled].T
        return np.asarray(kernel.toarray() if sp.issparse(kernel) else kernel)

    classes, targets = targets_of(corpus.labels[labelled])
    fits = [(KernelRidge.fit(products(F, labelled), targets), F) for F in features]
    model, best = min(fits, key=lambda fit: fit[0].error)
    predicted = classes[model.decision(products(best, corpus.test)).argmax(axis=1)]
    return float(np.mean(predicted == corpus.test_labels))


def table(demo: Demo) -> str:
    """Accuracy by system as text."""
    n_classes = len(demo.corpus.target_names)
    draws = len(next(iter(demo.accuracies.values())))
    lines = [
        f"Accuracy on {len(demo.corpus.test)} held-out documents of {n_classes} classes, "
        f"{LABELS_PER_CLASS} labelled documents per class, mean of {draws} draws:",
        "",
        f"  {'':14} {'accuracy':>9} {'± sd':>6} {'learned in':>11}",
    ]
    for name, values in demo.accuracies.items():
        mean, spread = 100 * np.mean(values), 100 * np.std(values)
        lines.append(f"  {name:14} {mean:8.1f}% {spread:6.1f} {demo.seconds[name]:9.2f} s")
    return "\n".join(lines)


def words_table(columns: Columns) -> str:
    """The columns of words as text."""
    width = 2 + max(len(name) for column in columns.values() for name, _ in column)
    width = max(width, 2 + max(map(len, columns)))
    heads = "".join(f"{word:<{width}}" for word in columns)
    depth = max(map(len, columns.values()))
    rows = [
        "".join(
            f"{column[row][0] if row < len(column) else '':<{width}}" for column in columns.values()
        )
        for row in range(depth)
    ]
    lines = [heads, "-" * len(heads), *rows]
    return "\n".join("  " + line.rstrip() for line in lines)


def picture(demo: Demo) -> Any:
    """Accuracies and words in one figure."""
    from dcot.plots import accuracy_bars, word_columns
    from dcot.runtime.extras import require

    pyplot = require("matplotlib.pyplot", "plots")
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(14, 4.2), width_ratios=(1, 2.2), layout="constrained"
    )
    few = f"{LABELS_PER_CLASS} labels per class"
    accuracy_bars(demo.accuracies, ax=left, title=f"{few}, {len(demo.corpus.target_names)} classes")
    word_columns(demo.columns, ax=right, title="What a word means (first: the empty document)")
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, and write the picture."""
    parser = argparse.ArgumentParser(prog="dcot.bench.demo", description=__doc__)
    parser.add_argument(
        "--output", type=Path, default=Path("demo-output"), help="folder to write to"
    )
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    demo = run()
    print(f"{table(demo)}\n\nWhat words are reconstructed as, the bias subtracted:\n")
    print(words_table(demo.columns))
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "demo.png"
    picture(demo).savefig(path, dpi=120)
    print(f"\nPicture: {path}   ({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
