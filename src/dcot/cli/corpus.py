"""Corpora on the command line: their texts, labels, identifiers and other columns."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dcot.cli.errors import UserError
from dcot.cli.options import Labels, Reading

if TYPE_CHECKING:
    from dcot.text import TextFiles
    from dcot.text.tables import ReadOptions

STANDARD_INPUT = "-"
_BATCH_DOCUMENTS = 4096
_BATCH_CHARACTERS = 1 << 22
_AS_NAMED, _NO_LABELS = Reading(), Labels()

Row = tuple[str, Any, Any, Any]  # text, label, identifier, metadata
Part = Literal["all", "train", "test", "unlabelled"]


@dataclass
class Batch:
    """Texts, labels (None if unlabelled), identifiers and other columns of documents."""

    texts: list[str]
    labels: list[Any]
    ids: list[Any]
    metadata: list[Any]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Batch:
        """The columns of rows."""
        return cls(*map(list, zip(*rows, strict=True)))

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Corpus:
    """Files, folders, names of known corpora, or ``-``, and which columns to read.

    Attributes
    ----------
    sources : the arguments on the command line
    reading : columns with the text, format, encoding, …
    labels : where labels are, and how they are written
    identifier : name of a column, or None
    metadata : names of other columns
    part : part of a corpus with a split, unless its name says it (``r52:test``)
    """

    sources: Sequence[str]
    reading: Reading = _AS_NAMED
    labels: Labels = _NO_LABELS
    identifier: str | None = None
    metadata: Sequence[str] = ()
    part: Part = "all"

    @property
    def name(self) -> str:
        names = ["standard input" if s == STANDARD_INPUT else s for s in self.sources]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

    def check(self) -> None:
        """Refuse a source that cannot be read, before any work is done."""
        if self.labels.label_separator == "":
            raise UserError("--label-separator is empty: it must be at least one character")
        check_read_once(self.sources)
        for source in self.sources:
            _check_source(source)

    @property
    def rereadable(self) -> bool:
        """Whether it can be read more than once; a pipe cannot."""
        return all(_rereadable(source) for source in self.sources)

    def texts(self) -> TextFiles | list[str]:
        """Only the texts; a reader of files if possible, so that they need not be in memory."""
        return self.files() or self.whole().texts

    def files(self) -> TextFiles | None:
        """A reader of at least one document, or None if the corpus is not plain files."""
        self.check()
        named = any(_known(source) for source in self.sources)
        if named or not self.rereadable or self.labels.label is not None:
            return None
        from dcot.text import read_texts

        reader = read_texts(
            [Path(source).expanduser() for source in self.sources],
            column=self.reading.text,
            kind=self.reading.format,
            encoding=self.reading.encoding,
            errors=self.reading.errors,
            separator=self.reading.separator,
        )
        if next(iter(reader), None) is None:
            raise self._empty()
        return reader

    def with_all_columns(self) -> Corpus:
        """The same corpus with all other columns as metadata, if it is one table."""
        self.check()
        if len(self.sources) > 1:
            return self
        others = self._other_columns(self.sources[0])
        return self if others is None else replace(self, metadata=tuple(others))

    def _other_columns(self, source: str) -> list[str] | None:
        """The columns of a table without text, label and identifier; None if it is no file."""
        path = Path(source).expanduser()
        if _known(source) or not path.is_file():
            return None
        from dcot.text.tables import column_names, files_at, text_columns

        [(file, kind)] = files_at(path, self.reading.format)
        names = column_names(file, kind, self._options)
        texts = text_columns(names, self._options.text, str(path)) if names else []
        used = {*texts, self.labels.label, self.identifier}
        return [name for name in names if name not in used and names.count(name) == 1]

    def whole(self) -> Batch:
        """All documents at once."""
        rows = list(self._rows())
        if not rows:
            raise self._empty()
        return Batch.of(rows)

    def batches(self) -> Iterator[Batch]:
        """Documents in batches, at least one of them."""
        rows: list[Row] = []
        size, any_yet = 0, False
        for row in self._rows():
            rows.append(row)
            size += len(row[0])
            if len(rows) >= _BATCH_DOCUMENTS or size >= _BATCH_CHARACTERS:
                yield Batch.of(rows)
                rows, size, any_yet = [], 0, True
        if rows:
            yield Batch.of(rows)
        elif not any_yet:
            raise self._empty()

    def checked_labels(self, documents: Batch) -> list[Any]:
        """The labels of documents, all of one kind; at least one document must have a label."""
        labels = documents.labels
        if all(label is None for label in labels):
            raise self.no_labels()
        if any(isinstance(label, list) for label in labels):
            return [[label] if isinstance(label, str) else label for label in labels]
        return labels

    def no_labels(self) -> UserError:
        """The error for a corpus without any label."""
        column = self.labels.label
        if column is not None:
            return UserError(
                f"{self.name}: no document has a label in the column {column!r}: label a few of "
                "each class"
            )
        others = [name for source in self.sources for name in self._other_columns(source) or ()]
        if others:
            from dcot.text.tables import listed

            return UserError(
                f"{self.name}: no document has a label: name the column with the labels with "
                f"--label; the other columns are {listed(list(dict.fromkeys(others)))}"
            )
        if any(Path(source).expanduser().is_dir() for source in self.sources):
            return UserError(
                f"{self.name}: no document has a label: put the files of each class in a folder "
                "of its name, or use a table and name the column with the labels with --label"
            )
        return UserError(
            f"{self.name}: no document has a label: use a table and name the column with the "
            "labels with --label, or a folder with a folder for each class"
        )

    def _empty(self) -> UserError:
        return UserError(f"{self.name} has no documents: there is nothing to work on")

    def _rows(self) -> Iterator[Row]:
        self.check()
        number = 0
        for source in self.sources:
            for text, label, identifier, metadata in self._rows_of(source):
                name = number if identifier is None else identifier
                yield text, self._label(label), name, metadata
                number += 1

    def _rows_of(self, source: str) -> Iterator[Row]:
        if source == STANDARD_INPUT:
            return self._from_standard_input()
        if _known(source):
            return self._from_known(source)
        return self._from_files(Path(source).expanduser())

    @property
    def _others(self) -> list[str]:
        named = [name for name in (self.labels.label, self.identifier) if name is not None]
        return [*named, *self.metadata]

    def _named(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
        """Text, label, identifier and metadata, from tuples of those that are read."""
        for text, *others in rows:
            label = others.pop(0) if self.labels.label is not None and others else None
            identifier = others.pop(0) if self.identifier is not None and others else None
            more = dict(zip(self.metadata, others, strict=True)) if others else None
            yield text, label, identifier, more

    @property
    def _options(self) -> ReadOptions:
        from dcot.text.tables import ReadOptions

        one = self.reading
        return ReadOptions(tuple(one.text or ()), one.encoding, one.errors, one.separator)

    def _from_standard_input(self) -> Iterator[Row]:
        from dcot.text.tables import stream_rows

        path = Path("standard input")
        kind = self._stream_kind(path)
        rows = stream_rows(sys.stdin.buffer, path, kind, self._options, self._others)
        return self._named(rows)

    def _stream_kind(self, path: Path) -> str:
        """The format of a stream, which has no ending."""
        from dcot.text.tables import KINDS, suffix_of

        usual = "jsonl" if self.reading.text or self._others else "lines"
        kind = self.reading.format or KINDS.get(suffix_of(path)) or usual
        if kind == "parquet":
            raise UserError(f"parquet cannot be read from {path}: name the file")
        return kind

    def _from_files(self, path: Path) -> Iterator[Row]:
        from dcot.text.tables import files_at, read_rows

        folder = path.is_dir()
        pipe = not folder and not path.is_file()
        for file, kind in files_at(path, self._stream_kind(path) if pipe else self.reading.format):
            if not (folder and kind == "document"):
                yield from self._named(read_rows(file, kind, self._options, self._others))
                continue
            self._check_no_metadata(str(path))
            inside = file.relative_to(path)
            label = "" if inside.parent == Path() else _name(inside.parent)
            for (text,) in read_rows(file, kind, self._options):
                yield text, label, _name(inside), None

    def _check_no_metadata(self, source: str) -> None:
        if self.metadata:
            raise UserError(
                f"{source} has texts without columns, so there is no {self.metadata[0]!r}: "
                "expected a table (.csv, .tsv, .jsonl, .parquet)"
            )

    def _from_known(self, source: str) -> Iterator[Row]:
        from dcot import datasets

        name, _, part = source.partition(":")
        corpus = datasets.load(name)
        self._check_no_metadata(name)
        if corpus.texts is None:
            raise UserError(f"the corpus {name} has counts but no texts: use it from Python")
        chosen: list[Any] = [part or self.part]
        if chosen == ["train"] and not part:
            chosen = ["train", "unlabelled"]
        labels = corpus.label_sets if corpus.label_separator else corpus.labels
        for one in chosen:
            for row in corpus.rows(one):
                label = None if one == "unlabelled" else labels[row]
                yield corpus.texts[row], label, int(row), None

    def _label(self, label: Any) -> Any:
        """A label as text, several labels as a list, or None for unlabelled documents.

        Labels are always text, so that classes 1 and 2 of a parquet file match those of a CSV file.
        """
        if isinstance(label, list | tuple) or hasattr(label, "to_list"):
            found = label.to_list() if hasattr(label, "to_list") else list(label)
            return [text for one in found if (text := self._as_text(one)) is not None] or None
        text = self._as_text(label)
        if text is None:
            return None
        separator = self.labels.label_separator
        if separator is None:
            return text
        return [part.strip() for part in text.split(separator) if part.strip()] or None

    def _as_text(self, label: Any) -> str | None:
        if isinstance(label, dict | list | bytes):
            raise UserError(
                f"{self.name}: the label {label!r:.60} is neither text nor a number, nor a list of "
                "them: name another column with --label"
            )
        if label is None or label != label:  # NaN
            return None
        if isinstance(label, bool):  # as JSON and CSV files have it
            text = "true" if label else "false"
        else:
            text = f"{label:.15g}" if isinstance(label, float) else str(label)
        marked = not text.strip() or text in (self.labels.unlabelled_label or ())
        return None if marked else text


def _name(path: Path) -> str:
    """A path below a folder as text; a name may have bytes that are no text."""
    return path.as_posix().encode(errors="backslashreplace").decode()


def _known(source: str) -> bool:
    """Whether a source names a corpus of ``dcot.datasets``, and not a file."""
    name, _, part = source.partition(":")
    if os.path.exists(source) or not name or any(mark in name for mark in "/\\."):
        return False
    from dcot import datasets

    if name not in datasets.available():
        return False
    if part not in ("", "all", "train", "test", "unlabelled"):
        raise UserError(f"{source}: {name} has no part {part!r}: try {name}:train or {name}:test")
    return True


def _rereadable(source: str) -> bool:
    if source == STANDARD_INPUT:
        return False
    path = Path(source).expanduser()
    return path.is_file() or path.is_dir() or _known(source)


def check_read_once(sources: Sequence[str]) -> None:
    """Refuse standard input in two places: the second would find it empty."""
    if list(sources).count(STANDARD_INPUT) > 1:
        raise UserError("- (standard input) is named twice, and can be read only once")


def _check_source(source: str) -> None:
    if source == STANDARD_INPUT:
        if sys.stdin.isatty():
            raise UserError(
                "standard input is a terminal: pipe documents into it, as in "
                "`cat news.txt | dcot … -`, or name a file"
            )
        return
    if not source:  # would be the current folder: a variable of the shell that is not set
        raise UserError("the name of the corpus is empty: name a file or a folder")
    if _known(source):
        return
    path = Path(source).expanduser()
    if (path / "dcot.json").is_file():
        raise UserError(f"{source} is a model folder, but a corpus was expected here")
    if not path.exists():
        from dcot import datasets

        raise UserError(
            f"{source} does not exist: expected a file, a folder of text files, - for standard "
            f"input, or one of {', '.join(datasets.available())}"
        )
    if not os.access(path, os.R_OK):
        raise UserError(f"{source} cannot be read: you have no permission")
