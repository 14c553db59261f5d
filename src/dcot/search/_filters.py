"""Which documents a search may find: a condition on metadata, ids, or a mask."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.search._records import Id, Records, check_ids

Array = NDArray[Any]


def allowed_rows(where: Any, records: Records, live: Array) -> Array:
    """A mask over all rows, live or not."""
    if where is None:
        return live
    if callable(where):
        return _by_condition(where, records, live)
    if isinstance(where, Mapping):
        return _by_condition(lambda entry: _fits(entry, where), records, live)
    mask = np.asarray(where) if not isinstance(where, set | frozenset | str) else None
    if mask is not None and mask.dtype == np.bool_:
        return _by_mask(mask, live)
    return _by_ids(check_ids(where), records.rows(live), len(live))


def _by_condition(condition: Any, records: Records, live: Array) -> Array:
    out = np.zeros(len(live), dtype=np.bool_)
    metadata = records.metadata.all()
    for row in np.flatnonzero(live).tolist():
        out[row] = bool(condition(metadata[row] or {}))
    return out


def _fits(entry: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether each of the wanted keys has the wanted value, or one of several."""
    for key, value in wanted.items():
        if key not in entry:
            return False
        several = isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
        if entry[key] != value and not (several and entry[key] in value):
            return False
    return True


def _by_mask(mask: Array, live: Array) -> Array:
    n = int(live.sum())
    if mask.shape != (n,):
        raise InvalidInputError(
            f"a mask must have one entry for each of the {n} documents in the index, in the order "
            f"of its ids, got shape {mask.shape}"
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


def unknown_message(unknown: list[Id]) -> str:
    """What to say about ids that are not there."""
    shown = ", ".join(f"{name!r:.60}" for name in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    return (
        f"the index has no document with the id {shown}{more}: an id has the type it was given "
        "with (1 is not '1'); index.ids lists them"
    )


def check_where(where: Any) -> None:
    """Refuse what could be no filter, before any work is done."""
    is_number = isinstance(where, int)
    if where is None or callable(where) or is_number or hasattr(where, "__iter__"):
        return
    raise InvalidTypeError(
        "where must be a function of metadata, a dict of metadata, ids, or a mask, got "
        f"{type(where).__name__}"
    )
