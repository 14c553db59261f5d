"""What a source of batches is, and the two kinds that hold any documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from dcot.errors import DcotError, InvalidInputError, InvalidParameterError

Reader = Callable[[], Iterator[Any]]

# Texts that come one by one are put together to batches of at most so many characters and texts.
_CHARACTERS = 1 << 20
_TEXTS = 8192


@dataclass(frozen=True)
class Batch:
    """Some documents (a matrix, or a column or list of texts), and where they come from."""

    name: str
    documents: Any


class Source(ABC):
    """Documents in batches of bounded size, as often as asked.

    Parameters
    ----------
    on_error : {"raise", "skip"}
        What to do with a file, block or batch that cannot be used: an error that names it, or go
        on without (the rest of) it and note it in ``skipped``.

    Attributes
    ----------
    skipped : name → reason of what was left out
    n_documents : how many documents there are, or None where nobody has counted
    n_entries : how many values other than zero, or None
    rereadable : whether more than one pass can be made
    """

    rereadable = True
    n_documents: int | None = None
    n_entries: int | None = None

    def __init__(self, on_error: str = "raise") -> None:
        if on_error not in ("raise", "skip"):
            raise InvalidParameterError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        self.on_error = on_error
        self.skipped: dict[str, str] = {}

    @abstractmethod
    def units(self) -> Iterator[tuple[str, Reader]]:
        """Names of files or blocks, each with a function that reads its batches."""

    def batches(self) -> Iterator[Batch]:
        """One pass: all batches, always in the same order."""
        for name, read in self.units():
            try:
                for documents in read():
                    yield Batch(name, documents)
            except MemoryError:
                raise
            except Exception as error:  # whatever a reader of a damaged file may raise
                self.failed(name, error)

    def failed(self, name: str, error: Exception) -> None:
        """Raise an error that names the batch, or note that it was left out."""
        if self.on_error == "raise":
            raise named(name, error) from error
        self.skipped[name] = str(error)

    def fraction(self) -> float | None:
        """The part of the current pass that is done, where the source can tell."""
        return None


def named(name: str, error: Exception) -> Exception:
    """The same error with the name of the batch, or one of ours for what others raised."""
    message = str(error)
    if name in message:
        return error if isinstance(error, DcotError) else InvalidInputError(message)
    if isinstance(error, DcotError):
        return type(error)(f"{name}: {message}")
    return InvalidInputError(f"{name} cannot be read: {message or type(error).__name__}")


class Repeatable(Source):
    """Batches from a function that returns a new iterator over them each time it is called.

    Parameters
    ----------
    function : callable without arguments
        Returns an iterable of matrices (documents × terms), of texts, or of lists of texts.

    Examples
    --------
    >>> source = Repeatable(lambda: iter(["tea for two", "two for tea"]))
    >>> [batch.documents for batch in source.batches()]
    [['tea for two', 'two for tea']]
    """

    def __init__(self, function: Callable[[], Iterable[Any]], on_error: str = "raise") -> None:
        super().__init__(on_error)
        self.function = function
        self._last: Any = None

    def units(self) -> Iterator[tuple[str, Reader]]:
        made = self.function()
        if made is self._last and hasattr(made, "__next__"):
            raise InvalidInputError(
                "the function gave the same iterator twice, and it is used up: make a new one in "
                "every call, as in lambda: read(path)"
            )
        self._last = made
        for number, documents in enumerate(_grouped(made)):
            yield f"batch {number}", lambda documents=documents: iter([documents])  # type: ignore[misc]


class Once(Source):
    """Batches from an iterator, which can be read once only."""

    rereadable = False

    def __init__(self, iterator: Iterable[Any], on_error: str = "raise") -> None:
        super().__init__(on_error)
        self.iterator = iter(iterator)
        self.started = False

    def peek(self) -> Any:
        """The first item, which stays where it is."""
        first = next(self.iterator, None)
        if first is not None:
            self.iterator = chain([first], self.iterator)
        return first

    def units(self) -> Iterator[tuple[str, Reader]]:
        if self.started:
            raise InvalidInputError(
                "the documents were given as an iterator, which can be read once, and the model "
                "needs another pass: give a list of blocks, files, or a function that returns a "
                "new iterator each time"
            )
        self.started = True
        for number, documents in enumerate(_grouped(self.iterator)):
            yield f"batch {number}", lambda documents=documents: iter([documents])  # type: ignore[misc]


def _grouped(items: Iterable[Any]) -> Iterator[Any]:
    """Batches as they come; single texts in lists."""
    texts: list[str] = []
    size = 0
    for item in items:
        if not isinstance(item, str):
            if texts:
                yield texts
                texts, size = [], 0
            yield item
            continue
        texts.append(item)
        size += len(item)
        if len(texts) >= _TEXTS or size >= _CHARACTERS:
            yield texts
            texts, size = [], 0
    if texts:
        yield texts
