"""Read documents and queries, and encode them as the vectors that are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcot.core.centred import canonical, check_kind
from dcot.embedding.vectors import Embedding
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.estimator import DCoT
from dcot.text import TermCounter
from dcot.text.inputs import batches, refuse_table_of_texts
from dcot.vectorizer import DCoTVectorizer

Array = npt.NDArray[Any]

DOCUMENTS_PER_BLOCK = 4096  # encoded at a time
VALUES_PER_BLOCK = 1 << 16  # scaled at a time in double precision: they stay in the cache


class Transformer(Protocol):
    """Anything that turns documents into features."""

    def transform(self, X: Any) -> Any: ...


# -- documents and queries ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Batch:
    """Documents or queries, either as texts or as the rows of a matrix."""

    texts: list[str] | None
    matrix: Any = None

    def __len__(self) -> int:
        return len(self.texts) if self.texts is not None else int(self.matrix.shape[0])


def read_documents(documents: Any, expects_texts: bool | None) -> Batch:
    """Read documents for an index of texts (True), of features (False), or undecided (None)."""
    if isinstance(documents, str):
        raise InvalidInputError("documents must be a list: put a single text into a list")
    refuse_table_of_texts(documents)
    given = _are_texts(documents)
    if getattr(documents, "shape", None) == ():
        raise InvalidInputError("documents must be texts or a matrix, got an array of one value")
    if hasattr(documents, "__len__") and not sp.issparse(documents) and not len(documents):
        given = given if expects_texts is None else expects_texts
        documents = documents if given else np.zeros((0, 0))
    if expects_texts is not None and given != expects_texts:
        kinds = ("rows of numbers", "texts")
        raise InvalidInputError(
            f"this index holds {kinds[expects_texts]}, and got {kinds[given]}: all documents of "
            "an index must be of one kind"
        )
    if given:
        return Batch([text for batch in batches(documents) for text in batch.to_list()])
    matrix = documents if sp.issparse(documents) else _as_array(documents)
    if matrix.ndim != 2:
        raise InvalidInputError(
            "documents must be texts or a matrix with a row for each, got an array with "
            f"{matrix.ndim} dimensions"
        )
    return Batch(None, matrix)


def read_queries(queries: Any, expects_texts: bool | None) -> tuple[bool, Batch]:
    """Read queries, and tell whether there is a single one."""
    if isinstance(queries, str):
        if expects_texts is False:
            raise InvalidInputError(
                "this index holds features and cannot read a text: pass the features of the "
                "query, made like those of the documents"
            )
        return True, Batch([queries])
    if expects_texts is not True and not sp.issparse(queries) and not _are_texts(queries):
        matrix = _as_array(queries)
        if matrix.ndim == 1:
            return True, Batch(None, matrix[None, :])
    return False, read_documents(queries, expects_texts)


def _as_array(rows: Any) -> Array:
    check_kind(rows)
    try:
        return np.asarray(rows)
    except ValueError as error:  # rows of several lengths
        raise InvalidInputError(f"the rows do not form a matrix: {error}") from error


def _are_texts(documents: Any) -> bool:
    if len(getattr(documents, "shape", (0,))) != 1:
        return False
    if isinstance(documents, Sequence) or hasattr(documents, "dtype"):
        first = next(iter(documents), "")
        return first is None or isinstance(first, str | bytes)
    return True


def counter_of(model: Transformer | None) -> TermCounter:
    """A counter of words; its first columns are those of the model."""
    if isinstance(model, DCoTVectorizer):
        return model.counter_
    return TermCounter(dtype=np.float32)._restore_terms([], 0)


# -- vectors --------------------------------------------------------------------------------------


def encode_texts(model: Transformer, texts: list[str], counts: Any, layer: int | None) -> Array:
    """Unit vectors of texts with counted terms.

    For a ``DCoTVectorizer`` they are the values that a layer reconstructs, without the bias. They
    are not centred: a short query has few words, and centring would add the opposite of all
    others.
    """
    if not isinstance(model, DCoTVectorizer) or layer is None:
        return _by_blocks(lambda rows: model.transform(texts[rows]), len(texts))
    X = weighed(model, counts)
    return _by_blocks(lambda rows: model.dcot_.reconstruct(X[rows], layer, True), len(texts))


def weighed(model: Transformer, counts: Any) -> Any:
    """The terms of texts as the model weighs them; the counts, if it does not read terms."""
    return model._pipeline.weigh(counts) if isinstance(model, DCoTVectorizer) else counts


def with_vectors(meanings: Array, embedding: Embedding, vectors: Array) -> Array:
    """Unit rows of both: their cosine is the weighted mean of the two cosines.

    >>> embedding = Embedding("encoder", "", mean=np.zeros(1), weight=0.25)
    >>> with_vectors(np.array([[1.0]]), embedding, np.array([[2.0]])).round(3).tolist()
    [[0.8939999938011169, 0.44699999690055847]]
    """
    return unit_rows(np.hstack([meanings, embedding.features(vectors)]))


def encode_rows(model: Transformer | None, documents: Any, layer: int | None) -> Array:
    """Unit vectors of rows of numbers, which are features or the input of a model."""
    X = canonical(documents, documents.dtype) if sp.issparse(documents) else documents
    if model is None:
        return _checked(X)
    if isinstance(model, DCoT) and layer is not None:
        return _by_blocks(lambda rows: model.reconstruct(X[rows], layer, True), X.shape[0])
    return _by_blocks(lambda rows: model.transform(X[rows]), X.shape[0])


def _by_blocks(encode: Callable[[slice], Any], n: int) -> Array:
    """Unit rows of ``encode``, in blocks that are written to their place: no second copy of all."""
    step = DOCUMENTS_PER_BLOCK
    first = _checked(encode(slice(0, step)))
    if n <= step:
        return first
    out = np.empty((n, first.shape[1]), dtype=first.dtype)
    out[:step] = first
    for start in range(step, n, step):
        out[start : start + step] = _checked(encode(slice(start, start + step)))
    return out


def _checked(features: Any) -> Array:
    """Check that features are a dense matrix of finite numbers, and scale them to unit rows."""
    if sp.issparse(features):
        raise InvalidInputError(
            f"the features are sparse ({features.shape[1]:,} columns), and an index needs dense "
            "ones: compress them first (DCoT, TruncatedSVD), or pass .toarray() if they are few"
        )
    features = np.asarray(features)
    if features.ndim != 2 or features.dtype.kind not in "fiub":
        raise InvalidTypeError(
            f"features must be a matrix of real numbers, got {features.dtype} with "
            f"{features.ndim} dimensions"
        )
    if len(features) and not features.shape[1]:
        raise InvalidInputError("the rows have no columns, so angles are not defined")
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        raise InvalidInputError(
            f"row {int(np.argmin(finite))} has NaN or infinite values, so an angle to it is not "
            "defined: fill in such rows or leave them out"
        )
    return unit_rows(features)


def unit_rows(features: Array) -> Array:
    """Scale rows to length one, as float32; a row of zeros stays zero.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    out = np.empty(features.shape, dtype=np.float32)
    step = max(1, VALUES_PER_BLOCK // max(1, features.shape[1]))
    for start in range(0, len(features), step):
        rows = features[start : start + step].astype(np.float64)
        # divide by the largest value first: squares of extreme values leave the range
        largest = np.abs(rows).max(axis=1, initial=0.0)[:, None]
        rows /= np.where(largest > 0, largest, 1.0)
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        out[start : start + step] = rows / np.where(norms > 0, norms, 1.0)
    return out
