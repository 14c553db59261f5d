"""The labelling page on the loopback: latency, and what each label is worth.

``python -m benchmarks.label`` asks a running server as the page does while it refits, and prints
the 50th and 95th percentile of the answers beside the targets. ``--curve`` lets the true labels
answer, and compares the accuracy per label with labelling at random and with seed words.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np

from dcot import datasets
from dcot.web.documents import Documents
from dcot.web.label import label_app
from dcot.web.labels import LabelStore
from dcot.web.learning import Start, choose_next, learn
from dcot.web.security import Access
from dcot.web.seeds import seed_vectors
from dcot.web.server import listen, serve, server_of
from dcot.web.session import RANDOM_EVERY, Session
from dcot.web.space import Space, learn_space

TARGETS = {"label": 0.030, "next": 0.050, "page": 5.0}


def corpus(n: int) -> tuple[list[str], list[str]]:
    found = datasets.load("dmoz")
    return list(found.texts)[:n], [str(label) for label in found.labels][:n]


def measure_latency(n: int, labels: int) -> None:
    """Answer times of a server that refits all the while."""
    texts, truth = corpus(n)
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


def accuracy_per_label(n: int, labels: int, draws: int) -> None:
    """The true labels answer; suggested documents beside random ones, and seed words."""
    texts, truth = corpus(n)
    space = learn_space(texts)
    assert space is not None
    sizes = [size for size in (10, 25, 50, 100, 200, 400) if size <= labels]
    print("labels    " + "".join(f"{size:>8}" for size in sizes))
    for name in ("random", "suggested"):
        rows = [_curve(space, truth, name == "suggested", sizes, seed) for seed in range(draws)]
        print(f"{name:<10}" + "".join(f"{100 * mean:8.1f}" for mean in np.mean(rows, axis=0)))
    for words in (1, 3, 10):
        print(f"{words} seed words per class, no label: {100 * _seeded(space, truth, words):.1f}")


def _curve(space: Space, truth: list[str], suggested: bool, sizes: list[int], seed: int):
    generator = np.random.RandomState(seed)
    order = [int(row) for row in generator.permutation(len(truth))]
    labels: dict[int, str] = {}
    if suggested:
        first = space.first_documents(np.arange(len(truth)), sizes[0], generator)
        labels = {int(row): truth[row] for row in first}
    scores = []
    for size in sizes:
        while len(labels) < size:
            free = np.array([row for row in order if row not in labels])
            snapshot = learn(space.Z, labels) if suggested else None
            wanted = min(10, size - len(labels))
            chosen = free[:wanted]
            if snapshot is not None:
                chosen = choose_next(snapshot, space.Z, np.sort(free), wanted, generator)
                drawn = wanted // RANDOM_EVERY
                chosen = np.concatenate([chosen[: wanted - drawn], free[:drawn]])
            labels |= {int(row): truth[row] for row in chosen}
        snapshot = learn(space.Z, labels)
        found = snapshot is not None and np.asarray(snapshot.classes)[snapshot.best]
        scores.append(float(np.mean(found == np.asarray(truth))))
    return scores


def _seeded(space: Space, truth: list[str], words: int) -> float:
    """Accuracy of seed words: per class those that set it apart the most."""
    codes = np.asarray(truth)
    counts = (space.X > 0).astype(np.float64)
    share = np.asarray(counts.mean(axis=0)).ravel() + 1e-6
    seeds = {}
    for name in sorted(set(truth)):
        own = np.asarray(counts[np.flatnonzero(codes == name)].mean(axis=0)).ravel()
        best = np.argsort(-(own * np.log((own + 1e-6) / share)))[:words]
        seeds[name] = [str(space.terms[k]) for k in best]
    snapshot = learn(space.Z, {}, Start(seed_vectors(space, seeds)))
    assert snapshot is not None
    return float((np.asarray(snapshot.classes)[snapshot.best] == codes).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    if given.curve:
        accuracy_per_label(given.documents, given.labels, given.draws)
    else:
        measure_latency(given.documents, given.labels)
