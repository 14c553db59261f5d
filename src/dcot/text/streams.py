"""Files of texts as a source of batches, and when a corpus is large enough to want one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from dcot.stream import Batch, Repeatable, Source
from dcot.stream.sources import Reader
from dcot.text import inputs
from dcot.text.decoding import COMPRESSED
from dcot.text.readers import PathLike, TextFiles, read_texts

# Small files are joined to batches of about this size, so that several threads count one batch.
_BATCH_BYTES = 8 << 20
_BATCH_TEXTS = 1 << 16
# Counts take about as much memory as the texts on disk; a compressed file holds several times that.
_COMPRESSION = 4.0


class TextSource(Source):
    """Texts in files, batch by batch, as often as asked.

    Parameters
    ----------
    texts : a path, a list of paths, or what :func:`dcot.text.read_texts` returned
    on_error : {"raise", "skip"}
        What to do with a file that cannot be read: an error that names it, or go on without the
        rest of it and note it in ``skipped``.
    options : for :func:`dcot.text.read_texts`, where paths are given

    Examples
    --------
    >>> source = TextSource(read_texts(["a.jsonl", "b.jsonl"]))  # doctest: +SKIP
    >>> DCoTVectorizer().fit(source)  # doctest: +SKIP
    """

    def __init__(
        self,
        texts: TextFiles | PathLike | Iterable[PathLike],
        on_error: str = "raise",
        **options: Any,
    ) -> None:
        super().__init__(on_error)
        self.files = texts if isinstance(texts, TextFiles) else read_texts(texts, **options)
        self.sizes = [_size_of(path) for path, _ in self.files.files]
        self._done = self._within = 0

    def units(self) -> Iterator[tuple[str, Reader]]:
        self._done = 0
        files = self.files
        for size, (path, kind) in zip(self.sizes, files.files, strict=True):
            one = files.only([(path, kind)])
            self._within = 0
            yield str(path), one.batches
            self._done += size
        self._within = 0

    def batches(self) -> Iterator[Batch]:
        """Batches of a few megabytes, whatever the size of the files."""
        names: list[str] = []
        columns: list[pl.Series] = []
        size = count = 0
        for batch in super().batches():
            length = int(batch.documents.str.len_bytes().sum())
            self._within += length
            size, count = size + length, count + len(batch.documents)
            names.append(batch.name)
            columns.append(batch.documents)
            if size >= _BATCH_BYTES or count >= _BATCH_TEXTS:
                yield _together(names, columns)
                names, columns, size, count = [], [], 0, 0
        if columns:
            yield _together(names, columns)

    def fraction(self) -> float | None:
        total = sum(self.sizes)
        if not total:
            return None
        return min(1.0, (self._done + self._within) / total)


def _together(names: list[str], columns: list[pl.Series]) -> Batch:
    name = names[0] if names[0] == names[-1] else f"{names[0]} … {names[-1]}"
    texts = columns[0] if len(columns) == 1 else pl.concat(columns, rechunk=True)
    return Batch(name, texts)


def as_column(documents: Any) -> pl.Series:
    """One column of strings from texts of any kind, checked; a step of a pass."""
    if callable(documents) and not hasattr(documents, "__iter__"):
        documents = Repeatable(documents)
    columns = list(inputs.batches(documents))
    if not columns:
        return pl.Series([], dtype=pl.String)
    return columns[0] if len(columns) == 1 else pl.concat(columns, rechunk=True)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def as_text_source(documents: Any, allowed: float) -> Source | None:
    """A source, if that is what was given or if files are too large to count them in memory.

    Parameters
    ----------
    documents : what was passed to ``fit``
    allowed : bytes of memory that may be used
    """
    if isinstance(documents, Source):
        return documents
    if callable(documents) and not hasattr(documents, "__iter__"):
        return Repeatable(documents)
    if isinstance(documents, TextFiles) and held_bytes(documents) > 0.25 * allowed:
        return TextSource(documents)
    return None


def held_bytes(texts: TextFiles) -> float:
    """About what the counts of these files would take in memory."""
    total = 0.0
    for path, kind in texts.files:
        packed = kind == "parquet" or path.suffix.lower() in COMPRESSED
        total += _size_of(path) * (_COMPRESSION if packed else 1.0)
    return 1.5 * total
