"""The best documents for a batch of queries: exact, in blocks, at the speed of matrix products.

BLAS does the products, a compiled heap takes the best of each block while it is in cache; the
scores of all queries and all documents are never held at once. The few that are found are then
computed again in double precision: a query has the same answer alone as in a batch, and equal
documents have equal scores, in the order in which they came.
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
MAX_PRODUCTS = 1 << 23  # that a hybrid search holds at a time, for each of its two parts
N_SPARE = 16  # documents found beyond k: rounding may have put them in the wrong order
MAX_GATHERED_SHARE = 0.5  # if a filter lets fewer documents through, their rows are copied


@dataclass(frozen=True)
class Ranking:
    """The best rows for each query, the best first, with their scores.

    ``rows`` is negative where there were no more documents. ``similarity`` and ``bm25`` are what
    the score is made of; None if that part was not asked for. If both were, ``weights`` are those
    of the two for each query. ``known`` says whether there was anything to search by.
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
    """The k allowed rows with the largest ``share · cosine + (1 - share) · BM25 / its largest``.

    The largest is that of all live documents, so that a filter changes who is in the list and no
    score. Without a share each query has its own, ``words.meaning`` to 1.
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
    """The k allowed rows with the largest BM25; those without any of the words are left out."""
    found = _best_of_all(words.scores, allowed, k, above=0.0)
    bm25 = _picked(words.scores, found)
    return _sorted(found, bm25, words.matches, k, None, bm25)


def queries_at_once(n_documents: int) -> int:
    """How many queries a search by words may score against all documents in one go."""
    return max(1, MAX_PRODUCTS // max(n_documents, 1))


def joined(parts: list[Ranking]) -> Ranking:
    """Rankings of several batches as one."""
    if len(parts) == 1:
        return parts[0]

    def column(name: str) -> Any:
        found = [getattr(part, name) for part in parts]
        return None if found[0] is None else np.concatenate(found)

    return Ranking(**{field.name: column(field.name) for field in fields(Ranking)})


def _blocks(vectors: Array, allowed: Array) -> Iterator[tuple[Array, Array]]:
    """Blocks of documents with their rows, −1 for those to be skipped."""
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
    """The allowed rows with the largest scores above ``above``: k of them, and some to spare."""
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
    """The best k, by score and then by row; float32, so that ties are ties."""
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


# -- compiled loops: the last two arguments say which queries a thread works on -------------------


@_compiled
def keep_best(scores: Array, rows: Array, best: Array, found: Array, first: int, step: int) -> None:
    """Take the scores of a block of documents into the best of each query.

    ``best`` and ``found`` hold a heap for each query, the worst on top: the lowest score, and of
    equal ones the latest row. ``rows`` are the rows of the block's columns, increasing, and not
    below those of earlier blocks, so that an equal score never displaces one that is there; a
    negative row is skipped.
    """
    k = best.shape[1]
    for i in range(first, len(scores), step):
        heap, places, line = best[i], found[i], scores[i]
        least = heap[0]
        for j in range(len(rows)):
            score = line[j]
            if not score > least or rows[j] < 0:  # NaN is no score
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

    The same two rows give the same number wherever they stand, which BLAS does not promise.
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
