"""Write and read the files of a model folder, with a lock; only plain files are read."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import ModelFolderError, ModelFormatError, OutOfMemoryError
from dcot.runtime.resources import format_bytes, free_memory

if sys.platform != "win32":
    import fcntl

BYTES_PER_STEP = 1 << 22
ALWAYS_READ_BYTES = 1 << 26  # smaller files are read without checking the free memory

_ADVICE = {
    errno.ENOSPC: "free some space, or save elsewhere",
    errno.EDQUOT: "free some of your quota, or save elsewhere",
    errno.EFBIG: "raise the limit, or save elsewhere",
    errno.EROFS: "save elsewhere",
    errno.EACCES: "change its permissions, or use another path",
    errno.EPERM: "change its permissions, or use another path",
    errno.ENAMETOOLONG: "use a shorter path",
    errno.ENOTDIR: "name a folder, not a file",
}


@contextmanager
def explained(action: str, path: Path) -> Iterator[None]:
    """Turn an OSError into a ModelFolderError with the failed action and the reason."""
    try:
        yield
    except ModelFolderError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        advice = _ADVICE.get(error.errno or 0, "check the path and try again")
        failure = ModelFolderError(f"cannot {action} {path}: {reason}; {advice}")
        failure.errno = error.errno
        raise failure from error


# -- writing ------------------------------------------------------------------------------------


def write_synced(path: Path, pieces: Iterable[Any]) -> tuple[int, str]:
    """Write and sync a new file (fsync); return its size and SHA-256."""
    digest, size = hashlib.sha256(), 0
    with open(path, "xb") as file:
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
            size += memoryview(piece).nbytes
        file.flush()
        os.fsync(file.fileno())
    return size, digest.hexdigest()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for one writer, until the process ends at the latest; no lock on Windows."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# -- reading ------------------------------------------------------------------------------------


@contextmanager
def plain_file(path: Path) -> Iterator[tuple[FileIO, int]]:
    """Open a file, and yield it with its size; links, pipes and devices raise an error."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():  # Windows
        raise _not_plain(path)
    try:
        handle = os.open(path, flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK) or path.is_symlink():
            raise _not_plain(path) from error
        raise
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise _not_plain(path)
    with FileIO(handle) as file:
        yield file, status.st_size


def _not_plain(path: Path) -> ModelFormatError:
    return ModelFormatError(
        f"{path} is not a plain file: links, folders and devices are not followed in a model "
        "folder; put the file itself there"
    )


def read_into(file: FileIO, size: int, update: Callable[[Any], None]) -> NDArray[np.uint8]:
    """Read ``size`` bytes of a file into an array, and call ``update`` with each piece."""
    buffer = np.empty(size, dtype=np.uint8)
    view, done = buffer.data, 0
    while done < size:
        got = file.readinto(view[done : done + BYTES_PER_STEP])
        if not got:
            break
        update(view[done : done + got])
        done += got
    if done < size:
        raise ModelFormatError(f"a file has {done} bytes where {size} were expected: it is cut off")
    return buffer


def check_memory(what: str, size: int, advice: str) -> None:
    """Raise an error if ``size`` bytes are more than the free memory."""
    free = free_memory() if size > ALWAYS_READ_BYTES else None
    if free is not None and size > free:
        raise OutOfMemoryError(
            f"{what} has {format_bytes(size)}, and {format_bytes(free)} of memory are free: "
            f"{advice}"
        )


def checksum(buffer: Any) -> str:
    """Return the SHA-256 of a buffer, in pieces, so that a mapped file may exceed memory."""
    digest, view = hashlib.sha256(), memoryview(buffer)
    for start in range(0, len(view), BYTES_PER_STEP):
        digest.update(view[start : start + BYTES_PER_STEP])
    return digest.hexdigest()
