"""Weights in 16 or 8 bits, with a scale for each column, and back to float32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import InvalidParameterError, ModelFormatError
from dcot.persistence.files import check_memory

Array = NDArray[Any]

PRECISIONS = (None, "float16", "int8")
DEFAULT_PRECISION: str | None = None  # of save(); None keeps the precision of the fit
PACKED = (np.dtype(np.float16), np.dtype(np.int8))
SCALE = ".scale"  # the scales of the array "x" are the array "x.scale"

ROWS_PER_STEP = 4096  # packed at a time: no second copy of a large matrix


def check_precision(precision: Any) -> None:
    if precision not in PRECISIONS:
        raise InvalidParameterError(
            f"precision must be None (as learned), 'float16' or 'int8', got {precision!r}"
        )


def pack(weights: Mapping[str, Array], precision: str | None) -> dict[str, Array]:
    """The arrays to save for these weights.

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
    """What each column is divided by: the largest value then fills the range."""
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
        # powers of two are exact: small weights lose no digits to the narrow range of float16
        scale = np.ldexp(np.float32(1), np.maximum(np.frexp(largest)[1], -100) - 15)
    return np.where(scale > 0, scale, 1).astype(np.float32)


def widened(name: str, small: Array, scale: Array | None) -> Array:
    """Weights in 16 or 8 bits as float32 again."""
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
