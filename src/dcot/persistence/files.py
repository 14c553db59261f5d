"""Files of a model folder: locked while it is written, and read only if they are plain files."""

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
ALWAYS_READ_BYTES = 1 << 26  # less is read without asking how much memory is free

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
    """An OSError becomes a ModelFolderError that says what could not be done, and why."""
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
    """Write a new file to the disk (fsync); its size and SHA-256."""
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
    """One writer at a time; the lock dies with the process. Without locks on Windows."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have none
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# -- reading ------------------------------------------------------------------------------------


@contextmanager
def plain_file(path: Path) -> Iterator[tuple[FileIO, int]]:
    """An open file and its size; links, pipes and devices are refused, not followed."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
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
    """``size`` bytes of a file in an array; ``update`` is called with each piece, while cached."""
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
    """Refuse what is larger than the memory that is free, before it is allocated."""
    free = free_memory() if size > ALWAYS_READ_BYTES else None
    if free is not None and size > free:
        raise OutOfMemoryError(
            f"{what} has {format_bytes(size)}, and {format_bytes(free)} of memory are free: "
            f"{advice}"
        )


def checksum(buffer: Any) -> str:
    """SHA-256 of a buffer, by pieces: a mapped file need not be in memory as a whole."""
    digest, view = hashlib.sha256(), memoryview(buffer)
    for start in range(0, len(view), BYTES_PER_STEP):
        digest.update(view[start : start + BYTES_PER_STEP])
    return digest.hexdigest()
