"""Passes over documents: sums of what every batch contributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

from dcot.errors import DcotError, InvalidInputError
from dcot.runtime.progress import Progress, documents_done, silent
from dcot.stream.sources import Once, Source


class Sum(Protocol):
    """What is added up over the documents; totals of parts can be merged in any grouping."""

    def empty(self) -> Any:
        """The total of no documents."""

    def add(self, total: Any, batch: Any) -> Any:
        """The total with one more batch; ``total`` may be changed and returned."""

    def merge(self, left: Any, right: Any) -> Any:
        """The total of two parts; both may be changed."""


class Passes(Protocol):
    """Something that can go over all documents and add up."""

    @property
    def rereadable(self) -> bool:
        """Whether more than one pass can be made."""
        ...

    @property
    def skipped(self) -> dict[str, str]:
        """Names of the parts that were left out so far, each with the reason."""
        ...

    def totals(self, sums: Sequence[Sum], message: str) -> list[Any]:
        """The totals of several sums, in one pass."""
        ...

    def map(self, function: Callable[[Any], Any]) -> Passes:
        """The same documents, each batch taken through a function first."""
        ...

    def first(self) -> Any:
        """The first batch that has documents."""
        ...


class LocalPasses:
    """Passes in this process, one batch after the other.

    Parameters
    ----------
    source : where the documents come from
    progress : told how far a pass is
    steps : functions that every batch goes through
    """

    def __init__(
        self,
        source: Source,
        progress: Progress = silent,
        steps: tuple[Callable[[Any], Any], ...] = (),
    ) -> None:
        self.source, self.progress, self.steps = source, progress, steps
        self.counted: list[int] = []  # documents in each pass; shared with what map returns

    @property
    def rereadable(self) -> bool:
        return self.source.rereadable

    @property
    def skipped(self) -> dict[str, str]:
        return self.source.skipped

    def map(self, function: Callable[[Any], Any]) -> Self:
        mapped = type(self)(self.source, self.progress, (*self.steps, function))
        mapped.counted = self.counted
        return mapped

    def first(self) -> Any:
        if isinstance(self.source, Once):
            first = self.source.peek()
            if first is not None:
                return self._through(first, 0)
        else:
            done = 0
            for batch in self.source.batches():
                try:
                    value = self._through(batch.documents, done)
                except (DcotError, ValueError, TypeError) as error:
                    self.source.failed(batch.name, error)
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
                value = self._through(batch.documents, done) if count else None
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

    def _through(self, value: Any, start: int) -> Any:
        for step in self.steps:
            if hasattr(step, "at"):  # what depends on the position in the corpus
                step = step.at(start)
            value = step(value)
        return value

    def _check(self, done: int) -> None:
        """All passes have to see the same documents."""
        if not done:
            raise InvalidInputError("the source has no documents: there is nothing to learn from")
        if self.counted and self.counted[0] != done:
            raise InvalidInputError(
                f"the source changed between passes: {self.counted[0]:,} documents in the first, "
                f"{done:,} in a later one; it has to give the same batches every time"
            )
        self.counted.append(done)


def count_of(documents: Any) -> int:
    """How many documents a batch has."""
    shape = getattr(documents, "shape", None)
    return int(shape[0]) if shape is not None else len(documents)
