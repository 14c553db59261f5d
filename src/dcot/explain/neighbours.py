"""Compare terms by their values as one-word documents, without a d × r copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.layers import Layer, row_blocks

Array = NDArray[Any]
Weigh = Callable[[Any], Any]

N_DIRECTIONS = 64  # leading directions of later layers, for lower bounds on lengths
TERMS_PER_STEP = 256
TIE = 100  # cosines that differ by fewer rounding units are equal


def one_word_values(layers: Sequence[Layer], place: int, weigh: Weigh) -> Array:
    """Return the value of one prototype for every one-word document, without the bias."""
    if not _linear(layers):
        parts = [values[:, place] for values in _blocks(layers, weigh)]
        return np.concatenate(parts).astype(np.float64)
    back = np.zeros(layers[-1].coef_.shape[1], dtype=layers[0].coef_.dtype)
    back[place] = 1
    for layer in reversed(layers[1:]):
        back = layer.coef_ @ back
    unit = weigh(sp.eye_array(len(layers[0].coef_), dtype=back.dtype, format="csr")).diagonal()
    return np.asarray(unit * (layers[0].coef_ @ back), dtype=np.float64)


def term_lengths(layers: Sequence[Layer]) -> Array | None:
    """Return the lengths of the values of all terms, for ``cosines``; None with squashing."""
    if not _linear(layers):
        return None
    coef = layers[0].coef_
    parts = [
        _lengths(_deepened(coef[rows], layers)) for rows in row_blocks(len(coef), coef[:1].nbytes)
    ]
    return np.concatenate(parts)


def cosines(
    layers: Sequence[Layer],
    column: int,
    k: int,
    weigh: Weigh,
    first: Array,
    lengths: Array | None = None,
) -> tuple[Array, Array]:
    """Return the k terms most similar to a term, by the cosine of values without the bias.

    Ties are ordered by ``first``, the larger entry first. A term whose values are all zero is not
    similar to any. ``lengths`` is the result of ``term_lengths`` for these layers, if known.
    """
    if not _linear(layers):
        cosine = _by_comparing_all(layers, column, weigh)
    elif len(layers) == 1 or lengths is not None:
        coef = layers[0].coef_
        lengths = _lengths(coef) if lengths is None else lengths
        target = _deepened(coef[column], layers)
        cosine = _ratio(coef @ _back(target, layers), lengths, float(lengths[column]))
    else:
        cosine = _by_bounds(layers, column, k)
    return _largest(cosine, column, k, first, _tie(layers))


def _by_comparing_all(layers: Sequence[Layer], column: int, weigh: Weigh) -> Array:
    target = values_of(layers, np.array([column]), weigh)[0]
    products, lengths = [], []
    for values in _blocks(layers, weigh):
        products.append(values @ target)
        lengths.append(_lengths(values))
    length = float(np.linalg.norm(target))
    return _ratio(np.concatenate(products), np.concatenate(lengths), length)


def _by_bounds(layers: Sequence[Layer], column: int, k: int) -> Array:
    """Return the cosines of all terms that can be among the best k, -inf for the others.

    The lengths of all terms would take d × r² operations. A term is at least as long as its
    projection on a few leading directions, which bounds its cosine from above. Terms are compared
    in the order of this bound, until it falls below the best k.
    """
    coef = layers[0].coef_
    target = _deepened(coef[column], layers)
    length = float(np.linalg.norm(target))
    products = coef @ _back(target, layers)
    shortest = _lengths(coef @ _back(_leading(layers), layers))
    bounds = _bounds(products, shortest, length)
    order = np.argsort(-bounds, kind="stable")
    exact = np.full(len(coef), -np.inf)
    for start in range(0, len(order), TERMS_PER_STEP):
        some = order[start : start + TERMS_PER_STEP]
        # k + 1, because the term itself is among the best; ties continue
        if start >= k and np.sort(exact)[-k - 1] > bounds[some[0]] + _tie(layers):
            break
        exact[some] = _ratio(products[some], _lengths(_deepened(coef[some], layers)), length)
    return exact


def _deepened(rows: Array, layers: Sequence[Layer]) -> Array:
    """Map outputs of layer 1 to outputs of the last layer, without squashing or bias."""
    for layer in layers[1:]:
        rows = rows @ layer.coef_
    return rows


def _back(vectors: Array, layers: Sequence[Layer]) -> Array:
    """The transpose of ``_deepened``: from the last layer to the first."""
    for layer in reversed(layers[1:]):
        vectors = layer.coef_ @ vectors
    return vectors


def _leading(layers: Sequence[Layer]) -> Array:
    """Return orthonormal directions that the later layers amplify most."""
    width, dtype = layers[0].coef_.shape[1], layers[0].coef_.dtype
    generator = np.random.default_rng(0)
    start = generator.standard_normal((width, min(N_DIRECTIONS, width))).astype(dtype)
    return np.linalg.qr(_deepened(_back(start, layers).T, layers).T)[0]


def _bounds(products: Array, shortest: Array, length: float) -> Array:
    """Return upper bounds of cosines, given lower bounds of the lengths."""
    scale = shortest.astype(np.float64) * length * (1 - 1e-4)  # the lengths are rounded
    with np.errstate(divide="ignore"):
        bounds = np.where(products > 0, products / np.maximum(scale, 1e-300), 0.0)
    return np.asarray(bounds)


def _ratio(products: Array, lengths: Array, length: float) -> Array:
    scale = lengths.astype(np.float64) * length
    out = np.full(len(scale), -np.inf)
    return np.asarray(np.divide(products, scale, out=out, where=scale > 0))


def _largest(values: Array, column: int, k: int, first: Array, tie: float) -> tuple[Array, Array]:
    values = values.copy()
    values[column] = -np.inf
    order = np.lexsort((-values, -first.astype(np.float64), -np.round(values / tie)))[:k]
    order = order[np.isfinite(values[order])]
    return order, np.clip(values[order], -1.0, 1.0)


def _tie(layers: Sequence[Layer]) -> float:
    return TIE * float(np.finfo(layers[0].coef_.dtype).eps)


def _lengths(rows: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def _linear(layers: Sequence[Layer]) -> bool:
    return all(layer.squash == "identity" for layer in layers)


def _blocks(layers: Sequence[Layer], weigh: Weigh) -> Iterator[Array]:
    """Yield the values of all terms, in blocks."""
    d, r = layers[0].coef_.shape
    for rows in row_blocks(d, r * layers[0].coef_.itemsize):
        yield values_of(layers, np.arange(rows.start, rows.stop), weigh)


def values_of(layers: Sequence[Layer], columns: Array, weigh: Weigh) -> Array:
    """Return the values of one-word documents without the bias: terms × prototypes."""
    dtype, n = layers[0].coef_.dtype, len(columns)
    cells = (np.ones(n, dtype=dtype), columns.astype(np.int32), np.arange(n + 1, dtype=np.int32))
    words = sp.csr_array(cells, shape=(n, len(layers[0].coef_)))
    Z = sp.csr_array(weigh(words)).astype(dtype)
    bias = sp.csr_array((1, Z.shape[1]), dtype=dtype)
    for layer in layers:
        Z, bias = layer.outputs(Z), layer.outputs(bias)
    return np.asarray(Z - bias)
