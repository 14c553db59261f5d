"""Rows of length one in an array that grows: what cosines are computed from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_ROWS = 2048  # scaled at a time: no second copy of a large matrix in double precision
_SMALLEST_ROOM = 64


def unit_rows(features: Array) -> Array:
    """float32 rows of length one; a row of zeros stays one.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    out = np.empty(features.shape, dtype=np.float32)
    for start in range(0, len(features), _ROWS):
        rows = features[start : start + _ROWS].astype(np.float64)
        # by the largest value first: squares of very large or small ones leave the range
        largest = np.abs(rows).max(axis=1, initial=0.0)[:, None]
        rows /= np.where(largest > 0, largest, 1.0)
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        out[start : start + _ROWS] = rows / np.where(norms > 0, norms, 1.0)
    return out


class Vectors:
    """A matrix with spare room at its end: adding rows moves the others only now and then."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self._n = len(array)

    def __len__(self) -> int:
        return self._n

    @property
    def array(self) -> Array:
        """The rows, without the spare room."""
        return self._array[: self._n]

    @property
    def width(self) -> int:
        return int(self._array.shape[1])

    def append(self, rows: Array) -> None:
        needed = self._n + len(rows)
        if needed > len(self._array):
            room = max(needed, self._n + self._n // 2, _SMALLEST_ROOM) if self._n else needed
            larger = np.empty((room, self.width), dtype=np.float32)
            larger[: self._n] = self.array
            self._array = larger
        self._array[self._n : needed] = rows
        self._n = needed

    def keep(self, rows: Array) -> None:
        """Only these rows, in this order."""
        self._array = self._array[rows]
        self._n = len(rows)
