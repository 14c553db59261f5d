"""Vectors on a plane, near ones near: PCA first, then refined for a sample, the rest by neighbours.

The refinement is that of UMAP (McInnes et al., 2018) with a simpler curve, on a graph of exact
neighbours: edges pull, random points push. One thread in a fixed order, so the same vectors give
the same map. UMAP itself keeps somewhat more neighbours near, but it needs two more packages, which
compile themselves in every new process (``benchmarks/explore.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from dcot.core.kernels import _compiled

Array = NDArray[Any]

REFINED = 20_000  # vectors that are refined
ANCHORS = 5  # refined neighbours that place one of the others
NEIGHBOURS = 15
SAMPLE = 6000  # vectors that the principal components are found from
DIRECTIONS = 50  # principal components that neighbours are sought in
EPOCHS = 150
PUSHES = 5  # random points that push, for each edge
EXTENT = 10.0
GRAVITY = 0.04  # pulls to the middle, so that groups without common neighbours do not fly away
_BLOCK = 1024


def project(vectors: Array, *, refined: int = REFINED, seed: int = 0) -> Array:
    """Points on the unit square, one for each vector.

    Parameters
    ----------
    vectors : n × d; only directions matter
    refined : how many of them are refined; the others are placed by their neighbours among these
    seed : for the choice of those, and for the points that push
    """
    n = len(vectors)
    if n < 4:
        return np.array([[0.5, 0.5], [0.25, 0.5], [0.75, 0.5]][:n], dtype=np.float32)
    short = principal(vectors, seed=seed)
    generator = np.random.RandomState(seed)
    chosen = np.sort(generator.permutation(n)[:refined])
    units = _unit(short[chosen])
    start = short[chosen][:, :2].astype(np.float64)
    start = start / (np.abs(start).max() or 1.0) * EXTENT
    start += generator.normal(scale=1e-3, size=start.shape)  # equal documents can come apart
    heads, tails = _edges(nearest(units, units, min(NEIGHBOURS, len(units) - 1), itself=False))
    points = np.ascontiguousarray(start, dtype=np.float32)
    _refine(points, heads, tails, EPOCHS, PUSHES, np.uint64(seed + 1))
    placed = np.empty((n, 2), dtype=np.float32)
    placed[chosen] = points
    rest = np.setdiff1d(np.arange(n), chosen, assume_unique=True)
    if len(rest):
        near = nearest(_unit(short[rest]), units, min(ANCHORS, len(units)))
        placed[rest] = np.median(points[near], axis=1)
    return _on_unit_square(placed)


def principal(vectors: Array, k: int = DIRECTIONS, seed: int = 0) -> Array:
    """Unit vectors on their leading principal components, which are those of a sample."""
    n, width = vectors.shape
    rows = np.sort(np.random.RandomState(seed).permutation(n)[:SAMPLE])
    units = _unit(vectors[rows])
    mean = units.mean(axis=0)
    k = min(k, width, len(rows))
    directions = randomized_svd(units - mean, k, n_iter=4, random_state=seed)[2].T
    out = np.zeros((n, max(2, k)), dtype=np.float32)
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        out[part, :k] = (_unit(vectors[part]) - mean) @ directions
    return out


def nearest(queries: Array, units: Array, k: int, itself: bool = True) -> Array:
    """The k unit vectors with the largest cosine, for each query; without the query itself.

    ``itself`` is False where queries are the vectors, in the same order.
    """
    found = np.empty((len(queries), k), dtype=np.int32)
    for start in range(0, len(queries), _BLOCK):
        rows = slice(start, start + _BLOCK)
        cosines = queries[rows] @ units.T
        if not itself:
            cosines[np.arange(len(cosines)), np.arange(start, start + len(cosines))] = -np.inf
        kth = np.argpartition(-cosines, k - 1, axis=1)[:, :k] if k < len(units) else None
        found[rows] = np.arange(len(units)) if kth is None else np.sort(kth, axis=1)
    return found


def _unit(vectors: Array) -> Array:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return (vectors / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(np.float32)


def _edges(near: Array) -> tuple[Array, Array]:
    """Pairs of which one is near the other, each once in both directions."""
    n, k = near.shape
    ones = np.ones(n * k, dtype=np.int8)
    graph = sp.coo_array((ones, (np.repeat(np.arange(n), k), near.ravel())), shape=(n, n)).tocsr()
    both = sp.coo_array(graph + graph.T)
    return both.coords[0].astype(np.int32), both.coords[1].astype(np.int32)


def _on_unit_square(points: Array) -> Array:
    """Scaled alike in both directions; the few that lie far outside are moved to the edge."""
    axes = np.linalg.eigh(np.cov(points.T.astype(np.float64)))[1]
    points = points @ (axes[:, ::-1] * np.where(axes[0, ::-1] < 0, -1.0, 1.0))  # wide, not tall
    low, high = np.percentile(points, [0.1, 99.9], axis=0)
    scale = float((high - low).max()) * 1.06 or 1.0
    placed = np.clip((points - (low + high) / 2) / scale + 0.5, 0.0, 1.0)
    return np.asarray(placed, dtype=np.float32)


@_compiled
def _refine(
    points: Array, heads: Array, tails: Array, epochs: int, pushes: int, state: Any
) -> None:
    """Stochastic gradient descent; ``points`` are moved."""
    n = len(points)
    one, limit = np.float32(1.0), np.float32(4.0)
    for epoch in range(epochs):
        rate = np.float32(1.0 - epoch / epochs)
        for edge in range(len(heads)):
            i, j = heads[edge], tails[edge]
            x, y = points[i, 0], points[i, 1]
            dx, dy = x - points[j, 0], y - points[j, 1]
            pull = np.float32(-2.0) / (one + dx * dx + dy * dy)
            x += min(max(pull * dx, -limit), limit) * rate
            y += min(max(pull * dy, -limit), limit) * rate
            for _ in range(pushes):
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                other = np.int64((state >> np.uint64(11)) % np.uint64(n))
                dx, dy = x - points[other, 0], y - points[other, 1]
                square = dx * dx + dy * dy
                push = np.float32(2.0) / ((np.float32(0.001) + square) * (one + square))
                x += min(max(push * dx, -limit), limit) * rate
                y += min(max(push * dy, -limit), limit) * rate
            points[i, 0], points[i, 1] = x, y
        points *= one - np.float32(GRAVITY) * rate
