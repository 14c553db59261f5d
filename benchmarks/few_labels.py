"""``DCoTClassifier`` against bag of words, TF-IDF, LSI and LDA, from 50 labels to all.

``python -m benchmarks.few_labels [corpora] [--write]``. Every system's settings are chosen by the
same leave-one-out on the same labels, its strength too; test labels are touched once.
Representations do not depend on labels, so each is learned once and used for all draws; what is
done with a draw is what ``DCoTClassifier.fit`` does, and ``--check`` compares the two on one draw.
Significance is that of a paired t-test over the draws; with all labels there is one draw, and
McNemar's exact test over the test documents takes its place.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.corpora import NAMES, Weighted, load, load_all
from benchmarks.defaults import LSI_SIZES, TABLES, unit
from scipy.stats import binomtest, ttest_rel
from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
from sklearn.metrics import f1_score
from sklearn.preprocessing import normalize

from dcot import DCoTClassifier
from dcot.classifier.model import JUDGED
from dcot.classifier.ridge import KernelRidge, finer_alpha, solve_ridge, targets_of
from dcot.classifier.selection import _blocks, _stacks, best_of, read_grid, star
from dcot.core.layers import Settings
from dcot.core.moments import Moments
from dcot.core.representation import Representation

BUDGETS = (50, 100, 200, 500, 1000)
DRAWS = 5
LDA_TOPICS = (50, 100)
Blocks = list[Any]  # features side by side, of training and then test documents


def systems(corpus: Weighted, more: Any, with_lda: bool) -> Iterator[tuple[str, list[Blocks]]]:
    """Each system with its candidates; of dCoT's the first is the default."""
    both = sp.vstack([corpus.X, corpus.X_test], format="csr")
    counts = sp.vstack([corpus.counts, corpus.counts_test], format="csr").astype(np.float32)
    learned = corpus.X if more is None else sp.vstack([corpus.X, more], format="csr")
    yield "bag of words", [[normalize(counts)], [normalize(counts.log1p())]]
    yield "TF-IDF", [[both]]
    U = TruncatedSVD(max(LSI_SIZES), random_state=0).fit(learned).transform(both)
    yield "LSI", [[F] for k in LSI_SIZES for F in (U[:, :k], unit(U[:, :k], centre=False))]
    if with_lda:
        topics = []
        for k in LDA_TOPICS:
            lda = LatentDirichletAllocation(k, random_state=0, n_jobs=2)
            seen = corpus.counts
            if more is not None:
                seen = sp.vstack([seen, corpus.counts_unlabelled], format="csr")
            theta = lda.fit(seen).transform(counts).astype(np.float32)
            topics += [[theta], [unit(np.sqrt(theta), centre=False)]]
        yield "LDA", topics
    yield "dCoT", list(dcot_candidates(learned, both))


def dcot_candidates(learned: Any, both: Any) -> Iterator[Blocks]:
    common = Settings((0.0,), (0.0,), squash="identity", tol=1e-3)
    moments = Moments.of(learned)
    for group, layers in _stacks(learned, None, moments, star(read_grid(None)), common):
        blocks: dict[str, Any] = {"x": both}
        for name, depth in (("z1", 1), ("z2", 2)):
            blocks[name] = Representation(layers[:depth], "last", "unit").transform(both)
        for setting in group:
            yield [blocks[name] for name in _blocks(setting)]


def products(blocks: Blocks, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    parts = [F[rows] @ F[columns].T for F in blocks]
    return np.sum([p.toarray() if sp.issparse(p) else p for p in parts], axis=0)


def predict(
    candidates: Sequence[Blocks],
    labels: np.ndarray,
    labelled: np.ndarray,
    judged: np.ndarray,
    prior: bool,
) -> np.ndarray:
    """Labels of ``judged`` from those of ``labelled``, everything chosen by leave-one-out."""
    classes, targets = targets_of(labels[labelled])
    rng = np.random.default_rng(0)
    some = np.arange(len(labelled))
    if len(some) > JUDGED:
        some = np.sort(rng.choice(some, JUDGED, replace=False))
    rows = labelled[some]
    fits = [KernelRidge.fit(products(F, rows, rows), targets[some]) for F in candidates]
    losses = np.array([fit.losses for fit in fits])
    best = best_of(losses, np.ones(len(some))) if prior else int(losses.mean(axis=1).argmin())
    F = candidates[best]
    kernel = products(F, labelled, labelled)
    alpha = fits[best].alpha
    if len(labelled) > JUDGED:
        alpha = finer_alpha(kernel, targets, alpha, None, np.random.RandomState(0))
    dual, intercept = solve_ridge(kernel, targets, alpha)
    del kernel
    return classes[(products(F, judged, labelled) @ dual + intercept).argmax(axis=1)]


Found = dict[str, tuple[np.ndarray, np.ndarray]]


def measure(corpus: Weighted, more: Any, with_lda: bool) -> Found:
    """By system: draws × budgets × (accuracy, macro-F1) in percent, one draw with all labels last;
    and which test documents were right with all labels."""
    n = corpus.X.shape[0]
    labels = np.concatenate([corpus.y, corpus.y_test])
    judged = np.arange(n, len(labels))
    rng = np.random.default_rng(11)
    draws = [rng.permutation(n) for _ in range(DRAWS)]
    found: Found = {}
    for name, candidates in systems(corpus, more, with_lda):
        cells = np.full((DRAWS, len(BUDGETS) + 1, 2), np.nan)
        for d, draw in enumerate(draws):
            for b, budget in enumerate([*BUDGETS, n]):
                if budget == n and d:  # all labels: there is one draw
                    continue
                predicted = predict(candidates, labels, draw[:budget], judged, name == "dCoT")
                truth = corpus.y_test
                if budget == n:
                    predicted_with_all = predicted
                f1 = f1_score(truth, predicted, average="macro", zero_division=0)
                cells[d, b] = 100 * np.mean(predicted == truth), 100 * f1
        found[name] = cells, predicted_with_all == corpus.y_test
        say(corpus.name, name, np.nanmean(cells[:, :, 0], axis=0))
    return found


def table(corpus: str, found: Found, metric: int) -> list[str]:
    """Rows of one corpus; the gain is over the best rival, with the p of a paired test."""
    rows = []
    for name, (cells, _) in found.items():
        means = np.nanmean(cells[:, :, metric], axis=0)
        rows.append(f"| {corpus} | {name} | " + " | ".join(f"{m:.1f}" for m in means) + " |")
    ours, gains = found["dCoT"][0][:, :, metric], []
    rivals = {name: cells[:, :, metric] for name, (cells, _) in found.items() if name != "dCoT"}
    for b in range(ours.shape[1]):
        best = max(rivals, key=lambda name: np.nanmean(rivals[name][:, b]))
        gain = np.nanmean(ours[:, b] - rivals[best][:, b])
        text = f"{gain:+.1f}"
        if b < len(BUDGETS):
            p = ttest_rel(ours[:, b], rivals[best][:, b]).pvalue
        else:  # one draw: a test over documents, which macro-F1 has none of
            p = mcnemar(found["dCoT"][1], found[best][1]) if metric == 0 else np.nan
        if not np.isnan(p):
            text += f" (p {p:.2f})" + (" lost" if gain < 0 and p < 0.05 else "")
        gains.append(text)
    return [*rows, f"| {corpus} | *gain over the best rival* | " + " | ".join(gains) + " |"]


def mcnemar(ours: np.ndarray, theirs: np.ndarray) -> float:
    """p of as many documents right for one system only, if both were equally good."""
    only_ours, only_theirs = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    if not only_ours + only_theirs:
        return 1.0
    return float(binomtest(only_ours, only_ours + only_theirs).pvalue)


def check(corpus: Weighted) -> None:
    """One draw through DCoTClassifier itself: share of equal predictions with the shared path."""
    n = corpus.X.shape[0]
    labels = np.concatenate([corpus.y, corpus.y_test])
    draw = np.random.default_rng(11).permutation(n)[:200]
    both = sp.vstack([corpus.X, corpus.X_test], format="csr")
    candidates = list(dcot_candidates(corpus.X, both))
    shared = predict(candidates, labels, draw, np.arange(n, len(labels)), True)
    y = np.array([None] * n, dtype=object)
    y[draw] = corpus.y[draw]
    model = DCoTClassifier(random_state=0).fit(corpus.X, list(y))
    own = model.predict(corpus.X_test)
    accuracies = [100 * np.mean(found == corpus.y_test) for found in (own, shared)]
    equal = 100 * np.mean(own == shared)
    print(
        f"{corpus.name}: {equal:.1f} % equal, accuracies {accuracies[0]:.2f}, {accuracies[1]:.2f}"
    )
    print(model.report())


START = time.perf_counter()


def say(corpus: str, name: str, values: np.ndarray) -> None:
    cells = " ".join(f"{value:5.1f}" for value in values)
    print(f"{time.perf_counter() - START:6.0f} s  {corpus:<18} {name:<14} {cells}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--no-lda", action="store_true", help="leave out the slowest rival")
    parser.add_argument("--check", action="store_true", help="compare with DCoTClassifier itself")
    parser.add_argument("--write", action="store_true", help="into docs/tables")
    options = parser.parse_args()
    names = tuple(options.corpora or NAMES)
    if options.check:
        for corpus in load_all(names):
            check(corpus)
        return
    head = "| corpus | system | " + " | ".join([*map(str, BUDGETS), "all"]) + " |"
    lines = [[head, "|---" * (len(BUDGETS) + 3) + "|"] for _ in range(2)]
    for corpus in load_all(names):
        jobs = [(corpus, None)]
        if corpus.name == "dmoz":
            wide = load("dmoz", unlabelled=True)
            jobs.append((replace(wide, name="dmoz + unlabelled"), wide.X_unlabelled))
        for job, more in jobs:
            found = measure(job, more, not options.no_lda)
            for metric in (0, 1):
                rows = table(job.name, found, metric)
                lines[metric] += rows
                print("\n".join(rows), file=sys.stderr, flush=True)
    text = "\n\n".join(
        f"**{title}** (%)\n\n" + "\n".join(rows) + "\n"
        for title, rows in zip(("Accuracy", "Macro-F1"), lines, strict=True)
    )
    print(text)
    if options.write:
        TABLES.mkdir(parents=True, exist_ok=True)
        (TABLES / "few-labels.md").write_text(text)


if __name__ == "__main__":
    main()
