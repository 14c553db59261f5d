"""Speed and memory of ``DCoT`` on Reuters, beside peers in the same run and beside the targets.

Run as ``python -m benchmarks.speed``. Needs ``Reuters21578.mat`` in the directory DCOT_DATA.
"""

from __future__ import annotations

import argparse
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
    default = seconds(lambda: DCoT().fit(X))
    table.note(f"default setting {default:.2f} s")
    table.row("fit, default setting / TruncatedSVD(300)", default / svd, "×", 3.0)
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


def selecting(task: Task, X: Any, table: Table) -> None:
    """The classifier with its whole search, beside one plain fit at the largest r of the grid."""
    labels = task.labels[task.train]
    plain = seconds(lambda: DCoT().fit(X))
    order = np.random.default_rng(0).permutation(len(labels))
    for count in (100, 1000):
        y: list[Any] = [None] * len(labels)
        for row in order[:count]:
            y[row] = labels[row]
        search = seconds(lambda y=y: DCoTClassifier(random_state=0).fit(X, y), 2)
        table.note(f"DCoTClassifier.fit with {count} labels {search:.1f} s")
        table.row(f"fit with selection, {count} labels / plain fit", search / plain, "×", 10.0)


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
    parser.add_argument("--no-lda", action="store_true", help="leave out the slowest peer")
    options = parser.parse_args()
    if options.peak:
        report_peak(options.peak)
        return
    task, X, counts = reuters()
    title = f"Reuters, {X.shape[0]} × {X.shape[1]}, {X.nnz} non-zeros, {n_threads()} threads"
    table = Table(title)
    fitting(X, table, not options.no_lda, counts)
    selecting(task, X, table)
    dense_part(X.shape[0], 1000, table)
    transforming(X, table)
    memory(table)
    print(f"\n{table.missed} target(s) missed")


if __name__ == "__main__":
    main()
