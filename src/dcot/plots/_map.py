"""A map of terms: terms with similar meanings are close together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.options import check_integer
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.explain import Readable
from dcot.plots._figure import COLOURS, MARKERS, OURS, axes_of, literal

Array = NDArray[Any]

# Directions to try: right and left before above and below, at increasing distances.
_ANGLES = np.deg2rad([0, 180, 60, 120, -60, -120, 90, -90, 30, 150, -30, -150])
_DISTANCES = (6, 11, 18, 27, 38, 52, 70)
_PAD = 1.5  # pixels between names
_STEPS = 300  # to place the points


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
    """Draw words and their most similar terms on a plane.

    Distances on the map approximate the angles between the values of terms in a layer (metric
    multidimensional scaling, started from the principal components, so the map needs no seed).
    Each word and its neighbours share a mark.

    Parameters
    ----------
    model : a fitted ``DCoT``, ``DCoTVectorizer`` or ``DCoTClassifier`` that knows its terms
    words : words to draw
    neighbours : number of ``model.similar_terms`` to draw with each word
    layer : layer to compare in; by default the last
    names : names of the columns, for a model of matrices that was fitted without names
    ax : matplotlib axes to draw on; by default those of a new figure
    title : title of the figure

    Returns
    -------
    The matplotlib figure.

    Raises
    ------
    InvalidInputError
        If ``words`` is not a list of words, or there are fewer than three terms to draw.
    InvalidParameterError
        If ``neighbours`` is not a whole number, zero or more.
    InvalidTypeError
        If ``model`` is not one of dcot.
    UnknownTermError
        If the model does not know a word.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dcot import DCoTVectorizer, plots
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
    >>> model = DCoTVectorizer(n_prototypes=3).fit(texts)
    >>> figure = plots.term_map(model, ["opec", "harvest"], neighbours=2)
    >>> len(figure.axes)
    1
    """
    listed = isinstance(words, Iterable) and not isinstance(words, str)
    listed = listed and getattr(words, "ndim", 1) != 0
    seeds: list[Any] = list(words) if listed else []
    if not seeds or not all(isinstance(word, Hashable) for word in seeds):
        raise InvalidInputError(f"words must be a list of at least one word, got {words!r:.60}")
    seeds = list(dict.fromkeys(seeds))
    if not isinstance(neighbours, Integral) or neighbours:
        check_integer("neighbours", neighbours)
    if not hasattr(model, "_reader"):
        raise InvalidTypeError(
            f"expected a DCoTVectorizer, DCoT or DCoTClassifier, got {type(model).__name__}"
        )
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
        members = [place for place, term in enumerate(terms) if group[term] == number]
        ax.plot(
            points[members, 0],
            points[members, 1],
            linestyle="",
            marker=MARKERS[number % len(MARKERS)],
            markersize=5,
            color=(OURS, *COLOURS)[number % (1 + len(COLOURS))],
        )
    ax.margins(0.1)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color("0.8")
    ax.set_title(title)
    place_labels(ax, points, terms, bold=set(seeds))
    return ax.figure


def plane(vectors: Array) -> Array:
    """Points with distances close to the angles between vectors."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float64)
    angles = np.arccos(np.clip(units @ units.T, -1, 1))
    np.fill_diagonal(angles, 0)
    points = _principal(units)
    for _ in range(_STEPS):  # SMACOF: each step minimises an upper bound, so the error never grows
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
    # the sign of a component is arbitrary: put the outermost point on the right, or on top
    for axis in range(2):
        if points[np.abs(points[:, axis]).argmax(), axis] < 0:
            points[:, axis] *= -1
    return points


def place_labels(ax: Any, points: Array, names: Sequence[str], bold: set[str]) -> None:
    """Write a name beside each point; a name that would overlap is moved and gets a line."""
    ax.figure.draw_without_rendering()  # fixes the layout, so that pixels are final
    pixels = ax.transData.transform(points)
    scale = ax.figure.dpi / 72
    taken = [np.concatenate([place - 3.5 * scale, place + 3.5 * scale]) for place in pixels]
    for place in sorted(range(len(names)), key=lambda place: names[place] not in bold):
        text = ax.annotate(
            literal(str(names[place])),
            points[place],
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8.5,
            fontweight="bold" if names[place] in bold else "normal",
        )
        extent = text.get_window_extent()
        half = np.array([extent.width, extent.height]) / 2 + _PAD
        others = np.array(taken[:place] + taken[place + 1 :])
        inside = ax.get_window_extent()
        offset, distance = _free_place(pixels[place], half, others, inside.extents, scale)
        text.set_position(tuple(offset / scale))
        middle = pixels[place] + offset
        taken.append(np.concatenate([middle - half, middle + half]))
        if distance > _DISTANCES[1]:
            _tie(ax, points[place], offset / scale, half / scale)


def _free_place(
    point: Array, half: Array, others: Array, inside: Array, scale: float
) -> tuple[Array, float]:
    """The first free place for a name, or the least taken: its offset and distance.

    ``others`` and ``inside`` are boxes: left, bottom, right and top.
    """
    ways = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    beside = np.sign(np.round(ways, 3)) * half * np.abs(ways)
    offsets = np.concatenate([ways * distance * scale + beside for distance in _DISTANCES])
    low, high = point + offsets - half, point + offsets + half
    shared = np.minimum(high[:, None], others[:, 2:]) - np.maximum(low[:, None], others[:, :2])
    overlap = np.maximum(shared, 0).prod(axis=2).sum(axis=1)
    outside = np.maximum(inside[:2] - low, 0) + np.maximum(high - inside[2:], 0)
    best = int(np.argmin(overlap + 1000 * outside.sum(axis=1)))
    return offsets[best], _DISTANCES[best // len(_ANGLES)]


def _tie(ax: Any, point: Array, offset: Array, half: Array) -> None:
    """A thin line from a point to its name."""
    reach = 1 - min(1.0, float(np.min(half / np.maximum(np.abs(offset), 1e-9))))
    style = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
    end = tuple(offset * reach)
    ax.annotate("", point, xytext=end, textcoords="offset points", arrowprops=style, zorder=1)
