"""Retrieval quality beside TF-IDF, BM25 and LSI, on collections with judged queries.

``python -m benchmarks.retrieval FOLDER... [--made]``: folders in the layout of BEIR, and with
``--made`` collections made from corpora too (``benchmarks.judged``). nDCG@10 and MAP (of the first
1000) in percent; p of a paired randomisation test against BM25, on nDCG@10; last, the gap of the
default index to the best single system.

All systems see the same words (``TermCounter``, no stop words removed, no stemming), and TF-IDF,
LSI and dCoT the same weights. BM25 is bm25s, with the usual k1 = 1.2 and b = 0.75. LSI's size is
chosen by nDCG@10 on the other half of the queries, which is more than dCoT is given: its settings
are fixed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import bm25s
import numpy as np
from benchmarks.judged import made
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from dcot import SearchIndex
from dcot.datasets import JudgedCollection, load_beir
from dcot.search.metrics import average_precision, ndcg, paired_p_value
from dcot.text import TermCounter, TermWeighting

DEPTH = 1000
LSI_SIZES = (50, 100, 200, 300, 500)
DEFAULT = "default index"
BASELINE = "BM25"
SYSTEMS = ("TF-IDF", BASELINE, "LSI", "dCoT without x", "dCoT", DEFAULT)
TABLES = Path(__file__).parents[1] / "docs" / "tables"


class Scores:
    """nDCG@10 and average precision of each query."""

    def __init__(self, ranked: Sequence[Sequence[str]], collection: JudgedCollection) -> None:
        pairs = list(zip(ranked, collection.relevant, strict=True))
        self.ndcg = np.array([100 * ndcg(names, grades) for names, grades in pairs])
        self.map = np.array([100 * average_precision(names, grades) for names, grades in pairs])


def measured(collection: JudgedCollection) -> Iterator[tuple[str, Scores]]:
    counter = TermCounter(dtype=np.float32)
    counts, asked = counter.fit_transform(collection.texts), counter.transform(collection.queries)
    weighting = TermWeighting("tfidf", sublinear_tf=True).fit(counts)
    X, Q = weighting.transform(counts), weighting.transform(asked)
    yield "TF-IDF", Scores(ranked_by((Q @ X.T).toarray(), collection), collection)
    yield BASELINE, Scores(ranked_by(bm25_scores(counts, asked), collection), collection)
    yield "LSI", lsi(X, Q, collection)
    index = SearchIndex().add(collection.texts, ids=collection.ids)
    model = index.model_
    Z, ZQ = (model.reconstruct(T, 1, True) for T in (collection.texts, collection.queries))
    yield (
        "dCoT without x",
        Scores(ranked_by(normalize(ZQ) @ normalize(Z).T, collection), collection),
    )
    for name, hybrid in (("dCoT", False), (DEFAULT, None)):
        found = index.search(collection.queries, k=DEPTH, hybrid=hybrid)
        yield name, Scores([hits.ids for hits in found], collection)


def ranked_by(scores: np.ndarray, collection: JudgedCollection) -> list[list[str]]:
    order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    return [[collection.ids[row] for row in rows] for rows in order]


def bm25_scores(counts: sparse.csr_matrix, asked: sparse.csr_matrix) -> np.ndarray:
    """bm25s on the very same tokens: the columns of the counts."""
    engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    vocabulary = {str(column): column for column in range(counts.shape[1])}
    engine.index((tokens(counts), vocabulary), show_progress=False, create_empty_token=False)
    return np.stack([engine.get_scores_from_ids(query) for query in tokens(asked)])


def tokens(counts: sparse.csr_matrix) -> list[list[int]]:
    """The columns of each row, as often as they are counted."""
    rows = (counts[i] for i in range(counts.shape[0]))
    return [np.repeat(row.indices, row.data.astype(int)).tolist() for row in rows]


def lsi(X: sparse.csr_matrix, Q: sparse.csr_matrix, collection: JudgedCollection) -> Scores:
    sizes = [size for size in LSI_SIZES if size < min(X.shape)]
    svd = TruncatedSVD(max(sizes), random_state=0).fit(X)
    U, V = svd.transform(X), svd.transform(Q)
    scores = [
        Scores(ranked_by(normalize(V[:, :k]) @ normalize(U[:, :k]).T, collection), collection)
        for k in sizes
    ]
    chosen = scores[0]
    half = np.random.default_rng(0).permutation(len(chosen.ndcg)) % 2 == 0
    best = {}
    for side in (half, ~half):  # the size for one half is chosen on the other
        best[side[0]] = max(range(len(sizes)), key=lambda s, o=~side: scores[s].ndcg[o].mean())
    for name in ("ndcg", "map"):
        first, second = (getattr(scores[best[key]], name) for key in (half[0], (~half)[0]))
        setattr(chosen, name, np.where(half, first, second))
    print(f"  (LSI: {sizes[best[half[0]]]} and {sizes[best[(~half)[0]]]} dimensions)")
    return chosen


def report(collection: JudgedCollection) -> tuple[str, bool]:
    """Print what was measured; a row for the docs, and whether we are significantly below BM25."""
    n, m = len(collection.texts), len(collection.queries)
    print(f"\n{collection.name}: {n:,} documents, {m} queries")
    start, found = time.perf_counter(), dict(measured(collection))
    base = found[BASELINE].ndcg
    print(f"  {'':<14} {'nDCG@10':>8} {'MAP':>6}   against BM25")
    for name, scores in found.items():
        gain = scores.ndcg.mean() - base.mean()
        test = f"{gain:+5.1f} (p {paired_p_value(scores.ndcg, base):.3f})"
        note = "" if name == BASELINE else test
        print(f"  {name:<14} {scores.ndcg.mean():8.1f} {scores.map.mean():6.1f}   {note}")
    cells = [f"{scores.ndcg.mean():.1f}" for scores in found.values()]
    ours, gaps = found.pop(DEFAULT), []
    for metric in ("ndcg", "map"):
        best = max(found, key=lambda name, m=metric: getattr(found[name], m).mean())
        gap = getattr(ours, metric).mean() - getattr(found[best], metric).mean()
        gaps.append(f"{gap:+.1f} ({best})")
        print(f"  gap to the best single system, {metric}: {gaps[-1]}")
    print(f"  ({time.perf_counter() - start:.0f} s)", flush=True)
    p = paired_p_value(ours.ndcg, base)
    gain = ours.ndcg.mean() - base.mean()
    if gain < 0 and p < 0.05:
        print("  LOST: significantly below BM25")
    row = f"| {collection.name} | {' | '.join(cells)} | {gain:+.1f} (p {p:.2f}) | {gaps[0]} |"
    return row, bool(gain < 0 and p < 0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", help="in the layout of BEIR")
    parser.add_argument("--made", action="store_true", help="collections made from corpora too")
    parser.add_argument("--write", action="store_true", help="into docs/tables")
    options = parser.parse_args()
    reports = [report(load_beir(folder)) for folder in options.folders]
    if options.made or not options.folders:
        reports += [report(collection) for collection in made()]
    if options.write:
        head = f"| | {' | '.join(SYSTEMS)} | against BM25 | gap to the best single system |"
        lines = [head, "|---" * (len(SYSTEMS) + 3) + "|", *(row for row, _ in reports)]
        TABLES.mkdir(parents=True, exist_ok=True)
        (TABLES / "retrieval.md").write_text("\n".join(lines) + "\n")
    raise SystemExit(sum(lost for _, lost in reports))


if __name__ == "__main__":
    main()
