"""What is known about each document besides its numbers: id, metadata and, if kept, its text.

In a model folder a column is JSON texts end to end, so that a mapped index with a million
documents reads only the records it shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import InvalidInputError, InvalidTypeError, ModelFormatError
from dcot.persistence import Contents
from dcot.persistence.contents import DAMAGED

Array = NDArray[Any]
Id = str | int


class Column:
    """Values of the documents, one each: a list, or JSON texts that are read when needed."""

    def __init__(self, values: Iterable[Any] = (), packed: tuple[Array, Array] | None = None):
        self._values = list(values)
        self._packed = packed

    def __len__(self) -> int:
        return len(self._values) if self._packed is None else len(self._packed[1]) - 1

    def __getitem__(self, row: int) -> Any:
        if self._packed is None:
            return self._values[row]
        content, cuts = self._packed
        return _parse(content[cuts[row] : cuts[row + 1]].tobytes())

    def all(self) -> list[Any]:
        """Every value; from here on they are in memory."""
        if self._packed is not None:
            content, cuts = self._packed[0].tobytes(), self._packed[1].tolist()
            self._values = [_parse(content[start:end]) for start, end in pairwise(cuts)]
            self._packed = None
        return self._values

    def extend(self, values: Iterable[Any]) -> None:
        self.all().extend(values)

    def keep(self, rows: Array) -> None:
        values = self.all()
        self._values = [values[row] for row in rows.tolist()]

    def pack(self) -> tuple[Array, Array]:
        """JSON texts end to end, and where each begins and ends."""
        if self._packed is not None:
            return self._packed
        texts = [json.dumps(value, sort_keys=True).encode() for value in self._values]
        cuts = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in texts], out=cuts[1:])
        return np.frombuffer(bytearray(b"".join(texts)), dtype=np.uint8), cuts

    @classmethod
    def unpack(cls, contents: Contents, name: str, n: int) -> Column:
        """From the arrays of a model folder, which may be anything."""
        cuts = contents.array(f"{name}.cuts", (n + 1,), "i")
        size = int(cuts[-1]) if n >= 0 else 0
        if cuts[0] != 0 or (np.diff(cuts) < 0).any():
            raise ModelFormatError(f"the pieces of {name!r} are not in a row{DAMAGED}")
        return cls(packed=(contents.array(f"{name}.bytes", (size,), "u"), cuts))


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"a record of the index cannot be read: {error}{DAMAGED}") from None


class Records:
    """Ids, metadata and texts of the documents in an index, in the order they came.

    ``texts`` is None where they are not kept. Ids are unique among live documents.
    """

    def __init__(self, ids: Column, metadata: Column, texts: Column | None) -> None:
        self.ids, self.metadata, self.texts = ids, metadata, texts
        self._rows: dict[Id, int] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, live: Array) -> dict[Id, int]:
        """The row of each live document by its id."""
        if self._rows is None:
            ids = self.ids.all()
            try:
                rows = {ids[row]: row for row in np.flatnonzero(live).tolist()}
            except TypeError:
                rows = {}
            if len(rows) != live.sum() or not all(type(key) in (str, int) for key in rows):
                raise ModelFormatError(f"the ids of the index are not unique{DAMAGED}")
            self._rows = rows
        return self._rows

    def extend(self, ids: list[Id], metadata: list[Any], texts: list[str] | None) -> None:
        start = len(self)
        self.ids.extend(ids)
        self.metadata.extend(metadata)
        if self.texts is not None and texts is not None:
            self.texts.extend(texts)
        if self._rows is not None:
            self._rows.update(zip(ids, range(start, start + len(ids)), strict=True))

    def forget(self, ids: Iterable[Id]) -> None:
        for name in ids:
            if self._rows is not None:
                del self._rows[name]

    def keep(self, rows: Array) -> None:
        for column in (self.ids, self.metadata, self.texts):
            if column is not None:
                column.keep(rows)
        self._rows = None


# -- what a caller gives ------------------------------------------------------------------------


def check_id(given: Any) -> Id:
    """An id as a plain string or integer."""
    if isinstance(given, Integral) and not isinstance(given, bool | np.bool_):
        return int(given)
    if isinstance(given, str):
        return str(given)
    raise InvalidTypeError(
        f"ids must be strings or integers, got {given!r:.60} ({type(given).__name__})"
    )


def check_ids(given: Any) -> list[Id]:
    """One id or several, as a list."""
    if isinstance(given, str | Integral):
        return [check_id(given)]
    try:
        return [check_id(name) for name in given]
    except TypeError as error:
        if isinstance(error, InvalidTypeError):
            raise
        raise InvalidTypeError(
            f"ids must be strings or integers, or a list of them, got {type(given).__name__}"
        ) from None


def new_ids(given: Any, n: int, taken: Mapping[Id, int], start: int) -> list[Id]:
    """Ids of documents to be added: those given, or the next whole numbers."""
    if given is None:
        ids: list[Id] = list(range(start, start + n))
    else:
        ids = check_ids(given)
    if len(ids) != n:
        raise InvalidInputError(f"{len(ids)} ids for {n} documents: there has to be one for each")
    seen: set[Id] = set()
    for name in ids:
        if name in seen or name in taken:
            where = "is already in the index" if name in taken else "is given twice"
            raise InvalidInputError(
                f"the id {name!r:.80} {where}: ids are unique; remove the old document first, or "
                "give another id. Nothing was added"
            )
        seen.add(name)
    return ids


def new_metadata(given: Any, n: int) -> list[dict[str, Any] | None]:
    """Metadata as they will be after saving and loading, so that the two cannot differ."""
    if given is None:
        return [None] * n
    entries = list(given) if not isinstance(given, Mapping | str) else None
    if entries is None or len(entries) != n:
        size = type(given).__name__ if entries is None else f"{len(entries)} entries"
        raise InvalidInputError(
            f"metadata must be a list with a dict (or None) for each of the {n} documents, got "
            f"{size}"
        )
    return [_plain(entry, place) for place, entry in enumerate(entries)]


def _plain(entry: Any, place: int) -> dict[str, Any] | None:
    if entry is None:
        return None
    if not isinstance(entry, Mapping):
        raise InvalidTypeError(
            f"metadata[{place}] must be a dict or None, got {type(entry).__name__}"
        )
    try:
        text = json.dumps(dict(entry), allow_nan=False, default=_from_numpy)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(
            f"metadata[{place}] cannot be written as JSON ({error}): use strings, numbers, lists "
            "and dicts, and None for what is missing"
        ) from None
    return json.loads(text)  # type: ignore[no-any-return]


def _from_numpy(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is not JSON")


def is_texts(documents: Any) -> bool:
    """Whether these are texts, and not rows of numbers."""
    if len(getattr(documents, "shape", (0,))) != 1:
        return False
    if isinstance(documents, Sequence) or hasattr(documents, "dtype"):
        first = next(iter(documents), "")
        return first is None or isinstance(first, str | bytes)
    return True
