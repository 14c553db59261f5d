"""Ids, metadata and texts of the documents in an index, and filters on them.

In a model folder a column of records is one array of JSON texts, so that a memory-mapped index
reads only the records it shows.
"""

from __future__ import annotations

import json
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import InvalidInputError, InvalidTypeError, ModelFormatError
from dcot.persistence import Contents
from dcot.persistence.contents import DAMAGED
from dcot.text.inputs import Texts

Array = NDArray[Any]
Id = str | int
Metadata = dict[str, Any] | None


# -- records --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Records:
    """Records of the documents, in the order in which they were added.

    ``texts`` is None if they are not stored. ``rows_by_id`` has the rows that were not removed, or
    None for all.
    """

    ids: Sequence[Id] = ()
    metadata: Sequence[Metadata] = ()
    texts: Sequence[str] | None = None
    rows_by_id: Mapping[Id, int] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def rows(self) -> Mapping[Id, int]:
        """Rows of documents by id."""
        if self.rows_by_id is not None:
            return self.rows_by_id
        rows = {name: row for row, name in enumerate(self.ids)}
        if len(rows) != len(self.ids):
            raise ModelFormatError(f"the ids of the index are not unique{DAMAGED}")
        return rows

    def added(
        self, ids: Sequence[Id], metadata: Sequence[Metadata], texts: Sequence[str] | None
    ) -> Records:
        rows = {**self.rows, **{name: len(self) + place for place, name in enumerate(ids)}}
        both = None if self.texts is None or texts is None else [*self.texts, *texts]
        return Records([*self.ids, *ids], [*self.metadata, *metadata], both, rows)

    def removed(self, ids: Iterable[Id]) -> Records:
        """Without these ids; the rows do not move."""
        rows = dict(self.rows)
        for name in ids:
            del rows[name]
        return Records(self.ids, self.metadata, self.texts, rows)

    def kept(self, rows: Array) -> Records:
        """Only these rows."""
        places = rows.tolist()
        ids, metadata = ([column[row] for row in places] for column in (self.ids, self.metadata))
        texts = None if self.texts is None else [self.texts[row] for row in places]
        return Records(ids, metadata, texts)


class PackedColumn(Sequence[Any]):
    """Records as concatenated JSON texts, parsed when they are read."""

    def __init__(self, contents: Contents, name: str, n: int, *kinds: type) -> None:
        """Read from the arrays of a model folder, which are not trusted."""
        self._name, self._kinds = name, kinds
        self.cuts = contents.offsets(f"{name}.cuts", n)
        self.content = contents.array(f"{name}.bytes", (int(self.cuts[-1]),), "u")

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[place] for place in range(*row.indices(len(self)))]
        if not 0 <= row < len(self):
            raise IndexError(row)
        return self._parse(self.content[self.cuts[row] : self.cuts[row + 1]].tobytes())

    def __iter__(self) -> Any:
        return iter(self._values)

    @cached_property
    def _values(self) -> list[Any]:
        content = self.content.tobytes()
        return [self._parse(content[start:end]) for start, end in pairwise(self.cuts.tolist())]

    def _parse(self, text: bytes) -> Any:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError, MemoryError) as error:
            raise ModelFormatError(
                f"the {self._name} of the index cannot be read: {error!s:.100}{DAMAGED}"
            ) from None
        if type(value) not in self._kinds:
            raise ModelFormatError(
                f"the {self._name} of the index have the entry {value!r:.60}{DAMAGED}"
            )
        return value


def pack(column: Sequence[Any]) -> tuple[Array, Array]:
    """Concatenated JSON texts, and the offsets between them."""
    if isinstance(column, PackedColumn):
        return column.content, column.cuts
    texts = Texts.of([json.dumps(value, sort_keys=True) for value in column])
    return texts.data, texts.bounds


# -- input --------------------------------------------------------------------------------------


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


def new_ids(given: Any, n: int, records: Records, start: int) -> list[Id]:
    """Ids of new documents: those given, or the next integers."""
    if isinstance(given, set | frozenset):
        raise InvalidTypeError(
            f"ids are a {type(given).__name__}, which does not say which id is that of which "
            "document: pass a list, in the order of the documents"
        )
    ids: list[Id] = list(range(start, start + n)) if given is None else check_ids(given)
    if len(ids) != n:
        raise InvalidInputError(f"got {len(ids)} ids for {n} documents: pass one for each")
    seen: set[Id] = set()
    for name in ids:
        if name in seen or name in records.rows:
            where = "is given twice" if name in seen else "is already in the index"
            raise InvalidInputError(
                f"the id {name!r:.80} {where}, but ids must be unique: remove the old document "
                "first, or pass another id. Nothing was added"
            )
        seen.add(name)
    return ids


def new_metadata(given: Any, n: int) -> list[Metadata]:
    """Metadata converted to JSON and back, so that saving and loading does not change it."""
    if given is None:
        return [None] * n
    several = isinstance(given, Iterable) and not isinstance(given, Mapping | str)
    several = several and getattr(given, "shape", None) != ()
    entries = list(given) if several else None
    if entries is None or len(entries) != n:
        size = type(given).__name__ if entries is None else f"{len(entries)} entries"
        raise InvalidInputError(
            f"metadata must be a list with a dict (or None) for each of the {n} documents, got "
            f"{size}"
        )
    return [_plain(entry, place) for place, entry in enumerate(entries)]


def _plain(entry: Any, place: int) -> Metadata:
    if entry is None:
        return None
    if not isinstance(entry, Mapping):
        raise InvalidTypeError(
            f"metadata[{place}] must be a dict or None, got {type(entry).__name__}"
        )
    try:
        text = json.dumps(dict(entry), allow_nan=False, default=_from_numpy)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTypeError(
            f"metadata[{place}] cannot be written as JSON ({error}): use strings, numbers, lists "
            "and dicts, and None for missing values"
        ) from None
    found: dict[str, Any] = json.loads(text)
    if len(found) < len(entry):
        raise InvalidInputError(
            f"metadata[{place}] has keys that are the same in JSON, such as 1 and '1': "
            f"{list(entry)!s:.80}; keys are strings there, so give each value one of its own"
        )
    return found


def _from_numpy(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is not JSON")


# -- filters ------------------------------------------------------------------------------------


def check_where(where: Any) -> None:
    """Refuse an invalid filter, before any work is done."""
    is_number = isinstance(where, Integral)
    if isinstance(where, Mapping) and any(map(callable, where.values())):
        raise InvalidTypeError(
            "where has a function as a value: a function takes the metadata of a document as a "
            "whole, as in where=lambda entry: entry.get('year', 0) > 1990"
        )
    if where is None or callable(where) or is_number or hasattr(where, "__iter__"):
        return
    raise InvalidTypeError(
        "where must be a function of metadata, a dict of metadata, ids, or a mask, got "
        f"{type(where).__name__}"
    )


def allowed_rows(where: Any, records: Records, live: Array) -> Array:
    """A mask of the rows that a search may find, over all rows including removed ones."""
    if where is None:
        return live
    if callable(where):
        return _by_condition(where, records, live)
    if isinstance(where, Mapping):
        wanted = {key: _Wanted(value) for key, value in where.items()}
        allowed = _by_condition(lambda entry: _fits(entry, wanted), records, live)
        if not allowed.any():
            _check_keys(where, records, live)
        return allowed
    mask = None
    if not isinstance(where, set | frozenset | str):
        with suppress(ValueError):  # lists of different lengths are no ids either
            mask = np.asarray(where)
    if mask is not None and mask.dtype == np.bool_:
        return _by_mask(mask, live)
    return _by_ids(check_ids(where), records.rows, len(live))


def _by_condition(condition: Callable[[Any], Any], records: Records, live: Array) -> Array:
    return np.array(
        [
            bool(there and condition(entry or {}))
            for there, entry in zip(live.tolist(), records.metadata, strict=True)
        ],
        dtype=np.bool_,
    )


def _fits(entry: Mapping[str, Any], wanted: Mapping[str, _Wanted]) -> bool:
    """Whether metadata has one of the wanted values, or a list with one, for every key."""
    return all(key in entry and entry[key] in values for key, values in wanted.items())


class _Wanted:
    """The values that metadata may have for a key: the one given, or one of several.

    A list in metadata has to be one of them, or contain one. Strings and numbers are looked up in a
    set, because there may be many; lists and dicts are compared one by one.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, Iterator):
            given = list(given)
        several = _is_several(given)
        values = [_as_json(value) for value in given] if several else [_as_json(given)]
        if several and not isinstance(given, Set):
            values.append(values.copy())  # a list may also be the value itself; a set has no order
        self.plain = {value for value in values if isinstance(value, Hashable)}
        self.nested = [value for value in values if not isinstance(value, Hashable)]

    def __contains__(self, value: Any) -> bool:
        entries = value if isinstance(value, list) else ()
        return self._has(value) or any(self._has(entry) for entry in entries)

    def _has(self, value: Any) -> bool:
        return value in (self.nested if isinstance(value, list | dict) else self.plain)


def _is_several(value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0:
        return False
    return isinstance(value, Collection)


def _as_json(value: Any) -> Any:
    """Return a value as metadata has it: lists in place of arrays and tuples."""
    if isinstance(value, Mapping):
        return {key: _as_json(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_as_json(one) for one in value] if isinstance(value, list | tuple) else value


def _check_keys(where: Mapping[str, Any], records: Records, live: Array) -> None:
    """Refuse a key that no document has: it is probably misspelt."""
    entries = zip(live.tolist(), records.metadata, strict=True)
    known = {key for there, entry in entries if there for key in entry or {}}
    unknown = [key for key in where if key not in known]
    if unknown:
        have = ", ".join(map(repr, sorted(known)[:20])) + (", …" if len(known) > 20 else "")
        raise InvalidInputError(
            f"where has the key {unknown[0]!r:.60}, but no document of the index has it in its "
            f"metadata: {f'they have {have}' if known else 'there is none; pass it to add'}"
        )


def _by_mask(mask: Array, live: Array) -> Array:
    n = int(live.sum())
    if mask.shape != (n,):
        raise InvalidInputError(
            f"a mask must have an entry for each of the {n} documents, in the order of index.ids, "
            f"got shape {mask.shape}"
        )
    out = np.zeros(len(live), dtype=np.bool_)
    out[np.flatnonzero(live)[mask]] = True
    return out


def _by_ids(ids: list[Id], rows: Mapping[Id, int], n: int) -> Array:
    unknown = [name for name in ids if name not in rows]
    if unknown:
        raise InvalidInputError(unknown_message(unknown))
    out = np.zeros(n, dtype=np.bool_)
    out[[rows[name] for name in ids]] = True
    return out


def unknown_message(unknown: Sequence[Id]) -> str:
    """The error message for ids that are not in the index."""
    shown = ", ".join(f"{name!r:.60}" for name in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    return (
        f"the index has no document with the id {shown}{more}: ids keep their type (1 is not '1'); "
        "see index.ids"
    )
