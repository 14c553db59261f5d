"""Read rows of files: a text together with other fields, such as a label and an identifier.

All files with documents are read here. ``read_texts`` keeps only the texts; the command line also
keeps labels and identifiers.
"""

from __future__ import annotations

import csv
import json
import re
import reprlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from dcot.core.options import check_choice
from dcot.errors import InvalidInputError, InvalidParameterError
from dcot.text.decoding import (
    COMPRESSED,
    MAX_LINE_BYTES,
    DecodedFile,
    check_encoding,
    opened,
)

if TYPE_CHECKING:
    import polars as pl

KINDS = {
    ".txt": "lines",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
_MAKE_LINES = "make a line of each object, as in jq -c '.[]' old.json > new.jsonl"
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
# Files of labels that the pages write. They are the only ones whose cells are guarded.
LABEL_COLUMNS = ("id", "label", "how", "time", "text")
# A spreadsheet runs a cell that begins with one of these. Only a quote before it prevents that.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Excel reads this first line as the separator of the columns, and some programs write it for Excel
_SEPARATOR_LINE = re.compile('(?i)\ufeff?"?sep=(.)"?[\r\n]*')
_HARMLESS = re.compile(r"[+-]?\d+([.,]\d+)?|[+-]")  # a class may be called -1, or +
USUAL_NAMES = ("text", "body", "content", "document", "abstract", "message", "review", "title")

Row = tuple[Any, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class ReadOptions:
    """How files are read.

    Attributes
    ----------
    text : columns with the text; several are joined with line breaks. If empty, the column
        ``text`` or the only column is used.
    encoding : encoding of all files except parquet
    errors : ``"strict"`` or ``"replace"``, for bytes that cannot be decoded
    separator : separator of CSV columns; None is a comma, or a tab for TSV
    quote : the quotation mark of CSV; None if marks are part of the text
    missing : replaces a missing text; None raises an error instead
    """

    text: tuple[str, ...] = ()
    encoding: str = "utf-8"
    errors: str = "strict"
    separator: str | None = None
    quote: str | None = '"'
    missing: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoding", check_encoding(self.encoding))
        check_choice("errors", self.errors, ("strict", "replace"))
        is_text = isinstance(self.separator, str)
        if is_text and self.separator in ("\\t", "tab"):  # as typed in a shell
            object.__setattr__(self, "separator", "\t")
        one = is_text and len(self.separator or "") == 1 and self.separator not in tuple('"\r\n')
        if self.separator is not None and not one:
            raise InvalidParameterError(
                "separator must be one character, such as ';', or 'tab', and no quotation mark or "
                f"line end, got {self.separator!r}"
            )


def names_of_columns(option: str, given: Any) -> tuple[str, ...]:
    """Return the names of columns from one name, several, or None.

    >>> names_of_columns("column", "body"), names_of_columns("column", None)
    (('body',), ())
    """
    if given is None or isinstance(given, str):
        return () if not given else (given,)
    several = isinstance(given, Iterable) and getattr(given, "ndim", 1) == 1
    names = tuple(given) if several else (given,)
    if not all(isinstance(name, str) for name in names):
        raise InvalidParameterError(
            f"{option} must be the name of a column, or several, got {given!r:.80}"
        )
    return names


# -- files --------------------------------------------------------------------------------------


def suffix_of(path: Path) -> str:
    """Return the suffix of a path, without that of a compression."""
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return plain.suffix.lower()


def files_at(path: Path, kind: str | None) -> list[tuple[Path, str]]:
    """Return the files at a path, each with its kind."""
    if path.is_dir():
        return [(file, kind or "document") for file in _files_in(path, kind)]
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist")
    suffix = suffix_of(path)
    if kind is None and suffix in _SPREADSHEETS:
        raise InvalidParameterError(
            f"{path} is a spreadsheet, which dcot does not read: save it as CSV first"
        )
    if kind is None and suffix == ".json":
        raise InvalidParameterError(
            f"{path} ends in '.json': if every line is an object, say kind='jsonl' (--format "
            f"jsonl); if it is one list, {_MAKE_LINES}"
        )
    if kind is None and suffix not in KINDS:
        raise InvalidParameterError(
            f"{path} ends in {path.suffix!r}, expected one of {', '.join(KINDS)}: say what it is, "
            "as in kind='lines' (--format lines)"
        )
    return [(path, kind or KINDS[suffix])]


def _files_in(folder: Path, kind: str | None) -> list[Path]:
    """Return the files of one kind; for None the .txt files or, if none, those without suffix."""
    files = sorted(
        file
        for file in folder.rglob("*")
        if not any(part.startswith(".") for part in file.relative_to(folder).parts)
        and file.is_file()
    )
    if kind == "document":
        found = files
    elif kind is None:
        found = [file for file in files if suffix_of(file) == ".txt"]
        found = found or [file for file in files if not suffix_of(file)]
    else:
        found = [file for file in files if KINDS.get(suffix_of(file)) == kind]
    if not found:
        endings = sorted({suffix_of(file) or "no ending" for file in files})
        there = f"its files have {', '.join(endings[:5])}" if files else "it is empty"
        raise InvalidInputError(
            f"{folder} has no {'.txt' if kind is None else kind} files ({there}): read every file "
            "as a document with kind='document' (--format document), or name the files themselves"
        )
    return found


# -- rows ---------------------------------------------------------------------------------------


def read_rows(
    path: Path,
    kind: str,
    options: ReadOptions,
    others: Sequence[str] = (),
    *,
    part: tuple[int, int] | None = None,
) -> Iterator[Row]:
    """Yield the text and the other fields of each row, as a tuple.

    Parameters
    ----------
    path : a file
    kind : as in ``dcot.text.read_texts``
    options : how to read the file
    others : names of more fields; None for a field that a JSON object does not have
    part : the first row to read and the one after the last; parquet only
    """
    if kind == "parquet":
        for batch in parquet_frames(path, options, others, part=part):
            yield from batch.iter_rows()
        return
    with opened(path) as stream:
        yield from stream_rows(stream, path, kind, options, others)


def stream_rows(
    stream: IO[bytes], path: Path, kind: str, options: ReadOptions, others: Sequence[str] = ()
) -> Iterator[Row]:
    """Like ``read_rows`` for an open stream, such as standard input; ``path`` is for messages."""
    lines = DecodedFile(path, stream, options.errors, options.encoding)
    if kind in ("csv", "tsv"):
        yield from _csv_rows(lines, kind, options, others)
    elif kind == "jsonl":
        yield from _json_rows(lines, options, others)
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
    lines: DecodedFile, kind: str, options: ReadOptions, others: Sequence[str]
) -> Iterator[Row]:
    path, rows = lines.path, _fields(lines, kind, options)
    header = next(rows, None)
    if header is None:
        raise InvalidInputError(f"{path} is empty, expected a first line with column names")
    if not header:
        raise InvalidInputError(f"{path}: the first line is blank, expected column names")
    if options.separator is None and len(header) == 1:
        _check_separator(header[0], _separator(kind, options), path)
    texts = text_columns(header, options.text, str(path))
    _check_columns([*texts, *others], header, path)
    places = [header.index(name) for name in texts]
    other_places = [header.index(name) for name in others]
    needed = max([*places, *other_places])
    guarded = is_guarded(header)
    for row in rows:
        if len(row) <= needed or (len(row) > len(header) and any(row[len(header) :])):
            if not row:
                continue
            raise InvalidInputError(
                f"{path}, line {lines.number}: {len(row)} fields, expected {len(header)}: "
                + (
                    "put texts that contain the separator in quotation marks"
                    if len(row) > len(header)
                    else "add the missing ones"
                )
            )
        if guarded:
            row = list(map(without_guard, row))
        text = row[places[0]] if len(places) == 1 else "\n".join(row[place] for place in places)
        yield (text, *[row[place] for place in other_places])


def with_guard(text: str) -> str:
    """A cell of a file of labels: with a quote before it if a spreadsheet would run it.

    >>> with_guard("@home"), with_guard("-1")
    ("'@home", '-1')
    """
    runs = text.startswith((*_FORMULA, "'")) and not _HARMLESS.fullmatch(text)
    return "'" + text if runs else text


def without_guard(cell: str) -> str:
    """The text that ``with_guard`` made this cell of; other cells are left as they are.

    >>> without_guard("'@home"), without_guard("'tis")
    ('@home', "'tis")
    """
    text = cell.removeprefix("'")
    return text if with_guard(text) == cell else cell


def is_guarded(header: Sequence[str]) -> bool:
    """Whether a file with these columns is one of labels, whose cells have guards."""
    return sorted(header) == sorted(LABEL_COLUMNS)


def csv_row_starts(path: Path, kind: str, options: ReadOptions, distance: int) -> list[int]:
    """Return byte positions at which to split a CSV file, about ``distance`` apart.

    The first is the end of the row with the column names. A quoted field may have line breaks, so
    the file is read from the beginning and the positions are starts of rows. Without quotation
    marks every line is a row, and the positions may be inside a line.
    """
    with path.open("rb") as stream:
        lines = _CountedLines(path, stream, options.encoding)
        if options.quote is None or not _contains(path, options.quote.encode()):
            first = stream.readline()
            told = _SEPARATOR_LINE.fullmatch(first.decode(options.encoding, "replace"))
            header = len(first) + (len(stream.readline()) if told else 0)
            edges = range(header, path.stat().st_size, distance)
            return list(edges) if header else []
        starts: list[int] = []
        for _ in _fields(lines, kind, options):
            if not starts or lines.done - starts[-1] >= distance:
                starts.append(lines.done)
        return [start for start in starts if start < lines.done]


def _contains(path: Path, wanted: bytes) -> bool:
    with path.open("rb") as stream:
        return any(wanted in chunk for chunk in iter(lambda: stream.read(1 << 22), b""))


class _CountedLines:
    """Lines of a file, with the number of bytes read; invalid characters are replaced."""

    def __init__(self, path: Path, stream: IO[bytes], encoding: str) -> None:
        self.path, self.stream, self.encoding = path, stream, encoding
        self.number = self.done = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self.stream.readline(MAX_LINE_BYTES)
        if not line:
            raise StopIteration
        self.number += 1
        self.done += len(line)
        text = line.decode(self.encoding, "replace")
        return text.removeprefix("\ufeff") if self.number == 1 else text


def _separator(kind: str, options: ReadOptions) -> str:
    return options.separator or ("," if kind == "csv" else "\t")


def _fields(
    lines: DecodedFile | _CountedLines, kind: str, options: ReadOptions
) -> Iterator[list[str]]:
    """Yield the rows of a CSV file, without a first line that names the separator."""
    first = next(lines, None)
    if first is None:
        return
    told = _SEPARATOR_LINE.fullmatch(first)
    rest: Iterable[str] = lines if told else chain([first], lines)
    separator = told[1] if told and not options.separator else _separator(kind, options)
    try:
        yield from csv_fields(rest, separator, options.quote)
    except csv.Error as error:
        reason = str(error)
        if "new-line character" in reason:
            reason = "lines end in carriage returns alone: convert the line ends to \\n"
        elif "unexpected end" in reason:
            reason = "the file ends inside quotation marks: close the marks that are open"
        elif "expected after" in reason:
            reason = "text follows a closing quotation mark: write marks inside of a text twice"
        raise InvalidInputError(f"{lines.path}, line {lines.number}: {reason}") from error


def csv_fields(
    lines: Iterable[str], separator: str, quote: str | None = '"'
) -> Iterator[list[str]]:
    """Yield the rows of CSV, with fields longer than the default limit of 128 KiB.

    The limit applies to the whole process, so it is restored after every row.
    """
    quoting: Any = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    reader = csv.reader(lines, delimiter=separator, strict=True, **quoting)
    while True:
        limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(limit)
        if row is None:
            return
        yield row


def _check_separator(header: str, separator: str, path: Path) -> None:
    """Reject a single column whose name contains another common separator."""
    for other in ";\t|,":
        if other != separator and other in header:
            shown = "tab" if other == "\t" else other
            raise InvalidInputError(
                f"{path} has the single column {header!r}, which looks like several: name what is "
                f"between them with separator={shown!r} (--separator {shown!r})"
            )


def _json_rows(lines: DecodedFile, options: ReadOptions, others: Sequence[str]) -> Iterator[Row]:
    seen: dict[str, None] = {}  # in the order of the file
    for line in lines:
        if not line.strip():
            continue
        where = f"{lines.path}, line {lines.number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            advice = ""
            if lines.number == 1 and line.lstrip().startswith(("[", "{")):
                advice = f": {_MAKE_LINES}"
            elif lines.number == 1:
                advice = "; if it is a table, say kind='csv' (--format csv)"
            raise InvalidInputError(
                f"{where}: not JSON ({error}); expected one object per line{advice}"
            ) from error
        if isinstance(record, dict):
            seen.update(dict.fromkeys(record))
            names = text_columns(list(record), options.text, where)
            if options.missing is None:
                _check_columns(names, list(record), where)
            texts = [_checked_text(record.get(name), where, options.missing) for name in names]
            yield ("\n".join(texts), *(_whole(record.get(other), other, where) for other in others))
        elif isinstance(record, list):
            raise InvalidInputError(
                f"{where}: a list of {len(record):,} values, expected an object: {_MAKE_LINES}"
            )
        else:
            text = _checked_text(record, where, options.missing)
            if others:
                raise InvalidInputError(
                    f"{where} is a text without fields, so there is no {others[0]!r}: expected an "
                    "object"
                )
            yield (text,)
    if seen:
        _check_columns(others, list(seen), lines.path)


def _checked_text(value: Any, where: str, missing: str | None = None) -> str:
    if value is None and missing is not None:
        return missing
    if not isinstance(value, str):
        raise InvalidInputError(
            f"{where}: the text is {reprlib.repr(value)} of type {type(value).__name__}, expected "
            'a string: drop the line, or put "" in its place'
        )
    return _whole(value, "text", where)


def _whole(value: T, name: str, where: str) -> T:
    """Return a value of JSON; raise if it has half a character, which no file can have."""
    try:
        (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode()
    except UnicodeEncodeError:
        raise InvalidInputError(
            f"{where}: the {name} has a lone surrogate, which is half a character"
        ) from None
    return value


def parquet_frames(
    path: Path,
    options: ReadOptions,
    others: Sequence[str] = (),
    batch_size: int = 8192,
    part: tuple[int, int] | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield frames of at most ``batch_size`` rows of a parquet file: the text, then the others."""
    from dcot.text import parquet  # needs polars

    columns = parquet.columns(path)
    texts = text_columns(columns, options.text, str(path))
    _check_columns([*texts, *others], columns, path)
    return parquet.frames(path, texts, others, batch_size, options.missing, part)


# -- columns ------------------------------------------------------------------------------------


def column_names(path: Path, kind: str, options: ReadOptions) -> list[str]:
    """Return the columns of a table; for JSON lines, those of the first objects.

    The list is empty for plain text.
    """
    if kind == "parquet":
        from dcot.text import parquet

        return parquet.columns(path)
    if kind not in ("csv", "tsv", "jsonl"):
        return []
    with opened(path) as stream:
        lines = DecodedFile(path, stream, options.errors, options.encoding)
        if kind != "jsonl":
            return next(_fields(lines, kind, options), [])
        first = []
        for line in islice(lines, 100):
            with suppress(ValueError, RecursionError):  # reported with its line when it is read
                first.append(json.loads(line))
    return list(dict.fromkeys(name for one in first if isinstance(one, dict) for name in one))


def text_columns(names: Sequence[str], wanted: Sequence[str], where: str) -> list[str]:
    """Return the columns with the text; raise an error that lists the columns if it is unclear."""
    if wanted:
        return list(wanted)
    if "text" in names or len(names) == 1:
        return ["text" if "text" in names else names[0]]
    usual = [name for name in names if name.lower() in USUAL_NAMES]
    example = (
        f", as in column={usual[0]!r} (--text {usual[0]})" if usual else " with column (--text)"
    )
    raise InvalidParameterError(
        f"{where}: which of the columns {listed(names)} is the text? Name it{example}"
        f"{_advice_on_titles(names)}"
    )


def listed(names: Sequence[str]) -> str:
    """Return the names of columns for a message; only the first of many.

    >>> listed(["id", "body"])
    "'id', 'body'"
    """
    return ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")


def _advice_on_titles(names: Sequence[str]) -> str:
    """What to do if a spreadsheet had a title above its table: most "names" are empty then."""
    if sum(not name for name in names) < max(len(names) / 2, 2):
        return ""
    return "; if the names of the columns are in a later line, delete the lines above it"


def _check_columns(wanted: Sequence[str], names: Sequence[str], where: Path | str) -> None:
    for name in wanted:
        if name not in names:
            there = listed(names) + _advice_on_titles(names)
            raise InvalidParameterError(f"{where} has no column {name!r}: there are {there}")
        if names.count(name) > 1:
            raise InvalidParameterError(
                f"{where} has {names.count(name)} columns named {name!r}: rename all but one"
            )
