"""From a hundred thousand to a million texts: time, memory and marginal cost against the targets.

    python -m benchmarks.scale                      # everything, up to 1,000,000 texts
    python -m benchmarks.scale --sizes 10000 30000 100000
    python -m benchmarks.scale model --output docs/tables/scaling.md   # the cost model
    python -m benchmarks.scale dask --n 100000      # one and two workers beside the local fit

Every measurement has a process of its own, so that peaks are its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import Table, in_subprocess, peak_memory
from benchmarks.scale_corpus import TERMS, default_folder, write_corpus
from benchmarks.scale_model import document

SIZES = [100_000, 300_000, 1_000_000]
R = 1000
HELD_BY_PEERS = 300_000  # documents that the peers are asked to hold


class Phases:
    """Seconds of each phase of a fit, by the messages of its progress."""

    def __init__(self) -> None:
        self.begun: dict[str, float] = {}
        self.spent: dict[str, float] = {}
        self.plan = ""

    def __call__(self, message: str, fraction: float) -> None:
        now = time.perf_counter()
        begun = self.begun.setdefault(message, now)
        self.spent[message] = now - begun

    def documents(self, message: str, done: int, fraction: float | None) -> None:
        self(message, fraction or 0.0)

    def say(self, text: str) -> None:
        self.plan = text

    def passes(self) -> float:
        """Seconds of passes over documents; the rest does not depend on their number."""
        return sum(s for name, s in self.spent.items() if not name.startswith("layer"))


def vectorizer(solver: str = "auto") -> Any:
    from dcot import DCoTVectorizer

    return DCoTVectorizer(
        n_prototypes=R, n_layers=1, max_features=TERMS, memory_limit="5.5GB", solver=solver
    )


def warm_up() -> None:
    """Compile the kernels, load the libraries."""
    from dcot.text import TextSource

    with tempfile.TemporaryDirectory() as folder:
        paths = write_corpus(Path(folder), 500, 300)
        for solver in ("primal", "cg"):
            model = vectorizer(solver).set_params(n_prototypes=20)
            model.fit(TextSource(paths))
        model.transform_to(TextSource(paths), Path(folder) / "z.npy")


# -- each in a process of its own: what they print is JSON -------------------------------------


def fit_once(folder: Path, n: int, terms: int, solver: str) -> dict[str, Any]:
    from dcot._progress import watched
    from dcot.text import TextSource

    source = TextSource(write_corpus(folder, n, terms))
    warm_up()
    model, phases = vectorizer(solver), Phases()

    def work() -> None:
        with watched(phases):
            model.fit(source)

    begun = time.perf_counter()
    peak, _ = peak_memory(work)
    spent = time.perf_counter() - begun
    plan = model.dcot_.plan_
    passes = phases.passes()
    out = folder / f"features-{n}.npy"
    part = TextSource(write_corpus(folder, min(n, 100_000), terms))
    begun = time.perf_counter()
    rows = model.transform_to(part, out, overwrite=True)
    rate = rows / (time.perf_counter() - begun)
    out.unlink()
    return {
        "n": n,
        "seconds": spent,
        "passes": passes,
        "solving": spent - passes,
        "peak": peak,
        "predicted_memory": plan.memory,
        "predicted_seconds": plan.seconds,
        "plan": phases.plan,
        "transform": rate,
        "terms": len(model.vocabulary_),
        "phases": phases.spent,
    }


def gensim_once(folder: Path, n: int) -> dict[str, Any]:
    import logging

    from gensim.corpora import Dictionary
    from gensim.models import LsiModel, TfidfModel

    from dcot.text import read_texts

    logging.disable(logging.CRITICAL)
    texts = read_texts(write_corpus(folder, n))

    class Bags:
        def __init__(self, weigh: Any = None) -> None:
            self.weigh = weigh

        def __iter__(self) -> Any:
            for text in texts:
                bag = dictionary.doc2bow(text.split())
                yield bag if self.weigh is None else self.weigh[bag]

        def __len__(self) -> int:
            return n

    begun = time.perf_counter()

    def work() -> Any:
        nonlocal dictionary
        dictionary = Dictionary(text.split() for text in texts)
        dictionary.filter_extremes(no_below=1, no_above=1.0, keep_n=TERMS)
        weigh = TfidfModel(dictionary=dictionary)
        return LsiModel(Bags(weigh), id2word=dictionary, num_topics=300)

    dictionary: Any = None
    peak, _ = peak_memory(work)
    return {"n": n, "seconds": time.perf_counter() - begun, "peak": peak}


def sklearn_once(folder: Path, n: int) -> dict[str, Any]:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from dcot.text import read_texts

    texts = list(read_texts(write_corpus(folder, n)))
    begun = time.perf_counter()

    def work() -> Any:
        X = TfidfVectorizer(max_features=TERMS, dtype=np.float32).fit_transform(texts)
        return TruncatedSVD(300, random_state=0).fit(X)

    peak, _ = peak_memory(work)
    return {"n": n, "seconds": time.perf_counter() - begun, "peak": peak}


def dask_once(folder: Path, n: int, workers: int, terms: int, solver: str) -> dict[str, Any]:
    import dask
    from dask import delayed
    from distributed import Client, LocalCluster

    from dcot import distributed as on_dask
    from dcot._progress import watched

    paths = write_corpus(folder, n, terms)
    warm_up()
    step = 10_000
    parts = [
        delayed(lines_of)(str(path), start, step)
        for path in paths
        for start in range(0, 50_000, step)
    ]
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        LocalCluster(host="127.0.0.1", **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(warm_up)
        phases = Phases()
        begun = time.perf_counter()
        with watched(phases):
            model = on_dask.fit(vectorizer(solver), parts, cluster=client)
        spent = time.perf_counter() - begun
        memory = max(client.run(peak_of_process).values())
    documents, solving = int(model.counter_.n_documents_), spent - phases.passes()
    return {"n": documents, "workers": workers, "seconds": spent, "solving": solving,
            "worker_peak": memory, "phases": phases.spent}  # fmt: skip


def peak_of_process() -> float:
    text = Path("/proc/self/status").read_text()
    return next(float(x.split()[1]) * 1024 for x in text.splitlines() if x.startswith("VmHWM"))


def lines_of(path: str, start: int, count: int) -> list[str]:
    from itertools import islice

    with Path(path).open() as file:
        return [line.rstrip("\n") for line in islice(file, start, start + count)]


# -- constants of the cost model ---------------------------------------------------------------


def constants(folder: Path) -> dict[str, float]:
    """Rates of this machine with all its threads, as ``scale_model`` uses them."""
    from dcot._machine import n_threads
    from dcot.streaming.packed import PackedScatter
    from dcot.streaming.sums import Block, PanelSum, ProductSum, SparsePanelSum, panels_of
    from dcot.text import TermCounter, TermWeighting, TextSource
    from dcot.text.vocabulary import VocabularySum

    warm_up()
    texts = next(TextSource(write_corpus(folder, 50_000)).batches()).documents
    n, rng = len(texts), np.random.default_rng(0)
    counter = TermCounter(dtype=np.float32)
    terms = VocabularySum(counter, 10**7)
    found = {"threads": float(n_threads())}
    found["vocabulary documents/s"] = n / _best(lambda: terms.add(terms.empty(), texts))
    weighting = TermWeighting(sublinear_tf=True)
    X = weighting.fit_transform(counter.fit_transform(texts))
    found["weighted terms documents/s"] = n / _best(
        lambda: weighting.transform(counter.transform(texts))
    )
    d, block = X.shape[1], Block(X)
    _ = block.transpose
    lengths = np.diff(X.indptr).astype(float)
    pairs = float(lengths @ (lengths + 1)) / 2
    dense = [PanelSum(*rows, np.float32) for rows in panels_of(d)]
    totals = [one.add(one.empty(), block) for one in dense]  # memory is touched before the clock
    spent = _best(lambda: [one.add(t, block) for one, t in zip(dense, totals, strict=True)])
    found["pairs/s into a dense scatter matrix"] = pairs / spent
    sparse = [SparsePanelSum(*rows, np.float32) for rows in panels_of(d)]
    spent = _best(lambda: [one.add(one.empty(), block) for one in sparse])
    found["pairs/s into a sparse scatter matrix, one thread"] = pairs / spent
    V = rng.random((d, 256), dtype=np.float32)
    product = ProductSum(V, np.zeros(d))
    total = product.empty()
    spent = _best(lambda: product.add(total, block))
    found["sparse products flop/s"] = 4.0 * X.nnz * V.shape[1] / spent
    size = 8192
    A = np.eye(size, dtype=np.float32) * size + 1
    packed = PackedScatter([A[a:b, :b].copy() for a, b in panels_of(size)])
    begun = time.perf_counter()
    packed.factorise(0.0)
    found["factorisation flop/s"] = size**3 / 3 / (time.perf_counter() - begun)
    found["bytes of text a document"] = float(texts.str.len_bytes().mean())
    found["terms a document"] = X.nnz / n
    found["pairs a document"] = pairs / n
    return found


def _best(work: Any, repeats: int = 3) -> float:
    best = float("inf")
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


# -- the whole ---------------------------------------------------------------------------------


def ask(what: str, folder: Path, n: int, **others: Any) -> dict[str, Any]:
    arguments = [what, "--folder", str(folder), "--n", str(n)]
    for name, value in others.items():
        arguments += [f"--{name}", str(value)]
    return json.loads(in_subprocess("benchmarks.scale", *arguments).splitlines()[-1])  # type: ignore[no-any-return]


def everything(folder: Path, sizes: list[int], terms: int) -> int:
    """The direct solver at all sizes, so that the cost of a document can be told from the rest."""
    table = Table(f"{', '.join(f'{n:,}' for n in sizes)} texts → {R} prototypes, one layer")
    runs = []
    for n in sizes:
        run = ask("fit", folder, n, terms=terms, solver="primal")
        runs.append(run)
        table.note(run["plan"])
        table.note(
            f"{n:,} texts, {run['terms']:,} terms: {run['seconds']:.1f} s = {run['passes']:.1f} s "
            f"passes + {run['solving']:.1f} s solving; peak {run['peak'] / 1e9:.2f} GB, predicted "
            f"{run['predicted_memory'] / 1e9:.2f} GB"
        )
    chosen = ask("fit", folder, sizes[-1], terms=terms, solver="auto")
    table.note(f"left to choose: {chosen['plan']}; it took {chosen['seconds']:.1f} s")
    for name, run in (("direct", runs[-1]), ("left to choose", chosen)):
        table.row(f"fit of {run['n']:,} texts, {name}", run["seconds"] / 60, "min", 5)
        table.row("its peak memory", run["peak"] / 1e9, "GB", 6)
    for run in runs:
        ratio = run["peak"] / run["predicted_memory"]
        table.row(f"peak ÷ prediction at {run['n']:,}: above 1", max(ratio, 1.0), "", 1.2)
        table.row(f"peak ÷ prediction at {run['n']:,}: below 1", min(ratio, 1.0), "", 0.8, False)
    if len(runs) > 1:
        slopes = [(b["passes"] - a["passes"]) / (b["n"] - a["n"]) for a, b in pairwise(runs)]
        table.note("marginal µs a document: " + ", ".join(f"{1e6 * s:.1f}" for s in slopes))
        if len(slopes) > 1:
            spread = max(slopes) / min(slopes) - 1
            table.row("spread of the marginal cost", 100 * spread, "%", 5)
    table.row("transform", min(run["transform"] for run in runs) / 1e3, "k/s", 10, most=False)
    for n in [size for size in sizes if size <= HELD_BY_PEERS]:
        for name in ("gensim", "sklearn"):
            peer = ask(name, folder, n)
            table.note(
                f"{name} at {n:,}: {peer['seconds']:.1f} s, peak {peer['peak'] / 1e9:.2f} GB"
            )
    return table.missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = ["all", "fit", "gensim", "sklearn", "dask", "constants", "model", "corpus"]
    parser.add_argument("command", nargs="?", default="all", choices=commands)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--terms", type=int, default=TERMS)
    parser.add_argument("--solver", default="primal")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--output", type=Path, default=None)
    given = parser.parse_args()
    folder = given.folder or default_folder()
    if given.command == "all":
        return min(everything(folder, given.sizes, given.terms), 1)
    if given.command == "corpus":
        print(sum(path.stat().st_size for path in write_corpus(folder, given.n)))
    elif given.command == "constants":
        print(json.dumps(constants(folder)))
    elif given.command == "model":
        found = ask("constants", folder, given.n)
        how = {"terms": given.terms, "solver": "primal"}
        text = document(found, [ask("fit", folder, n, **how) for n in given.sizes], R)
        print(text)
        if given.output is not None:
            given.output.write_text(text)
    elif given.command == "dask" and not given.workers:
        how = {"terms": given.terms, "solver": given.solver}
        local = ask("fit", folder, given.n, **how)
        print(f"local: {local['passes']:.1f} s passes + {local['solving']:.1f} s solving")
        for workers in (1, 2):
            run = ask("dask", folder, given.n, workers=workers, **how)
            passes = run["seconds"] - run["solving"]
            print(f"{workers} worker(s): {passes:.1f} s passes, {run['worker_peak'] / 1e9:.2f} GB")
    elif given.command == "dask":
        run = dask_once(folder, given.n, given.workers, given.terms, given.solver)
        print(json.dumps(run))
    elif given.command == "fit":
        print(json.dumps(fit_once(folder, given.n, given.terms, given.solver)))
    else:
        once = {"gensim": gensim_once, "sklearn": sklearn_once}[given.command]
        print(json.dumps(once(folder, given.n)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
