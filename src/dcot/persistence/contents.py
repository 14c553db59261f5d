"""The contents of a model folder in memory, and checks for untrusted contents.

Settings are JSON. Types that JSON does not have (tuples, sets, arrays, dtypes) are marked by a key:

>>> encode("noise", (0.9, 0.8))
{'$tuple': [0.9, 0.8]}
>>> decode(encode("noise", (0.9, 0.8)))
(0.9, 0.8)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dcot.errors import InvalidParameterError, InvalidTypeError, ModelFormatError
from dcot.persistence.files import check_memory

Array = NDArray[Any]
Kind = TypeVar("Kind")

DAMAGED = "; the folder was damaged or changed after it was saved: save the model again"
MAX_COUNT = 2**48  # no model has more documents, terms or steps
MAX_JSON_ARRAYS = 1 << 24  # bytes that all arrays in the settings may take in memory
MAX_CHECKED_BYTES = 1 << 20  # larger mapped arrays are not searched for NaN, which would read them


@dataclass(frozen=True)
class Contents:
    """A model as arrays and JSON.

    Attributes
    ----------
    kind : name of the class; ``dcot.persistence.saving`` has the list
    settings : JSON values
    arrays : arrays that are saved unchanged
    weights : matrices that may be saved with less precision, and are then loaded as float32
    vocabulary : terms in the order of the columns, or None
    facts : lines of the model card, label and value
    mapped : whether the arrays are mapped from disk
    used : names of the arrays that were read
    """

    kind: str
    settings: dict[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    vocabulary: list[str] | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)
    mapped: bool = False
    used: set[str] = field(default_factory=set)

    def array(
        self,
        name: str,
        shape: tuple[int, ...],
        kinds: str = "f",
        *,
        finite: bool = True,
        largest: float = np.inf,
    ) -> Array:
        """Return an array; raise an error if it is missing or has another shape or kind of dtype.

        Weights in 16 or 8 bits become float32. Unless ``finite`` is False, NaN, infinity and
        numbers above ``largest`` raise an error too; large mapped arrays are not searched for them.
        """
        found = self.arrays.get(name)
        if found is None:
            raise ModelFormatError(f"the array {name!r} is missing{DAMAGED}")
        packed = found.dtype in PACKED and "f" in kinds
        if found.shape != shape or not (packed or found.dtype.kind in kinds):
            raise ModelFormatError(
                f"the array {name!r} is {found.dtype} of shape {found.shape}, which does not fit "
                f"the rest of the model: shape {shape} was expected{DAMAGED}"
            )
        self.used.add(name)
        if packed:
            self.used.add(name + SCALE)
            found = widened(name, found, self.arrays.get(name + SCALE))
        looked_at = found.nbytes <= MAX_CHECKED_BYTES or packed or not self.mapped
        if finite and found.dtype.kind == "f" and looked_at and not _within(found, largest):
            raise ModelFormatError(
                f"the array {name!r} has NaN, infinite or very large values{DAMAGED}"
            )
        return found

    def indices(self, name: str, shape: tuple[int, ...], n: int) -> Array:
        """Return an array of signed integers, checked to be from 0 to n - 1."""
        found = self.array(name, shape, "i")
        if found.size and (int(found.min()) < 0 or int(found.max()) >= n):
            raise ModelFormatError(
                f"the array {name!r} has numbers outside 0 … {n - 1}, which it points into{DAMAGED}"
            )
        return found

    def offsets(self, name: str, n: int) -> Array:
        """Return the offsets of n pieces: n + 1 integers that start with 0 and never decrease.

        The caller checks the last one. Neighbours are compared, not subtracted, because a
        difference could overflow and look right.
        """
        found = self.array(name, (n + 1,), "i")
        if int(found[0]) != 0 or (found[1:] < found[:-1]).any():
            raise ModelFormatError(f"the offsets {name!r} are not in order{DAMAGED}")
        return found

    def part(self, prefix: str, kind: str, settings: dict[str, Any]) -> Contents:
        """Return a model inside the model: the arrays whose names begin with ``prefix``."""
        names = [name for name in self.arrays if name.startswith(prefix)]
        self.used.update(names)  # the reader of the part checks that all are used
        arrays = {name.removeprefix(prefix): self.arrays[name] for name in names}
        return Contents(kind, settings, arrays, vocabulary=self.vocabulary, mapped=self.mapped)

    def check_all_used(self) -> None:
        """Raise an error if there are arrays that were not read."""
        rest = sorted(set(self.arrays) - self.used)
        if rest:
            raise ModelFormatError(
                f"the folder has arrays that do not belong to the model: {rest[:3]!s:.120}{DAMAGED}"
            )


def _within(array: Array, largest: float) -> bool:
    """Whether all numbers are finite with an absolute value of at most ``largest``."""
    step = max(1, (1 << 20) // max(1, array[:1].size))
    blocks = (np.abs(array[start : start + step]) for start in range(0, len(array), step))
    if largest == np.inf:
        return all(bool(np.isfinite(block).all()) for block in blocks)
    return all(bool((block <= largest).all()) for block in blocks)


# -- settings ---------------------------------------------------------------------------------


def setting(settings: Mapping[str, Any], name: str, kind: type[Kind]) -> Kind:
    """Return a setting; raise an error if it is missing or of another type.

    >>> setting({"n": 3}, "n", int)
    3
    """
    found = settings.get(name)
    # in JSON, 1.0 may be written as 1; in Python, True is an int
    if kind is float and type(found) is int and abs(found) < 2**1000:
        found = float(found)
    if type(found) is not kind or found in (np.inf, -np.inf) or found != found:
        raise ModelFormatError(
            f"the setting {name!r} is {found!r:.60}, but {kind.__name__} was expected{DAMAGED}"
        )
    return found


def count(settings: Mapping[str, Any], name: str, least: int = 0) -> int:
    """Return a setting that is an integer from ``least`` to ``MAX_COUNT``."""
    found = setting(settings, name, int)
    if not least <= found <= MAX_COUNT:
        raise ModelFormatError(
            f"the setting {name!r} is {found!r:.60}, but {least} … {MAX_COUNT} was expected"
            f"{DAMAGED}"
        )
    return found


def choice(settings: Mapping[str, Any], name: str, choices: tuple[str | None, ...]) -> Any:
    """Return a setting that is one of ``choices``, strings or None."""
    found = settings.get(name)
    if not isinstance(found, str | None) or found not in choices:
        raise ModelFormatError(
            f"the setting {name!r} is {found!r:.60}, expected one of {choices}{DAMAGED}"
        )
    return found


# -- settings that are not plain JSON ---------------------------------------------------------

_PLAIN = (bool, int, float, str, type(None))
_KINDS_OF_ARRAY = "biufU"
_LARGE_ARRAY = 1 << 20
_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|U[0-9]{1,6})|bool|str_?|(u?int|float)[0-9]{1,2}")


def encode(name: str, value: Any, advice: str = "") -> Any:
    """Return a setting as JSON; raise an error with ``advice`` if it cannot be saved."""
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
        return {"$set": sorted(value)}  # sorted, so that the same set gives the same bytes
    if isinstance(value, np.ndarray):
        return _encode_array(name, value, advice)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"$mapping": {key: encode(name, entry, advice) for key, entry in value.items()}}
    if isinstance(value, Mapping) and all(type(key) in _PLAIN for key in value):
        return {"$pairs": [[key, encode(name, entry, advice)] for key, entry in value.items()]}
    raise InvalidTypeError(_message(name, value, advice))


def _encode_array(name: str, value: Any, advice: str) -> Any:
    if value.dtype.kind == "O":
        return encode(name, value.tolist(), advice)
    if value.ndim != 1 or value.dtype.kind not in _KINDS_OF_ARRAY:
        raise InvalidTypeError(_message(name, value, advice))
    if value.nbytes > _LARGE_ARRAY:  # a list takes less memory than an array with one long text
        return encode(name, value.tolist(), advice)
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
    """Invert ``encode`` (sets become frozensets, and dtypes NumPy types)."""
    try:
        return _decode(value)
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        raise ModelFormatError(f"a setting cannot be read: {error!s:.100}{DAMAGED}") from error


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
    if marks == {"$pairs"}:
        return {key: _decode(entry) for key, entry in value["$pairs"]}
    if marks == {"$dtype"}:
        return _dtype(value["$dtype"]).type
    if marks == {"$array", "dtype"}:
        dtype, entries = _dtype(value["dtype"]), value["$array"]
        if not isinstance(entries, list) or any(type(entry) not in _PLAIN for entry in entries):
            raise ValueError("an array has entries that are not plain values")
        return np.array(entries, dtype=dtype)
    raise ValueError(f"unknown marks {sorted(marks)[:3]}")


def _dtype(name: Any) -> Any:
    if not isinstance(name, str) or not _DTYPE.fullmatch(name):
        raise ValueError(f"{name!r:.30} is not a dtype of settings")
    return np.dtype(name)


def check_arrays(settings: Any) -> None:
    """Raise an error if the arrays of the settings would take too much memory.

    Each entry of a text array takes as much memory as the longest one.
    """
    left, todo = MAX_JSON_ARRAYS, [settings]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo.extend(value.values())
            entries, dtype = value.get("$array"), value.get("dtype")
            if isinstance(entries, list) and isinstance(dtype, str):
                digits = dtype.lstrip("<>|=U")
                wide = int(digits) * 4 if digits.isdecimal() and len(digits) < 8 else 8
                longest = max(
                    (len(entry) for entry in entries if isinstance(entry, str)), default=2
                )
                left -= len(entries) * max(wide, 4 * longest)
        elif isinstance(value, list):
            todo.extend(value)
        if left < 0:
            raise ModelFormatError(f"the arrays in the settings are too large{DAMAGED}")


# -- weights in 16 or 8 bits --------------------------------------------------------------------


PRECISIONS = (None, "float16", "int8")
DEFAULT_PRECISION: str | None = None  # of save(); None keeps the precision of the fit
PACKED = (np.dtype(np.float16), np.dtype(np.int8))
SCALE = ".scale"  # the scales of the array "x" are the array "x.scale"

ROWS_PER_STEP = 4096  # rows packed at a time, to avoid a copy of a large matrix


def check_precision(precision: Any) -> None:
    if not isinstance(precision, str | None) or precision not in PRECISIONS:
        raise InvalidParameterError(
            f"precision must be None (as learned), 'float16' or 'int8', got {precision!r}"
        )


def pack(weights: Mapping[str, Array], precision: str | None) -> dict[str, Array]:
    """Return the arrays to save for these weights.

    >>> packed = pack({"W": np.array([[1.0, 0.0], [-0.5, 0.25]], dtype=np.float32)}, "int8")
    >>> packed["W"].tolist()
    [[127, 0], [-64, 127]]
    """
    check_precision(precision)
    if precision is None:
        return dict(weights)
    packed: dict[str, Array] = {}
    for name, matrix in weights.items():
        scale = _scales(name, matrix, precision)
        dtype = np.dtype(precision)
        small = np.empty(matrix.shape, dtype=dtype)
        for start in range(0, len(matrix), ROWS_PER_STEP):
            rows = slice(start, start + ROWS_PER_STEP)
            scaled = matrix[rows] / scale
            small[rows] = np.rint(scaled) if dtype.kind == "i" else scaled
        packed[name], packed[name + SCALE] = small, scale
    return packed


def _scales(name: str, matrix: Array, precision: str) -> Array:
    """Return the divisor of each column, such that its largest value fills the range."""
    with np.errstate(over="ignore"):
        largest = np.maximum(matrix.max(axis=0), -matrix.min(axis=0)).astype(np.float32)
    if not np.isfinite(largest).all():
        raise InvalidParameterError(
            f"precision={precision!r} needs finite float32 weights, but {name} has others: save "
            "with precision=None"
        )
    if precision == "int8":
        scale = largest / np.float32(127)
    else:
        # powers of two are exact, so small weights lose no digits to the narrow range of float16
        scale = np.ldexp(np.float32(1), np.maximum(np.frexp(largest)[1], -100) - 15)
    return np.where(scale > 0, scale, 1).astype(np.float32)


def widened(name: str, small: Array, scale: Array | None) -> Array:
    """Convert weights in 16 or 8 bits to float32."""
    fits = scale is not None and scale.dtype == np.float32 and small.ndim == 2
    if scale is None or not fits or scale.shape != small.shape[1:]:
        raise ModelFormatError(
            f"the array {name!r} has {small.dtype} values without a float32 scale for each column: "
            "the folder was damaged or changed; save the model again"
        )
    advice = "load it where more is free, or save it with precision=None and load it with mmap=True"
    check_memory(f"the array {name!r} as float32", 4 * small.size, advice)
    wide = small.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        wide *= scale
    return wide
