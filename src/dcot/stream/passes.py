"""Passes over documents: turn batches into checked blocks, and compute sums over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names

from dcot.core.centred import Matrix, as_documents, scale_rows
from dcot.errors import DcotError, InvalidInputError
from dcot.runtime.progress import Progress, documents_done, silent
from dcot.stream.sources import Once, Source

Array = NDArray[Any]


@dataclass
class Block:
    """Documents as CSR or dense matrix, with weights; ``start`` is the first row in the corpus.

    ``names`` are those of the columns, if the documents were a frame that has just been read.
    """

    X: Matrix
    weights: Array | None = None
    start: int = 0
    names: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached values, because a block may be sent to another process."""
        kept = ("X", "weights", "start", "names")
        return {name: getattr(self, name) for name in kept}

    @property
    def nbytes(self) -> int:
        X = self.X
        return int(X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes)

    @classmethod
    def stack(cls, blocks: Sequence[Block]) -> Block:
        """Join consecutive blocks."""
        matrices = [block.X for block in blocks]
        sparse = any(map(sp.issparse, matrices))
        if sparse:
            matrices = [sp.csr_array(matrix) for matrix in matrices]
        X = sp.vstack(matrices, format="csr") if sparse else np.vstack(matrices)
        known = [block.weights for block in blocks if block.weights is not None]
        weights = np.concatenate(known) if len(known) == len(blocks) else None
        return cls(X, weights, blocks[0].start)

    def rows(self, first: int, stop: int) -> Block:
        """Return the documents ``first:stop``."""
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
        """The block with X as CSR."""
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
    """A step of a pass that checks a matrix and makes it CSR or C-contiguous.

    ``d`` is the number of columns, ``dtype`` the dtype to compute in, and ``names`` those of the
    columns; None accepts any.
    """

    d: int | None
    dtype: Any = None
    names: Array | None = None

    def __call__(self, X: Any) -> Block:
        names = _get_feature_names(X)
        accept = ["csr", "csc", "coo"]
        X = check_array(X, accept_sparse=accept, dtype="numeric", ensure_min_samples=0)
        if self.d is not None and X.shape[1] != self.d:
            raise InvalidInputError(
                f"{X.shape[1]} columns, but the first documents have {self.d}: count all documents "
                "with the same vocabulary"
            )
        known = self.names
        if known is not None and names is not None and list(known) != list(names):
            raise InvalidInputError(
                "the columns have other names, or another order, than those of the first "
                f"documents, {list(known)!s:.80}: give all frames the same columns"
            )
        return Block(X if self.dtype is None else as_documents(X, self.dtype), names=names)


def read_blocks(source: Source) -> Block:
    """Return the documents of all batches as one block."""
    blocks: list[Block] = []
    for batch in source.batches():
        try:
            read = ReadBlock(None)
            if blocks:
                read = ReadBlock(blocks[0].shape[1], names=blocks[0].names)
            blocks.append(read(batch.documents))
        except (DcotError, ValueError, TypeError) as error:
            source.failed(batch.name, error)
    if not blocks:
        raise InvalidInputError("no block can be used: there is nothing to learn from")
    return Block.stack(blocks)


@dataclass(frozen=True)
class AttachWeights:
    """A step of a pass that sets the weights and positions of documents, and drops weight zero."""

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


class Sum:
    """A sum over documents; totals of parts can be merged in any grouping."""

    def empty(self) -> Any:
        """Return the total of no documents."""
        raise NotImplementedError

    def add(self, total: Any, batch: Any) -> Any:
        """Return the total with one more batch; ``total`` may be changed and returned."""
        raise NotImplementedError

    def merge(self, left: Any, right: Any) -> Any:
        """Return the total of two parts; both may be changed."""
        raise NotImplementedError

    def for_merging(self) -> Sum:
        """Return a sum with the same ``merge``, without the data that only ``add`` needs."""
        return self

    @property
    def total_bytes(self) -> float:
        """The largest possible size of a total; 0 if it is small."""
        return 0.0

    @property
    def sent_bytes(self) -> float:
        """The size of the data that ``add`` needs; 0 if it is small."""
        return 0.0


class Passes(Protocol):
    """Computes sums over all documents."""

    @property
    def progress(self) -> Progress:
        """Called with the progress of a pass."""

    @property
    def rereadable(self) -> bool:
        """Whether more than one pass is possible."""

    @property
    def skipped(self) -> dict[str, str]:
        """Names of the parts skipped so far, each with the reason."""

    def totals(self, sums: Sequence[Sum], message: str) -> list[Any]:
        """Return the totals of several sums, in one pass."""

    def map(self, function: Callable[[Any], Any]) -> Passes:
        """Return passes that apply a function to each batch first."""

    def first(self) -> Any:
        """Return the first batch that has documents."""


@dataclass(eq=False)
class LocalPasses:
    """Passes in this process, one batch after the other.

    Attributes
    ----------
    source : the source of the documents
    progress : called with the progress of a pass
    steps : functions applied to every batch
    n_weights : number of weights, if documents have weights: one for each document
    counted : documents in each pass; shared with the result of ``map``
    """

    source: Source
    progress: Progress = silent
    steps: tuple[Callable[[Any], Any], ...] = ()
    n_weights: int | None = None
    counted: list[int] = field(default_factory=list)

    @property
    def rereadable(self) -> bool:
        return self.source.rereadable

    @property
    def skipped(self) -> dict[str, str]:
        return self.source.skipped

    def map(self, function: Callable[[Any], Any]) -> Self:
        return replace(self, steps=(*self.steps, function))

    def first(self) -> Any:
        source, done = self.source, 0
        for batch in source.ahead() if isinstance(source, Once) else source.batches():
            try:
                value = through(self.steps, batch.documents, done)
            except (DcotError, ValueError, TypeError) as error:
                source.failed(batch.name, error)
                continue
            if count_of(value):
                return value
            done += count_of(batch.documents)
        raise InvalidInputError("the source has no documents: there is nothing to learn from")

    def totals(self, sums: Sequence[Sum], message: str) -> list[Any]:
        totals = [one.empty() for one in sums]
        done, expected = 0, self.counted[0] if self.counted else self.source.n_documents
        documents_done(self.progress, message, 0, expected)
        for batch in self.source.batches():
            count = count_of(batch.documents)
            try:
                value = through(self.steps, batch.documents, done) if count else None
            except (DcotError, ValueError, TypeError) as error:
                self.source.failed(batch.name, error)
                value, count = None, 0
            if value is not None:
                totals = [one.add(total, value) for one, total in zip(sums, totals, strict=True)]
            done += count
            documents_done(self.progress, message, done, expected, self.source.fraction())
        documents_done(self.progress, message, done, done, finished=True)
        self._check(done)
        return totals

    def _check(self, done: int) -> None:
        """Check that all passes read the same number of documents."""
        if not done:
            raise InvalidInputError("the source has no documents: there is nothing to learn from")
        if self.n_weights not in (None, done):
            raise InvalidInputError(
                f"sample_weight has {self.n_weights:,} entries, and the source has {done:,} "
                "documents: one weight for each is expected"
            )
        if self.counted and self.counted[0] != done:
            raise InvalidInputError(
                f"the source changed between passes: {self.counted[0]:,} documents in the first, "
                f"{done:,} in a later one; it has to give the same batches every time"
            )
        self.counted.append(done)


def through(steps: Sequence[Callable[[Any], Any]], documents: Any, start: int) -> Any:
    """Return documents after the steps of a pass; ``start`` is the first one in the corpus."""
    for step in steps:
        if hasattr(step, "at"):  # depends on the position in the corpus
            step = step.at(start)
        documents = step(documents)
    return documents


def count_of(documents: Any) -> int:
    """Return the number of documents in a batch."""
    shape = getattr(documents, "shape", None)
    return int(shape[0]) if shape is not None else len(documents)
