"""The labels of a session: in memory, and in a file that is always up to date.

A label is on the disk (fsync) before ``set`` returns. A new label is one row at the end of the
file. Changing or removing one rewrites the file in one atomic step, so that it always has one row
per labelled document and can be opened by a spreadsheet or read by ``dcot train`` as it is.

The file may be edited meanwhile by another program: it is read again before the next label is
written, and what it says counts. A lock, which ends with the process, keeps a second server away.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from dcot.errors import InvalidInputError, InvalidParameterError, OutputError
from dcot.runtime.files import (
    create,
    explained,
    move_into_place,
    remove_leftovers,
    temporary_name,
    write_atomically,
)
from dcot.web.documents import Documents
from dcot.web.formats import Entry, Format, read_label_file, row_of, written

if sys.platform != "win32":
    import fcntl

MAX_FILE_BYTES = 1 << 30
MAX_NAME = 200  # characters of a class
# Control characters, halves of characters and line breaks. Others that are not seen may be part of
# a word, as the joiners of Persian are, and of emoji.
_UNSEEN = ("Cc", "Cs", "Zl", "Zp")
_OPEN_FILES_CAN_BE_REPLACED = sys.platform != "win32"


@dataclass(frozen=True)
class Label:
    """What is known about one document; ``name`` is empty if it was skipped."""

    name: str
    how: str = ""
    time: str = ""


@dataclass(frozen=True)
class Reload:
    """What another program changed in the file."""

    added: int
    changed: int
    removed: int

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


class ConflictError(Exception):
    """The document has another label than the caller expected."""

    def __init__(self, row: int, current: Label | None) -> None:
        super().__init__(f"document {row} was labelled meanwhile")
        self.row, self.current = row, current


class LabelStore:
    """Labels by document, and their file.

    Parameters
    ----------
    path : the file, ``.csv`` or ``.jsonl``; made if it does not exist
    documents : the corpus
    """

    def __init__(self, path: Path, documents: Documents) -> None:
        self.path = Path(os.path.realpath(path))  # a link stays one when the file is rewritten
        self.kind = _kind_of(Path(path))
        self.documents = documents
        self.labels: dict[int, Label] = {}
        self.foreign: list[Entry] = []  # labels of documents that are not in this corpus
        self._seen: tuple[int, ...] = ()
        self._file = self._open()
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    # -- changes ----------------------------------------------------------------------------

    def set(
        self,
        changes: Mapping[int, str | None],
        how: str = "",
        expected: Mapping[int, str | None] | None = None,
    ) -> Reload:
        """Give documents labels, on the disk when this returns.

        Parameters
        ----------
        changes : a label by row; "" for a skipped document, None to remove the label
        how : how the documents came to be labelled
        expected : labels that the documents have now, as far as the caller knows

        Returns
        -------
        Reload
            What another program had changed in the file meanwhile.

        Raises
        ------
        ConflictError : a label is another one than ``expected``; nothing is changed
        OutputError : the file cannot be written; nothing is changed
        """
        changed = self.refresh()
        sent_again = set()  # after a lost answer: these have the new label already
        for row, assumed in (expected or {}).items():
            current = self.labels.get(row)
            name = None if current is None else current.name
            if name not in (assumed, changes[row]):
                raise ConflictError(row, current)
            if name != assumed:
                sent_again.add(row)
        changes = {row: name for row, name in changes.items() if row not in sent_again}
        time = datetime.now(UTC).isoformat(timespec="seconds")
        new = {
            row: None if name is None else Label(name, how, time) for row, name in changes.items()
        }
        after = {row: label for row, label in self.labels.items() if row not in new}
        after |= {row: label for row, label in new.items() if label is not None}  # latest last
        if any(row in self.labels for row in new):
            self._rewrite(after, self.foreign)
        elif not self._append([self._entry(row, after[row]) for row in new if row in after]):
            return self.set(changes, how)  # another program put its file in place of ours
        self.labels = after
        return changed

    def rename(self, old: str, new: str) -> int:
        """Move all documents of a class to another, new or existing; return how many."""
        self.refresh()
        after = {
            row: replace(label, name=new) if label.name == old else label
            for row, label in self.labels.items()
        }
        count = sum(label.name == old for label in self.labels.values())
        if count:
            self._rewrite(after, self.foreign)
            self.labels = after
        return count

    def refresh(self) -> Reload:
        """Read the file again if another program has changed it."""
        if self._signature() == self._seen:
            return Reload(0, 0, 0)
        before = dict(self.labels)
        self._file.close()
        self._file = self._open()
        try:
            self._load()
        except InvalidInputError as error:
            raise OutputError(
                f"another program changed the labels, and now they cannot be read: {error}"
            ) from error
        after = self.labels
        return Reload(
            sum(row not in before for row in after),
            sum(row in before and before[row].name != label.name for row, label in after.items()),
            sum(row not in after for row in before),
        )

    def entries(self) -> list[Entry]:
        """All labels, those of documents that are not in this corpus included."""
        return self._entries(self.labels, self.foreign)

    def close(self) -> None:
        self._file.close()

    # -- the file ---------------------------------------------------------------------------

    def _entries(self, labels: Mapping[int, Label], foreign: Iterable[Entry]) -> list[Entry]:
        return [*foreign, *(self._entry(row, label) for row, label in labels.items())]

    def _entry(self, row: int, label: Label) -> Entry:
        text = self.documents.texts[row]
        return Entry(self.documents.ids[row], label.name, label.how, label.time, text)

    def _open(self) -> _LockedFile:
        with explained(self.path):
            return _LockedFile.open(self.path)

    def _load(self) -> None:
        """Read the file; a last row that was cut off is left out."""
        seen = self._signature()
        with explained(self.path):
            data = self._file.content()
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise InvalidInputError(
                f"{self.path} is not UTF-8 (byte {error.start}): save it as UTF-8, or use another "
                "file for the labels"
            ) from error
        entries = read_label_file(text, str(self.path), self.kind)
        if entries and not text.endswith("\n") and not self._is_whole(entries[-1]):
            entries.pop()
        labels: dict[int, Label] = {}
        foreign = []
        for entry in entries:
            self._check(entry)
            row = self.documents.find(entry.id, entry.text)
            if row is None:
                foreign.append(entry)
                continue
            labels.pop(row, None)  # labelled twice: the last one counts
            labels[row] = Label(entry.label, entry.how, entry.time)
        if text != written(self._entries(labels, foreign), self.kind):
            # Incomplete, edited or in another order of columns: appending needs our own form.
            # If this fails, nothing has changed here, and the file is read again the next time.
            self._rewrite(labels, foreign)
        else:
            self._seen = seen
        self.labels, self.foreign = labels, foreign

    def _is_whole(self, entry: Entry) -> bool:
        """Whether an entry at the end of the file, without a line break, is not cut off.

        A line of JSON that can be read is whole. In CSV the text is last: what comes before it is
        whole, and the text is compared.
        """
        if self.kind == "jsonl" or entry.text is None:
            return True
        row = self.documents.row_of_id.get(entry.id)
        return row is not None and entry.text == self.documents.texts[row]

    def _check(self, entry: Entry) -> None:
        if entry.label:
            try:
                check_name(entry.label)
            except InvalidParameterError as error:
                raise InvalidInputError(
                    f"{self.path}, document {entry.id[:80]!r}: {error}"
                ) from error

    def _append(self, entries: Iterable[Entry]) -> bool:
        """Add rows to the file; whether it still has its name."""
        data = "".join(row_of(entry, self.kind) for entry in entries).encode()
        with explained(self.path):
            self._file.append(data)
        now = self._signature()
        inode, size = self._seen[:2] or (-1, 0)
        if now[:2] == (inode, size + len(data)):
            self._seen = now  # otherwise another program wrote, too: it is read the next time
        return now[:1] == (inode,)

    def _rewrite(self, labels: Mapping[int, Label], foreign: Iterable[Entry]) -> None:
        """Replace the file in one step; the new one is locked before it gets the name."""
        data = written(self._entries(labels, foreign), self.kind).encode()
        if _OPEN_FILES_CAN_BE_REPLACED:
            with explained(self.path):
                remove_leftovers(self.path)
                new = _LockedFile.replacing(self.path, data)
            self._file.close()
            self._file = new
        else:
            self._file.close()
            try:
                write_atomically(self.path, data)
            finally:
                self._file = self._open()
        self._seen = self._signature()

    def _signature(self) -> tuple[int, ...]:
        """What changes when another program writes the file."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return ()
        return (found.st_ino, found.st_size, found.st_mtime_ns)


class _LockedFile:
    """An open file that no other server may use, written to the disk with every change."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def open(cls, path: Path) -> _LockedFile:
        if path.exists() and not path.is_file():
            raise OutputError(f"{path} is not a file: choose another name for the labels")
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        file = cls(os.open(path, flags, 0o644))
        file._lock(path)
        return file

    @classmethod
    def replacing(cls, path: Path, data: bytes) -> _LockedFile:
        temporary = temporary_name(path)
        try:
            with create(temporary) as raw:
                file = cls(os.dup(raw.fileno()))
            try:
                file._lock(path)
                file.append(data)
                move_into_place(temporary, path)
            except BaseException:
                file.close()
                raise
        finally:
            with suppress(OSError):
                os.unlink(temporary)
        return file

    def _lock(self, path: Path) -> None:
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise OutputError(
                f"{path} is open in another `dcot label`: use its page, or stop it first"
            ) from None
        except OSError:  # some network file systems have no locks
            pass

    def content(self) -> bytes:
        size = os.fstat(self._handle).st_size
        if size > MAX_FILE_BYTES:
            raise InvalidInputError(f"the labels have {size:,} bytes, at most {MAX_FILE_BYTES:,}")
        os.lseek(self._handle, 0, os.SEEK_SET)
        parts = []
        while part := os.read(self._handle, 1 << 20):
            parts.append(part)
        return b"".join(parts)

    def append(self, data: bytes) -> None:
        """Add to the end, on the disk; what could not be written whole is taken back."""
        end = os.lseek(self._handle, 0, os.SEEK_END)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._handle, view) :]
            os.fsync(self._handle)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._handle, end)
            raise

    def close(self) -> None:
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            os.close(handle)


def _kind_of(path: Path) -> Format:
    kinds: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl"}
    if path.suffix.lower() not in kinds:
        raise InvalidParameterError(
            f"{path} ends in {path.suffix!r}: labels are kept in a .csv or .jsonl file; other "
            "formats can be imported and exported"
        )
    return kinds[path.suffix.lower()]


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a class."""
    if not name.strip() or name != name.strip():
        raise InvalidParameterError(
            f"the name of a class must not be empty, or begin or end with a space, got {name!r:.80}"
        )
    if len(name) > MAX_NAME:
        raise InvalidParameterError(
            f"the name of a class has at most {MAX_NAME} characters, got {name!r:.80}…"
        )
    if any(unicodedata.category(character) in _UNSEEN for character in name):
        raise InvalidParameterError(
            f"the name of a class must not have control characters, got {name!r:.80}"
        )
