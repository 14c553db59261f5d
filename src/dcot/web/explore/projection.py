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

from dcot.core.kernels import _compiled
from dcot.core.representation import orthonormal

Array = NDArray[Any]

MAX_REFINED = 20_000  # vectors that are refined
ANCHORS = 5  # refined neighbours that place one of the others
NEIGHBOURS = 15
PCA_SAMPLE = 4000  # vectors that the principal components are found from
N_DIRECTIONS = 50  # principal components that neighbours are sought in
EXTRA_DIRECTIONS = 10  # more directions than that are iterated, which makes few iterations enough
ITERATIONS = 3
EPOCHS = 150
REPULSIONS_PER_EDGE = 5  # random points that push, for each edge
EXTENT = 10.0
GRAVITY = 0.04  # pulls to the middle, so that groups without common neighbours do not fly away
_BLOCK = 1024


def project(vectors: Array, *, refined: int = MAX_REFINED, seed: int = 0) -> Array:
    """Points on the unit square, one for each vector.

    Parameters
    ----------
    vectors : n × d; only directions matter
    refined : how many of them are refined; the others are placed by their neighbours among these
    seed : for the choice of those, and for the points that push
    """
    return place(principal(vectors, seed), refined=refined, seed=seed)


def place(short: Array, *, refined: int = MAX_REFINED, seed: int = 0) -> Array:
    """The same for vectors on their principal components."""
    n = len(short)
    if n < 4:
        return np.array([[0.5, 0.5], [0.25, 0.5], [0.75, 0.5]][:n], dtype=np.float32)
    generator = np.random.RandomState(seed)
    chosen = np.sort(generator.permutation(n)[:refined])
    units = _unit(short[chosen])
    start = short[chosen][:, :2].astype(np.float64)
    start = start / (np.abs(start).max() or 1.0) * EXTENT
    start += generator.normal(scale=1e-3, size=start.shape)  # equal documents can come apart
    heads, tails = _edges(nearest(units, units, min(NEIGHBOURS, len(units) - 1), itself=False))
    points = np.ascontiguousarray(start, dtype=np.float32)
    _refine(points, heads, tails, EPOCHS, REPULSIONS_PER_EDGE, np.uint64(seed + 1))
    placed = np.empty((n, 2), dtype=np.float32)
    placed[chosen] = points
    rest = np.setdiff1d(np.arange(n), chosen, assume_unique=True)
    if len(rest):
        near = nearest(_unit(short[rest]), units, min(ANCHORS, len(units)))
        placed[rest] = np.median(points[near], axis=1)
    return _on_unit_square(placed)


def principal(vectors: Array, seed: int = 0) -> Array:
    """Unit vectors on their leading principal components, which are those of a sample."""
    n, width = vectors.shape
    generator = np.random.RandomState(seed)
    units = _unit(vectors[np.sort(generator.permutation(n)[:PCA_SAMPLE])])
    mean = units.mean(axis=0)
    units -= mean
    k = min(N_DIRECTIONS, width, len(units))
    directions = _leading(units, k, generator).astype(np.float32)
    k, shift = directions.shape[1], mean @ directions
    out = np.zeros((n, max(2, k)), dtype=np.float32)
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        out[part, :k] = (vectors[part] @ directions) * _inverse_lengths(vectors[part]) - shift
    return out


def _leading(centred: Array, k: int, generator: np.random.RandomState) -> Array:
    """The leading principal directions, the first first, by iterating a random subspace.

    As in ``dcot.web.space.leading_directions``: products of matrices do nearly all of it.
    """
    width = min(k + EXTRA_DIRECTIONS, *centred.shape)
    basis = generator.standard_normal((centred.shape[1], width)).astype(centred.dtype)
    for _ in range(ITERATIONS):
        basis = orthonormal(centred.T @ (centred @ basis)).astype(centred.dtype)
    scores = (centred @ basis).astype(np.float64)
    found = np.linalg.eigh(scores.T @ scores)[1][:, ::-1][:, :k]
    directions = basis @ found
    largest = np.abs(directions).argmax(axis=0)  # the sign is free: fixed by the direction itself
    return np.asarray(directions * np.sign(directions[largest, np.arange(directions.shape[1])]))


def nearest(queries: Array, units: Array, k: int, itself: bool = True) -> Array:
    """The k unit vectors with the largest cosine, for each query; without the query itself.

    ``itself`` is False where queries are the vectors, in the same order.
    """
    found = np.empty((len(queries), k), dtype=np.int32)
    for start in range(0, len(queries), _BLOCK):
        rows = slice(start, start + _BLOCK)
        cosines = np.asarray(queries[rows] @ units.T, dtype=np.float32)
        if not itself:
            cosines[np.arange(len(cosines)), np.arange(start, start + len(cosines))] = -np.inf
        _largest(cosines, found[rows])
    return np.sort(found, axis=1)


@_compiled
def _largest(values: Array, found: Array) -> None:
    """Columns of the largest values of each row, in any order; of equal ones, the first."""
    k = found.shape[1]
    best = np.empty(k, dtype=values.dtype)
    for row in range(len(values)):
        best[:] = -np.inf
        found[row] = 0
        for column in range(values.shape[1]):
            value = values[row, column]
            if value > best[k - 1]:
                place = k - 1
                while place > 0 and best[place - 1] < value:
                    best[place] = best[place - 1]
                    found[row, place] = found[row, place - 1]
                    place -= 1
                best[place] = value
                found[row, place] = column


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors * _inverse_lengths(vectors), dtype=np.float32)


def _inverse_lengths(vectors: Array) -> Array:
    """One over the length of each row, as a column; 0 for a row of zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    inverse = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    return np.asarray(inverse.astype(np.float32)[:, None])


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
