"""Features of documents as blocks, sparse or dense, and their inner products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.classifier.selection import inverse_lengths

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Block:
    """Some features of all documents.

    Attributes
    ----------
    values : documents × features, sparse or dense
    scale : factor of each row, or None; settings that differ only in scale share ``values``
    """

    values: Any
    scale: Array | None = None

    @classmethod
    def of(cls, values: Any, rows: str = "as they are") -> Block:
        """A block; with ``rows="unit"`` every row is scaled to length one."""
        values = sp.csr_array(values) if sp.issparse(values) else np.asarray(values)
        return cls(values, inverse_lengths(values) if rows == "unit" else None)

    def times(self, weight: float) -> Block:
        """A block whose inner products are multiplied by a weight."""
        ones = np.ones(self.values.shape[0]) if self.scale is None else self.scale
        return Block(self.values, np.sqrt(weight) * ones)

    def rows(self, wanted: Array, dtype: Any) -> Any:
        """Features of some documents."""
        part = self.values[wanted].astype(dtype)
        if self.scale is None:
            return part
        scale = self.scale[wanted].astype(dtype)
        return sp.diags_array(scale) @ part if sp.issparse(part) else part * scale[:, None]


Blocks = Sequence[Block]


def products(blocks: Blocks, rows: Array, columns: Array, dtype: Any = np.float64) -> Array:
    """Inner products of documents over all blocks."""
    total = np.zeros((len(rows), len(columns)), dtype=dtype)
    for block in blocks:
        left = block.rows(rows, dtype)
        part = left @ (left if columns is rows else block.rows(columns, dtype)).T
        total += part.toarray() if sp.issparse(part) else part
    return total


class Coordinates:
    """Documents in coordinates for a linear SVM.

    Features are scaled to a mean squared length of one, so that C means the same for every
    system. If there are more features than labelled documents, and some are dense, coordinates
    are those of the span of the labelled documents. The weights of a linear SVM lie in that span,
    so the classifier is the same and takes less work.
    """

    def __init__(self, blocks: Blocks, labelled: Array) -> None:
        self.blocks, self._labelled_rows = blocks, labelled
        wide = sum(block.values.shape[1] for block in blocks) > len(labelled)
        dense = not all(sp.issparse(block.values) for block in blocks)
        self.factor = _factor(products(blocks, labelled, labelled)) if wide and dense else None
        S: Any = self._side_by_side(labelled) if self.factor is None else self.factor
        squares = S.multiply(S).sum() if sp.issparse(S) else np.einsum("ij,ij->", S, S)
        self.scale = float(np.sqrt(len(labelled) / squares)) if squares > 0 else 1.0
        self.labelled = S * self.scale

    def of(self, rows: Array) -> Any:
        """Coordinates of other documents."""
        if self.factor is None:
            return self._side_by_side(rows) * self.scale
        K = products(self.blocks, self._labelled_rows, rows)
        options = {"lower": True, "check_finite": False, "overwrite_b": True}
        return scipy.linalg.solve_triangular(self.factor, K, **options).T * self.scale

    def _side_by_side(self, rows: Array) -> Any:
        parts = [block.rows(rows, np.float64) for block in self.blocks]
        if all(sp.issparse(part) for part in parts):
            return sp.hstack(parts, format="csr")
        return np.hstack([part.toarray() if sp.issparse(part) else part for part in parts])


def _factor(K: Array) -> Array:
    """The Cholesky factor; a small diagonal is added, because copies make K singular."""
    jitter = 1e-10 * max(float(K.diagonal().mean()), 1e-300)
    while True:
        try:
            shifted = K + jitter * np.eye(len(K))
            return np.asarray(scipy.linalg.cholesky(shifted, lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            jitter *= 100
