"""Documents as they enter the sums of a fit: checked, and with their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from dcot.core.centred import Matrix, as_documents, scale_rows
from dcot.errors import InvalidInputError

Array = NDArray[Any]


@dataclass
class Block:
    """Some documents as they enter the sums: CSR or dense, with weights, from row ``start`` on."""

    X: Matrix
    weights: Array | None = None
    start: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be made again: a block may be sent to another process."""
        return {"X": self.X, "weights": self.weights, "start": self.start}

    @property
    def nbytes(self) -> int:
        X = self.X
        return int(X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes)

    @classmethod
    def stack(cls, blocks: Sequence[Block]) -> Block:
        """Blocks that follow one another, as one."""
        matrices = [block.X for block in blocks]
        sparse = any(map(sp.issparse, matrices))
        if sparse:
            matrices = [sp.csr_array(matrix) for matrix in matrices]
        X = sp.vstack(matrices, format="csr") if sparse else np.vstack(matrices)
        known = [block.weights for block in blocks if block.weights is not None]
        weights = np.concatenate(known) if len(known) == len(blocks) else None
        return cls(X, weights, blocks[0].start)

    def rows(self, first: int, stop: int) -> Block:
        """Some of the documents."""
        weights = None if self.weights is None else self.weights[first:stop]
        return Block(self.X[first:stop], weights, self.start + first)

    @cached_property
    def rooted(self) -> Matrix:
        """X with its rows multiplied by the square roots of the weights."""
        if self.weights is None:
            return self.X
        return scale_rows(self.X, np.sqrt(self.weights).astype(self.X.dtype))

    @cached_property
    def sparse(self) -> Block:
        """The same as CSR."""
        if sp.issparse(self.X):
            return self
        return Block(sp.csr_array(self.X), self.weights, self.start)

    @cached_property
    def transpose(self) -> Matrix:
        return self.rooted.T.tocsr() if sp.issparse(self.X) else self.rooted.T

    @cached_property
    def root(self) -> Array:
        ones = np.ones(self.X.shape[0], dtype=self.X.dtype)
        return ones if self.weights is None else np.sqrt(self.weights).astype(self.X.dtype)


@dataclass(frozen=True)
class ReadBlock:
    """A step of a pass: a matrix as it was given, checked; CSR or C-contiguous.

    ``d`` is the number of columns, and ``dtype`` the precision to compute in; None takes any.
    """

    d: int | None
    dtype: Any = None

    def __call__(self, X: Any) -> Block:
        accept = ["csr", "csc", "coo"]
        X = check_array(X, accept_sparse=accept, dtype="numeric", ensure_min_samples=0)
        if self.d is not None and X.shape[1] != self.d:
            raise InvalidInputError(
                f"{X.shape[1]} columns, but the first documents have {self.d}: count all documents "
                "with the same vocabulary"
            )
        return Block(X if self.dtype is None else as_documents(X, self.dtype))


@dataclass(frozen=True)
class AttachWeights:
    """A step of a pass: give the documents their weights and their places in the corpus."""

    weights: Array | None
    start: int = 0

    def at(self, start: int) -> AttachWeights:
        return replace(self, start=start)

    def __call__(self, block: Block) -> Block:
        n = block.shape[0]
        if self.weights is None:
            return replace(block, start=self.start)
        weights = self.weights[self.start : self.start + n]
        if len(weights) < n:
            raise InvalidInputError(
                f"sample_weight has {len(self.weights)} entries, and the source has more documents"
            )
        place = int(np.count_nonzero(self.weights[: self.start]))
        if not weights.all():
            return Block(block.X[weights > 0], weights[weights > 0], place)
        return Block(block.X, weights, place)
