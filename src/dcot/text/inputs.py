"""From whatever holds the texts to polars string columns, batch by batch.

Columns of polars and Arrow (pandas' too) are used where they lie; lists, arrays and generators are
read in batches of bounded size. Anything that is not text is refused with its position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.stream import Source

_BATCH_CHARACTERS = 1 << 19
_BATCH_DOCUMENTS = 1 << 14
_SLICE_BYTES = 1 << 20

_ADVICE = {
    "NoneType": 'drop it, or put "" in its place',
    "float": 'drop missing texts, or put "" in their place, as in series.fillna("")',
    "NAType": 'drop missing texts, or put "" in their place, as in series.fillna("")',
    "bytes": "decode it first, as in text.decode('utf-8')",
    "list": 'join its tokens, as in " ".join(tokens)',
    "tuple": 'join its tokens, as in " ".join(tokens)',
}


def batches(documents: Any) -> Iterator[pl.Series]:
    """Columns of strings without missing values, in order, from any kind of input.

    >>> [batch.to_list() for batch in batches(text for text in ("a b", "c"))]
    [['a b', 'c']]
    """
    _refuse_what_is_no_corpus(documents)
    if isinstance(documents, Source):
        for part in documents.batches():
            yield from batches(part.documents)
        return
    if hasattr(documents, "batches"):
        yield from documents.batches()
        return
    column = _as_column(documents)
    if column is not None:
        yield _checked_column(column)
        return
    if isinstance(documents, np.ndarray) or _module(documents) == "pandas":
        documents = documents.tolist()
    position = 0
    for batch in _bounded(documents):
        yield _strings(batch, position)
        position += len(batch)


def is_text(documents: Any, empty: bool = False) -> bool:
    """Whether documents are texts, rather than rows of numbers.

    ``empty`` is the answer for no documents. Nothing is read from generators: they are texts.

    >>> is_text(["a b"]), is_text([[0, 1]]), is_text(text for text in ("a", "b"))
    (True, False, True)
    """
    if isinstance(documents, str | bytes):
        raise InvalidInputError(
            f"got a single {'string' if isinstance(documents, str) else 'bytes'}, expected many "
            "documents: pass [text]"
        )
    if hasattr(documents, "batches") or callable(documents):
        return True
    if hasattr(documents, "toarray") or len(getattr(documents, "shape", (0,))) != 1:
        return False
    if hasattr(documents, "columns") or not hasattr(documents, "__iter__"):
        return False
    if not hasattr(documents, "__len__"):
        return True
    if not len(documents):
        return empty
    if getattr(getattr(documents, "dtype", None), "kind", "O") in tuple("iufcb"):
        return False
    values = _as_column(documents)
    values = documents if values is None else values
    first = next((value for value in values if value is not None and value == value), "")
    return isinstance(first, str | bytes)


def number_of(documents: Any) -> int | None:
    """How many documents there are, if that can be known without reading them.

    >>> number_of(["a", "b"]), number_of(iter(["a"]))
    (2, None)
    """
    try:
        return len(documents)
    except TypeError:
        return None


def slices(columns: Iterable[pl.Series], n_bytes: int = _SLICE_BYTES) -> Iterator[pl.Series]:
    """Columns cut into pieces of about ``n_bytes``, without copying."""
    for column in columns:
        ends = np.cumsum(column.str.len_bytes().to_numpy().astype(np.int64))
        start = 0
        while start < len(column):
            done = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, done + n_bytes, side="right")), start + 1)
            yield column.slice(start, stop - start)
            start = stop


def _module(value: Any) -> str:
    return type(value).__module__.split(".")[0]


def _refuse_what_is_no_corpus(documents: Any) -> None:
    if isinstance(documents, str | bytes):
        raise InvalidInputError(
            f"got a single {type(documents).__name__}, expected many documents: "
            "for one document, pass [text]"
        )
    if isinstance(documents, pl.DataFrame | pl.LazyFrame) or (
        _module(documents) in ("pandas", "pyarrow") and hasattr(documents, "columns")
    ):
        raise InvalidTypeError(
            f"got a {type(documents).__name__}, expected one column of texts: "
            "pass the column, as in frame['text'] (in a ColumnTransformer, 'text' and not ['text'])"
        )
    if isinstance(documents, Mapping):
        raise InvalidTypeError(
            f"got a {type(documents).__name__}, expected a sequence of texts: pass its values"
        )
    if isinstance(documents, set | frozenset):
        raise InvalidTypeError("got a set, which has no order: pass a list of texts")
    if isinstance(documents, np.ndarray) and documents.ndim != 1:
        raise InvalidInputError(
            f"got an array with {documents.ndim} dimensions, expected one: pass array.ravel()"
        )
    iterable = hasattr(documents, "__iter__") or hasattr(documents, "batches")
    if not iterable or isinstance(documents, type):
        raise InvalidTypeError(
            f"got {documents!r} of type {type(documents).__name__}, expected an iterable of texts"
        )


def _as_column(documents: Any) -> pl.Series | None:
    """A polars column over the same memory, where the input is one already; None if it is not."""
    if isinstance(documents, pl.Series):
        return documents
    if _module(documents) == "pyarrow":
        return pl.Series(pl.from_arrow(documents))
    if _module(documents) == "pandas" and hasattr(documents, "array"):
        array = documents.array
        if hasattr(array, "__arrow_array__") and str(documents.dtype) != "object":
            try:
                return pl.Series(pl.from_arrow(array.__arrow_array__()))
            except (ImportError, ValueError):  # no pyarrow: pandas' own strings
                return None
    return None


def _checked_column(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Object:
        return _strings(column.to_list(), 0)
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.Null and len(column):
        raise _not_text(None, 0)
    if column.dtype != pl.String and column.dtype != pl.Null:
        advice = "decode" if column.dtype == pl.Binary else "convert"
        raise InvalidTypeError(
            f"got a column of type {column.dtype}, expected strings: {advice} it first, as in "
            "series.cast(pl.String)"
        )
    if column.null_count():
        raise _not_text(None, int(column.is_null().arg_max() or 0))
    return column.cast(pl.String)


def _bounded(documents: Iterable[Any]) -> Iterator[list[Any]]:
    """Lists of a bounded number of documents and characters."""
    batch: list[Any] = []
    size = 0
    for document in documents:
        batch.append(document)
        if isinstance(document, str):
            size += len(document)
        if size >= _BATCH_CHARACTERS or len(batch) >= _BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _strings(documents: list[Any], position: int) -> pl.Series:
    """A column from a list, or the error that names its first document that is not text."""
    try:
        column = pl.Series(documents, dtype=pl.String, strict=True)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        column = None
    if column is not None and not column.null_count():
        return column
    for i, document in enumerate(documents):
        if not isinstance(document, str):
            raise _not_text(document, position + i)
        _refuse_surrogates(document, position + i)
    return pl.Series([str(document) for document in documents], dtype=pl.String)


def _refuse_surrogates(document: str, position: int) -> None:
    try:
        document.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"document {position} has the lone surrogate {document[error.start]!r} at character "
            f"{error.start}, which is half a character: decode the text again from its bytes, or "
            "drop it with text.encode('utf-8', 'ignore').decode()"
        ) from None


def _not_text(document: Any, position: int) -> InvalidInputError:
    kind = type(document).__name__
    advice = _ADVICE.get(kind, "convert it with str()")
    shown = repr(document)
    shown = shown if len(shown) < 60 else shown[:57] + "..."
    return InvalidInputError(
        f"document {position} is {shown} of type {kind}, expected a string: {advice}"
    )
