"""Follow a document through the layers, and attribute its values to its words.

The values of the empty document are the bias; the rest is divided among the words. Without
squashing a layer is linear, and the share of a word is its weight times the effect of one unit of
it. Squashing is replaced by a straight line through two known points, the empty document and this
one. With this slope fixed everything is linear again, so the shares add up exactly to the values
of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Matrix
from dcot.core.layers import Layer

Array = NDArray[Any]


@dataclass(frozen=True)
class Trace:
    """A document and the empty document in every layer, always in float64.

    Attributes
    ----------
    columns, weights : columns of the terms of the document, and their weights
    empty, added : outputs of each layer for the empty document, and the difference to this one
    slopes : slope of each layer's squashing, from the empty document to this one
    """

    layers: Sequence[Layer]
    columns: Array
    weights: Array
    empty: list[Array]
    added: list[Array]
    slopes: list[Array]

    @classmethod
    def of(cls, row: Matrix, layers: Sequence[Layer]) -> Trace:
        """Follow a document, given as a matrix with one row."""
        row = sp.csr_array(row)
        present = row.data != 0
        columns, weights = row.indices[present], row.data[present].astype(np.float64)
        empty: list[Array] = []
        added: list[Array] = []
        slopes: list[Array] = []
        step = weights @ layers[0].coef_[columns].astype(np.float64)
        at_zero = layers[0].intercept_.astype(np.float64)
        for number, layer in enumerate(layers):
            if number:
                inputs = np.vstack([added[-1], empty[-1]])
                step, at_zero = inputs @ layer.coef_.astype(np.float64, copy=False)
                at_zero = at_zero + layer.intercept_
            slope, start = _line(layer.squash, at_zero, step)
            slopes.append(slope)
            empty.append(start)
            added.append(slope * step)
        return cls(layers, columns, weights, empty, added, slopes)

    def outputs(self, depth: int) -> Array:
        """Return the outputs of a layer for the document; layers are numbered from 1."""
        return np.asarray(self.empty[depth - 1] + self.added[depth - 1])

    def handed_back(self, depth: int, amounts: Array) -> Array:
        """Return the effect of one unit before the squashing of layer 1 on ``amounts``.

        ``amounts`` are weights of the values of layer ``depth``. The last axis of ``amounts`` and
        of the result are the prototypes.
        """
        parts = np.asarray(amounts, dtype=np.float64) * self.slopes[depth - 1]
        for number in range(depth - 1, 0, -1):
            parts = parts @ self.layers[number].coef_.T.astype(np.float64, copy=False)
            parts = parts * self.slopes[number - 1]
        return parts

    def shares(self, depth: int, amounts: Array) -> Array:
        """Return shares of words (words × targets) in ``amounts`` (targets × prototypes)."""
        rows = self.layers[0].coef_[self.columns].astype(np.float64) * self.weights[:, None]
        return np.asarray(rows @ np.atleast_2d(self.handed_back(depth, amounts)).T)


def _line(squash: str, at: Array, step: Array) -> tuple[Array, Array]:
    """Return the slope of the squashing from ``at`` to ``at + step``, and its value at ``at``."""
    if squash != "tanh":
        return np.ones_like(at), at
    start = np.tanh(at)
    # tanh(a + s) − tanh(a), without subtracting nearly equal numbers
    rise = np.tanh(step) * (1 - start * np.tanh(at + step))
    moved = step != 0
    return np.where(moved, rise / np.where(moved, step, 1.0), 1 - start**2), start
