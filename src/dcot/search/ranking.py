"""The best documents for a batch of queries: exact, in blocks, at the speed of matrix products.

BLAS computes the products, and a compiled heap keeps the best of each block while it is in cache;
the scores of all queries and all documents are never in memory at once. The scores of the best are
then computed again in double precision, so that a query has the same answer alone and in a batch,
and equal documents have equal scores and keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.kernels import _compiled
from dcot.runtime.resources import run_threads
from dcot.search.postings import Lexical

Array = NDArray[Any]

QUERIES_PER_BLOCK, DOCUMENTS_PER_BLOCK = 1024, 4096  # a block of products is 16 MB
MAX_PRODUCTS = 1 << 23  # in memory at a time, for each of the two parts of a hybrid search
N_SPARE = 16  # documents found beyond k, because rounding may change their order
MAX_GATHERED_SHARE = 0.5  # if a filter leaves fewer documents, their rows are copied


@dataclass(frozen=True)
class Ranking:
    """The best rows for each query, the best first, with their scores.

    ``rows`` is negative if there are no more documents. ``similarity`` and ``bm25`` are the parts
    of the score, or None; with both, ``weights`` are their weights for each query. ``known`` tells
    whether a query has a known word, or is not zero.
    """

    rows: Array
    scores: Array
    known: Array
    similarity: Array | None = None
    bm25: Array | None = None
    weights: Array | None = None


def by_similarity(vectors: Array, queries: Array, allowed: Array, k: int) -> Ranking:
    """The k allowed rows with the largest cosine; both sides are unit rows."""
    size = min(k + N_SPARE, max(len(vectors), 1))
    best, found = _empty_heaps(len(queries), size)
    for start in range(0, len(queries), QUERIES_PER_BLOCK):
        block = slice(start, start + QUERIES_PER_BLOCK)
        part = queries[block]
        room = np.empty((len(part), DOCUMENTS_PER_BLOCK), dtype=np.float32)
        for documents, rows in _blocks(vectors, allowed):
            scores = room[:, : len(rows)] if len(rows) == DOCUMENTS_PER_BLOCK else None
            scores = np.matmul(part, documents.T, out=scores)
            _take(scores, rows, best[block], found[block])
    similarity = _exactly(vectors, queries, found)
    known = np.asarray(queries.any(axis=1))
    return _sorted(found, similarity, known, k, similarity, None)


def by_both(
    vectors: Array,
    queries: Array,
    words: Lexical,
    live: Array,
    allowed: Array,
    share: float | None,
    k: int,
) -> Ranking:
    """The k allowed rows with the largest ``share · cosine + (1 - share) · BM25 / maximum``.

    The maximum is over all live documents, so that a filter does not change scores. Without a
    share, each query has its own: ``words.meaning`` to 1.
    """
    products, scores = queries @ vectors.T, words.scores
    largest = scores.max(axis=1, where=live, initial=0.0).astype(np.float64)
    weight = words.meaning
    shares = weight / (1.0 + weight) if share is None else np.full(len(queries), share)
    factors = np.stack([shares, (1.0 - shares) / np.where(largest > 0, largest, 1.0)], axis=1)
    run_threads(combine, products, scores, factors, work=3.0 * products.size)
    found = _best_of_all(products, allowed, k)
    similarity, bm25 = _exactly(vectors, queries, found), _picked(scores, found)
    combined = factors[:, :1] * similarity + factors[:, 1:] * bm25
    known = queries.any(axis=1) | words.matches
    return _sorted(found, combined, known, k, similarity, bm25, factors)


def by_words(words: Lexical, allowed: Array, k: int) -> Ranking:
    """The k allowed rows with the largest BM25, without those that have none of the words."""
    found = _best_of_all(words.scores, allowed, k, above=0.0)
    bm25 = _picked(words.scores, found)
    return _sorted(found, bm25, words.matches, k, None, bm25)


def queries_at_once(n_documents: int) -> int:
    """Number of queries that a search by words scores against all documents at a time."""
    return max(1, MAX_PRODUCTS // max(n_documents, 1))


def joined(parts: list[Ranking]) -> Ranking:
    """Join the rankings of several batches."""
    if len(parts) == 1:
        return parts[0]

    def column(name: str) -> Any:
        found = [getattr(part, name) for part in parts]
        return None if found[0] is None else np.concatenate(found)

    return Ranking(**{field.name: column(field.name) for field in fields(Ranking)})


def _blocks(vectors: Array, allowed: Array) -> Iterator[tuple[Array, Array]]:
    """Blocks of documents with their rows; −1 for documents to skip."""
    n, n_allowed = len(vectors), int(allowed.sum())
    if n_allowed < MAX_GATHERED_SHARE * n:
        chosen = np.flatnonzero(allowed)
        for start in range(0, n_allowed, DOCUMENTS_PER_BLOCK):
            rows = chosen[start : start + DOCUMENTS_PER_BLOCK]
            yield vectors[rows], rows
        return
    places = np.arange(n)
    rows = places if n_allowed == n else np.where(allowed, places, -1)
    for start in range(0, n, DOCUMENTS_PER_BLOCK):
        yield (
            vectors[start : start + DOCUMENTS_PER_BLOCK],
            rows[start : start + DOCUMENTS_PER_BLOCK],
        )


def _empty_heaps(n: int, size: int, above: float = -np.inf) -> tuple[Array, Array]:
    return np.full((n, size), above, np.float32), np.full((n, size), -1, np.int64)


def _best_of_all(scores: Array, allowed: Array, k: int, above: float = -np.inf) -> Array:
    """The allowed rows with the largest scores above ``above``: k and a few to spare."""
    n_queries, n = scores.shape
    best, found = _empty_heaps(n_queries, min(k + N_SPARE, max(n, 1)), above)
    _take(scores, np.where(allowed, np.arange(n), -1), best, found)
    return found


def _take(scores: Array, rows: Array, best: Array, found: Array) -> None:
    run_threads(keep_best, scores, rows, best, found, work=2.0 * scores.size)


def _exactly(vectors: Array, queries: Array, found: Array) -> Array:
    out = np.empty(found.shape, dtype=np.float64)
    work = 2.0 * out.size * queries.shape[1]
    run_threads(exact_products, vectors, queries, found, out, work=work)
    return out


def _picked(scores: Array, found: Array) -> Array:
    picked = np.take_along_axis(scores, np.maximum(found, 0), axis=1)
    return np.asarray(picked, dtype=np.float64)


def _sorted(
    found: Array,
    scores: Array,
    known: Array,
    k: int,
    similarity: Array | None,
    bm25: Array | None,
    weights: Array | None = None,
) -> Ranking:
    """The best k, by score and then by row; scores are float32, so that ties are exact."""
    single = np.where(found >= 0, scores, -np.inf).astype(np.float32)
    late = np.where(found >= 0, found, np.iinfo(np.int64).max)
    order = np.lexsort((late, -single), axis=1)[:, :k]

    def ordered(values: Array | None) -> Array | None:
        if values is None:
            return None
        return np.take_along_axis(values, order, axis=1).astype(np.float32)

    rows = np.take_along_axis(found, order, axis=1)
    rows[~known] = -1
    scores = np.take_along_axis(single, order, axis=1)
    return Ranking(rows, scores, known, ordered(similarity), ordered(bm25), weights)


# -- compiled loops; a thread works on queries first, first + step, … -----------------------------


@_compiled
def keep_best(scores: Array, rows: Array, best: Array, found: Array, first: int, step: int) -> None:
    """Add the scores of a block of documents to the best of each query.

    ``best`` and ``found`` hold a heap for each query, with the worst on top: the lowest score and,
    among equal scores, the last row. ``rows`` are the rows of the block's columns; they increase
    from block to block, so that an equal score never replaces an earlier one. Negative rows are
    skipped.
    """
    k = best.shape[1]
    for i in range(first, len(scores), step):
        heap, places, line = best[i], found[i], scores[i]
        least = heap[0]
        for j in range(len(rows)):
            score = line[j]
            if not score > least or rows[j] < 0:  # also skips NaN
                continue
            row, at = rows[j], 0
            while True:  # sift down from the top
                child = 2 * at + 1
                if child >= k:
                    break
                other = child + 1
                if other < k and (
                    heap[other] < heap[child]
                    or (heap[other] == heap[child] and places[other] > places[child])
                ):
                    child = other
                if heap[child] < score or (heap[child] == score and places[child] > row):
                    heap[at], places[at] = heap[child], places[child]
                    at = child
                else:
                    break
            heap[at], places[at] = score, row
            least = heap[0]


@_compiled
def exact_products(
    vectors: Array, queries: Array, rows: Array, out: Array, first: int, step: int
) -> None:
    """``out[i, j] = vectors[rows[i, j]] · queries[i]`` in double precision; 0 for no row.

    The same two rows always give the same number, which BLAS does not guarantee.
    """
    width = queries.shape[1]
    for i in range(first, len(rows), step):
        query = queries[i]
        for j in range(rows.shape[1]):
            total = 0.0
            if rows[i, j] >= 0:
                vector = vectors[rows[i, j]]
                for c in range(width):
                    total += float(vector[c]) * float(query[c])
            out[i, j] = total


@_compiled
def combine(left: Array, right: Array, factors: Array, first: int, step: int) -> None:
    """``left[i] = factors[i, 0] · left[i] + factors[i, 1] · right[i]``."""
    n = left.shape[1]
    for i in range(first, len(left), step):
        a, b = factors[i, 0], factors[i, 1]
        target, other = left[i], right[i]
        for j in range(n):
            target[j] = a * target[j] + b * other[j]
