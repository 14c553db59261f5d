"""Many threads and processes give the bytes of one, and memory does not grow with use."""

from __future__ import annotations

import multiprocessing
import os
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dcot import DCoT, DCoTClassifier, DCoTVectorizer, SearchIndex

LOAD = int(os.environ.get("DCOT_LOAD", "1"))  # times the work of the suite
SUBJECTS = ["oil", "wheat", "corn", "stocks", "gold", "opec", "harvest", "shares"]
VERBS = ["rose", "fell", "output", "exports", "prices"]
TEXTS = [
    f"{a} {verb} {b} day {n % 7}"
    for n, a in enumerate(SUBJECTS)
    for verb in VERBS
    for b in SUBJECTS
]
LABELS = [text.split()[0] if n % 3 == 0 else None for n, text in enumerate(TEXTS)]


def _work(number: int) -> bytes:
    """Fit, transform, train and predict; everything as bytes."""
    vectorizer = DCoTVectorizer(n_prototypes=20, random_state=0)
    features = vectorizer.fit_transform(TEXTS)
    classifier = DCoTClassifier(vectorizer=vectorizer, selection="none", random_state=0)
    shares = classifier.fit(TEXTS, LABELS).predict_proba(TEXTS)
    return features.tobytes() + shares.tobytes()


def test_threads_give_the_bytes_of_one(tally):
    expected, count = _work(0), 32 * LOAD
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(_work, range(count)))
    wrong = sum(one != expected for one in found)
    tally("16 threads: fit, train, predict", count, wrong)
    assert wrong == 0


@pytest.mark.parametrize(
    "start", sorted({"fork", "spawn"} & {*multiprocessing.get_all_start_methods()})
)
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_processes_give_the_bytes_of_one(start, tally):
    """Forked ones use models that were fitted before: polars, in text, has threads of its own."""
    work = _work if start == "spawn" else _matrix_work
    kind, count = multiprocessing.get_context(start), 4 * LOAD
    with kind.Pool(1) as alone:  # with the number of threads that the others have
        expected = alone.apply(work, (0,)) if start == "spawn" else work(0)
    with kind.Pool(2) as pool:
        found = pool.map(work, range(count))
    wrong = sum(one != expected for one in found)
    tally(f"processes, by {start}", count, wrong)
    assert wrong == 0


X = np.random.default_rng(0).poisson(0.3, (300, 80)).astype(np.float32)


def _matrix_work(number: int) -> bytes:
    return DCoT(30).fit_transform(X).tobytes()


def _growth(work, count: int) -> int:
    """Bytes that are still held after ``count`` calls, beyond those after a tenth of them."""
    tracemalloc.start()
    try:
        for number in range(count // 10):
            work(number)
        before = tracemalloc.get_traced_memory()[0]
        for number in range(count // 10, count):
            work(number)
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_memory_is_flat_over_partial_fits(tally):
    model, count = DCoT(20), 1000 if LOAD > 1 else 200
    grown = _growth(lambda number: model.partial_fit(X[number % 30 : number % 30 + 20]), count)
    tally("partial_fit, flat memory", count, int(grown > 100_000))
    assert grown < 100_000
    assert model.n_documents_ == 20 * count


def test_memory_is_flat_over_searches(tally):
    index = SearchIndex(DCoTVectorizer(n_prototypes=20).fit(TEXTS)).add(TEXTS)
    count = 10_000 if LOAD > 1 else 500
    grown = _growth(lambda number: index.search(TEXTS[number % len(TEXTS)], k=5), count)
    tally("searches, flat memory", count, int(grown > 100_000))
    assert grown < 100_000
