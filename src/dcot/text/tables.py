"""Rows of files: a text together with other fields, such as its label and its identifier.

``readers`` gives texts alone, and gives them fast. Here a row keeps what belongs together.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import polars as pl

from dcot.errors import InvalidInputError, InvalidParameterError
from dcot.text.decoding import DecodedFile, opened
from dcot.text.readers import _chosen, _frames, _LongFields, _text_of

Row = tuple[Any, ...]


def read_rows(
    path: Path, kind: str, text: str | None, others: Sequence[str], errors: str = "strict"
) -> Iterator[Row]:
    """Tuples of the text and the other fields, row by row.

    Parameters
    ----------
    path : a file
    kind : as in :func:`dcot.text.read_texts`
    text : the field with the text; None takes ``text``, or the only one
    others : names of more fields; a JSON object without one has None in its place
    errors : as in :func:`dcot.text.read_texts`
    """
    if kind == "parquet":
        yield from _parquet_rows(path, text, others)
        return
    with opened(path) as stream:
        yield from stream_rows(stream, path, kind, text, others, errors)


def stream_rows(
    stream: IO[bytes],
    path: Path,
    kind: str,
    text: str | None,
    others: Sequence[str],
    errors: str = "strict",
) -> Iterator[Row]:
    """The same for an open stream, such as standard input; ``path`` is for messages."""
    lines = DecodedFile(path, stream, errors)
    if kind in ("csv", "tsv"):
        yield from _csv_rows(lines, path, "," if kind == "csv" else "\t", text, others)
    elif kind == "jsonl":
        yield from _json_rows(lines, path, text, others)
    elif others:
        raise InvalidParameterError(
            f"{path} is plain text without columns, so there is no {others[0]!r}: expected a table "
            "(.csv, .tsv, .jsonl, .parquet)"
        )
    elif kind == "document":
        yield ("".join(lines),)
    else:
        for line in lines:
            yield (line.rstrip("\r\n"),)


def _csv_rows(
    lines: DecodedFile, path: Path, delimiter: str, text: str | None, others: Sequence[str]
) -> Iterator[Row]:
    rows = _LongFields(csv.reader(lines, delimiter=delimiter, strict=True), path, lines)
    header = next(rows, None)
    if header is None:
        raise InvalidInputError(f"{path} is empty, expected a first line with column names")
    names = [text_column(header, text, str(path)), *others]
    _check_there(names, header, path)
    places = [header.index(name) for name in names]
    for row in rows:
        if not row:
            continue
        if len(row) <= max(places):
            raise InvalidInputError(
                f"{path}, line {lines.number}: {len(row)} fields, expected {len(header)}"
            )
        yield tuple(row[place] for place in places)


def _json_rows(
    lines: DecodedFile, path: Path, text: str | None, others: Sequence[str]
) -> Iterator[Row]:
    seen: dict[str, None] = {}  # in the order of the file
    for line in lines:
        if not line.strip():
            continue
        where = f"{path}, line {lines.number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"{where}: not JSON ({error}); expected one object a line"
            ) from error
        if isinstance(record, dict):
            seen.update(dict.fromkeys(record))
            name = text_column(list(record), text, where)
            yield (_text_of(record, name, where), *(record.get(other) for other in others))
        else:
            yield (_text_of(record, text, where), *(None for _ in others))
    if seen:
        _check_there(others, list(seen), path)


def _parquet_rows(path: Path, text: str | None, others: Sequence[str]) -> Iterator[Row]:
    try:
        frame = pl.scan_parquet(path, glob=False)
        columns = frame.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInputError(f"{path} cannot be read as parquet: {reason}") from error
    names = [text_column(columns, text, str(path)), *others]
    _check_there(names, columns, path)
    start = 0
    for batch in _frames(frame.select(list(dict.fromkeys(names))), 8192):
        texts = batch[names[0]].cast(pl.String)
        if texts.null_count():
            row = start + int(texts.is_null().arg_max() or 0)
            raise InvalidInputError(
                f'{path}, row {row}: the text is missing: drop the row, or put "" in its place'
            )
        yield from zip(texts, *(batch[other] for other in others), strict=True)
        start += len(batch)


def text_column(names: list[str], column: str | None, where: str) -> str:
    """The name of the field that holds the text, or an error that lists those there are."""
    if column is None and "text" not in names and len(names) != 1:
        listed = ", ".join(map(repr, names))
        raise InvalidParameterError(
            f"{where}: which of the columns {listed} is the text? Say so, as in column={names[0]!r}"
        )
    return _chosen(names, column, where) if column is None else column


def _check_there(wanted: Sequence[str], names: Sequence[str], path: Path) -> None:
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InvalidParameterError(
            f"{path} has no column {missing[0]!r}: there are {', '.join(map(repr, names))}"
        )
