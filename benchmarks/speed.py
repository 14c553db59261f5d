"""Speed and memory of dCoT beside peers in the same run, and beside the targets.

Run as ``python -m benchmarks.speed``, or with the name of a part: ``solvers``, ``defaults``,
``many-labels``. Needs ``Reuters21578.mat`` and ``dmoz.tsv`` in the directory DCOT_DATA; R52 is
downloaded. Texts to features are in ``benchmarks.text features``.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.measure import (
    Table,
    in_subprocess,
    matmul_rate,
    peak_memory,
    read_rate,
    seconds,
    textbook_bytes,
)
from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD

from dcot import DCoT, DCoTClassifier
from dcot.bench.tasks import Task, load_task
from dcot.core.solvers.direct import positive_definite
from dcot.datasets import load_dmoz
from dcot.runtime.resources import format_bytes, n_threads

SETTING = {"n_prototypes": 1000, "noise": 0.8, "n_layers": 1}
NOISES = np.linspace(0.5, 0.95, 10)


def reuters() -> tuple[Task, Any, Any]:
    """The corpus, and TF-IDF and counts of its training documents."""
    task = load_task("reuters")
    learned, _ = task.documents(task.train, task.test[:1])
    return task, learned.tfidf, learned.counts


def one_layer(**options: Any) -> DCoT:
    return DCoT(**{**SETTING, **options})


def fitting(X: Any, table: Table, with_lda: bool, counts: Any) -> None:
    one_layer().fit(X)  # compiled once per machine; not what is measured
    svd = seconds(lambda: TruncatedSVD(300, random_state=0).fit(X))
    fit = seconds(lambda: one_layer().fit(X), 5)
    table.note(f"TruncatedSVD(300) {svd:.2f} s, DCoT {fit:.2f} s ({one_layer().fit(X).solver_})")
    table.row("fit, r = 1000, noise 0.8, one layer / TruncatedSVD(300)", fit / svd, "×", 1.0)
    bare = seconds(lambda: one_layer(shrinkage=0.0).fit(X))
    table.row("the same without shrinkage / TruncatedSVD(300)", bare / svd, "×", 1.0)
    for depth in (2, 3):
        deep = seconds(lambda depth=depth: one_layer(n_layers=depth).fit(X), 5)
        added = 100 * (deep - fit) / fit / (depth - 1)
        table.row(f"each of {depth - 1} further layer(s), on top of one", added, "%", 40)
    path = seconds(lambda: one_layer().noise_path(X, NOISES))
    table.note(f"ten noise levels from {NOISES[0]} to {NOISES[-1]:.2f}: {path:.2f} s")
    table.row("noise_path of ten levels / one fit", path / fit, "×", 4.0)
    if with_lda:
        lda = seconds(lambda: LatentDirichletAllocation(100, random_state=0).fit(counts), 1)
        table.note(f"LatentDirichletAllocation(100) {lda:.1f} s")
        table.row("LatentDirichletAllocation(100) / fit", lda / fit, "×", 20, most=False)


def defaults(name: str) -> int:
    """What people wait for: fits, features and predictions with the default settings."""
    task = load_task(name)
    documents, _ = task.documents(task.train, task.test[:1])
    X, labels = documents.tfidf, task.labels[task.train]
    table = Table(f"{name}, {X.shape[0]} × {X.shape[1]}, {X.nnz} non-zeros, {n_threads()} threads")
    model = DCoT().fit(X)  # compiled once per machine; not what is measured
    svd = seconds(lambda: TruncatedSVD(300, random_state=0).fit(X))
    fit = seconds(lambda: DCoT().fit(X))
    table.note(f"TruncatedSVD(300).fit {svd:.2f} s, DCoT().fit {fit:.2f} s ({model.solver_})")
    table.row("DCoT().fit / TruncatedSVD(300).fit", fit / svd, "×", 1.0)
    order = np.random.default_rng(0).permutation(len(labels))
    for count, target in ((100, 2.0), (1000, 3.0)):
        y = np.full(len(labels), None, dtype=object)
        y[order[:count]] = labels[order[:count]]
        whole = seconds(lambda y=y: DCoTClassifier(random_state=0).fit(X, y), 2)
        table.note(f"DCoTClassifier.fit with {count} labels {whole:.2f} s")
        table.row(f"DCoTClassifier.fit, {count} labels / DCoT().fit", whole / fit, "×", target)
    transform = X.shape[0] / seconds(lambda: model.transform(X))
    r = len(model.prototypes_)
    table.row("transform, documents per second", transform, "", 22_500, most=False)
    share = 100 * transform * 2.0 * r * r / matmul_rate()
    table.note(f"its second layer takes {share:.0f} % of what a matrix product could do")
    classifier = DCoTClassifier(random_state=0).fit(X, y)
    predict = X.shape[0] / seconds(lambda: classifier.predict(X))
    table.row("predict, documents per second", predict, "", 30_000, most=False)
    return table.missed


def many_labels(n: int = 20_000) -> int:
    """Short texts that are all labelled: the first seven words of Dmoz."""
    found = in_subprocess("benchmarks.speed", "--titles", str(n))
    time, peak = map(float, found.split())
    table = Table(f"{n:,} titles, all labelled, 70 classes")
    table.row("DCoTClassifier.fit, seconds", time, "s", 60.0 * n / 20_000)
    table.row("peak memory", peak / 1e9, "GB", 3.0 * max(1.0, n / 20_000))
    return table.missed


def report_titles(n: int) -> None:
    """Print seconds and bytes of a classifier that learns from n titles."""
    corpus = load_dmoz()
    rows = np.random.default_rng(0).permutation(len(corpus.texts))[:n]
    texts = [" ".join(corpus.texts[row].split()[:7]) for row in rows]
    labels = corpus.labels[rows]
    DCoTClassifier(random_state=0).fit(texts[:300], labels[:300])  # compiled, not measured
    begun = perf_counter()
    peak, _ = peak_memory(lambda: DCoTClassifier(random_state=0).fit(texts, labels))
    print(perf_counter() - begun, peak)


def dense_part(n: int, r: int, table: Table) -> None:
    """Factorisation and solves of the dual, held against a matrix product."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n, 200)).astype(np.float32) / 20
    gram = factors @ factors.T
    np.fill_diagonal(gram, gram.diagonal() + 1)
    right = np.asfortranarray(rng.normal(size=(n, r)).astype(np.float32))

    def work() -> None:
        positive_definite(gram.copy())(right.copy(order="F"))

    copies = seconds(lambda: (gram.copy(), right.copy(order="F")))
    rate = (n**3 / 3 + 2.0 * n**2 * r) / (seconds(work) - copies)
    peak = matmul_rate()
    table.note(f"dense part {rate / 1e9:.0f} of {peak / 1e9:.0f} GFlop/s")
    table.row("factorisation and solves / matrix product", 100 * rate / peak, "%", 70, most=False)


def transforming(X: Any, table: Table) -> None:
    model = one_layer(normalize=None).fit(X)
    time = seconds(lambda: model.transform(X), 5)
    limit = X.nnz * 1000 * 4 / read_rate(n_threads())
    table.note(f"{X.shape[0] / time:,.0f} documents/s; reading W alone would take {limit:.3f} s")
    table.row("transform / reading one row of W per non-zero", time / limit, "×", 2.0)
    one = X[:1]
    table.note(f"one document: {1000 * seconds(lambda: model.transform(one), 20):.2f} ms")


def memory(table: Table) -> None:
    for solver in ("dual", "cg", "primal"):
        peak, held, predicted = map(
            float, in_subprocess("benchmarks.speed", "--peak", solver).split()
        )
        table.note(f"{solver}: peak {format_bytes(peak)}, predicted {format_bytes(predicted)}")
        table.row(f"peak memory of {solver} / that of a textbook", peak / held, "×", 1.5)


def report_peak(solver: str) -> None:
    """Print the peak, what a plain implementation holds, and the prediction, in bytes."""
    from dcot.core.centred import Centred
    from dcot.core.moments import Moments
    from dcot.core.plan import bytes_in_memory, shape_of

    _, X, _ = reuters()
    one_layer(solver=solver, n_prototypes=20).fit(sp.csr_array(X[:300, :600]))
    matmul_rate(size=2000)  # BLAS has its own buffers from now on: they are not the solver's
    peak, _ = peak_memory(lambda: one_layer(solver=solver).fit(X))
    shape = shape_of(Centred.of(X, Moments.of(X).mean), 1000)
    predicted = bytes_in_memory(solver, shape)
    held = textbook_bytes(solver, *X.shape, 1000, X.nnz)
    print(peak, held, predicted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", metavar="SOLVER", help="(internal) measure one solver's memory")
    parser.add_argument("part", nargs="?", choices=["defaults", "many-labels", "solvers"])
    parser.add_argument("--titles", type=int, metavar="N", help="(internal) many labels")
    parser.add_argument("--no-lda", action="store_true", help="leave out the slowest peer")
    options = parser.parse_args()
    if options.peak:
        report_peak(options.peak)
        return
    if options.titles:
        report_titles(options.titles)
        return
    missed = 0
    if options.part in (None, "defaults"):
        missed += sum(defaults(name) for name in ("reuters", "r52"))
    if options.part in (None, "many-labels"):
        missed += many_labels()
    if options.part in (None, "solvers"):
        missed += solvers(not options.no_lda)
    print(f"\n{missed} target(s) missed")


def solvers(with_lda: bool) -> int:
    """One layer of 1000 prototypes on Reuters: each solver, and the machine's own limits."""
    _, X, counts = reuters()
    title = f"One layer on Reuters, {X.shape[0]} × {X.shape[1]}, {X.nnz} non-zeros"
    table = Table(title)
    fitting(X, table, with_lda, counts)
    dense_part(X.shape[0], 1000, table)
    transforming(X, table)
    memory(table)
    return table.missed


if __name__ == "__main__":
    main()
