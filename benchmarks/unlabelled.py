"""What unlabelled documents are worth: accuracy on Dmoz over their number, dCoT beside LSI.

``python -m benchmarks.unlabelled [--write]``. Representations are learned from the labelled
documents alone, and from more and more documents without labels; settings are chosen by the same
leave-one-out on the same labels. Test accuracy, mean of five draws. (Words are weighed by their
frequency in all documents throughout.)
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.corpora import load
from benchmarks.defaults import LSI_SIZES, TABLES, unit
from benchmarks.few_labels import DRAWS, Blocks, dcot_candidates, predict
from sklearn.decomposition import TruncatedSVD

from dcot.plots import label_curves

BUDGETS = (100, 1000)
SIZES = (1000, 3000, 7184, 15_000, 33_704)
SYSTEMS = ("LSI", "dCoT")
IMAGES = Path(__file__).parents[1] / "docs" / "images"


def candidates(system: str, learned: Any, both: Any) -> list[Blocks]:
    if system == "dCoT":
        return list(dcot_candidates(learned, both))
    most = min(max(LSI_SIZES), learned.shape[0] - 1)
    U = TruncatedSVD(most, random_state=0).fit(learned).transform(both)
    sizes = sorted({min(k, most) for k in LSI_SIZES})
    return [[F] for k in sizes for F in (U[:, :k], unit(U[:, :k], centre=False))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs")
    options = parser.parse_args()
    corpus = load("dmoz", unlabelled=True)
    n = corpus.X.shape[0]
    everything = sp.vstack([corpus.X, corpus.X_unlabelled], format="csr")
    both = sp.vstack([corpus.X, corpus.X_test], format="csr")
    labels = np.concatenate([corpus.y, corpus.y_test])
    judged = np.arange(n, len(labels))
    rng = np.random.default_rng(11)
    draws = [rng.permutation(n) for _ in range(DRAWS)]
    more = np.concatenate([rng.permutation(n), n + rng.permutation(everything.shape[0] - n)])
    found: dict[tuple[str, int], list[list[float]]] = {}

    def score(system: str, budget: int, draw: Any, features: list[Blocks]) -> float:
        predicted = predict(features, labels, draw[:budget], judged, system == "dCoT")
        return 100 * float(np.mean(predicted == corpus.y_test))

    for system in SYSTEMS:
        for budget in BUDGETS:  # none: each draw learns from its own labelled documents
            alone = [
                score(system, budget, d, candidates(system, corpus.X[d[:budget]], both))
                for d in draws
            ]
            found[system, budget] = [alone]
        for size in SIZES:
            features = candidates(system, everything[np.sort(more[:size])], both)
            for budget in BUDGETS:
                found[system, budget].append([score(system, budget, d, features) for d in draws])
            print(system, size, [np.mean(found[system, b][-1]).round(1) for b in BUDGETS])
    head = ["labelled only", *(f"{size:,}" for size in SIZES)]
    lines = [
        "| labels | system | " + " | ".join(head) + " |",
        "|---" * (len(head) + 2) + "|",
    ]
    for budget in BUDGETS:
        for system in SYSTEMS:
            means = " | ".join(f"{np.mean(cell):.1f}" for cell in found[system, budget])
            lines.append(f"| {budget} | {system} | {means} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.write:
        (TABLES / "unlabelled.md").write_text(text)
        curves = {
            f"{system}, {budget} labels": {
                size: [value / 100 for value in cell]
                for size, cell in zip(SIZES, found[system, budget][1:], strict=True)
            }
            for budget in BUDGETS
            for system in SYSTEMS
        }
        figure = label_curves(curves)
        figure.axes[0].set_xlabel("documents the representation was learned from")
        figure.savefig(IMAGES / "unlabelled.png", dpi=120)


if __name__ == "__main__":
    main()
