"""``DCoTClassifier.suggest`` against labelling at random, from 50 labels to 200.

``python -m benchmarks.suggest [corpora] [--write]``. Both start from the same random documents and
ask for 25 labels at a time; the learner and the features are the default's, learned once. Accuracy
on the test documents, mean of the draws; p of a paired t-test.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from benchmarks.corpora import NAMES, load_all
from benchmarks.defaults import TABLES
from scipy.stats import ttest_rel

from dcot import DCoT
from dcot.classifier.ridge import KernelRidge, targets_of
from dcot.classifier.suggestion import candidates, most_informative, uncertainty

START, STEP, END, DRAWS = 50, 25, 200, 5
BUDGETS = range(START, END + 1, STEP)


def curve(
    train: Any, y: Any, test: Any, y_test: Any, start: Any, informed: bool, seed: int
) -> list[float]:
    """Accuracy in percent at each number of labels."""
    generator = np.random.default_rng(seed)
    labelled, accuracies = start, []
    while True:
        classes, targets = targets_of(y[labelled])
        known = train[labelled]
        ridge = KernelRidge.fit(known @ known.T, targets)
        predicted = classes[ridge.decision(test @ known.T).argmax(axis=1)]
        accuracies.append(100 * float(np.mean(predicted == y_test)))
        if len(labelled) >= END:
            return accuracies
        rest = np.setdiff1d(np.arange(len(y)), labelled)
        if informed:
            doubt = uncertainty(ridge.decision(train[rest] @ known.T), True)
            pool = candidates(doubt, generator)
            best = most_informative([train[rest[pool]]], [known], doubt[pool], ridge.alpha, STEP)
            more = rest[pool[best]]
        else:
            more = generator.choice(rest, STEP, replace=False)
        labelled = np.concatenate([labelled, more])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--write", action="store_true", help="into docs/tables")
    options = parser.parse_args()
    lines = [
        "| corpus | labels chosen | " + " | ".join(map(str, BUDGETS)) + " |",
        "|---" * (len(BUDGETS) + 2) + "|",
    ]
    for corpus in load_all(tuple(options.corpora or NAMES)):
        model = DCoT().fit(corpus.X)
        train, test = model.transform(corpus.X), model.transform(corpus.X_test)
        found: dict[str, list[list[float]]] = {"at random": [], "by suggest": []}
        for draw in range(DRAWS):
            start = np.random.default_rng(100 + draw).permutation(len(corpus.y))[:START]
            for name, cells in found.items():
                informed = name == "by suggest"
                cells.append(curve(train, corpus.y, test, corpus.y_test, start, informed, draw))
        for name, cells in found.items():
            means = " | ".join(f"{mean:.1f}" for mean in np.mean(cells, axis=0))
            lines.append(f"| {corpus.name} | {name} | {means} |")
        random, chosen = (np.array(cells) for cells in found.values())
        gains = []
        for column in range(random.shape[1]):
            gain = float(np.mean(chosen[:, column] - random[:, column]))
            p = ttest_rel(chosen[:, column], random[:, column]).pvalue if column else np.nan
            gains.append(f"{gain:+.1f} (p {p:.2f})" if column else "")
        lines.append(f"| {corpus.name} | *gain* | " + " | ".join(gains) + " |")
        print("\n".join(lines[-3:]), flush=True)
    if options.write:
        TABLES.mkdir(parents=True, exist_ok=True)
        (TABLES / "suggest.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
