"""Split files into partitions: small files together, large files in pieces."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from dcot.distributed._partitions import Partition, Recipe, numbered
from dcot.errors import InvalidInputError
from dcot.runtime.resources import format_bytes
from dcot.text.decoding import COMPRESSED
from dcot.text.inputs import Texts
from dcot.text.readers import TextFiles
from dcot.text.tables import ReadOptions, csv_row_starts, read_rows, stream_rows

PARTITION_BYTES, PARTITION_FILES = 64_000_000, 10_000
# A larger file that cannot be split gets a warning.
LARGE_PARTITION_BYTES = 4 * PARTITION_BYTES
# In these encodings the byte of a line break has no other meaning.
_CUTTABLE = ("utf-8", "ascii", "iso8859", "cp125", "koi8")

Range = tuple[int, int]


def partitions_of_files(files: TextFiles, *, apart: bool = False) -> list[Partition]:
    """Return the partitions of files; with ``apart``, each has only one file."""
    return numbered(list(_partitions(files, apart)))


def _partitions(files: TextFiles, apart: bool) -> Iterator[Partition]:
    group: list[Any] = []
    size = 0
    most = 1 if apart else PARTITION_FILES
    for path, kind in files.files:
        n_bytes = _status(path).st_size
        pieces = cuts(path, kind, n_bytes, files.options)
        if group and (len(pieces) > 1 or size + n_bytes > PARTITION_BYTES or len(group) >= most):
            yield _whole(files.only(group))
            group, size = [], 0
        if len(pieces) > 1:
            yield from _cut(files.only([(path, kind)]), pieces)
            continue
        group.append((path, kind))
        size += n_bytes
    if group:
        yield _whole(files.only(group))


def _whole(files: TextFiles) -> Partition:
    first, last = files.files[0][0], files.files[-1][0]
    name = f"{first}" if first == last else f"{first} to {last.name} ({len(files.files)} files)"
    # absolute paths are the same on every worker
    there = files.only([(path.resolve(), kind) for path, kind in files.files])
    return Partition(name, _recipe(there), mark_of(files))


def _cut(file: TextFiles, pieces: list[Range]) -> Iterator[Partition]:
    ((path, kind),) = file.files
    mark, unit = mark_of(file), "rows" if kind == "parquet" else "bytes"
    header = pieces[0][0]  # the bytes before the first piece belong to every piece
    for start, stop in pieces:
        piece = Piece(path.resolve(), kind, file.options, start, stop, header)
        yield Partition(f"{path}, {unit} {start:,} to {stop:,}", _recipe(piece), mark)


def _status(path: Path) -> Any:
    try:
        return path.stat()
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror or error}") from error


def mark_of(files: TextFiles) -> str:
    """Return a digest of the paths, sizes and times of files, and of the read options."""
    digest = hashlib.blake2b(str(files.options).encode(), digest_size=16)
    for path, kind in files.files:
        found = _status(path)
        facts = f"{path.resolve()}\0{kind} {found.st_size} {found.st_mtime_ns}\0"
        digest.update(facts.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def cuts(path: Path, kind: str, size: int, options: ReadOptions) -> list[Range]:
    """Return pieces of a file that can be read separately: bytes, or rows of parquet.

    Rows of CSV may contain line breaks, so the whole file is read once to find where they begin.
    A compressed file cannot be split, because it can only be read from the beginning.
    """
    whole = [(0, size)]
    if size <= 2 * PARTITION_BYTES:
        return whole
    if kind == "parquet":
        from dcot.text import parquet

        return _evenly(parquet.n_rows(path), -(-size // PARTITION_BYTES))
    compressed = path.suffix.lower() in COMPRESSED
    if compressed or kind == "document" or not options.encoding.startswith(_CUTTABLE):
        if size > LARGE_PARTITION_BYTES:
            why = "is compressed" if compressed else f"is {kind!r} in {options.encoding}"
            warnings.warn(
                f"{path} {why}, so it cannot be cut: its {format_bytes(size)} are one partition, "
                "which one worker reads alone. Split it into several files",
                stacklevel=2,
            )
        return whole
    if kind in ("csv", "tsv"):
        try:
            starts = csv_row_starts(path, kind, options, PARTITION_BYTES)
        except InvalidInputError:  # the worker that reads the file reports the error
            return whole
        return list(pairwise([*starts, size])) if starts else whole
    return _evenly(size, round(size / PARTITION_BYTES))


def _evenly(size: int, count: int) -> list[Range]:
    """Split bytes or rows into pieces of about the same size, none of them empty."""
    count = max(1, min(count, size))
    return list(pairwise(size * k // count for k in range(count + 1)))


@dataclass
class Piece:
    """The rows or lines of a file that begin in a range of bytes; for parquet, a range of rows.

    The first ``header`` bytes of the file are added before every piece.
    """

    path: Path
    kind: str
    options: ReadOptions
    start: int
    stop: int
    header: int = 0

    def batches(self) -> Iterator[Texts]:
        if self.kind == "parquet":
            rows = read_rows(self.path, self.kind, self.options, part=(self.start, self.stop))
        else:
            # line numbers in errors start at the beginning of the piece
            where = self.path if not self.start else Path(f"{self.path}, from byte {self.start:,}")
            rows = stream_rows(io.BytesIO(self._bytes()), where, self.kind, self.options)
        yield Texts.of([row[0] for row in rows])

    def _bytes(self) -> bytes:
        with self.path.open("rb") as file:
            header = file.read(self.header)
            file.seek(max(self.start - 1, 0))
            if self.start:
                file.readline()  # the rest of the line before
            begun = file.tell()
            data = file.read(self.stop - begun) if begun < self.stop else b""
            if data and not data.endswith(b"\n"):
                data += file.readline()
        return header + data


def _recipe(files: TextFiles | Piece) -> Recipe:
    return Recipe({"texts": (_read, files)}, "texts")


def _read(files: TextFiles | Piece) -> Texts:
    """Read one batch of ``Texts``, which is smaller than a list and faster to count."""
    return Texts.joined(list(files.batches()))
