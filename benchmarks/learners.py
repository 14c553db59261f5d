"""Which final learner: ridge, the paper's linear SVM, or logistic regression, on the same features.

``python -m benchmarks.learners [corpora] [--write]``. Features of the default, learned once; each
learner's strength is chosen on the labels (ridge: leave-one-out; the others: five folds, or the
default C where a class has one example). Test accuracy, mean of the draws, and seconds to learn.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from benchmarks.corpora import NAMES, load_all
from benchmarks.defaults import TABLES

from dcot import DCoT
from dcot.classifier.labels import read_labels
from dcot.classifier.learners import fit_linear
from dcot.classifier.ridge import KernelRidge

BUDGETS, DRAWS, LEARNERS = (100, 500), 3, ("ridge", "svm", "logistic")


def learn(kind: str, features: Any, y: Any) -> Any:
    labels = read_labels(y, len(y))
    ridge = KernelRidge.fit(features @ features.T, labels.targets)
    return labels.classes, fit_linear(kind, [features], labels, ridge, None, None, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--write", action="store_true", help="into docs/tables")
    options = parser.parse_args()
    head = [f"{kind}, {budget}" for budget in BUDGETS for kind in LEARNERS]
    lines = ["| corpus | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for corpus in load_all(tuple(options.corpora or NAMES)):
        model = DCoT().fit(corpus.X)
        rng = np.random.default_rng(31)
        draws = [rng.permutation(len(corpus.y))[: max(BUDGETS)] for _ in range(DRAWS)]
        test, cells = model.transform(corpus.X_test), []
        for budget in BUDGETS:
            for kind in LEARNERS:
                scores, seconds = [], 0.0
                for draw in draws:
                    features, y = model.transform(corpus.X[draw[:budget]]), corpus.y[draw[:budget]]
                    started = time.perf_counter()
                    classes, learner = learn(kind, features, y)
                    seconds += time.perf_counter() - started
                    decisions = test @ learner.coef + learner.intercept
                    found = classes[decisions.argmax(axis=1)]
                    scores.append(100 * np.mean(found == corpus.y_test))
                cells.append(f"{np.mean(scores):.1f} ({seconds / DRAWS:.2g} s)")
        lines.append(f"| {corpus.name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    if options.write:
        TABLES.mkdir(parents=True, exist_ok=True)
        (TABLES / "learners.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
