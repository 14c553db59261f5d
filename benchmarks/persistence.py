"""What a saved model costs: bytes on the disk, seconds to load, points of accuracy in fewer bits.

Run as ``python -m benchmarks.persistence``. Accuracy is measured as in ``benchmarks.defaults``: a
ridge classifier on 100, 300 and 1000 labelled documents, judged on the test documents. Loading is
measured beside ``pickle`` in the same run.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.corpora import NAMES, Weighted, load_all
from benchmarks.defaults import BUDGETS, Task, _draws
from benchmarks.measure import Table, seconds

import dcot
from dcot import DCoT
from dcot.runtime.resources import format_bytes

PRECISIONS = (None, "float16", "int8")
MOST_LOST = {"float16": 0.1, "int8": 0.3}  # points
LEAST_SMALLER = {"float16": 1.95, "int8": 3.8}  # times
DRAWS = 5


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def accuracy(corpus: Weighted, model: Any) -> np.ndarray:
    """Percent by budget, mean of some draws of labelled documents."""
    n, n_test = corpus.X.shape[0], corpus.X_test.shape[0]
    draws = _draws(np.arange(n), np.random.default_rng(11), DRAWS)
    labels = np.concatenate([corpus.y, corpus.y_test])
    task = Task(labels, draws, np.arange(n, n + n_test))
    both = sp.vstack([corpus.X, corpus.X_test], format="csr")
    return np.asarray(task.accuracies([[model.transform(both)]]).mean(axis=0))


def load_times(folder: Path, model: DCoT, table: Table) -> None:
    pickled = folder.with_suffix(".pkl")
    pickled.write_bytes(pickle.dumps(model, protocol=5))
    peer = seconds(lambda: pickle.loads(pickled.read_bytes()))
    pickled.unlink()
    whole = seconds(lambda: dcot.load(folder))
    unverified = seconds(lambda: dcot.load(folder, verify=False))
    mapped = seconds(lambda: dcot.load(folder, mmap=True))
    table.note(
        f"load: pickle {1000 * peer:.0f} ms, dcot {1000 * whole:.0f} ms (of which checksums "
        f"{1000 * (whole - unverified):.0f} ms), mapped {1000 * mapped:.1f} ms"
    )
    table.row("load, mapped / pickle", mapped / peer, "×", 0.1)
    empty = sp.csr_array((1, model.n_features_in_), dtype=np.float32)
    one = seconds(lambda: dcot.load(folder, mmap=True).transform(empty))
    table.note(f"load mapped and transform one document: {1000 * one:.1f} ms")


def study(corpus: Weighted, table: Table, directory: Path) -> None:
    model = DCoT().fit(corpus.X)
    sizes, accuracies = {}, {}
    for precision in PRECISIONS:
        folder = directory / f"{corpus.name}-{precision}"
        model.save(folder, precision=precision)
        sizes[precision] = folder_size(folder)
        loaded = dcot.load(folder)
        accuracies[precision] = accuracy(corpus, loaded)
        cells = " / ".join(f"{value:.2f}" for value in accuracies[precision])
        load_time = seconds(lambda folder=folder: dcot.load(folder))
        table.note(
            f"{precision or 'as learned':<10} {format_bytes(sizes[precision]):>9}  accuracy with "
            f"{' / '.join(map(str, BUDGETS))} labels {cells}  load {1000 * load_time:.0f} ms"
        )
    for precision, most in MOST_LOST.items():
        smaller = sizes[None] / sizes[precision]
        lost = float(np.max(accuracies[None] - accuracies[precision]))
        least = LEAST_SMALLER[precision]
        table.row(f"{corpus.name}, {precision}: smaller by", smaller, "×", least, most=False)
        table.row(f"{corpus.name}, {precision}: accuracy lost, at worst", lost, "pt", most)
    load_times(directory / f"{corpus.name}-None", model, table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", help=f"of {', '.join(NAMES)}; default r52, reuters")
    names = parser.parse_args().corpora or ("r52", "reuters")
    table = Table("Saved models")
    with tempfile.TemporaryDirectory() as directory:
        for corpus in load_all(tuple(names)):
            study(corpus, table, Path(directory))


if __name__ == "__main__":
    main()
