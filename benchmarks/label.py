"""The labelling page on the loopback: latency, and what each label is worth.

``python -m benchmarks.label`` asks a running server as the page does while it refits, and prints
the 50th and 95th percentile of the answers beside the targets. ``--curve`` simulates a labeller:
the true labels answer. It prints the accuracy per label, suggested or at random, and per seed word,
and ``--docs`` writes the table and the figure of docs/label.md.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from dcot import datasets
from dcot.bench.report.figures import svg
from dcot.plots import label_curves
from dcot.web.documents import Documents
from dcot.web.label import label_app
from dcot.web.labels import LabelStore
from dcot.web.learning import NOTHING, Start, choose_next, learn
from dcot.web.security import Access
from dcot.web.seeds import seed_vectors
from dcot.web.server import listen, serve, server_of
from dcot.web.session import RANDOM_EVERY, Session
from dcot.web.space import Space, learn_space

TARGETS = {"label": 0.030, "next": 0.050, "page": 5.0}
SIZES = (10, 25, 50, 100, 200, 400, 800)
SEED_WORDS = (1, 2, 3, 5, 10)  # per class
FEW = 3  # of them, before any label
DOCS = Path(__file__).parents[1] / "docs"
Curve = dict[int, list[float]]


def corpus(name: str, n: int) -> tuple[list[str], list[str]]:
    """A random n of a corpus's documents, and their classes."""
    found = datasets.load(name)
    rows = np.sort(np.random.RandomState(0).permutation(len(found.texts))[:n])
    return [found.texts[row] for row in rows], [str(found.labels[row]) for row in rows]


def measure_latency(name: str, n: int, labels: int) -> None:
    """Answer times of a server that refits all the while."""
    texts, truth = corpus(name, n)
    started = time.perf_counter()
    space = learn_space(texts)
    assert space is not None
    print(f"{n:,} documents: representation {time.perf_counter() - started:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        documents = Documents.of(texts)
        session = Session(
            documents, LabelStore(Path(folder) / "labels.csv", documents), Path(folder), space=space
        )
        session.start()
        listening = listen("127.0.0.1", 0)
        access = Access(port=listening.getsockname()[1])
        server = server_of(label_app(session, access))
        thread = threading.Thread(target=serve, args=(server, listening))
        thread.start()
        headers = {"authorization": f"Bearer {access.token}"}
        base = f"http://127.0.0.1:{access.port}"
        with httpx.Client(base_url=base, headers=headers, timeout=60) as client:
            while not server.started:
                time.sleep(0.01)
            client.get("/").raise_for_status()
            client.get("/api/next", params={"tab": "t"}).raise_for_status()
            usable = time.perf_counter() - started
            spent = _use(client, truth, labels)
        server.should_exit = True
        thread.join()
        listening.close()
        session.close()
    print(f"page usable after {usable:.2f} s (target {TARGETS['page']:.0f} s)")
    for name, times in spent.items():
        middle, late = np.percentile(times, [50, 95])
        print(
            f"{name}: p50 {1000 * middle:.1f} ms, p95 {1000 * late:.1f} ms, "
            f"target {1000 * TARGETS[name]:.0f} ms"
        )


def _use(client: httpx.Client, truth: list[str], labels: int) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {"label": [], "next": []}
    done = 0
    while done < labels:
        begun = time.perf_counter()
        answer = client.get("/api/next", params={"tab": "t", "n": 8}).json()
        spent["next"].append(time.perf_counter() - begun)
        for document in answer["documents"]:
            name = truth[int(document["id"])]
            change = {"id": document["id"], "label": name, "expected": None}
            begun = time.perf_counter()
            body = {"changes": [change], "how": document["how"]}
            client.post("/api/labels", json=body).raise_for_status()
            spent["label"].append(time.perf_counter() - begun)
            done += 1
            time.sleep(0.1)
    return spent


# -- a simulated labeller -----------------------------------------------------------------------


def accuracy_per_label(name: str, n: int, labels: int, draws: int, docs: bool) -> None:
    """The true labels answer: at random, as suggested, and as suggested after a few seed words."""
    texts, truth = corpus(name, n)
    space = learn_space(texts)
    assert space is not None
    print(f"{name}: {len(texts):,} documents, {len(set(truth))} classes, {draws} draws", flush=True)
    sizes = [size for size in SIZES if size <= labels]
    few = Start(_seed_words(space, truth, FEW))
    ways = {
        "at random": (False, NOTHING),
        f"suggested, {FEW} seed words": (True, few),
        "suggested": (True, NOTHING),
    }
    curves: dict[str, Curve] = {}
    for way, (suggested, start) in ways.items():
        rows = [_curve(space, truth, suggested, start, sizes, seed) for seed in range(draws)]
        curves[way] = {size: [row[k] for row in rows] for k, size in enumerate(sizes)}
        print(_line(way, curves[way]), flush=True)
    seeded = {words: [_accuracy(space, truth, words)] for words in SEED_WORDS}
    print(_line("seed words per class, no label", seeded))
    if docs:
        drawn = "one draw" if draws == 1 else f"the mean of {draws} draws"
        about = f"{len(texts):,} documents of {name}, {len(set(truth))} classes; {drawn}"
        (DOCS / "tables" / "label-curve.md").write_text(_table(curves, seeded, about))
        _draw(curves, seeded, DOCS / "images" / "label-curve.svg")


def _table(curves: dict[str, Curve], seeded: Curve, about: str) -> str:
    def rows(head: str, table: dict[str, Curve]) -> list[str]:
        columns = list(next(iter(table.values())))
        lines = [[head, *map(str, columns)], ["---"] * (len(columns) + 1)]
        for name, curve in table.items():
            lines.append([name, *(f"{100 * np.mean(values):.1f}" for values in curve.values())])
        return [f"| {' | '.join(line)} |" for line in lines]

    parts = [rows("labels", curves), [""], rows("seed words per class", {"no label": seeded})]
    return "\n".join([*(line for part in parts for line in part), "", f"{about}.", ""])


def _line(name: str, curve: Curve) -> str:
    cells = (f"{size}: {100 * np.mean(values):.1f}" for size, values in curve.items())
    return f"{name:<32}" + "  ".join(cells)


def _draw(curves: dict[str, Curve], seeded: Curve, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    label_curves(curves, ax=left, label="accuracy on all documents (%)", title="by labels")
    label_curves({"no label": seeded}, ax=right, label="", title="by seed words")
    right.set_xlabel("seed words per class")
    path.write_text(svg(figure))


def _curve(
    space: Space, truth: list[str], suggested: bool, start: Start, sizes: list[int], seed: int
) -> list[float]:
    """The accuracy on all documents after each number of labels."""
    generator = np.random.RandomState(seed)
    order = [int(row) for row in generator.permutation(len(truth))]
    labels: dict[int, str] = {}
    if suggested and not start.seeds:
        first = space.first_documents(np.arange(len(truth)), sizes[0], generator)
        labels = {int(row): truth[row] for row in first}
    scores = []
    for size in sizes:
        while len(labels) < size:
            free = np.array([row for row in order if row not in labels])
            snapshot = learn(space.Z, labels, start) if suggested else None
            wanted = min(10, size - len(labels))
            chosen = free[:wanted]
            if snapshot is not None:
                chosen = choose_next(snapshot, space.Z, np.sort(free), wanted, generator)
                drawn = wanted // RANDOM_EVERY
                chosen = np.concatenate([chosen[: wanted - drawn], free[:drawn]])
            labels |= {int(row): truth[row] for row in chosen}
        scores.append(_right(learn(space.Z, labels, start), truth))
    return scores


def _right(snapshot: Any, truth: list[str]) -> float:
    if snapshot is None:
        return 0.0
    return float((np.asarray(snapshot.classes)[snapshot.best] == np.asarray(truth)).mean())


def _accuracy(space: Space, truth: list[str], words: int) -> float:
    """Of seed words without any label."""
    return _right(learn(space.Z, {}, Start(_seed_words(space, truth, words))), truth)


def _seed_words(space: Space, truth: list[str], words: int) -> dict[str, Any]:
    """The best that one could choose: for each class the words that set it apart the most."""
    codes = np.asarray(truth)
    counts = (space.X > 0).astype(np.float64)
    share = np.asarray(counts.mean(axis=0)).ravel() + 1e-6
    seeds = {}
    for name in sorted(set(truth)):
        own = np.asarray(counts[np.flatnonzero(codes == name)].mean(axis=0)).ravel()
        best = np.argsort(-(own * np.log((own + 1e-6) / share)))[:words]
        seeds[name] = [str(space.terms[k]) for k in best]
    return seed_vectors(space, seeds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="dmoz")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args()
    if given.curve:
        accuracy_per_label(given.corpus, given.documents, given.labels, given.draws, given.docs)
    else:
        measure_latency(given.corpus, given.documents, given.labels)
