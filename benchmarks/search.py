"""Queries per second of ``SearchIndex``, beside scikit-learn's brute force and the machine's limit.

``python -m benchmarks.search [--documents N] [--features D] [--approximate]``. By default 100,000
documents of 1000 float32 features, as random as can be: the time of exact search does not depend on
what they are. The limit is the bare matrix product of the same queries and documents.
``--approximate`` adds usearch (an HNSW graph, if it is installed): time to build, queries per
second, and the share of the true ten that it finds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from benchmarks.measure import Table, read_rate, seconds
from sklearn.neighbors import NearestNeighbors

from dcot import SearchIndex
from dcot.runtime.resources import n_threads

K = 10
TARGET = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--approximate", action="store_true", help="usearch too")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    F = clustered(rng, options.documents, options.features)
    index = SearchIndex().add(F)
    peer = NearestNeighbors(n_neighbors=K, metric="cosine", algorithm="brute").fit(F)
    table = Table(f"exact search, {options.documents:,} × {options.features:,} float32, k = {K}")
    for batch in options.batches:
        Q = clustered(rng, batch, options.features)
        check(index, peer, Q[:50])
        measure(table, index, peer, F, Q)
    if options.approximate:
        approximate(F, index, clustered(rng, 200, options.features))
    print(f"\n{table.missed} target(s) missed")


def clustered(rng: np.random.Generator, n: int, width: int) -> np.ndarray:
    """Rows in a few hundred clusters: without any, a graph of neighbours finds nothing."""
    centres = np.random.default_rng(1).normal(size=(300, width)).astype(np.float32)
    noise = rng.standard_normal((n, width), dtype=np.float32)
    return centres[rng.integers(0, len(centres), n)] + noise


def check(index: SearchIndex, peer: NearestNeighbors, Q: np.ndarray) -> None:
    """The two have to find the same documents, or there is nothing to compare."""
    ours = np.array([hits.ids for hits in index.search(Q, k=K)])
    theirs = peer.kneighbors(Q, return_distance=False)
    agree = np.mean([set(a) == set(b) for a, b in zip(ours, theirs, strict=True)])
    if agree < 0.98:
        raise SystemExit(f"only {agree:.0%} of the answers agree")


def measure(
    table: Table, index: SearchIndex, peer: NearestNeighbors, F: np.ndarray, Q: np.ndarray
) -> None:
    batch = len(Q)
    ours, theirs, bare = (np.inf, np.inf, np.inf)
    for _ in range(2):  # in turns, so that a busy moment hits all of them
        ours = min(ours, seconds(lambda: index.search(Q, k=K), 2))
        theirs = min(theirs, seconds(lambda: peer.kneighbors(Q), 1))
        bare = min(bare, seconds(lambda: products(Q, F), 2))
    table.row(f"batches of {batch}: times as fast", theirs / ours, "x", TARGET, most=False)
    table.note(
        f"{batch / ours:,.0f} queries/s, scikit-learn {batch / theirs:,.0f}; the product alone "
        f"{batch / bare:,.0f}: we are at {bare / ours:.0%} of it"
    )
    if batch == 1:
        limit = read_rate(n_threads()) / F.nbytes
        table.note(f"reading the documents once allows {limit:,.0f} queries/s")


def products(Q: np.ndarray, F: np.ndarray, block: int = 10_000) -> None:
    for start in range(0, len(F), block):
        np.matmul(Q, F[start : start + block].T)


def approximate(F: np.ndarray, exact: SearchIndex, Q: np.ndarray) -> None:
    try:
        from usearch.index import Index
    except ImportError:
        print("approximate search: usearch is not installed")
        return
    graph = Index(ndim=F.shape[1], metric="cos", dtype="f32")
    start = time.perf_counter()
    graph.add(np.arange(len(F)), F, threads=n_threads())
    built = time.perf_counter() - start
    truth = [set(hits.ids) for hits in exact.search(Q, k=K)]
    print(f"\nusearch (HNSW): {built:.0f} s to build; exact search builds in no time")
    for expansion in (64, 256, 1024):
        graph.expansion_search = expansion
        found = graph.search(Q, K, threads=n_threads()).keys
        recall = np.mean([len(set(a.tolist()) & b) / K for a, b in zip(found, truth, strict=True)])
        many = seconds(lambda: graph.search(Q, K, threads=n_threads()), 2)
        one = seconds(lambda: [graph.search(q, K) for q in Q[:20]], 2) / 20
        ours = seconds(lambda: exact.search(Q, k=K), 2)
        ours_one = seconds(lambda: [exact.search(q, k=K) for q in Q[:20]], 2) / 20
        print(
            f"  expansion {expansion:>4}: finds {recall:.1%} of the true {K}; in a batch "
            f"{len(Q) / many:,.0f} queries/s (exact {len(Q) / ours:,.0f}), one by one "
            f"{1 / one:,.0f} (exact {1 / ours_one:,.0f})"
        )


if __name__ == "__main__":
    main()
