"""Settings as JSON: what JSON does not know (tuples, sets, arrays, dtypes) is marked by a key.

>>> encode("noise", (0.9, 0.8))
{'$tuple': [0.9, 0.8]}
>>> decode(encode("noise", (0.9, 0.8)))
(0.9, 0.8)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dcot.errors import InvalidTypeError, ModelFormatError
from dcot.persistence.contents import DAMAGED

_PLAIN = (bool, int, float, str, type(None))
_KINDS_OF_ARRAY = "biufU"
_LARGEST_ARRAY = 1 << 26


def encode(name: str, value: Any, advice: str = "") -> Any:
    """A setting as JSON; an error says which setting cannot be saved, and what to do."""
    if type(value) in _PLAIN and value == value and value not in (np.inf, -np.inf):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in _KINDS_OF_ARRAY:
        return encode(name, value.item(), advice)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"$dtype": np.dtype(value).name}
    if isinstance(value, list):
        return [encode(name, entry, advice) for entry in value]
    if isinstance(value, tuple):
        return {"$tuple": [encode(name, entry, advice) for entry in value]}
    if isinstance(value, set | frozenset) and all(isinstance(entry, str) for entry in value):
        return {"$set": sorted(value)}  # sorted: the same set gives the same bytes
    if isinstance(value, np.ndarray):
        return _encode_array(name, value, advice)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"$mapping": {key: encode(name, entry, advice) for key, entry in value.items()}}
    raise InvalidTypeError(_message(name, value, advice))


def _encode_array(name: str, value: Any, advice: str) -> Any:
    if value.dtype.kind == "O":
        return encode(name, value.tolist(), advice)
    if value.ndim != 1 or value.dtype.kind not in _KINDS_OF_ARRAY:
        raise InvalidTypeError(_message(name, value, advice))
    entries = [encode(name, entry, advice) for entry in value.tolist()]
    return {"$array": entries, "dtype": value.dtype.str}


def _message(name: str, value: Any, advice: str) -> str:
    what = "a function" if callable(value) else f"a {type(value).__name__}"
    advice = advice or (
        f"give {name} as a number, a string or a list of them (set_params({name}=...)) before "
        "saving"
    )
    return (
        f"{name} is {what}, which a model folder cannot hold: folders hold numbers and text, never "
        f"code; {advice}"
    )


def decode(value: Any) -> Any:
    """The setting that ``encode`` was given (sets become frozensets, dtypes NumPy's types)."""
    try:
        return _decode(value)
    except (TypeError, ValueError, LookupError, OverflowError, RecursionError) as error:
        raise ModelFormatError(f"a setting cannot be read: {error}{DAMAGED}") from error


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    marks = set(value)
    if marks == {"$tuple"}:
        return tuple(_decode(entry) for entry in value["$tuple"])
    if marks == {"$set"}:
        return frozenset(value["$set"])
    if marks == {"$mapping"}:
        return {key: _decode(entry) for key, entry in value["$mapping"].items()}
    if marks == {"$dtype"}:
        return _dtype(value["$dtype"]).type
    if marks == {"$array", "dtype"}:
        dtype = _dtype(value["dtype"])
        # each entry of a text array takes the room of the longest: one long word is a bomb
        if len(value["$array"]) * dtype.itemsize > _LARGEST_ARRAY:
            raise ValueError("an array is too large")
        return np.array(value["$array"], dtype=dtype)
    raise ValueError(f"unknown marks {sorted(marks)[:3]}")


def _dtype(name: Any) -> Any:
    if not isinstance(name, str) or len(name) > 20:
        raise ValueError(f"{name!r:.30} is no dtype")
    dtype = np.dtype(name)
    if dtype.kind not in _KINDS_OF_ARRAY:
        raise ValueError(f"dtype {name!r} is not allowed")
    return dtype
