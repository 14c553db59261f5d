"""The files that features are written to: one array, or a folder of parquet files."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import InvalidParameterError
from dcot.runtime.extras import require
from dcot.runtime.files import DISK_FULL, claim, create, move_into_place, reopen, sync_file

Array = NDArray[Any]

_HEADER = 128  # bytes; fits any shape
_MAGIC = b"\x93NUMPY"
_PARTS = re.compile(r"part-[0-9]+\.parquet|features\.json")
# What may be in a finished folder, also in one that was written on a cluster.
OUTPUT_FILES = re.compile(
    r"part-[0-9]+\.parquet|\.part-[0-9]+\.json|(features|model)\.json|\..+\.partial"
)


@dataclass
class Checkpoint:
    """Progress of an output: complete batches of the source, their documents and checksum."""

    model: str
    width: int
    dtype: str
    kind: str
    batches: int = 0
    rows: int = 0
    checksum: int = 0

    def restart(self) -> None:
        """Start again from the beginning."""
        self.batches = self.rows = self.checksum = 0

    def advance(self, to: Checkpoint) -> None:
        """Take over the progress of a later checkpoint."""
        self.batches, self.rows, self.checksum = to.batches, to.rows, to.checksum


def partial(path: Path) -> Path:
    """Return the path of an output that is not complete."""
    return path.with_name(path.name + ".partial")


def reason_of(error: OSError) -> str:
    """Describe why writing failed."""
    if error.errno in DISK_FULL:
        return "there is no more room"
    return f"writing failed ({error.strerror or error})"


# -- one array ----------------------------------------------------------------------------------


class Npy:
    """An ``.npy`` file with a header of fixed length.

    It has the methods of ``Parquet``: rows are written in order, and ``cut`` removes all rows from
    a given one on.
    """

    def __init__(self, path: Path, checkpoint: Checkpoint) -> None:
        self.path, self.checkpoint = path, checkpoint
        self.file: Any = None

    def start(self, rows: int) -> None:
        place = partial(self.path)
        if place.is_symlink():
            place.unlink()
        file = reopen(place) if place.is_file() else create(place)
        try:
            claim(file.fileno(), place)
            size = os.fstat(file.fileno()).st_size
            if size and file.read(len(_MAGIC)) != _MAGIC:
                raise _not_ours(place)
        except BaseException:
            file.close()
            raise
        self.file = file
        if size < self._end(rows):
            self.checkpoint.restart()
        self._header(self.checkpoint.rows)
        self.cut(self.checkpoint.rows)

    def _end(self, rows: int) -> int:
        return _HEADER + rows * self.checkpoint.width * np.dtype(self.checkpoint.dtype).itemsize

    def cut(self, rows: int) -> None:
        self.file.truncate(self._end(rows))
        self.file.seek(self._end(rows))

    def _header(self, rows: int) -> None:
        shape = f"({rows}, {self.checkpoint.width})"
        text = f"{{'descr': '{self.checkpoint.dtype}', 'fortran_order': False, 'shape': {shape}, }}"
        body = text.ljust(_HEADER - 11).encode() + b"\n"
        self.file.seek(0)
        _write_all(self.file, _MAGIC + b"\x01\x00" + len(body).to_bytes(2, "little") + body)

    def write(self, features: Array) -> None:
        _write_all(self.file, features.reshape(-1).view(np.uint8).data)

    def sync(self) -> None:
        os.fsync(self.file.fileno())

    def finish(self, rows: int) -> None:
        self._header(rows)
        self.sync()
        if os.name != "posix":  # an open file cannot be renamed there, and has no lock
            self.close()
        move_into_place(partial(self.path), self.path)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def discard(self) -> None:
        if self.file is not None:
            with suppress(OSError):
                partial(self.path).unlink(missing_ok=True)


def _not_ours(place: Path) -> InvalidParameterError:
    return InvalidParameterError(
        f"{place} is the name of the unfinished output, but is not one: move it away, or give "
        "another path"
    )


def _write_all(file: Any, data: Any) -> None:
    view = memoryview(data)
    while len(view):
        view = view[file.write(view) :]


# -- a folder of parquet files ------------------------------------------------------------------


def write_parquet(frame: Any, file: IO[bytes], **options: Any) -> None:
    """Write a polars frame through memory, because Python gives clearer errors of the disk."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **options)
    with buffer.getbuffer() as data:  # let go of it also if the disk is full
        file.write(data)


class Parquet:
    """A folder of files of some tens of megabytes, each named after its first document."""

    def __init__(self, path: Path, checkpoint: Checkpoint, names: list[str]) -> None:
        self.path, self.checkpoint, self.names = path, checkpoint, names
        self.folder = partial(path)
        self.unsynced: list[Path] = []
        self.rows = 0  # number of documents written
        self.started = False
        self.handle: int | None = None  # of the folder, locked

    def start(self, rows: int) -> None:
        if rows and not self.folder.exists():
            self.checkpoint.restart()
        self.folder.mkdir(exist_ok=True)
        names = os.listdir(self.folder)
        if self.folder.is_symlink() or not all(map(_PARTS.fullmatch, names)):
            raise _not_ours(self.folder)
        self._claim()
        self.started = True
        self.cut(self.checkpoint.rows)

    def _claim(self) -> None:
        if os.name != "posix":
            return
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            claim(handle, self.folder)
        except BaseException:
            os.close(handle)
            raise
        self.handle = handle

    def cut(self, rows: int) -> None:
        for part in self.folder.glob("part-*.parquet"):
            if int(part.stem.removeprefix("part-")) >= rows:
                part.unlink()
        self.unsynced = [part for part in self.unsynced if part.exists()]
        self.rows = rows

    def write(self, features: Array) -> None:
        pl = require("polars", "tables")
        end = self.rows + len(features)
        documents = np.arange(self.rows, end, dtype=np.int64)
        frame = pl.DataFrame({"document": documents, "features": features})
        part = self.folder / f"part-{self.rows:015d}.parquet"
        with part.open("wb") as file:
            write_parquet(frame, file, compression="lz4")
        self.unsynced.append(part)
        self.rows = end

    def sync(self) -> None:
        for part in self.unsynced:
            sync_file(part)
        self.unsynced.clear()

    def finish(self, rows: int) -> None:
        facts = {"documents": rows, "width": self.checkpoint.width, "features": self.names}
        text = json.dumps(facts, ensure_ascii=False)
        described = self.folder / "features.json"
        described.write_text(text, encoding="utf-8")
        self.unsynced.append(described)
        self.sync()
        move_into_place(self.folder, self.path)

    def close(self) -> None:
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None

    def discard(self) -> None:
        if self.started:
            shutil.rmtree(self.folder, ignore_errors=True)


Writer = Npy | Parquet
