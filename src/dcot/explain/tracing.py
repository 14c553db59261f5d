"""One document on its way through the layers, and the way back, to shares of its words.

The rule. What the empty document gives is the bias; the rest is shared out among the words.
Without squashing a layer is linear, and a word's share is its weight times what a unit of it adds.
Squashing is replaced by the straight line through two points that are known, the empty document
and this one: its slope is the document's own, and is held. Then everything is linear again, and
the shares add up to what the document gives, exactly.
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
    """A document and the empty one in every layer, in float64 whatever the layers are in.

    Attributes
    ----------
    columns, weights : the document's terms
    empty, added : what each layer gives for the empty document, and what this one adds to it
    slopes : of each layer's squashing, from the empty document to this one
    """

    layers: Sequence[Layer]
    columns: Array
    weights: Array
    empty: list[Array]
    added: list[Array]
    slopes: list[Array]

    @classmethod
    def of(cls, row: Matrix, layers: Sequence[Layer]) -> Trace:
        """Follow a document, a matrix of one row."""
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
        """What a layer gives for the document, 1 for the first."""
        return np.asarray(self.empty[depth - 1] + self.added[depth - 1])

    def handed_back(self, depth: int, amounts: Array) -> Array:
        """What a unit in front of layer 1's squashing adds to ``amounts`` of a layer's values.

        ``amounts`` has the layer's prototypes in its last axis, and so has the result.
        """
        parts = np.asarray(amounts, dtype=np.float64) * self.slopes[depth - 1]
        for number in range(depth - 1, 0, -1):
            parts = parts @ self.layers[number].coef_.T.astype(np.float64, copy=False)
            parts = parts * self.slopes[number - 1]
        return parts

    def shares(self, depth: int, amounts: Array) -> Array:
        """Each word's share in ``amounts`` (targets × prototypes) of a layer: words × targets."""
        rows = self.layers[0].coef_[self.columns].astype(np.float64) * self.weights[:, None]
        return np.asarray(rows @ np.atleast_2d(self.handed_back(depth, amounts)).T)


def _line(squash: str, at: Array, step: Array) -> tuple[Array, Array]:
    """Slope of the squashing from ``at`` to ``at + step``, and its value where it starts."""
    if squash != "tanh":
        return np.ones_like(at), at
    start = np.tanh(at)
    # tanh(a + s) − tanh(a), without the difference of numbers that may be nearly equal
    rise = np.tanh(step) * (1 - start * np.tanh(at + step))
    moved = step != 0
    return np.where(moved, rise / np.where(moved, step, 1.0), 1 - start**2), start
