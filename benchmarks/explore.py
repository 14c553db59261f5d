"""The exploring page on the loopback: answers to 20 readers, the start, and its map beside UMAP.

``python -m benchmarks.explore`` starts a server with 20,000 documents. Readers arrive over the
first seconds and do what people do: they type a word letter by letter and look at it, type a text,
search, open a document and point at others on the map. They pause between key presses, and longer
to read. It prints percentiles of the answers; a key press should be answered within 50 ms in 95 of
100 cases. ``--pace 0`` is the worst case: all arrive at once, and nobody ever pauses.

``--start`` runs the command ``dcot explore MODEL CORPUS``. It prints how long the command takes to
load the model and the texts (starting Python takes most of that), how long after that each view can
be used, and the memory it takes.

``--map`` compares the projection with UMAP (``pip install umap-learn``) and with two principal
components on the same vectors: CPU time, and how many of the ten nearest documents stay among the
ten and the fifty nearest points.

Documents are titles and descriptions of Dmoz. Beyond the 35,500 that there are, they are made from
these: a quarter of the words of one are replaced by words of another.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from scipy.spatial import cKDTree

from dcot import datasets
from dcot.web.documents import Documents
from dcot.web.explore.api import explore_app
from dcot.web.explore.explorer import PHASES, Explorer
from dcot.web.explore.projection import nearest, principal, project
from dcot.web.explore.subject import Corpus, learn_subject
from dcot.web.security import Access
from dcot.web.server import listen, serve, server_of

KEY_PRESS = 0.050  # seconds within which one should be answered
USABLE = {20_000: 5.0, 100_000: 10.0}  # seconds from loaded to usable, by documents
TYPING = (0.12, 0.35)  # seconds between key presses; the page asks after 0.12 without one
READING = (2.0, 6.0)  # seconds that people look at an answer
ARRIVING = 5.0  # seconds over which readers arrive
REPLACED = 0.25  # of the words of a document that is made from two


def texts_of(n: int, classes: bool = False) -> tuple[list[str], list[str]]:
    """Texts with their classes; if there are not as many, more are made from them."""
    found = datasets.load("dmoz")
    generator = np.random.RandomState(0)
    order = generator.permutation(len(found.texts))
    rows = np.sort(order[:n])
    texts = [found.texts[row] for row in rows]
    labels = [str(found.labels[row]) for row in rows] if classes else []
    words = [text.split() or [""] for text in texts]
    for number in range(len(texts), n):
        row, other = number % len(words), words[generator.randint(len(words))]
        draws = generator.random_sample((2, len(words[row])))
        mixed = (
            other[int(place * len(other))] if chance < REPLACED else word
            for word, chance, place in zip(words[row], *draws, strict=True)
        )
        texts.append(" ".join(mixed))
        labels += [labels[row]] if classes else []
    return texts, labels


def explorer(n: int, classes: bool = False) -> Explorer:
    texts, labels = texts_of(n, classes)
    return Explorer(learn_subject(Corpus(Documents.of(texts, name="dmoz"), labels)))


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


def measure_readers(n: int, readers: int, rounds: int, pace: float, classes: bool) -> None:
    started = time.perf_counter()
    made = explorer(n, classes)
    print(f"{n:,} documents: learned in {time.perf_counter() - started:.1f} s", flush=True)
    listening = listen("127.0.0.1", 0)
    access = Access(port=listening.getsockname()[1])
    server = server_of(explore_app(made, access))
    thread = threading.Thread(target=serve, args=(server, listening))
    made.start()
    thread.start()
    made.wait()
    headers = {"authorization": f"Bearer {access.token}"}
    words, texts = made.completions("", 500), list(made.corpus.documents.texts)
    crowd = Crowd(f"http://127.0.0.1:{access.port}", headers, words, texts, pace)
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:
            begun = time.process_time(), time.perf_counter()
            spent = elsewhere.submit(crowd.read, readers, rounds).result()
            busy, lasted = time.process_time() - begun[0], time.perf_counter() - begun[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
    print(f"{readers} readers for {lasted:.0f} s; the server computed {busy / lasted:.0%} of it")
    print("answers in ms      number    p50    p95    p99    aim for p95")
    for name, (is_key, times) in spent.items():
        late = "  ".join(f"{1000 * one:5.1f}" for one in np.percentile(times, [50, 95, 99]))
        aim = f"{1000 * KEY_PRESS:8.0f}" if is_key else ""
        print(f"{name:18} {len(times):6}  {late}  {aim}")


class Crowd:
    """Readers in a process of their own, as browsers are."""

    def __init__(
        self, base: str, headers: dict[str, str], words: list[str], texts: list[str], pace: float
    ) -> None:
        self.base, self.headers, self.words, self.texts = base, headers, words, texts
        self.pace = pace

    def read(self, readers: int, rounds: int) -> dict[str, tuple[bool, list[float]]]:
        """How long each kind of answer took, and whether it answers a key press."""
        spent: dict[str, tuple[bool, list[float]]] = {}

        def one(number: int) -> None:
            generator = np.random.RandomState(number)
            time.sleep(self.pace * generator.uniform(0, ARRIVING))
            with httpx.Client(base_url=self.base, headers=self.headers, timeout=60) as client:
                for name, is_key, request in self._asks(generator, rounds):
                    begun = time.perf_counter()
                    client.request(**request).raise_for_status()
                    times = spent.setdefault(name, (is_key, []))[1]
                    times.append(time.perf_counter() - begun)
                    time.sleep(self.pace * generator.uniform(*(TYPING if is_key else READING)))

        with ThreadPoolExecutor(readers) as crowd:
            list(crowd.map(one, range(readers)))
        return spent

    def _asks(
        self, generator: np.random.RandomState, rounds: int
    ) -> Iterator[tuple[str, bool, dict[str, Any]]]:
        """What the page asks for in turn: a name, whether it is a key press, and the request."""
        for _ in range(rounds):
            word = self.words[generator.randint(len(self.words))]
            row = int(generator.randint(len(self.texts)))
            text = self.texts[row]
            for end in range(1, min(len(word), 5) + 1):
                yield "complete a word", True, _get("words", start=word[:end], n=8)
            yield "look at a word", False, _get("word", word=word)
            start = int(generator.randint(max(1, min(len(text), 200) - 12)))
            for end in range(start, start + 12):
                body = {"text": text[: end + 1]}
                yield "type a text", True, {"method": "POST", "url": "/api/write", "json": body}
            yield "search", False, _get("search", q=text[:80], n=20)
            yield "open a document", False, _get("document", row=row)
            for _ in range(2):
                some = int(generator.randint(len(self.texts)))
                yield "point at the map", False, _get("preview", row=some)


def _get(path: str, **query: Any) -> dict[str, Any]:
    return {"method": "GET", "url": f"/api/{path}", "params": query}


# -- the start ----------------------------------------------------------------------------------


def measure_start(n: int) -> None:
    """Run the command, and ask until each view has what it needs."""
    texts, _ = texts_of(n)
    with tempfile.TemporaryDirectory() as folder:
        corpus, model = Path(folder) / "corpus.jsonl", Path(folder) / "model"
        corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        learn_subject(Corpus(Documents.of(texts))).vectorizer.save(model)
        command = [sys.executable, "-m", "dcot", "explore", str(model), str(corpus)]
        command += ["--text", "text", "--no-open", "--port", "0"]
        command += ["--output", str(Path(folder) / "labels.csv")]
        started = time.perf_counter()
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            _follow(running, started, n)
        finally:
            running.terminate()
            running.wait()


def _follow(running: subprocess.Popen[str], started: float, n: int) -> None:
    assert running.stderr is not None
    found = None
    while found is None:
        line = running.stderr.readline()
        assert line, "the command has ended"
        found = re.search(r"(http://\S+)/\?token=(\S+)", line)
    threading.Thread(target=running.stderr.read, daemon=True).start()
    headers = {"authorization": f"Bearer {found[2]}"}
    aim = USABLE.get(n)
    loaded = time.perf_counter()
    print(f"model and texts loaded {loaded - started:.1f} s after the command; from then on:")
    with httpx.Client(base_url=found[1], headers=headers, timeout=600) as client:
        client.get("/").raise_for_status()
        client.post("/api/write", json={"text": "first words"}).raise_for_status()
        _say("texts and words", loaded, aim)
        views = {"drawing": "documents", "refining": "map", "judging": "better map", "ready": "all"}
        for phase, what in views.items():
            while True:
                now = client.get("/api/about").raise_for_status().json()
                assert now["phase"] != "failed", now["problem"]
                if PHASES.index(now["phase"]) >= PHASES.index(phase):
                    break
                time.sleep(0.1)
            if what == "documents":
                client.get("/api/search", params={"q": "first words"}).raise_for_status()
            if what == "map":
                drawn = client.get("/api/map").raise_for_status()
                print(f"{len(drawn.content) / 1e6:.1f} MB of map, {drawn.json()['n']:,} documents")
            _say(what, loaded, aim if phase in ("drawing", "refining") else None)
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{running.pid}/status").read_text())
    if peak is not None:
        print(f"memory: {int(peak[1]) / 1e6:.1f} GB at most")


def _say(what: str, loaded: float, aim: float | None) -> None:
    beside = "" if aim is None else f" (aim {aim:.0f} s)"
    print(f"{what} usable after {time.perf_counter() - loaded:.1f} s{beside}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--map", action="store_true", help="the projection beside UMAP")
    parser.add_argument("--start", action="store_true", help="seconds until the page can be used")
    parser.add_argument("--classes", action="store_true", help="readers see a classifier")
    parser.add_argument("-n", type=int, default=20_000, help="documents")
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--pace", type=float, default=1.0, help="1: as people, 0: never a pause")
    chosen = parser.parse_args()
    if chosen.map:
        compare_maps(chosen.n)
    elif chosen.start:
        measure_start(chosen.n)
    else:
        measure_readers(chosen.n, chosen.readers, chosen.rounds, chosen.pace, chosen.classes)
