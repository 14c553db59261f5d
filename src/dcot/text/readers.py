"""Texts from files: folders of .txt, .jsonl, .csv, .tsv and .parquet, plain or compressed.

Files are read in batches of bounded size, as often as asked: a reader can go wherever a list of
texts can.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from dcot.errors import InvalidInputError, InvalidParameterError
from dcot.text.decoding import DecodedFile, opened

PathLike = str | Path

COMPRESSED = (".gz", ".zst", ".zstd")
_KINDS = {
    ".txt": "lines",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
_BATCH_CHARACTERS = 1 << 20


class TextFiles:
    """Texts in files, to be read again and again; made by :func:`read_texts`.

    Iterating gives strings. ``batches()`` gives polars columns of a bounded number of texts.
    """

    def __init__(
        self, files: list[tuple[Path, str]], column: str | None, errors: str, batch_size: int
    ) -> None:
        self.files = files
        self.column = column
        self.errors = errors
        self.batch_size = batch_size

    def __repr__(self) -> str:
        return f"TextFiles({len(self.files)} files, column={self.column!r})"

    def __iter__(self) -> Iterator[str]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[pl.Series]:
        """Columns of at most ``batch_size`` texts."""
        texts: list[str] = []
        size = 0
        for path, kind in self.files:
            if kind == "parquet":
                if texts:
                    yield _column(texts)
                    texts, size = [], 0
                yield from _read_parquet(path, self.column, self.batch_size)
                continue
            for text in _READERS[kind](path, self.column, self.errors):
                texts.append(text)
                size += len(text)
                if len(texts) >= self.batch_size or size >= _BATCH_CHARACTERS:
                    yield _column(texts)
                    texts, size = [], 0
        if texts:
            yield _column(texts)


def read_texts(
    path: PathLike | Iterable[PathLike],
    *,
    column: str | None = None,
    kind: str | None = None,
    errors: str = "strict",
    batch_size: int = 8192,
) -> TextFiles:
    """Texts from a file, a folder of ``.txt`` files, or several of them.

    Parameters
    ----------
    path : path or iterable of paths
        A folder stands for all ``.txt`` files in it and below, sorted, each one document. In other
        files each line (``.txt``), object (``.jsonl``, ``.ndjson``) or row (``.csv``, ``.tsv``,
        ``.parquet``) is a document. All but parquet may end in ``.gz`` or ``.zst``.
    column : str or None, default=None
        The field that holds the text; None takes ``text``, or the only one there is.
    kind : {"document", "lines", "jsonl", "csv", "tsv", "parquet"} or None, default=None
        What the files are, where their names do not say; ``"document"`` is one text per file.
    errors : {"strict", "replace"}, default="strict"
        What to do with bytes that are not UTF-8: an error with file and line, or ``"\\ufffd"``.
    batch_size : int, default=8192
        The most texts in memory at a time.

    Returns
    -------
    TextFiles
        Can be passed to ``fit``, ``transform`` and ``partial_fit`` in place of a list.
    """
    if errors not in ("strict", "replace"):
        raise InvalidParameterError(f"errors must be 'strict' or 'replace', got {errors!r}")
    if kind is not None and kind not in {"document", *_KINDS.values()}:
        known = ", ".join(sorted({"document", *_KINDS.values()}))
        raise InvalidParameterError(f"kind must be one of {known}, got {kind!r}")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise InvalidParameterError(f"batch_size must be at least 1, got {batch_size!r}")
    paths = [path] if isinstance(path, str | Path) else list(path)
    files = [file for item in paths for file in _files_at(Path(item), kind)]
    return TextFiles(files, column, errors, batch_size)


def _files_at(path: Path, kind: str | None) -> list[tuple[Path, str]]:
    """The files that a path stands for, each with what it is."""
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if _suffix(p) == ".txt" and p.is_file())
        if not found:
            raise InvalidInputError(f"{path} has no .txt files: pass the files themselves")
        return [(file, kind or "document") for file in found]
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist")
    if kind is None and _suffix(path) not in _KINDS:
        raise InvalidParameterError(
            f"{path} ends in {path.suffix!r}, expected one of {', '.join(_KINDS)}: say what it is, "
            "as in kind='lines'"
        )
    return [(path, kind or _KINDS[_suffix(path)])]


def _suffix(path: Path) -> str:
    """The suffix below that of the compression."""
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return plain.suffix.lower()


def _column(texts: list[str]) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


def _read_document(path: Path, column: str | None, errors: str) -> Iterator[str]:
    with opened(path) as stream:
        yield "".join(DecodedFile(path, stream, errors))


def _read_lines(path: Path, column: str | None, errors: str) -> Iterator[str]:
    with opened(path) as stream:
        for line in DecodedFile(path, stream, errors):
            yield line.rstrip("\r\n")


def _read_jsonl(path: Path, column: str | None, errors: str) -> Iterator[str]:
    with opened(path) as stream:
        lines = DecodedFile(path, stream, errors)
        for line in lines:
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise InvalidInputError(
                    f"{path}, line {lines.number}: not JSON ({error}); expected one object a line"
                ) from error
            yield _text_of(record, column, f"{path}, line {lines.number}")


def _text_of(record: Any, column: str | None, where: str) -> str:
    """The text in a JSON value: the string itself, or a field of an object."""
    if isinstance(record, dict):
        record = record[_chosen(list(record), column, where)]
    if isinstance(record, str):
        try:
            record.encode()
        except UnicodeEncodeError:
            raise InvalidInputError(
                f"{where}: the text has a lone surrogate, which is half a character"
            ) from None
        return record
    raise InvalidInputError(
        f"{where}: the text is {record!r} of type {type(record).__name__}, expected a string: drop "
        'the line, or put "" in its place'
    )


def _read_csv(path: Path, column: str | None, errors: str) -> Iterator[str]:
    return _read_table(path, column, errors, ",")


def _read_tsv(path: Path, column: str | None, errors: str) -> Iterator[str]:
    return _read_table(path, column, errors, "\t")


def _read_table(path: Path, column: str | None, errors: str, delimiter: str) -> Iterator[str]:
    with opened(path) as stream:
        lines = DecodedFile(path, stream, errors)
        rows = _LongFields(csv.reader(lines, delimiter=delimiter, strict=True), path, lines)
        header = next(rows, None)
        if header is None:
            raise InvalidInputError(f"{path} is empty, expected a first line with column names")
        place = header.index(_chosen(header, column, str(path)))
        for row in rows:
            if not row:
                continue
            if len(row) <= place:
                raise InvalidInputError(
                    f"{path}, line {lines.number}: {len(row)} fields, expected {len(header)}"
                )
            yield row[place]


class _LongFields:
    """Rows of a csv reader, whose fields may be longer than the module's limit of 128 KiB.

    The limit belongs to the whole process, so it is put back after every row.
    """

    def __init__(self, reader: Iterator[list[str]], path: Path, lines: DecodedFile) -> None:
        self.reader, self.path, self.lines = reader, path, lines

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        try:
            return next(self.reader)
        except csv.Error as error:
            raise InvalidInputError(f"{self.path}, line {self.lines.number}: {error}") from error
        finally:
            csv.field_size_limit(limit)


def _read_parquet(path: Path, column: str | None, batch_size: int) -> Iterator[pl.Series]:
    frame = pl.scan_parquet(path, glob=False)
    name = _chosen(frame.collect_schema().names(), column, str(path))
    start = 0
    for batch in _frames(frame.select(name), batch_size):
        texts = batch[name]
        if texts.dtype in (pl.Categorical, pl.Enum):
            texts = texts.cast(pl.String)
        if texts.dtype != pl.String:
            raise InvalidInputError(
                f"{path}: column {name!r} is of type {texts.dtype}, expected strings"
            )
        if texts.null_count():
            row = start + int(texts.is_null().arg_max() or 0)
            raise InvalidInputError(
                f'{path}, row {row}: the text is missing: drop the row, or put "" in its place'
            )
        yield texts
        start += len(texts)


def _frames(frame: pl.LazyFrame, batch_size: int) -> Iterator[pl.DataFrame]:
    if hasattr(frame, "collect_batches"):  # newer versions of polars
        for batch in frame.collect_batches(chunk_size=batch_size, maintain_order=True):
            yield from batch.iter_slices(batch_size)
        return
    start = 0
    while len(batch := frame.slice(start, batch_size).collect()):
        yield batch
        start += batch_size


def _chosen(names: list[str], column: str | None, where: str) -> str:
    """The name of the field that holds the text."""
    if column is None:
        if "text" in names:
            return "text"
        if len(names) == 1:
            return names[0]
        raise InvalidParameterError(
            f"{where}: which of {names} is the text? Say so, as in column={names[:1]}"
        )
    if column not in names:
        raise InvalidParameterError(f"{where}: no field {column!r} among {names}")
    return column


_READERS: dict[str, Callable[[Path, str | None, str], Iterator[str]]] = {
    "document": _read_document,
    "lines": _read_lines,
    "jsonl": _read_jsonl,
    "csv": _read_csv,
    "tsv": _read_tsv,
}
