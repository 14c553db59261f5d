"""The tasks of a pass: sums over partitions, and their merging."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcot.distributed._partitions import Failed, Loader
from dcot.errors import DcotError
from dcot.stream import Sum
from dcot.stream.passes import Block, count_of, through
from dcot.stream.sources import named
from dcot.text.inputs import Texts

# Matrices are stacked up to this many bytes, because every addition copies a sparse sum.
STACK_BYTES = 192e6
SAMPLE_DOCUMENTS = 1000  # documents of the first partition that show the type and width


@dataclass
class Part:
    """The totals of some sums over some partitions.

    Attributes
    ----------
    totals : one per sum; None if there were no documents
    counts, sizes : number of documents and bytes by partition
    failed : partitions that could not be read, each with the reason
    """

    totals: list[Any] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def __sizeof__(self) -> int:
        return size_of(self.totals)


@dataclass
class Leaf:
    """Sums over partitions, which are read one by one and not kept in memory."""

    sums: Sequence[Sum]
    part: Part = field(default_factory=Part)
    waiting: list[tuple[str, Any]] = field(default_factory=list)
    size: float = 0.0

    def take(self, name: str, documents: Any) -> None:
        """Add the documents of a partition, or record that it failed."""
        if isinstance(documents, Failed):
            self.part.failed[documents.name] = documents.reason
            return
        count, size = count_of(documents), bytes_of(documents)
        self.part.counts[name], self.part.sizes[name] = count, size
        if count:
            self.waiting.append((name, documents))
            self.size += size
        if self.size >= STACK_BYTES or not isinstance(documents, Block):
            self.finish()

    def finish(self) -> Part:
        """Add the waiting documents to the sums, and return the totals."""
        if self.waiting:
            names = [name for name, _ in self.waiting]
            blocks = [block for _, block in self.waiting]
            self.waiting, self.size = [], 0.0
            try:
                self._add(Block.stack(blocks) if len(blocks) > 1 else blocks[0])
            except (DcotError, ValueError, TypeError) as error:
                raise named(" to ".join(dict.fromkeys([names[0], names[-1]])), error) from error
        return self.part

    def _add(self, block: Any) -> None:
        totals = self.part.totals
        if totals is None:
            totals = [one.empty() for one in self.sums]
        added = [one.add(total, block) for one, total in zip(self.sums, totals, strict=True)]
        self.part = replace(self.part, totals=added)


def add_partitions(
    loaders: list[Loader], inputs: list[list[Any]], starts: list[int], steps: Any, groups: Any
) -> list[Part]:
    """A task that reads partitions, applies the steps, and returns a part for every group of sums.

    ``inputs`` are those of each partition, ``starts`` the positions of its first document in the
    corpus.
    """
    leaf = Leaf([one for group in groups.value for one in group])
    for loader, given, start in zip(loaders, inputs, starts, strict=True):
        leaf.take(loader.name, read(loader, given, start, steps))
    whole = leaf.finish()
    parts, first = [], 0
    for group in groups.value:
        stop = first + len(group)
        totals = None if whole.totals is None else whole.totals[first:stop]
        parts.append(Part(totals, whole.counts, whole.sizes, whole.failed))
        first = stop
    return parts


def read(loader: Loader, given: list[Any], start: int, steps: Any) -> Any:
    """Return the documents of a partition after the steps; ``Failed`` if it is skipped."""
    documents = loader.load(given)
    if isinstance(documents, Failed):
        return documents
    try:
        return through(steps.value, documents, start)
    except (DcotError, ValueError, TypeError) as error:
        return loader.failed(error)


def read_some(loader: Loader, given: list[Any], start: int, steps: Any) -> Any:
    """A task that returns the first documents of a partition."""
    documents = read(loader, given, start, steps)
    if isinstance(documents, Failed):
        return documents
    if isinstance(documents, Block):
        return documents.rows(0, SAMPLE_DOCUMENTS)
    return documents[:SAMPLE_DOCUMENTS]


def pick(parts: list[Part], group: int) -> Part:
    """A task that returns the part of one group of sums."""
    return parts[group]


def merge(sums: Any, parts: list[Part]) -> Part:
    """A task that merges several parts."""
    whole, totals = Part(), None
    for part in parts:
        whole.counts.update(part.counts)
        whole.sizes.update(part.sizes)
        whole.failed.update(part.failed)
        if part.totals is None:
            continue
        if totals is None:
            totals = [_copied(total) for total in part.totals]
            continue
        pairs = zip(sums.value, totals, part.totals, strict=True)
        totals = [one.merge(left, right) for one, left, right in pairs]
    return replace(whole, totals=totals)


def _copied(total: Any) -> Any:
    """Return a copy that may be changed, because results of other tasks must not change."""
    if isinstance(total, list):  # its items are replaced, never changed
        return list(total)
    return deepcopy(total)


def size_of(value: Any) -> int:
    """Return the bytes of all arrays in a value; Dask places tasks by the size of their inputs."""
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if sp.issparse(value):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if hasattr(value, "__dict__"):
        return sum(map(size_of, vars(value).values()))
    return 64


def bytes_of(documents: Any) -> float:
    """Return the approximate size of documents in bytes; 0 if not known."""
    if isinstance(documents, Block):
        return float(documents.nbytes)
    return float(documents.n_bytes) if isinstance(documents, Texts) else 0.0
