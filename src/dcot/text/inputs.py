"""``Texts``, documents as concatenated bytes, and the conversion of any supported input to them.

Arrow arrays (and pandas columns based on Arrow) are used without a copy; everything else is read
in batches of bounded size. A value that is not text raises an error with its position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.stream.sources import Repeatable, Source, bounded
from dcot.text.tables import USUAL_NAMES

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_BATCH_CHARACTERS = 1 << 19
_BATCH_DOCUMENTS = 1 << 14
_SLICE_BYTES = 1 << 20

_TABLES = ("DataFrame", "LazyFrame", "Table", "RecordBatch", "Dataset", "IterableDataset")
_ADVICE = {
    "NoneType": 'drop it, or put "" in its place',
    "float": 'drop missing texts, or put "" in their place, as in series.fillna("")',
    "NAType": 'drop missing texts, or put "" in their place, as in series.fillna("")',
    "bytes": "decode it first, as in text.decode('utf-8')",
    "list": 'join its tokens, as in " ".join(tokens)',
    "tuple": 'join its tokens, as in " ".join(tokens)',
}


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts in UTF-8: text i is ``data[bounds[i]:bounds[i + 1]]``, and ``bounds[0]`` is 0.

    >>> texts = Texts.of(["tea", "thé", ""])
    >>> len(texts), texts.n_bytes, texts[1], texts[1:].to_list()
    (3, 7, 'thé', ['thé', ''])
    """

    data: Bytes
    bounds: Ints

    @classmethod
    def of(cls, strings: Sequence[str]) -> Texts:
        """Build from strings; raise ``TypeError`` or ``UnicodeEncodeError`` if one is not text."""
        joined = "".join(strings)
        if joined.isascii():
            return cls.cut(joined.encode(), list(map(len, strings)))
        encoded = [string.encode() for string in strings]
        return cls.cut(b"".join(encoded), list(map(len, encoded)))

    @classmethod
    def cut(cls, data: Any, lengths: npt.ArrayLike) -> Texts:
        """Build from a buffer with concatenated texts, and their lengths in bytes."""
        lengths = np.asarray(lengths, dtype=np.int64)
        bounds = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=bounds[1:])
        return cls(np.frombuffer(data, dtype=np.uint8), bounds)

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        """Concatenate the texts of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        lengths = [np.diff(part.bounds) for part in parts]
        data = b"".join([part.data.data for part in parts])
        return cls.cut(data, np.concatenate(lengths) if lengths else [])

    @property
    def n_bytes(self) -> int:
        """The size of all texts in bytes."""
        return int(self.bounds[-1])

    def to_list(self) -> list[str]:
        """Return the texts as Python strings."""
        data, cuts = self.data.tobytes(), self.bounds.tolist()
        if data.isascii():
            text = data.decode("ascii")
            return [text[i:j] for i, j in pairwise(cuts)]
        return [data[i:j].decode() for i, j in pairwise(cuts)]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_list())

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Texts: ...
    def __getitem__(self, place: int | slice) -> str | Texts:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step != 1:
                return Texts.of(self.to_list()[place])
            cuts = self.bounds[start : max(start, stop) + 1]
            return Texts(self.data[cuts[0] : cuts[-1]], cuts - cuts[0])
        start = range(len(self))[place]
        return self.data[self.bounds[start] : self.bounds[start + 1]].tobytes().decode()


def batches(documents: Any) -> Iterator[Texts]:
    """Yield texts in order, from any kind of input.

    >>> [batch.to_list() for batch in batches(text for text in ("a b", "c"))]
    [['a b', 'c']]
    """
    _refuse_what_is_no_corpus(documents)
    if isinstance(documents, Source):
        for part in documents.batches():
            yield from batches(part.documents)
        return
    if isinstance(documents, Texts):
        yield documents
        return
    if hasattr(documents, "batches"):
        yield from documents.batches()
        return
    arrow = _as_arrow(documents)
    if arrow is not None:
        yield from _arrow_texts(arrow)
        return
    if _module(documents) == "polars":
        yield from _polars_texts(documents)
        return
    if isinstance(documents, np.ndarray) or _module(documents) == "pandas":
        documents = documents.tolist()
    position = 0
    for batch in bounded(documents, _BATCH_DOCUMENTS, _BATCH_CHARACTERS):
        yield _strings(batch, position)
        position += len(batch)


def as_texts(documents: Any) -> Texts:
    """Check texts of any kind and return them as one batch; a step of a pass."""
    if callable(documents) and not hasattr(documents, "__iter__"):
        documents = Repeatable(documents)
    return Texts.joined(list(batches(documents)))


def as_text_source(documents: Any, allowed: float) -> Source | None:
    """Return a source if one was given, or files too large to count in ``allowed`` bytes."""
    if isinstance(documents, Source):
        return documents
    if callable(documents) and not hasattr(documents, "__iter__"):
        return Repeatable(documents)
    source: Source | None = None
    if hasattr(documents, "_as_source"):  # files
        source = documents._as_source(allowed)
    return source


def is_text(documents: Any, empty: bool = False) -> bool:
    """Whether documents are texts, rather than rows of numbers.

    ``empty`` is returned if there are no documents. Generators are not read, and count as texts.

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
    if _is_table(documents) or not hasattr(documents, "__iter__"):
        return False
    if not hasattr(documents, "__len__"):
        return True
    if not len(documents):
        return empty
    if getattr(getattr(documents, "dtype", None), "kind", "O") in tuple("iufcb"):
        return False
    if _module(documents) == "pyarrow":
        documents = documents.slice(0, 1000).to_pylist()
    first = next((value for value in documents if not _is_missing(value)), "")
    return isinstance(first, str | bytes)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA, whose comparisons are neither."""
    return value is None or type(value).__name__ == "NAType" or not np.all(value == value)


def slices(batches: Iterable[Texts], n_bytes: int = _SLICE_BYTES) -> Iterator[Texts]:
    """Split texts into pieces of about ``n_bytes``, without copying."""
    for texts in batches:
        ends = texts.bounds[1:]
        start = 0
        while start < len(texts):
            done = texts.bounds[start]
            stop = max(int(np.searchsorted(ends, done + n_bytes, side="right")), start + 1)
            yield texts[start:stop]
            start = stop


def _module(value: Any) -> str:
    return type(value).__module__.split(".")[0]


def _is_table(documents: Any) -> bool:
    """Whether documents are a table, not a single column."""
    libraries = ("pandas", "polars", "pyarrow", "datasets")
    return _module(documents) in libraries and type(documents).__name__ in _TABLES


def refuse_table_of_texts(documents: Any) -> None:
    """Raise an error for a table with a column of texts, which is no matrix of numbers."""
    if _is_table(documents) and any(_columns(documents).values()):
        raise _whole_table(documents)


def refuse_nested_texts(documents: Any) -> None:
    """Raise an error for texts in lists of tokens, in dicts, or in an array of two dimensions."""
    several = isinstance(documents, list | tuple) or (
        isinstance(documents, np.ndarray) and documents.ndim == 2
    )
    first: Any = next(iter(documents), None) if several else None
    row = first.ravel()[:1].tolist() if isinstance(first, np.ndarray) else first
    word = row[0] if isinstance(row, list | tuple) and row else None
    if isinstance(first, Mapping) or isinstance(word, str):
        as_texts(documents)


def _whole_table(table: Any) -> InvalidTypeError:
    """The error for a table in place of one of its columns."""
    columns = _columns(table)
    texts = [name for name, text in columns.items() if text] or ["text"]
    name = repr(([name for name in texts if name.lower() in USUAL_NAMES] or texts)[0])
    shown = ", ".join(map(repr, list(columns)[:20])) + (", …" if len(columns) > 20 else "")
    there = f" with the column{'s' * (len(columns) > 1)} {shown}" if columns else ""
    kind = type(table).__name__
    read = "df.collect()" if kind == "LazyFrame" else "df"
    return InvalidTypeError(
        f"got a {kind}{there}, expected one column of texts: pass it, as in {read}[{name}] (in a "
        f"ColumnTransformer, {name} and not [{name}])"
    )


def _columns(table: Any) -> dict[str, bool]:
    """The columns of a table, and whether they are texts."""
    if _module(table) == "pandas":
        named = zip(map(str, table.columns), table.dtypes, strict=True)
        return {
            name: _is_string(kind) or (str(kind) == "object" and is_text(table.iloc[:, place]))
            for place, (name, kind) in enumerate(named)
        }
    if _module(table) == "polars":
        return {name: _is_string(kind) for name, kind in table.collect_schema().items()}
    features = getattr(table, "features", None)  # of the library datasets
    if features is not None:
        return {name: _is_string(getattr(kind, "dtype", kind)) for name, kind in features.items()}
    schema = getattr(table, "schema", None)
    return {} if schema is None else {field.name: _is_string(field.type) for field in schema}


def _is_string(kind: Any) -> bool:
    """Whether the type of a column is that of strings, by its name."""
    name = str(kind).lower()
    return name == "str" or name.startswith(("string", "large_string", "utf8"))


def _refuse_what_is_no_corpus(documents: Any) -> None:
    if isinstance(documents, str | bytes):
        raise InvalidInputError(
            f"got a single {type(documents).__name__}, expected many documents: "
            "for one document, pass [text]"
        )
    if _is_table(documents):
        raise _whole_table(documents)
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


def _as_arrow(documents: Any) -> Any:
    """Return the input as an Arrow array over the same memory; None if it is not one."""
    if _module(documents) == "pyarrow":
        return documents
    if _module(documents) == "pandas" and hasattr(documents, "array"):
        array = documents.array
        if hasattr(array, "__arrow_array__") and str(documents.dtype) != "object":
            with suppress(ImportError, ValueError):  # no pyarrow: plain pandas strings
                return array.__arrow_array__()
    return None


def _arrow_texts(array: Any) -> Iterator[Texts]:
    """Yield the texts of an Arrow array or chunked array, without copying the bytes."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    kind = array.type
    view = getattr(pa.types, "is_string_view", pa.types.is_null)  # since pyarrow 16
    strings = pa.types.is_string(kind) or pa.types.is_large_string(kind) or view(kind)
    if array.null_count:
        raise _not_text(None, array.is_null().to_pylist().index(True))
    if not strings and len(array):
        raise _wrong_column(kind, decode=pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
    for chunk in getattr(array, "chunks", [array]):
        chunk = chunk.cast(pa.large_string())
        _, offsets, data = chunk.buffers()
        if not len(chunk):
            continue
        cuts = np.frombuffer(offsets, np.int64, len(chunk) + 1, 8 * chunk.offset)
        content = np.frombuffer(data or b"", np.uint8)[cuts[0] : cuts[-1]]
        yield Texts(content, cuts - cuts[0])


def _polars_texts(column: Any) -> Iterator[Texts]:
    """Yield the texts of a polars column, several thousand at a time."""
    import polars as pl

    if column.dtype == pl.Object:
        yield from batches(column.to_list())
        return
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.null_count():
        raise _not_text(None, int(column.is_null().arg_max() or 0))
    if len(column) and column.dtype != pl.String:
        raise _wrong_column(column.dtype, decode=column.dtype == pl.Binary)
    for start in range(0, len(column), _BATCH_DOCUMENTS):
        piece = column.slice(start, _BATCH_DOCUMENTS)
        data = piece.str.join("").cast(pl.Binary).item()
        yield Texts.cut(data, piece.str.len_bytes().to_numpy())


def _wrong_column(kind: Any, decode: bool) -> InvalidTypeError:
    return InvalidTypeError(
        f"got a column of type {kind}, expected strings: {'decode' if decode else 'convert'} it "
        "first"
    )


def _strings(documents: list[Any], position: int) -> Texts:
    """Return the texts of a list; raise an error that names the first document that is not text."""
    try:
        return Texts.of(documents)
    except (TypeError, AttributeError, UnicodeEncodeError):
        for place, document in enumerate(documents, position):
            if not isinstance(document, str):
                raise _not_text(document, place) from None
            surrogate = next((char for char in document if "\ud800" <= char <= "\udfff"), None)
            if surrogate is not None:
                raise InvalidInputError(
                    f"document {place} has the lone surrogate {surrogate!r} at character "
                    f"{document.index(surrogate)}, which is half a character: decode the text "
                    "again from its bytes, or drop it with text.encode('utf-8', 'ignore').decode()"
                ) from None
        raise


def _not_text(document: Any, position: int) -> InvalidInputError:
    kind = type(document).__name__
    advice = _ADVICE.get(kind, "convert it with str()")
    shown = repr(document)
    shown = shown if len(shown) < 60 else shown[:57] + "..."
    return InvalidInputError(
        f"document {position} is {shown} of type {kind}, expected a string: {advice}"
    )
