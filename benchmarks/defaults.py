"""The study behind the default settings.

``python -m benchmarks.defaults explore`` varies one thing at a time and judges by training labels
only: part of the training documents is set aside, the representation is learned on all of them
without labels, a ridge classifier on 100, 300 or 1000 of the others, and accuracy is measured on
those set aside. ``python -m benchmarks.defaults counting`` does the same for what is counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.corpora import LOADERS, NAMES, load_all
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.extmath import randomized_svd

from dcot.classifier.ridge import KernelRidge, targets_of
from dcot.core.centred import Centred, centre_scatter, gram_lower
from dcot.core.corruption import marginalise
from dcot.core.layers import Layer
from dcot.core.moments import Moments
from dcot.core.prototypes import choose_prototypes
from dcot.core.solvers import cg, primal
from dcot.text import TermCounter, TermWeighting

BUDGETS = (100, 300, 1000)
DRAWS = 3
SET_ASIDE = 1500
LSI_SIZES = (50, 100, 200, 300)
TABLES = Path(__file__).parent.parent / "docs" / "tables"

Features = list[Any]  # blocks side by side; inner products add


# -- judging ------------------------------------------------------------------------------------


@dataclass
class Task:
    """Who is labelled in each draw, and on whom accuracy is measured."""

    labels: np.ndarray  # of the documents that features are given for
    draws: list[np.ndarray]
    judged: np.ndarray

    def accuracies(self, candidates: Sequence[Features]) -> np.ndarray:
        """Percent, draws × budgets; the least leave-one-out error chooses among candidates."""
        found = np.empty((len(self.draws), len(BUDGETS)))
        for row, draw in enumerate(self.draws):
            for column, budget in enumerate(BUDGETS):
                found[row, column] = 100 * self._accuracy(candidates, draw[:budget])
        return found

    def _accuracy(self, candidates: Sequence[Features], labelled: np.ndarray) -> float:
        classes, targets = targets_of(self.labels[labelled])
        fits = []
        for blocks in candidates:
            model = KernelRidge.fit(_products(blocks, labelled, labelled), targets)
            fits.append((model.error, model, blocks))
        _, model, blocks = min(fits, key=lambda fit: fit[0])
        decisions = model.decision(_products(blocks, self.judged, labelled))
        return float(np.mean(classes[decisions.argmax(axis=1)] == self.labels[self.judged]))


def _products(blocks: Features, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    total = 0.0
    for F in blocks:
        part = F[rows] @ F[columns].T
        total = total + (part.toarray() if sp.issparse(part) else part)
    return np.asarray(total)


def _draws(pool: np.ndarray, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    return [rng.permutation(pool)[: max(BUDGETS)] for _ in range(count)]


def unit(Z: np.ndarray, centre: bool = True) -> np.ndarray:
    Z = Z - Z.mean(axis=0) if centre else Z
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(lengths > 0, lengths, 1)


def lsi(U: np.ndarray) -> list[Features]:
    """Every size, with and without unit rows: the least error chooses."""
    return [[F] for k in LSI_SIZES for F in (U[:, :k], unit(U[:, :k], centre=False))]


# -- exploring ----------------------------------------------------------------------------------


def first_layer(
    X: Any,
    *,
    n_prototypes: int = 3000,
    prototypes: str = "document_frequency",
    noise: float = 0.9,
    shrinkage: float = 1.0,
    kappa: float | None = None,
    rebuild_itself: bool = True,
) -> np.ndarray:
    """Outputs of a linear first layer; ``kappa`` shrinks by pseudo-documents per term instead."""
    moments = Moments.of(X)
    targets = choose_prototypes(prototypes, n_prototypes, moments)
    system = marginalise(moments, noise, shrinkage=shrinkage)
    if kappa is not None:
        seen = np.maximum(moments.document_frequency, 1)
        system = replace(system, scale=system.squares * (1 + kappa / seen))
    centred = Centred.of(X, moments.mean)
    W = next(cg.solve(centred, targets, [system], tol=1e-3)).coef
    if not rebuild_itself:
        W = _without_diagonal(W, targets, system.keep)
    b = system.intercept(W, moments.mean[targets]).astype(W.dtype)
    return Layer(W, b, "identity", 0.0, "cg").linear(X)


def _without_diagonal(W: np.ndarray, targets: np.ndarray, keep: float) -> np.ndarray:
    """No prototype rebuilds itself (EDLAE), from the solution that lets it."""
    columns = np.arange(len(targets))
    own = W[targets, columns].copy()
    inverse = -keep * W  # A⁻¹[:, P] up to a factor by column, which cancels
    inverse[targets, columns] += 1
    return W - inverse * (own / (1 - keep * own))


def next_layer(
    Z: np.ndarray, noise: float = 0.8, shrinkage: float = 0.0, centre: bool = False
) -> np.ndarray:
    if centre:
        Z = Z - Z.mean(axis=0)
    moments = Moments.of(Z.astype(np.float32))
    scatter = centre_scatter(gram_lower(Z.T), moments.mean, moments.n)
    system = marginalise(moments, noise, shrinkage=shrinkage)
    everything = np.arange(Z.shape[1])
    W = next(primal.solve_scatter(scatter, everything, [system])).coef
    return Z @ W + system.intercept(W, moments.mean).astype(W.dtype)


def variants(X: Any) -> Iterator[tuple[str, list[Features]]]:
    """One thing changed at a time from the setting that became the default."""
    yield "TF-IDF", [[X]]
    yield "LSI, size chosen", lsi(TruncatedSVD(max(LSI_SIZES), random_state=0).fit_transform(X))
    Z = first_layer(X)
    Z2 = next_layer(Z)
    A, B = unit(Z), unit(Z2)
    yield "**default**: r 3000, noise 0.9 and 0.8, shrinkage 1 and 0", [[A, B]]
    yield "layer 1 alone", [[A]]
    yield "layer 2 alone", [[B]]
    yield "layer 1, layer 2 or both, chosen", [[A], [B], [A, B]]
    yield "with x", [[X, A, B]]
    yield "with or without x, chosen", [[A, B], [X, A, B]]
    yield "unit rows, not centred", [[unit(Z, False), unit(Z2, False)]]
    yield "centred, rows not scaled", [[Z - Z.mean(0), Z2 - Z2.mean(0)]]
    F = np.hstack([A, B])
    some = np.random.default_rng(0).permutation(len(F))[:6000]
    V = randomized_svd(F[some], 1000, n_iter=2, random_state=0)[2]
    for size in (300, 500, 1000):
        yield f"compressed to {size}", [[F @ V[:size].T]]
    del F
    yield "layer 2 from centred layer 1", [[A, unit(next_layer(Z, centre=True))]]
    for noise in (0.5, 0.9):
        yield f"noise of layer 2: {noise}", [[A, unit(next_layer(Z, noise))]]
    for shrinkage in (0.03, 0.3):
        yield f"shrinkage of layer 2: {shrinkage}", [[A, unit(next_layer(Z, 0.8, shrinkage))]]
    yield "three layers", [[A, B, unit(next_layer(Z2))]]
    for gain in (1.0, 3.0, 10.0):
        T = np.tanh(gain * Z)
        yield f"tanh, gain {gain:g}", [[unit(T), unit(np.tanh(next_layer(T)))]]
    del Z, Z2, A, B
    changes: list[tuple[str, dict[str, Any]]] = [
        ("noise of layer 1: 0.8", {"noise": 0.8}),
        ("noise of layer 1: 0.95", {"noise": 0.95}),
        ("no shrinkage", {"shrinkage": 0.0}),
        ("shrinkage 0.3", {"shrinkage": 0.3}),
        ("shrinkage 3", {"shrinkage": 3.0}),
        ("shrinkage by 3 pseudo-documents a term", {"kappa": 3.0}),
        ("shrinkage by 10 pseudo-documents a term", {"kappa": 10.0}),
        ("r 1000", {"n_prototypes": 1000}),
        ("r 2000", {"n_prototypes": 2000}),
        ("r 6000", {"n_prototypes": 6000}),
        ("prototypes by total weight", {"prototypes": "frequent"}),
        ("no word rebuilds itself", {"rebuild_itself": False}),
    ]
    for name, options in changes:
        Z = first_layer(X, **options)
        yield name, [[unit(Z), unit(next_layer(Z))]]


def explore(names: Sequence[str]) -> str:
    rows: dict[str, dict[str, np.ndarray]] = {}
    shown = []
    for corpus in load_all(tuple(names)):
        shown.append(corpus.name)
        rng = np.random.default_rng(7)
        shuffled = rng.permutation(corpus.X.shape[0])
        pool, judged = shuffled[SET_ASIDE:], shuffled[:SET_ASIDE]
        task = Task(corpus.y, _draws(pool, rng, DRAWS), judged)
        for name, candidates in variants(corpus.X):
            rows.setdefault(name, {})[corpus.name] = task.accuracies(candidates).mean(axis=0)
            say(corpus.name, name, rows[name][corpus.name])
    return markdown(rows, shown)


# -- counting -----------------------------------------------------------------------------------

COUNTING: dict[str, dict[str, Any]] = {
    "**default**: every word of two characters or more": {},
    "without English stop words": {"stop_words": "english"},
    "without words in more than half of the documents": {"max_df": 0.5},
    "without words in a single document": {"min_df": 2},
}


def counting(names: Sequence[str], most: int = 6000) -> str:
    """What to count, for ``DCoTVectorizer``; at most 6000 training documents, judged as above."""
    rows: dict[str, dict[str, np.ndarray]] = {}
    shown = [name for name in names if name != "reuters"]  # which comes as counts
    for corpus_name in shown:
        corpus = LOADERS[corpus_name]()
        rng = np.random.default_rng(7)
        train = rng.permutation(corpus.train)[:most]
        texts, labels = [corpus.texts[i] for i in train], np.asarray(corpus.labels)[train]
        rows_of = np.arange(len(train))
        task = Task(labels, _draws(rows_of[SET_ASIDE:], rng, DRAWS), rows_of[:SET_ASIDE])
        for name, options in COUNTING.items():
            counts = TermCounter(dtype=np.float32, **options).fit_transform(texts)
            X = sp.csr_array(TermWeighting(sublinear_tf=True).fit_transform(counts))
            Z = first_layer(X)
            found = task.accuracies([[unit(Z), unit(next_layer(Z))]]).mean(axis=0)
            rows.setdefault(name, {})[corpus_name] = found
            say(corpus_name, name, found)
    return markdown(rows, shown)


# -- printing -----------------------------------------------------------------------------------

START = time.perf_counter()


def say(corpus: str, name: str, values: np.ndarray) -> None:
    cells = " ".join(f"{value:5.1f}" for value in values)
    elapsed = time.perf_counter() - START
    print(f"{elapsed:6.0f} s  {corpus:<18} {name:<58} {cells}", file=sys.stderr, flush=True)


def markdown(rows: dict[str, dict[str, np.ndarray]], corpora: Sequence[str]) -> str:
    lines = ["| | " + " | ".join(corpora) + " | mean |", "|---" * (len(corpora) + 2) + "|"]
    for name, cells in rows.items():
        texts = [" / ".join(f"{value:.1f}" for value in cells[corpus]) for corpus in corpora]
        mean = np.mean([cells[corpus] for corpus in corpora])
        lines.append(f"| {name} | " + " | ".join(texts) + f" | {mean:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    actions: dict[str, Callable[[Sequence[str]], str]] = {
        "explore": explore,
        "counting": counting,
    }
    parser.add_argument("action", choices=list(actions))
    parser.add_argument("corpora", nargs="*", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--write", action="store_true", help="into docs/tables")
    options = parser.parse_args()
    table = actions[options.action](options.corpora or NAMES)
    print(table)
    if options.write:
        TABLES.mkdir(parents=True, exist_ok=True)
        (TABLES / f"defaults-{options.action}.md").write_text(table)


if __name__ == "__main__":
    main()
