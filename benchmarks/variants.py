"""What else might widen the margin: variants of the default's features, judged on training labels.

``python -m benchmarks.variants [corpora] [--write]``. 1500 training documents are held out and take
the place of the test documents, which are not touched. Classifier: ridge, its strength by
leave-one-out.
Accuracy of the default, and each variant's gain over it, mean of four draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.corpora import LOADERS, NAMES, Weighted, load_all
from benchmarks.defaults import TABLES, unit
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from dcot.classifier.ridge import KernelRidge, targets_of
from dcot.core.layers import Settings, fit_stacks
from dcot.core.moments import Moments
from dcot.core.prototypes import choose_prototypes
from dcot.core.representation import Representation

BUDGETS, DRAWS, HELD_OUT = (50, 100, 200, 500), 4, 1500
NOISES = (0.8, 0.9, 0.95)
R = 3000
Kernels = dict[str, np.ndarray]

# Weights of the blocks of features, whose inner products are added.
VARIANTS: dict[str, dict[str, float]] = {
    "default": {"0.9 z1": 1, "0.9 z2": 1},
    "layer 1 alone": {"0.9 z1": 1},
    "layer 2 alone": {"0.9 z2": 1},
    "three layers": {"0.9 z1": 1, "0.9 z2": 1, "0.9 z3": 1},
    "layer 2 twice": {"0.9 z1": 1, "0.9 z2": 2},
    "three noise levels side by side": {f"{q} z{d}": 1 for q in NOISES for d in (1, 2)},
    "noise 0.8": {"0.8 z1": 1, "0.8 z2": 1},
    "noise 0.95": {"0.95 z1": 1, "0.95 z2": 1},
    "layer 2 with noise 0.9": {"0.9 z1": 1, "0.9 z2 of noise 0.9": 1},
    "x beside": {"0.9 z1": 1, "0.9 z2": 1, "x": 1},
    "x beside, at a third": {"0.9 z1": 1, "0.9 z2": 1, "x": 1 / 3},
    "LSI-100 beside": {"0.9 z1": 1, "0.9 z2": 1, "lsi": 1},
    "bigrams as inputs": {"bigrams z1": 1, "bigrams z2": 1},
}
# Functions of the cosine instead of the cosine: features that no one could read any more.
CURVED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp(cosine)": np.exp,
    "exp(2 cosine)": lambda K: np.exp(2 * K),
}


def stacks(X: Any, candidates: Any, variants: list[tuple[float, ...]]) -> Iterator[list[Any]]:
    """A stack for each tuple of noise levels by layer; ``candidates`` may be prototypes."""
    moments = Moments.of(X)
    frequency = np.where(candidates, moments.document_frequency, -1.0)
    allowed = replace(moments, document_frequency=frequency)
    prototypes = choose_prototypes("document_frequency", min(R, int(candidates.sum())), allowed)
    common = Settings((0.0,), (0.0,), squash="identity", tol=1e-3)
    settings = [
        replace(common, noise=noise, shrinkage=(1.0, *[0.0] * (len(noise) - 1)))
        for noise in variants
    ]
    yield from fit_stacks(X, None, moments, prototypes, settings)


def blocks(corpus: Weighted, rows: np.ndarray) -> Iterator[tuple[str, Any]]:
    X = corpus.X[rows]
    yield "x", X
    yield "lsi", unit(TruncatedSVD(100, random_state=0).fit(corpus.X).transform(X), centre=False)
    everything = np.ones(corpus.X.shape[1], dtype=bool)
    for noise, layers in zip(
        NOISES, stacks(corpus.X, everything, [(q, 0.8, 0.8) for q in NOISES]), strict=True
    ):
        for depth in (1, 2, 3):
            Z = Representation(layers[:depth], "last", "unit").transform(X)
            yield f"{noise} z{depth}", Z
    (layers,) = stacks(corpus.X, everything, [(0.9, 0.9)])
    yield "0.9 z2 of noise 0.9", Representation(layers, "last", "unit").transform(X)
    texts = LOADERS[corpus.name]()
    if texts.texts is None or corpus.name == "imdb":  # IMDB is cut to a sample on the way here
        return
    words = TfidfVectorizer(
        stop_words="english",
        token_pattern=r"(?u)\b[^\W\d_]{2,}\b",
        sublinear_tf=True,
        ngram_range=(1, 2),
        min_df=2,
        dtype=np.float32,
    )
    wide = sp.csr_array(words.fit_transform([texts.texts[i] for i in texts.train]))
    single = np.array([" " not in term for term in words.get_feature_names_out()])
    (layers,) = stacks(wide, single, [(0.9, 0.8)])
    for depth in (1, 2):
        Z = Representation(layers[:depth], "last", "unit").transform(wide[rows])
        yield f"bigrams z{depth}", Z


def measure(corpus: Weighted) -> dict[str, np.ndarray]:
    """Mean accuracy by budget, in percent."""
    rng = np.random.default_rng(77)
    order = rng.permutation(len(corpus.y))
    held, pool = order[:HELD_OUT], order[HELD_OUT:]
    draws = [rng.permutation(pool)[: max(BUDGETS)] for _ in range(DRAWS)]
    seen = np.unique(np.concatenate(draws))
    rows = np.concatenate([seen, held])
    kernels: Kernels = {}
    for name, F in blocks(corpus, rows):
        product = F[: len(seen)] @ F.T
        kernels[name] = product.toarray() if sp.issparse(product) else product
    found = {}
    for name, weights in VARIANTS.items():
        if set(weights) <= set(kernels):
            kernel = np.sum([w * kernels[block] for block, w in weights.items()], axis=0)
            found[name] = scores(kernel, seen, draws, corpus.y[seen], corpus.y[held])
    cosine = (kernels["0.9 z1"] + kernels["0.9 z2"]) / 2
    for name, curve in CURVED.items():
        found[name] = scores(curve(cosine), seen, draws, corpus.y[seen], corpus.y[held])
    return found


def scores(kernel: Any, seen: Any, draws: Any, y: Any, truth: Any) -> np.ndarray:
    cells = np.empty((len(draws), len(BUDGETS)))
    for d, draw in enumerate(draws):
        places = np.searchsorted(seen, draw)
        for b, budget in enumerate(BUDGETS):
            labelled = places[:budget]
            classes, targets = targets_of(y[labelled])
            ridge = KernelRidge.fit(kernel[np.ix_(labelled, labelled)], targets)
            decisions = ridge.decision(kernel[labelled, len(seen) :].T)
            cells[d, b] = 100 * np.mean(classes[decisions.argmax(axis=1)] == truth)
    return cells.mean(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--write", action="store_true", help="into docs/tables")
    options = parser.parse_args()
    found = {}
    for corpus in load_all(tuple(options.corpora or NAMES)):
        found[corpus.name] = measure(corpus)
        print(corpus.name, {k: v.round(1).tolist() for k, v in found[corpus.name].items()})
    head = " / ".join(map(str, BUDGETS))
    lines = [
        f"| {head} labels | " + " | ".join(found) + " | mean |",
        "|---" * (len(found) + 2) + "|",
    ]
    for name in (*VARIANTS, *CURVED):
        cells, gains = [], []
        for results in found.values():
            if name not in results:
                cells.append("")
            elif name == "default":
                cells.append(" / ".join(f"{value:.1f}" for value in results[name]))
            else:
                gains.append(results[name] - results["default"])
                cells.append(" / ".join(f"{value:+.1f}" for value in gains[-1]))
        mean = f"{np.mean(gains):+.2f}" if gains else ""
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {mean} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.write:
        TABLES.mkdir(parents=True, exist_ok=True)
        (TABLES / "variants.md").write_text(text)


if __name__ == "__main__":
    main()
