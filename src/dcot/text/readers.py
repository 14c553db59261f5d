"""Texts from files: folders of .txt, .jsonl, .csv, .tsv and .parquet, plain or compressed.

Files are read in batches of bounded size, as often as asked: a reader can go wherever a list of
texts can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from dcot.errors import InvalidParameterError, InvalidTypeError
from dcot.text.tables import KINDS, ReadOptions, files_at, parquet_frames, read_rows

PathLike = str | Path

_BATCH_CHARACTERS = 1 << 20


class TextFiles:
    """Texts in files, to be read again and again; made by :func:`read_texts`.

    Iterating gives strings. ``batches()`` gives polars columns of a bounded number of texts.
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
        """A reader of other files in the same way."""
        return TextFiles(list(files), self.options, self.batch_size)

    def batches(self) -> Iterator[pl.Series]:
        """Columns of at most ``batch_size`` texts."""
        texts: list[str] = []
        size = 0
        for path, kind in self.files:
            if kind == "parquet":
                if texts:
                    yield _column(texts)
                    texts, size = [], 0
                for frame in parquet_frames(path, self.options, batch_size=self.batch_size):
                    yield frame["text"]
                continue
            for row in read_rows(path, kind, self.options):
                texts.append(row[0])
                size += len(row[0])
                if len(texts) >= self.batch_size or size >= _BATCH_CHARACTERS:
                    yield _column(texts)
                    texts, size = [], 0
        if texts:
            yield _column(texts)


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
        A folder stands for all ``.txt`` files in it and below (or, if there are none, for all files
        without an ending), sorted, each one document. In other files each line (``.txt``), object
        (``.jsonl``, ``.ndjson``) or row (``.csv``, ``.tsv``, ``.parquet``) is a document. All but
        parquet may end in ``.gz`` or ``.zst``.
    column : str, sequence of str or None, default=None
        The column with the text; several are joined with line breaks. None takes ``text``, or the
        only one there is.
    kind : {"document", "lines", "jsonl", "csv", "tsv", "parquet"} or None, default=None
        What the files are, where their names do not say; ``"document"`` is one text per file.
    encoding : str, default="utf-8"
        Encoding of all files but parquet.
    errors : {"strict", "replace"}, default="strict"
        What to do with bytes that cannot be decoded: an error with file and line, or ``"\\ufffd"``.
    separator : str or None, default=None
        The character between columns of CSV files; None is a comma, or a tab in ``.tsv``.
    batch_size : int, default=8192
        At most this many texts are in memory at a time.

    Returns
    -------
    TextFiles
        Can be passed to ``fit``, ``transform`` and ``partial_fit`` in place of a list.
    """
    if kind is not None and kind not in {"document", *KINDS.values()}:
        known = ", ".join(sorted({"document", *KINDS.values()}))
        raise InvalidParameterError(f"kind must be one of {known}, got {kind!r}")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise InvalidParameterError(f"batch_size must be at least 1, got {batch_size!r}")
    columns = (column,) if isinstance(column, str) else tuple(column or ())
    options = ReadOptions(columns, encoding, errors, separator)
    try:
        paths = [Path(item) for item in ([path] if isinstance(path, str | Path) else list(path))]
    except TypeError:
        raise InvalidTypeError(f"expected a path or a list of paths, got {path!r}") from None
    files = [file for item in paths for file in files_at(item, kind)]
    return TextFiles(files, options, batch_size)


def _column(texts: list[str]) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)
