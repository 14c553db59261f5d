"""Read texts from files: folders of .txt, .jsonl, .csv, .tsv and .parquet, plain or compressed.

Files are read in batches of bounded size, as often as needed, so that a reader can replace a list
of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from dcot.errors import InvalidParameterError, InvalidTypeError
from dcot.stream import Batch, Source
from dcot.stream.sources import Reader, bounded
from dcot.text import inputs
from dcot.text.decoding import COMPRESSED
from dcot.text.inputs import Texts
from dcot.text.tables import (
    KINDS,
    ReadOptions,
    files_at,
    names_of_columns,
    parquet_frames,
    read_rows,
)

PathLike = str | Path

_BATCH_CHARACTERS = 1 << 20
# Small files are joined to batches of about this size, so that several threads count one batch.
_BATCH_BYTES = 8 << 20
_BATCH_TEXTS = 1 << 16
# Counts take about as much memory as the texts on disk; a compressed file has several times that.
_COMPRESSION = 4.0


class TextFiles:
    """Texts in files, to be read again and again; made by ``read_texts``.

    Iterating gives strings. ``batches()`` gives ``Texts`` of bounded size.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "news.csv"
    >>> _ = path.write_text("body\\ncrude oil prices\\nwheat harvest\\n")
    >>> reader = read_texts(path, column="body")
    >>> [len(batch) for batch in reader.batches()]
    [2]
    >>> list(reader.only(reader.files[:1]))
    ['crude oil prices', 'wheat harvest']
    """

    def __init__(
        self, files: list[tuple[Path, str]], options: ReadOptions, batch_size: int = 8192
    ) -> None:
        self.files = files
        self.options = options
        self.batch_size = batch_size

    def __repr__(self) -> str:
        return f"TextFiles({len(self.files)} files, {self.options})"

    def __iter__(self) -> Iterator[str]:
        for batch in self.batches():
            yield from batch

    def only(self, files: Sequence[tuple[Path, str]]) -> TextFiles:
        """Return a reader of other files with the same options."""
        return TextFiles(list(files), self.options, self.batch_size)

    def _as_source(self, allowed: float) -> TextSource | None:
        """Return a source if counts of the texts may take over a quarter of ``allowed`` bytes."""
        needed = 0.0
        for path, kind in self.files:
            packed = kind == "parquet" or path.suffix.lower() in COMPRESSED
            needed += 1.5 * _size_of(path) * (_COMPRESSION if packed else 1.0)
        return TextSource(self) if needed > 0.25 * allowed else None

    def batches(self) -> Iterator[Texts]:
        """Yield batches of at most ``batch_size`` texts.

        Raises
        ------
        InvalidInputError
            If a file cannot be read, or is not what its name says.
        InvalidParameterError
            If a file does not have the column.
        """
        for is_parquet, files in groupby(self.files, key=lambda file: file[1] == "parquet"):
            if is_parquet:
                for path, _ in files:
                    for frame in parquet_frames(path, self.options, batch_size=self.batch_size):
                        yield from inputs.batches(frame["text"])
            else:
                rows = (row for path, kind in files for row in read_rows(path, kind, self.options))
                texts = (text for text, *_ in rows)
                for batch in bounded(texts, self.batch_size, _BATCH_CHARACTERS):
                    yield Texts.of(batch)


def read_texts(
    path: PathLike | Iterable[PathLike],
    *,
    column: str | Sequence[str] | None = None,
    kind: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    separator: str | None = None,
    batch_size: int = 8192,
) -> TextFiles:
    """Texts from a file, a folder of text files, or several of them.

    Parameters
    ----------
    path : path or iterable of paths
        In a folder, every ``.txt`` file is one document, including files in subfolders, in sorted
        order; if there are none, every file without a suffix. In other files each line (``.txt``),
        object (``.jsonl``, ``.ndjson``) or row (``.csv``, ``.tsv``, ``.parquet``) is a document.
        All but parquet may be compressed (``.gz`` or ``.zst``).
    column : str, sequence of str or None, default=None
        The column with the text; several are joined with line breaks. None means ``text``, or the
        only column.
    kind : {"document", "lines", "jsonl", "csv", "tsv", "parquet"} or None, default=None
        The format of the files, if their names do not show it; ``"document"`` is one text per file.
    encoding : str, default="utf-8"
        Encoding of all files except parquet.
    errors : {"strict", "replace"}, default="strict"
        How to handle bytes that cannot be decoded: raise an error with file and line, or replace
        them by ``"\\ufffd"``.
    separator : str or None, default=None
        The separator of columns in CSV files; None is a comma, or a tab in ``.tsv``.
    batch_size : int, default=8192
        At most this many texts are in memory at a time.

    Returns
    -------
    TextFiles
        Can be passed to ``fit``, ``transform`` and ``partial_fit`` in place of a list.

    Raises
    ------
    InvalidInputError
        If a path does not exist, or a folder has no such files.
    InvalidParameterError
        If an argument is out of range, or the ending of a file is unknown and ``kind`` is None.
    InvalidTypeError
        If ``path`` is neither a path nor a list of paths.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "news.csv"
    >>> _ = path.write_text("body\\ncrude oil prices\\nwheat harvest\\n")
    >>> list(read_texts(path, column="body"))
    ['crude oil prices', 'wheat harvest']
    """
    known_kind = isinstance(kind, str) and kind in {"document", *KINDS.values()}
    if kind is not None and not known_kind:
        known = ", ".join(sorted({"document", *KINDS.values()}))
        raise InvalidParameterError(f"kind must be one of {known}, got {kind!r}")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise InvalidParameterError(f"batch_size must be at least 1, got {batch_size!r}")
    columns = names_of_columns("column", column)
    options = ReadOptions(columns, encoding, errors, separator)
    try:
        items = [path] if isinstance(path, str | Path) else list(path)
        paths = [Path(item) for item in items]
    except TypeError:
        raise InvalidTypeError(f"expected a path or a list of paths, got {path!r}") from None
    if "" in items:  # would be the current folder
        raise InvalidParameterError('expected a path, got "": name a file, or "." for this folder')
    files = [file for item in paths for file in files_at(item, kind)]
    return TextFiles(files, options, batch_size)


class TextSource(Source):
    """Texts in files, batch by batch, as often as asked.

    Parameters
    ----------
    texts : a path, a list of paths, or the result of ``dcot.text.read_texts``
    on_error : {"raise", "skip"}
        How to handle a file that cannot be read: raise an error that names it, or skip the rest
        of it and record it in ``skipped``.
    options : options of ``dcot.text.read_texts``, if paths are given

    Raises
    ------
    InvalidParameterError
        If ``on_error`` or an option is out of range.
    InvalidInputError
        If a path does not exist.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "news.csv"
    >>> _ = path.write_text("body\\ncrude oil prices\\nwheat harvest\\n")
    >>> source = TextSource(path, column="body")
    >>> [name for name, _ in source.units()] == [str(path)]
    True
    >>> [len(batch.documents) for batch in source.batches()], source.fraction()
    ([2], 1.0)
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
        """Yield batches of a few megabytes, for files of any size."""
        names: list[str] = []
        columns: list[Texts] = []
        size = count = 0
        for batch in super().batches():
            length = batch.documents.n_bytes
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


def _together(names: list[str], columns: list[Texts]) -> Batch:
    name = names[0] if names[0] == names[-1] else f"{names[0]} … {names[-1]}"
    return Batch(name, Texts.joined(columns))


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
