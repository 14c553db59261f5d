"""The exploring page on the loopback: its map beside UMAP, and answers to 20 readers at once.

``python -m benchmarks.explore`` starts a server with 20,000 documents and lets readers ask as the
page does; it prints the 50th and 95th percentile of the answers. ``--map`` compares the projection
with UMAP (``pip install umap-learn``) and with two principal components on the same vectors: CPU
time, and how many of the ten nearest documents stay among the ten and the fifty nearest points.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import httpx
import numpy as np
from scipy.spatial import cKDTree

from dcot import datasets
from dcot.web.documents import Documents
from dcot.web.explore.explorer import PHASES, Explorer
from dcot.web.explore.projection import nearest, principal, project
from dcot.web.explore.run import explore_app
from dcot.web.explore.subject import Corpus, learn_subject
from dcot.web.security import Access
from dcot.web.server import listen, serve, server_of


def explorer(n: int) -> Explorer:
    found = datasets.load("dmoz")
    rows = np.sort(np.random.RandomState(0).permutation(len(found.texts))[:n])
    documents = Documents.of([found.texts[row] for row in rows], name="dmoz")
    return Explorer(learn_subject(Corpus(documents)))


# -- the map ------------------------------------------------------------------------------------


def compare_maps(n: int) -> None:
    made = explorer(n)
    made.prepare()
    assert made.index is not None
    vectors = np.asarray(made.index._snapshot.vectors.array)  # type: ignore[union-attr]
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    near = nearest(units, units, 10, itself=False)
    ways: dict[str, Callable[[], Any]] = {
        "two components": lambda: principal(vectors)[:, :2],
        "dcot": lambda: project(vectors),
        "dcot, a quarter refined": lambda: project(vectors, refined=n // 4),
        "UMAP on 50 components": lambda: _umap(principal(vectors)),
    }
    project(vectors[:50])  # compiled before the clock starts
    _umap(principal(vectors[:5000]))  # fewer than 4096 would not compile all of it
    print(f"{n:,} documents        CPU s   10 of 10   10 of 50")
    for name, place in ways.items():
        begun = time.process_time()
        points = place()
        spent = time.process_time() - begun
        kept = [_kept(points, near, k) for k in (10, 50)]
        print(f"{name:25} {spent:6.1f} {100 * kept[0]:8.1f} % {100 * kept[1]:8.1f} %", flush=True)


def _umap(vectors: Any) -> Any:
    from umap import UMAP

    return UMAP(metric="cosine", random_state=0, n_jobs=1).fit_transform(vectors)


def _kept(points: Any, near: Any, k: int) -> float:
    found = cKDTree(points).query(points, k + 1)[1]
    return float(np.mean([len({*a} & {*b}) / len(a) for a, b in zip(near, found, strict=True)]))


# -- readers ------------------------------------------------------------------------------------


def measure_readers(n: int, readers: int, rounds: int) -> None:
    started = time.perf_counter()
    made = explorer(n)
    print(f"{n:,} documents: learned in {time.perf_counter() - started:.1f} s")
    listening = listen("127.0.0.1", 0)
    access = Access(port=listening.getsockname()[1])
    server = server_of(explore_app(made, access))
    thread = threading.Thread(target=serve, args=(server, listening))
    started = time.perf_counter()
    made.start()
    thread.start()
    headers = {"authorization": f"Bearer {access.token}"}
    base = f"http://127.0.0.1:{access.port}"
    with httpx.Client(base_url=base, headers=headers, timeout=60) as client:
        while not server.started:
            time.sleep(0.01)
        client.get("/").raise_for_status()
        client.post("/api/write", json={"text": "first words"}).raise_for_status()
        print(f"words usable after {time.perf_counter() - started:.1f} s")
        for phase, what in (("drawing", "documents"), ("refining", "map"), ("ready", "all of it")):
            while PHASES.index(made.phase) < PHASES.index(phase):
                time.sleep(0.02)
            print(f"{what} usable after {time.perf_counter() - started:.1f} s")
    words, texts = made.completions("", 500), list(made.corpus.documents.texts)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:
        spent = elsewhere.submit(_crowd, base, headers, words, texts, readers, rounds).result()
    server.should_exit = True
    thread.join()
    listening.close()
    for name, times in sorted(spent.items()):
        middle, late = np.percentile(times, [50, 95])
        print(f"{name:10} p50 {1000 * middle:6.1f} ms, p95 {1000 * late:6.1f} ms")


def _crowd(
    base: str,
    headers: dict[str, str],
    words: list[str],
    texts: list[str],
    readers: int,
    rounds: int,
) -> dict[str, list[float]]:
    """Readers at once, in a process of their own, as browsers are."""
    spent: dict[str, list[float]] = {}

    def read(number: int) -> None:
        with httpx.Client(base_url=base, headers=headers, timeout=60) as client:
            _read(client, words, texts, number, rounds, spent)

    with ThreadPoolExecutor(readers) as crowd:
        list(crowd.map(read, range(readers)))
    return spent


def _read(
    client: httpx.Client,
    words: list[str],
    texts: list[str],
    number: int,
    rounds: int,
    spent: dict[str, list[float]],
) -> None:
    """One reader: a look every second, at a word, a text, a search, a document or a preview."""
    generator = np.random.RandomState(number)
    for _ in range(rounds):
        word, row = words[generator.randint(len(words))], int(generator.randint(len(texts)))
        text = texts[row]
        asks: dict[str, Callable[[], Any]] = {
            "complete": lambda word=word: client.get("/api/words", params={"start": word[:2]}),
            "word": lambda word=word: client.get("/api/word", params={"word": word}),
            "write": lambda text=text: client.post("/api/write", json={"text": text[:2000]}),
            "search": lambda text=text: client.get("/api/search", params={"q": text[:80]}),
            "document": lambda row=row: client.get("/api/document", params={"row": row}),
            "preview": lambda row=row: client.get("/api/preview", params={"row": row}),
        }
        for name, ask in asks.items():
            begun = time.perf_counter()
            ask().raise_for_status()
            spent.setdefault(name, []).append(time.perf_counter() - begun)
            time.sleep(float(generator.uniform(0.5, 1.5)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--map", action="store_true")
    parser.add_argument("-n", type=int, default=20_000)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    if chosen.map:
        compare_maps(chosen.n)
    else:
        measure_readers(chosen.n, chosen.readers, chosen.rounds)
