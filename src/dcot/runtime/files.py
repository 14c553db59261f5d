"""Write files atomically: the target is complete or does not change.

Content is written to a temporary file next to the target, synced to disk (fsync), and renamed. The
temporary name is random and created exclusively, so that a file of another user, or a link, is
never followed or overwritten. An error removes the temporary file. A killed process leaves it, and
the next write of the same target removes it. A file never replaces a folder::

    with atomic_file(path) as file:       # a binary file, open for writing
        frame.write_parquet(file)

Work that can be resumed keeps its temporary file between calls: ``temporary_name`` makes the name,
``create`` and ``reopen`` open the file, and ``move_into_place`` renames it. Store the name in the
record of the progress. ``move_into_place`` also renames a folder: an existing folder is replaced in
one step and removed, so check first that it may be.
"""

from __future__ import annotations

import ctypes
import errno
import io
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dcot.errors import InvalidParameterError, InvalidTypeError, OutputError

if sys.platform != "win32":
    import fcntl

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LEFTOVER_SECONDS = 60.0  # a newer temporary file may belong to a write that has just begun
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2


def as_path(path: Any) -> Path:
    """Return a path; raise an error if the value is not a path."""
    try:
        found = os.fsdecode(path)
        possible = "\0" not in found and bool(os.fsencode(found))
    except TypeError:
        raise InvalidTypeError(
            f"path must be a string or a pathlib.Path, got {type(path).__name__}"
        ) from None
    except UnicodeError:  # half a character, or one that this system has no bytes for
        possible = False
    if not possible:
        raise InvalidParameterError(f"path must name a file or folder, got {path!r}")
    return Path(found)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a binary file that becomes ``path`` when the block ends without an error.

    Errors of writing are OutputErrors that name ``path``; other errors are not changed.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "hits.csv"
    >>> with atomic_file(target) as file:
    ...     _ = file.write(b"id,score")
    >>> target.read_bytes()
    b'id,score'
    """
    shown = as_path(path)
    target = Path(os.path.abspath(shown))
    with explained(shown):  # not every path can be looked at
        if target.is_dir():
            raise OutputError(f"cannot write {shown}: it is a folder; name a file")
    remove_leftovers(target)
    temporary = temporary_name(target)
    try:
        with explained(shown):
            raw = create(temporary)
        with _OutputFile(raw, shown) as file:
            yield file
            with explained(shown):
                file.flush()
                os.fsync(file.fileno())
        with explained(shown):
            move_into_place(temporary, target)
    finally:
        with suppress(OSError):  # it was renamed if there was no error
            os.unlink(temporary)


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a small file atomically; its folder is created if needed."""
    place = as_path(path)
    with explained(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(place) as file:
        file.write(data)


# -- parts, for work that can be resumed --------------------------------------------------------


def temporary_name(path: Path) -> Path:
    """Return a new, unique hidden name next to ``path``.

    >>> bool(_temporaries_of(Path("a/b.csv")).fullmatch(temporary_name(Path("a/b.csv")).name))
    True
    """
    return path.with_name(f".{path.name[:200]}-{secrets.token_hex(8)}.partial")


def create(path: Path) -> io.FileIO:
    """Create a new unbuffered file; raise if a file or link of that name exists."""
    return io.FileIO(path, "x+b")


def reopen(path: Path) -> io.FileIO:
    """Open a temporary file of an earlier call to resume writing; raise if it is a link."""
    flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    file = io.FileIO(os.open(path, flags), "r+b")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def claim(handle: int, path: Path) -> None:
    """Lock an open temporary file or folder until it is closed; raise if another has it."""
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if not isinstance(error, BlockingIOError):
            return  # some network file systems have no locks
    else:
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return
    raise OutputError(
        f"{path} is being written by another process: wait for it, or write elsewhere"
    )


def move_into_place(temporary: Path, target: Path) -> None:
    """Rename a finished file or folder to ``target``; an existing target is removed.

    A folder cannot be renamed over another. If the system supports it, the two are exchanged in one
    step; otherwise the old one is renamed first. The old one is deleted last.
    """
    folder = temporary.is_dir() and not temporary.is_symlink()
    if folder:
        sync_folder(temporary)
    if os.path.lexists(target) and (folder or target.is_dir()):
        old = temporary  # after the exchange
        if not _exchange(temporary, target):
            old = temporary_name(target).with_suffix(".old")  # no name that is taken
            target.rename(old)
            try:
                temporary.rename(target)
            except OSError:
                old.rename(target)
                raise
        sync_folder(target.parent)
        _remove(old)
    else:
        with suppress(OSError):  # a file that only its owner may read stays one
            found = target.lstat()
            if stat.S_ISREG(found.st_mode):
                os.chmod(temporary, stat.S_IMODE(found.st_mode))
        os.replace(temporary, target)
    sync_folder(target.parent)


def remove_leftovers(target: Path) -> None:
    """Remove our temporary files of ``target`` that no process uses."""
    if sys.platform == "win32":
        return
    ours = _temporaries_of(target)
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            if ours.fullmatch(entry.name) and _is_abandoned(Path(entry.path)):
                _remove(Path(entry.path))


def sync_file(path: Path) -> None:
    """Make sure that the content of a file is on the disk."""
    # Windows needs a writable handle; elsewhere the file may be read-only
    with path.open("rb" if os.name == "posix" else "r+b") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make sure that changes of the entries of a folder are on the disk."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not supported by the file system
            raise
    finally:
        os.close(handle)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an OSError into an OutputError that names the path and the reason."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        advice = "free some space" if error.errno in DISK_FULL else "check the folder"
        reason = error.strerror or error
        failure = OutputError(f"cannot write {path}: {reason}; {advice}, or write elsewhere")
        failure.errno = error.errno
        raise failure from error


class _OutputFile(io.BufferedWriter):
    """A new file, locked while it is open, whose errors are OutputErrors."""

    def __init__(self, raw: io.FileIO, target: Path) -> None:
        super().__init__(raw)
        self.target = target
        if sys.platform != "win32":
            with suppress(OSError):
                fcntl.flock(self.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write(self, data: Any) -> int:
        with explained(self.target):
            return super().write(data)

    def close(self) -> None:
        with explained(self.target):
            super().close()


def _temporaries_of(target: Path) -> re.Pattern[str]:
    return re.compile(rf"\.{re.escape(target.name[:200])}-[0-9a-f]{{16}}\.partial")


def _is_abandoned(path: Path) -> bool:
    """Whether a temporary file or folder is ours, not new, and not in use."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid():
        return False
    if time.time() - found.st_mtime < _LEFTOVER_SECONDS:
        return False
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _remove(path: Path) -> None:
    """Delete a file, link or folder; errors are ignored."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step; return False if the system does not support it."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here = -100  # AT_FDCWD
    return (
        rename is not None
        and rename(here, os.fsencode(one), here, os.fsencode(other), _EXCHANGE) == 0
    )
