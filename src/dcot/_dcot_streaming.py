"""How ``DCoT`` learns from a source of batches, which is read as often as the layers need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from dcot._dcot_input import dtype_for, settings_of
from dcot._dcot_learning import adopt, choose
from dcot.core.checks import canonical, check_weights
from dcot.core.representation import compression_rows
from dcot.errors import InvalidInputError
from dcot.stream import LocalPasses, Passes, Source
from dcot.stream.fitting import Corpus, Request, Streamed, fit_passes
from dcot.stream.sums import Block, RowsSum

Array = NDArray[Any]


@dataclass(frozen=True)
class ReadBlock:
    """A step of a pass: a matrix as somebody gave it, checked; CSR or C-contiguous."""

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
        if self.dtype is None:
            return Block(X)
        if sp.issparse(X):
            X = canonical(X, self.dtype)
            values = X.data
        else:
            with np.errstate(over="ignore"):
                X = values = np.ascontiguousarray(X, dtype=self.dtype)
        if self.dtype == np.float32 and not np.isfinite(values).all():
            raise InvalidInputError(
                "values too large for float32: rescale them, or use dtype='float64'"
            )
        return Block(X)


@dataclass(frozen=True)
class Weigh:
    """A step of a pass: give the documents their weights and their places."""

    weights: Array | None
    start: int = 0

    def at(self, start: int) -> Weigh:
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


def learn_from_source(model: Any, source: Source, sample_weight: Any) -> None:
    """From batches in this process."""
    settings = settings_of(model)
    passes = LocalPasses(source, settings.progress)
    weights = None
    if sample_weight is not None:
        count = source.n_documents if source.n_documents is not None else np.size(sample_weight)
        weights = check_weights(sample_weight, count)
    first = passes.map(ReadBlock(None)).first()
    d, dtype = first.shape[1], dtype_for(model, first.X, reset=True)
    blocks = passes.map(ReadBlock(d, dtype)).map(Weigh(weights))
    learn_from_passes(model, blocks, d, dtype, settings=settings)


def learn_from_passes(
    model: Any,
    blocks: Passes,
    d: int,
    dtype: Any,
    *,
    known: Corpus | None = None,
    settings: Any = None,
    sparse_parts: bool = False,
) -> Streamed:
    """From passes over checked blocks, wherever they are made."""
    explicit = not isinstance(model.prototypes, str) and not callable(model.prototypes)
    request = Request(
        d,
        dtype,
        settings or settings_of(model),
        lambda moments: choose(model, moments),
        len(model.prototypes) if explicit else model.n_prototypes,
        known,
        sparse_parts,
    )
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    if model.n_components is not None and not blocks.rereadable:
        raise InvalidInputError(
            "n_components needs another pass, and the source can be read once: give a list of "
            "blocks, files or a function that returns a new iterator each time"
        )
    found = fit_passes(blocks, request)
    model.n_features_in_ = d
    adopt(model, found.layers, found.prototypes)
    model.n_documents_ = float(found.moments.n)
    model.plan_ = found.plan
    if model.n_components is not None:
        _compress(model, blocks)
    return found


def _compress(model: Any, blocks: Passes) -> None:
    """Directions of the compression, from the same documents that an in-memory fit would take."""
    generator = check_random_state(model.random_state)
    (n,) = blocks.totals([_CountSum()], "counting")
    chosen = compression_rows(n, generator)
    wanted = np.arange(n) if chosen is None else chosen
    (parts,) = blocks.totals([RowsSum(wanted)], "documents for the compression")
    parts = sorted(parts, key=lambda part: part[0])
    X = _stacked([rows for _, rows, _ in parts])
    weights = None
    if parts[0][2] is not None:
        weights = np.concatenate([some for _, _, some in parts])
    compressed = model._representation.compressed_on(X, weights, model.n_components, generator)
    model._representation = compressed


class _CountSum:
    """Documents of positive weight."""

    def empty(self) -> int:
        return 0

    def add(self, total: int, block: Block) -> int:
        return total + block.shape[0]

    def merge(self, left: int, right: int) -> int:
        return left + right


def _stacked(parts: list[Any]) -> Any:
    if sp.issparse(parts[0]):
        return sp.csr_array(sp.vstack(parts, format="csr"))
    return np.concatenate(parts)
