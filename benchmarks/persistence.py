"""What a saved model costs: bytes on the disk, and seconds to load beside ``pickle``.

Run as ``python -m benchmarks.persistence``. What fewer bits change in predictions is measured by
``dcot bench defaults --only precision``.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from benchmarks.measure import Table, seconds

import dcot
from dcot import DCoT
from dcot.bench.tasks import load_task
from dcot.runtime.resources import format_bytes

PRECISIONS = (None, "float16", "int8")
LEAST_SMALLER = {"float16": 1.95, "int8": 3.8}  # times


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


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


def study(name: str, table: Table, directory: Path) -> None:
    task = load_task(name)
    learned, _ = task.documents(task.train, task.test[:1])
    model = DCoT().fit(learned.tfidf)
    sizes = {}
    for precision in PRECISIONS:
        folder = directory / f"{name}-{precision}"
        model.save(folder, precision=precision)
        sizes[precision] = folder_size(folder)
        time = seconds(lambda folder=folder: dcot.load(folder))
        size = format_bytes(sizes[precision])
        table.note(f"{name}, {precision or 'as learned'}: {size}, loaded in {1000 * time:.0f} ms")
    for precision, least in LEAST_SMALLER.items():
        smaller = sizes[None] / sizes[precision]
        table.row(f"{name}, {precision}: smaller by", smaller, "×", least, most=False)
    load_times(directory / f"{name}-None", model, table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", default=["r52", "reuters"], help="r52, reuters, …")
    table = Table("Saved models")
    with tempfile.TemporaryDirectory() as directory:
        for name in parser.parse_args().corpora:
            study(name, table, Path(directory))


if __name__ == "__main__":
    main()
