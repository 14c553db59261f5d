"""Write and read arrays in a safetensors file, which cannot contain code.

The header is written and read here, because the safetensors library does not map arrays into memory
and does not report why writing failed. Before a file is read, the library checks that it is valid.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import ModelFormatError
from dcot.persistence.contents import DAMAGED
from dcot.persistence.manifest import from_json

Array = NDArray[Any]

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I8": "|i1", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}
MAX_HEADER_BYTES = 1 << 20
MAX_SIZE = 1 << 50  # largest axis or offset
ALIGNMENT = 8


def pieces(arrays: Mapping[str, Array]) -> Iterator[Any]:
    """Yield the bytes of the file; the same arrays give the same bytes."""
    # wide types first, so that every array starts at a multiple of its item size
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {}
    offset = 0
    for name in names:
        array = arrays[name]
        end = offset + array.nbytes
        dtype = _NAMES[array.dtype.newbyteorder("<")]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        array = np.ascontiguousarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        yield array.reshape(-1).view(np.uint8).data


def mapped(file: FileIO) -> Any:
    """Map a file into memory; writing to it changes a private copy, never the file.

    Read-only arrays would be another type for numba, which would compile again.
    """
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def check_sound(path: Path) -> None:
    """Let the library check that offsets, shapes and types of the file are consistent."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, ValueError, OverflowError, MemoryError) as error:
        raise ModelFormatError(
            f"{path} is not a valid safetensors file ({error!s:.120}){DAMAGED}"
        ) from None


def views(buffer: Any, path: Path) -> dict[str, Array]:
    """Return the arrays in a buffer with the content of a file, without a copy."""
    size = len(buffer)
    length = int.from_bytes(bytes(buffer[:8]), "little")
    start = 8 + length
    if size < 8 or length > MAX_HEADER_BYTES or start > size or length % ALIGNMENT:
        raise ModelFormatError(f"{path} has no header that dcot could have written{DAMAGED}")
    header = from_json(bytes(buffer[8:start]), f"the header of {path}")
    if not isinstance(header, dict):
        raise ModelFormatError(f"the header of {path} lists no arrays{DAMAGED}")
    return {name: _view(buffer, start, name, entry, path) for name, entry in header.items()}


def _view(buffer: Any, start: int, name: str, entry: Any, path: Path) -> Array:
    try:
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        shape, (first, last) = tuple(entry["shape"]), entry["data_offsets"]
        whole = all(
            type(number) is int and 0 <= number <= MAX_SIZE for number in (*shape, first, last)
        )
        fits = whole and len(shape) <= 2 and last - first == math.prod(shape) * dtype.itemsize
    except (KeyError, TypeError, ValueError, OverflowError):
        fits = False
    if not fits or last > len(buffer) - start or (start + first) % dtype.itemsize:
        raise ModelFormatError(
            f"{path} describes the array {name!r:.60} as {entry!r:.120}, which cannot be{DAMAGED}"
        )
    if not last - first:
        return np.zeros(shape, dtype=dtype)
    count = (last - first) // dtype.itemsize
    flat = np.frombuffer(buffer, dtype=dtype, count=count, offset=start + first)
    return flat.astype(dtype.newbyteorder("="), copy=False).reshape(shape)
