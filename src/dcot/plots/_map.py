"""A map of terms: those that mean alike lie together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import InvalidInputError
from dcot.explain import Readable
from dcot.plots._figure import MARKERS, axes_of
from dcot.plots._labels import place_labels

Array = NDArray[Any]


def term_map(
    model: Readable,
    words: Iterable[str],
    *,
    neighbours: int = 8,
    layer: int | None = None,
    names: Any = None,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw words and their nearest terms on a plane.

    Every term is the direction of its values in a layer. Distances on the map are as near as can be
    to the angles between them (metric scaling, started from the principal components: the same
    every time, with no seed). Each word and its neighbours share a mark.

    Parameters
    ----------
    model : a fitted ``DCoT``, ``DCoTVectorizer`` or ``DCoTClassifier`` that knows its terms
    words : to draw
    neighbours : how many of ``model.similar_terms`` to draw with each; 0 for the words alone
    layer : whose values, by default the last layer's
    names : names of the columns, for a model of matrices that was fitted without names
    ax : matplotlib axes to draw on; a new figure if not given
    title : above it

    Returns
    -------
    The matplotlib figure.
    """
    seeds = list(dict.fromkeys(words))
    if isinstance(words, str) or not seeds:
        raise InvalidInputError(f"words must be a list of at least one word, got {words!r:.60}")
    reader = model._reader(names)
    group = {seed: number for number, seed in enumerate(seeds)}
    for number, seed in enumerate(seeds):
        if neighbours:
            for term in reader.similar(seed, neighbours, layer).terms:
                group.setdefault(term, number)
    terms = list(group)
    if len(terms) < 3:
        raise InvalidInputError(f"a map needs at least three terms, got {terms}")
    points = plane(reader.vectors(terms, layer))
    ax = axes_of(ax, 7.5, 5.5)
    for number, _ in enumerate(seeds):
        own = [place for place, term in enumerate(terms) if group[term] == number]
        ax.plot(
            points[own, 0],
            points[own, 1],
            linestyle="",
            marker=MARKERS[number % len(MARKERS)],
            markersize=5,
            markerfacecolor=("0.25", "white", "0.7")[number // len(MARKERS) % 3],
            markeredgecolor="black",
            markeredgewidth=0.7,
        )
    ax.margins(0.1)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color("0.8")
    ax.set_title(title)
    place_labels(ax, points, terms, bold=set(seeds))
    return ax.figure


def plane(vectors: Array, n_iter: int = 300) -> Array:
    """Points whose distances are near to the angles between vectors."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float64)
    angles = np.arccos(np.clip(units @ units.T, -1, 1))
    np.fill_diagonal(angles, 0)
    points = _principal(units)
    for _ in range(n_iter):  # SMACOF: each step is the least squares of a bound, and never worse
        distances = np.linalg.norm(points[:, None] - points[None, :], axis=2)
        ratio = np.divide(angles, distances, out=np.zeros_like(angles), where=distances > 1e-12)
        pull = -ratio
        np.fill_diagonal(pull, ratio.sum(axis=1))
        points = pull @ points / len(points)
    return _principal(points)


def _principal(vectors: Array) -> Array:
    """Vectors on their two leading principal components."""
    left, scale, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    points = np.zeros((len(vectors), 2))
    points[:, : min(2, len(scale))] = (left * scale)[:, :2]
    # the sign of a component is free: the outermost point is on the right, and on top
    for axis in range(2):
        if points[np.abs(points[:, axis]).argmax(), axis] < 0:
            points[:, axis] *= -1
    return points
