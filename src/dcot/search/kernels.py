"""Compiled inner loops of search: the best of a block of scores, and BM25 over postings.

The last two arguments, ``first`` and ``step``, say which queries a thread works on: first,
first + step, … ``dcot.runtime.resources.run_threads`` starts them, as those of
``dcot.core.kernels``.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dcot.core.kernels import _compiled

Array = NDArray[Any]


@_compiled
def keep_best(scores: Array, rows: Array, best: Array, found: Array, first: int, step: int) -> None:
    """Take the scores of a block of documents into the best of each query.

    ``best`` and ``found`` hold a heap for each query, the worst on top: the lowest score, and of
    equal ones the latest row. ``rows`` are the rows of the block's columns, increasing, and not
    below those of earlier blocks, so that an equal score never displaces one that is there; a
    negative row is passed over.
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
def count_live(
    terms: Array, indptr: Array, rows: Array, live: Array, out: Array, first: int, step: int
) -> None:
    """Add to ``out`` how many live documents have each term."""
    for i in range(first, len(terms), step):
        total = 0
        for place in range(indptr[terms[i]], indptr[terms[i] + 1]):
            if live[rows[place]]:
                total += 1
        out[i] += total


@_compiled
def add_bm25(
    starts: Array,
    terms: Array,
    weights: Array,
    indptr: Array,
    rows: Array,
    counts: Array,
    damping: Array,
    out: Array,
    first: int,
    step: int,
) -> None:
    """``out[i, row] += Σ weight · count / (count + damping_row)`` over the terms of query i.

    The terms of query i are those from ``starts[i]`` to ``starts[i + 1]``; the postings of term t
    are those from ``indptr[t]`` to ``indptr[t + 1]``.
    """
    for i in range(first, len(out), step):
        line = out[i]
        for entry in range(starts[i], starts[i + 1]):
            weight, term = weights[entry], terms[entry]
            for place in range(indptr[term], indptr[term + 1]):
                row, count = rows[place], counts[place]
                line[row] += weight * count / (count + damping[row])


@_compiled
def add_products(
    starts: Array,
    terms: Array,
    weights: Array,
    indptr: Array,
    rows: Array,
    values: Array,
    out: Array,
    first: int,
    step: int,
) -> None:
    """``out[i, row] += Σ weight · value`` over the terms of query i, as in ``add_bm25``."""
    for i in range(first, len(out), step):
        line = out[i]
        for entry in range(starts[i], starts[i + 1]):
            weight, term = weights[entry], terms[entry]
            for place in range(indptr[term], indptr[term + 1]):
                line[rows[place]] += weight * values[place]


@_compiled
def largest_live(scores: Array, live: Array, out: Array, first: int, step: int) -> None:
    """The live row with the largest score of each query, the first of several; −1 if none is."""
    for i in range(first, len(scores), step):
        line, best = scores[i], -1
        for j in range(len(line)):
            if live[j] and (best < 0 or line[j] > line[best]):
                best = j
        out[i, 0] = best


@_compiled
def combine(left: Array, right: Array, factors: Array, first: int, step: int) -> None:
    """``left[i] = factors[i, 0] · left[i] + factors[i, 1] · right[i]``."""
    n = left.shape[1]
    for i in range(first, len(left), step):
        a, b = factors[i, 0], factors[i, 1]
        target, other = left[i], right[i]
        for j in range(n):
            target[j] = a * target[j] + b * other[j]
