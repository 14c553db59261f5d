"""From documents to the vectors that are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from dcot.estimator import DCoT
from dcot.search._vectors import unit_rows
from dcot.text import TermCounter
from dcot.vectorizer import DCoTVectorizer

Array = NDArray[Any]

_ROWS = 4096  # documents encoded at a time


def encode_texts(model: Any, texts: list[str], counts: Any, layer: int | None) -> tuple[Array, Any]:
    """Vectors of texts, whose terms have been counted already; and their own words beside them.

    With a ``DCoTVectorizer`` a document is (x, z): its weighted words, CSR, and what a layer
    rebuilds from them without the bias, scaled so that the two together have length one. Each
    keeps its natural share: rare words, of which little can be rebuilt, count by themselves.
    Neither side is centred: a short query has few words, and centring would add the opposite of
    everything else. Other models have no such x, and None stands in its place.
    """
    if not isinstance(model, DCoTVectorizer) or layer is None:
        return _by_blocks(lambda rows: model.transform(texts[rows]), len(texts)), None
    X = model.weighting_.transform(counts[:, : model.dcot_.n_features_in_])
    Z = np.empty((len(texts), len(model.prototypes_)), dtype=np.float32)
    squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    for start in range(0, len(texts), _ROWS):
        rows = slice(start, start + _ROWS)
        part = model.dcot_.reconstruct(X[rows], layer, True)
        squares[rows] += np.einsum("ij,ij->i", part, part, dtype=np.float64)
        scale = 1.0 / np.sqrt(np.where(squares[rows] > 0, squares[rows], 1.0))
        Z[rows] = part * scale[:, None]
    scale = 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0))
    return Z, sp.csr_array(sp.diags_array(scale) @ X).astype(np.float32)


def encode_rows(model: Any, documents: Any, layer: int | None) -> Array:
    """Unit vectors of documents that are rows of numbers: of features, or for a model to read."""
    X = documents if sp.issparse(documents) else np.asarray(documents)
    if X.ndim != 2:
        raise InvalidInputError(
            f"documents must be texts, or a matrix with a row for each, got an array with "
            f"{X.ndim} dimensions"
        )
    X = sp.csr_array(X) if sp.issparse(X) else X
    if model is None:
        return _checked(X)
    if isinstance(model, DCoT) and layer is not None:
        return _by_blocks(lambda rows: model.reconstruct(X[rows], layer, True), X.shape[0])
    return _by_blocks(lambda rows: model.transform(X[rows]), X.shape[0])


def _by_blocks(encode: Callable[[slice], Any], n: int) -> Array:
    """Unit rows of ``encode``, some at a time, so that two copies never stand side by side."""
    parts = [_checked(encode(slice(start, start + _ROWS))) for start in range(0, n, _ROWS)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _checked(features: Any) -> Array:
    """Finite numbers in a dense matrix, as unit rows."""
    if sp.issparse(features):
        raise InvalidInputError(
            f"the features are sparse ({features.shape[1]:,} columns), and an index holds dense "
            "ones: compress them first (DCoT, TruncatedSVD), or pass .toarray() if they are few"
        )
    features = np.asarray(features)
    if features.ndim != 2 or features.dtype.kind not in "fiub":
        raise InvalidTypeError(
            f"features must be a matrix of real numbers, got {features.dtype} with "
            f"{features.ndim} dimensions"
        )
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        raise InvalidInputError(
            f"row {int(np.argmin(finite))} has NaN or infinite values: an angle to it is not "
            "defined; fill in or leave out such rows"
        )
    return unit_rows(features)


def growing_counter(model: Any) -> TermCounter:
    """A counter that begins with the model's terms and learns those of documents to come."""
    if not isinstance(model, DCoTVectorizer):
        return TermCounter(dtype=np.float32)
    counter: TermCounter = clone(model.counter_)
    # limits need all documents at once; here any word may be searched for
    counter.set_params(min_df=1, max_df=1.0, max_features=None)
    counter._terms = model.counter_._terms
    counter.n_documents_ = 0
    return counter


def check_model(model: Any) -> None:
    if model is None or hasattr(model, "transform"):
        return
    hint = ": load it first, with dcot.load" if isinstance(model, str) else ""
    raise InvalidTypeError(
        "model must be a DCoTVectorizer, a DCoT, another transformer, or None, got "
        f"{type(model).__name__}{hint}"
    )


def check_layer(layer: Any) -> None:
    whole = isinstance(layer, int) and not isinstance(layer, bool)
    if layer is not None and (not whole or layer < 1):
        raise InvalidParameterError(
            f"layer must be 1 or more, or None for the model's own features, got {layer!r}"
        )
