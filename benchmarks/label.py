"""The labelling page on the loopback: latency.

``python -m benchmarks.label`` asks a running server as the page does while it refits, and prints
the 50th and 95th percentile of the answers beside the targets.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import httpx
import numpy as np

from dcot import datasets
from dcot.web.api import label_app
from dcot.web.documents import Documents
from dcot.web.labels import LabelStore
from dcot.web.security import Access
from dcot.web.server import listen, serve, server_of
from dcot.web.session import Session
from dcot.web.space import learn_space

TARGETS = {"label": 0.030, "next": 0.050, "page": 5.0}


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
        # in a process of its own, as a browser is
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:
            spent = elsewhere.submit(_use, base, headers, truth, labels).result()
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


def _use(
    base: str, headers: dict[str, str], truth: list[str], labels: int
) -> dict[str, list[float]]:
    """Label documents as the page does, and return how long each answer took."""
    with httpx.Client(base_url=base, headers=headers, timeout=60) as client:
        return _label(client, truth, labels)


def _label(client: httpx.Client, truth: list[str], labels: int) -> dict[str, list[float]]:
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="dmoz")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--labels", type=int, default=200)
    given = parser.parse_args()
    measure_latency(given.corpus, given.documents, given.labels)
