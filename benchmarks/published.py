"""``DCoTClassifier`` with all labels on standard splits, beside TextGCN's published figures.

``python -m benchmarks.published [r8 r52 20newsgroups] [--write]``. Raw texts in, everything at its
default. TextGCN builds its graph from the test documents too, without their labels; the second
figure does likewise (``unlabelled=``), the first has never seen them.
"""

from __future__ import annotations

import argparse

import numpy as np
from benchmarks.defaults import TABLES

from dcot import DCoTClassifier, datasets

LOADERS = {
    "r8": datasets.load_r8,
    "r52": datasets.load_r52,
    "20newsgroups": datasets.load_20newsgroups,
}
# Yao, Mao and Luo, Graph convolutional networks for text classification, AAAI 2019
TEXTGCN = {"r8": 97.07, "r52": 93.56, "20newsgroups": 86.34}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", help=f"of {', '.join(LOADERS)}; all by default")
    parser.add_argument("--write", action="store_true", help="into docs/tables")
    options = parser.parse_args()
    lines = [
        "| corpus | dCoT | dCoT, test documents as unlabelled ones | TextGCN (theirs) |",
        "|---|---|---|---|",
    ]
    for name in options.corpora or LOADERS:
        corpus = LOADERS[name]()
        labels = np.asarray(corpus.labels)
        texts = [corpus.texts[i] for i in corpus.train]
        test, truth = [corpus.texts[i] for i in corpus.test], labels[corpus.test]
        cells = []
        for more in (None, test):
            model = DCoTClassifier(random_state=0)
            model.fit(texts, labels[corpus.train], unlabelled=more)
            cells.append(f"{100 * model.score(test, truth):.2f}")
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {TEXTGCN[name]} |")
        print(lines[-1], flush=True)
    if options.write:
        TABLES.mkdir(parents=True, exist_ok=True)
        (TABLES / "published.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
