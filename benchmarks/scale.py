"""From a hundred thousand to a million texts: time, memory and marginal cost against the targets.

    python -m benchmarks.scale                      # everything, up to 1,000,000 texts
    python -m benchmarks.scale --sizes 10000 30000 100000
    python -m benchmarks.scale --output docs/tables  # the same, and the tables of docs/scaling.md
    python -m benchmarks.scale dask --n 100000      # one and two workers beside the local fit
    python -m benchmarks.scale cluster              # when a cluster pays, by the cost model

Every measurement has a process of its own, so that peaks are its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import Table, in_subprocess, peak_memory
from benchmarks.scale_corpus import TERMS, default_folder, write_corpus
from benchmarks.scale_model import cluster, constants_in, document, measured, predict
from threadpoolctl import threadpool_limits

SIZES = [100_000, 300_000, 1_000_000]
R = 1000
REPEATS = 3  # of passes: other work on the machine only ever adds time
PEERS = {
    "gensim": "gensim TfidfModel + LsiModel(300)",
    "sklearn": "TfidfVectorizer + TruncatedSVD(300)",
}
WINDOWS = 10  # in which the cost of a document is compared


class Enough(Exception):  # noqa: N818 - not an error
    """The passes are made, and nothing more was asked for."""


class Phases:
    """Seconds of each phase of a fit, by the messages of its progress.

    With ``passes_only`` the fit ends where it would begin to solve.
    """

    def __init__(self, passes_only: bool = False) -> None:
        self.begun: dict[str, float] = {}
        self.spent: dict[str, float] = {}
        self.marks: dict[str, list[tuple[int, float]]] = {}
        self.plan = ""
        self.passes_only = passes_only

    def __call__(self, message: str, fraction: float) -> None:
        if self.passes_only and message.startswith("layer"):
            raise Enough
        now = time.perf_counter()
        begun = self.begun.setdefault(message, now)
        self.spent[message] = now - begun

    def documents(self, message: str, done: int, fraction: float | None) -> None:
        self(message, fraction or 0.0)
        self.marks.setdefault(message, []).append((done, time.perf_counter()))

    def marginal(self, n: int) -> list[float]:
        """Seconds per document in each window of the passes."""
        edges = np.linspace(0, n, WINDOWS + 1)
        whole = np.zeros(WINDOWS)
        for marks in self.marks.values():
            done, when = np.array(marks).T
            whole += np.diff(np.interp(edges, done, when))
        return (whole / (n / WINDOWS)).tolist()  # type: ignore[no-any-return]

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
    from dcot.runtime.progress import watched
    from dcot.text import TextSource

    source = TextSource(write_corpus(folder, n, terms))
    warm_up()
    model, phases = vectorizer(solver).set_params(max_features=terms), Phases()

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


def passes_once(folder: Path, n: int, terms: int, threads: int | None) -> dict[str, Any]:
    """The part of a fit that grows with the documents, and nothing else; the best of some."""
    from dcot.runtime.progress import watched
    from dcot.text import TextSource

    source = TextSource(write_corpus(folder, n, terms))
    warm_up()
    seconds, windows = [], []
    for _ in range(REPEATS):
        phases = Phases(passes_only=True)
        with suppress(Enough), watched(phases), threadpool_limits(threads):
            vectorizer("primal").fit(source)
        seconds.append(phases.passes())
        windows.append(phases.marginal(n))
    marginal = np.min(windows, axis=0).tolist()
    return {"n": n, "passes": min(seconds), "all": seconds, "marginal": marginal}


def gensim_once(folder: Path, n: int, terms: int) -> dict[str, Any]:
    import logging

    from gensim.corpora import Dictionary
    from gensim.models import LsiModel, TfidfModel

    from dcot.text import read_texts

    logging.disable(logging.CRITICAL)
    texts = read_texts(write_corpus(folder, n, terms))

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
        dictionary.filter_extremes(no_below=1, no_above=1.0, keep_n=terms)
        weigh = TfidfModel(dictionary=dictionary)
        return LsiModel(Bags(weigh), id2word=dictionary, num_topics=300)

    dictionary: Any = None
    peak, _ = peak_memory(work)
    return {"n": n, "seconds": time.perf_counter() - begun, "peak": peak}


def sklearn_once(folder: Path, n: int, terms: int) -> dict[str, Any]:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from dcot.text import read_texts

    texts = list(read_texts(write_corpus(folder, n, terms)))
    begun = time.perf_counter()

    def work() -> Any:
        X = TfidfVectorizer(max_features=terms, dtype=np.float32).fit_transform(texts)
        return TruncatedSVD(300, random_state=0).fit(X)

    peak, _ = peak_memory(work)
    return {"n": n, "seconds": time.perf_counter() - begun, "peak": peak}


def dask_once(folder: Path, n: int, workers: int, terms: int) -> dict[str, Any]:
    """The passes on a cluster of local processes, of one thread each; solving is the caller's."""
    import dask
    from distributed import Client, LocalCluster

    from dcot import distributed as on_dask
    from dcot.runtime.progress import watched
    from dcot.text import read_texts

    texts = read_texts(write_corpus(folder, n, terms))
    warm_up()
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        LocalCluster(host="127.0.0.1", **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(warm_up)
        seconds = []
        before = max(client.run(memory_of_process, "VmRSS").values())
        for _ in range(REPEATS):
            phases = Phases(passes_only=True)
            with suppress(Enough), watched(phases):
                on_dask.fit(vectorizer("primal"), texts, cluster=client)
            seconds.append(phases.passes())
        memory = max(client.run(memory_of_process, "VmHWM").values()) - before
    return {"n": n, "workers": workers, "passes": min(seconds), "all": seconds,
            "worker_peak": memory, "phases": phases.spent, "plan": phases.plan}  # fmt: skip


def memory_of_process(name: str) -> float:
    text = Path("/proc/self/status").read_text()
    return next(float(x.split()[1]) * 1024 for x in text.splitlines() if x.startswith(name))


# -- constants of the cost model ---------------------------------------------------------------


def constants(folder: Path) -> dict[str, float]:
    """Rates of this machine with all its threads, as ``scale_model`` uses them."""
    from dcot.runtime.resources import n_threads
    from dcot.stream.sums import (
        Block,
        MomentsSum,
        PanelSum,
        ProductSum,
        SparsePanelSum,
        panels_of,
    )
    from dcot.text import TermCounter, TermWeighting, TextSource
    from dcot.text.pipeline import VocabularySum

    warm_up()
    source = TextSource(write_corpus(folder, 50_000))
    texts = next(source.batches()).documents
    n, rng = len(texts), np.random.default_rng(0)
    counter = TermCounter(dtype=np.float32)
    terms = VocabularySum(counter, 10**7)
    found = {"threads": float(n_threads())}
    found["read documents/s"] = 50_000 / _best(lambda: list(source.batches()))
    found["vocabulary documents/s"] = n / _best(lambda: terms.add(terms.empty(), texts))
    weighting = TermWeighting(sublinear_tf=True)
    X = weighting.fit_transform(counter.fit_transform(texts))

    def weighed() -> Block:
        block = Block(weighting.transform(counter.transform(texts)))
        MomentsSum().add(None, block)
        _ = block.transpose
        return block

    found["weighted terms and moments documents/s"] = n / _best(weighed)
    d, block = X.shape[1], weighed()
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
    found |= factorising()
    found["bytes of text a document"] = texts.n_bytes / n
    found["terms per document"] = X.nnz / n
    found["pairs a document"] = pairs / n
    return found


def factorising() -> dict[str, float]:
    """Two rates from two sizes: seconds = d³ / 3 / flop rate + d² / element rate."""
    from dcot.stream.packed import PackedScatter
    from dcot.stream.sums import panels_of

    sizes, seconds = (2048, 6144, 14_336), []  # the first is to warm up
    for size in sizes:
        A = np.eye(size, dtype=np.float32) * size + 1
        packed = PackedScatter([A[a:b, :b].copy() for a, b in panels_of(size)])
        begun = time.perf_counter()
        packed.factorise(0.0)
        seconds.append(time.perf_counter() - begun)
    d = np.array(sizes[1:], dtype=float)
    cubic, square = np.linalg.solve(np.stack([d**3 / 3, d**2], axis=1), seconds[1:])
    return {"factorisation flop/s": 1 / cubic, "factorisation elements/s": 1 / square}


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


def everything(folder: Path, sizes: list[int], terms: int, held: int, output: Path | None) -> int:
    """The direct solver at all sizes, so that the cost of a document can be told from the rest."""
    table = Table(f"{', '.join(f'{n:,}' for n in sizes)} texts → {R} prototypes, one layer")
    found = ask("constants", folder, sizes[0])
    runs, lines = [], ["| documents | system | s | peak, GB |", "|---|---|---|---|"]
    for n in sizes:
        run = ask("fit", folder, n, terms=terms, solver="primal")
        runs.append(run)
        table.note(
            f"{n:,} texts, {run['terms']:,} terms, direct: {run['seconds']:.1f} s = "
            f"{run['passes']:.1f} s passes + {run['solving']:.1f} s solving; peak "
            f"{run['peak'] / 1e9:.2f} GB, predicted {run['predicted_memory'] / 1e9:.2f} GB"
        )
        chosen = ask("fit", folder, n, terms=terms, solver="auto")
        table.note(f"left to choose: {chosen['plan']}; took {chosen['seconds']:.1f} s")
        others = {}
        for name in PEERS if n <= held else ():
            try:
                peer = others[name] = ask(name, folder, n, terms=terms)
            except RuntimeError as error:  # as a rule: too large for the memory
                table.note(f"{name} does not do it: {str(error).splitlines()[-1]}")
                continue
            table.note(
                f"{name}: {peer['seconds']:.1f} s ({peer['seconds'] / chosen['seconds']:.1f} ×), "
                f"peak {peer['peak'] / 1e9:.2f} GB ({peer['peak'] / chosen['peak']:.1f} ×)"
            )
        lines += beside(n, {"dCoT, solver='auto'": chosen, "dCoT, direct": run, **others})
    for name, run in (("direct", runs[-1]), ("left to choose", chosen)):
        table.row(f"fit of {run['n']:,} texts, {name}", run["seconds"] / 60, "min", 5)
        table.row("its peak memory", run["peak"] / 1e9, "GB", 6)
    for run in runs:
        ratio = run["peak"] / run["predicted_memory"]
        table.row(f"peak ÷ prediction at {run['n']:,}: above 1", max(ratio, 1.0), "", 1.2)
        table.row(f"peak ÷ prediction at {run['n']:,}: below 1", min(ratio, 1.0), "", 0.8, False)
    for run in runs:
        guess, real = (
            sum(part.values())
            for part in (predict(found, run["n"], run["terms"], R), measured(run))
        )
        off = max(guess / real, real / guess)
        table.row(f"cost model at {run['n']:,}: off by", 100 * off - 100, "%", 25)
    if output is not None:
        (output / "scaling.md").write_text(document(found, runs, R))
        (output / "scaling-cluster.md").write_text("\n".join(cluster(found)) + "\n")
        (output / "scaling-peers.md").write_text("\n".join(lines) + "\n")
    passes = ask("passes", folder, sizes[-1], terms=terms)
    costs = [1e6 * cost for cost in passes["marginal"]]
    table.note(
        f"µs a document in tenths of {sizes[-1]:,}, best of {REPEATS}: "
        + ", ".join(f"{cost:.1f}" for cost in costs)
    )
    early, late = float(np.mean(costs[1:4])), float(np.mean(costs[-3:]))
    ratio = max(early, late) / min(early, late)
    table.row("cost of a document: second to fourth against last three", 100 * ratio - 100, "%", 5)
    table.note(f"largest against smallest but the first: {max(costs[1:]) / min(costs[1:]):.2f}")
    table.row("transform", min(run["transform"] for run in runs) / 1e3, "k/s", 10, most=False)
    workers = on_workers(folder, sizes[-1], terms)
    print("\n".join(workers))
    if output is not None:
        (output / "scaling-dask.md").write_text("\n".join(workers) + "\n")
    return table.missed


def beside(n: int, systems: dict[str, dict[str, Any]]) -> list[str]:
    """Rows of the table of the peers and us."""
    return [
        f"| {n:,} | {PEERS.get(name, name)} | {one['seconds']:.0f} | {one['peak'] / 1e9:.1f} |"
        for name, one in systems.items()
    ]


def on_workers(folder: Path, n: int, terms: int) -> list[str]:
    """One and two workers beside the local passes, with one thread and with all."""
    alone = ask("passes", folder, n, terms=terms, threads=1)["passes"]
    both = ask("passes", folder, n, terms=terms)["passes"]
    lines = [
        f"| {n:,} documents | passes, s | efficiency | a worker's peak, GB | at most |",
        "|---|---|---|---|---|",
        f"| in this process, one thread | {alone:.0f} | 1 | | |",
        f"| in this process, all threads | {both:.0f} | | | |",
    ]
    for workers in (1, 2):
        run = ask("dask", folder, n, workers=workers, terms=terms)
        share = alone / workers / run["passes"]
        need = run["plan"].rsplit("about ", 1)[-1]
        lines.append(
            f"| {workers} worker{'s' * (workers > 1)} of one thread | {run['passes']:.0f} | "
            f"{share:.2f} | {run['worker_peak'] / 1e9:.1f} | {need} |"
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = [
        "all",
        "fit",
        "gensim",
        "sklearn",
        "passes",
        "dask",
        "cluster",
        "constants",
        "corpus",
    ]
    parser.add_argument("command", nargs="?", default="all", choices=commands)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--peers", type=int, default=10**9, help="the most texts for the peers")
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--terms", type=int, default=TERMS)
    parser.add_argument("--solver", default="primal")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--output", type=Path, default=None, help="the folder of the tables")
    given = parser.parse_args()
    folder = given.folder or default_folder()
    if given.command == "all":
        return min(everything(folder, given.sizes, given.terms, given.peers, given.output), 1)
    if given.command == "corpus":
        print(sum(path.stat().st_size for path in write_corpus(folder, given.n)))
    elif given.command == "cluster":
        folder = given.output or Path("docs/tables")
        table = folder / "scaling.md"
        lines = cluster(constants_in(table.read_text()))
        (folder / "scaling-cluster.md").write_text("\n".join(lines) + "\n")
    elif given.command == "constants":
        print(json.dumps(constants(folder)))
    elif given.command == "dask" and not given.workers:
        print("\n".join(on_workers(folder, given.n, given.terms)))
    elif given.command == "dask":
        print(json.dumps(dask_once(folder, given.n, given.workers, given.terms)))
    elif given.command == "passes":
        print(json.dumps(passes_once(folder, given.n, given.terms, given.threads)))
    elif given.command == "fit":
        print(json.dumps(fit_once(folder, given.n, given.terms, given.solver)))
    else:
        once = {"gensim": gensim_once, "sklearn": sklearn_once}[given.command]
        print(json.dumps(once(folder, given.n, given.terms)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
