"""Features of a large corpus, to a file: in order, batch by batch, to be taken up after a crash.

What is written is first made safe on the disk (fsync), then noted in ``….progress``, from time to
time and when an error ends the work; what was not noted is written anew. A checksum of the
documents keeps two corpora from being mixed. The name that was asked for appears when all is there:
an ``.npy`` array, or a folder of parquet files.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot._exceptions import DcotError, InvalidInputError, InvalidParameterError, OutputError
from dcot._progress import Progress, announce, documents_done, silent
from dcot.sources import Batch, Source
from dcot.sources._passes import count_of

Array = NDArray[Any]

_SLICE_BYTES = 64 << 20
_SYNC_BYTES = 256 << 20
_HEADER = 128  # bytes; fits any shape
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass
class Noted:
    """How far the output has come: whole batches of the source, their documents and checksum."""

    model: str
    width: int
    dtype: str
    kind: str
    batches: int = 0
    rows: int = 0
    checksum: int = 0

    def begin_anew(self) -> None:
        """Nothing is left of what was written."""
        self.batches = self.rows = self.checksum = 0


class _Writer(Protocol):
    def start(self, rows: int) -> None: ...
    def write(self, features: Array, first: int) -> None: ...
    def cut(self, rows: int) -> None: ...
    def sync(self) -> None: ...
    def finish(self, rows: int) -> None: ...
    def close(self) -> None: ...


def write_features(
    transform: Callable[[Any], Any],
    source: Source,
    path: str | Path,
    *,
    width: int,
    dtype: Any,
    model: str,
    names: list[str],
    overwrite: bool = False,
    resume: bool | None = None,
    progress: Progress = silent,
) -> int:
    """Write the features of all documents; how many there are.

    Parameters
    ----------
    transform : from a batch of documents to its features
    path : ``….npy`` for one array; anything else is a folder of parquet files, whose names sort in
        the order of the documents, with columns ``document`` and ``features``
    width, dtype : of the features
    model : a fingerprint; output that another model began is not taken up
    names : of the features
    overwrite : replace a finished output
    resume : go on with an unfinished one; None means unless ``overwrite``
    """
    path = Path(path)
    resume = not overwrite if resume is None else resume
    kind = "npy" if path.suffix == ".npy" else "parquet"
    noted = _begin(path, Noted(model, width, np.dtype(dtype).str, kind), overwrite, resume)
    make = _Npy if kind == "npy" else _Parquet
    writer: _Writer = make(path, noted, names)
    try:
        writer.start(noted.rows)
        if noted.rows:
            announce(progress, f"{path}: going on after {noted.rows:,} documents")
        rows = _copy(transform, source, path, noted, writer, progress)
        writer.finish(rows)
        _progress_file(path).unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, DcotError):
            raise
        raise _cannot_write(error, path, noted, overwrite and not resume) from error
    finally:
        writer.close()
    return rows


def _copy(
    transform: Callable[[Any], Any],
    source: Source,
    path: Path,
    noted: Noted,
    writer: _Writer,
    progress: Progress,
) -> int:
    begun, here = replace(noted), replace(noted)  # what is taken up, and the last whole batch
    here.begin_anew()
    unsynced, expected = 0, source.n_documents
    documents_done(progress, "transform", 0, expected)
    try:
        for batch in _read(source):
            if here.batches >= begun.batches:
                if here.batches == begun.batches:
                    _check_same(path, begun, here)
                unsynced += _write_batch(transform, batch, here.rows, noted, writer)
            here = replace(
                here,
                batches=here.batches + 1,
                rows=here.rows + count_of(batch.documents),
                checksum=checksum(batch.documents, here.checksum),
            )
            if unsynced >= _SYNC_BYTES:
                _note(path, noted, writer, here)
                unsynced = 0
            documents_done(progress, "transform", here.rows, expected, source.fraction())
        if here.batches <= begun.batches:  # nothing was left to write, or less than there was
            _check_same(path, begun, here)
        else:
            _note(path, noted, writer, here)  # what comes now can fail, too
    except BaseException:
        if here.batches > noted.batches:
            with suppress(OSError):  # what went wrong first is what has to be told
                writer.cut(here.rows)  # a full disk needs room for the note
                _note(path, noted, writer, here)
        raise
    documents_done(progress, "transform", here.rows, here.rows, finished=True)
    return here.rows


def _read(source: Source) -> Iterator[Batch]:
    """The batches; an error of the system while reading is not one of writing."""
    try:
        yield from source.batches()
    except OSError as error:
        if isinstance(error, DcotError):
            raise
        raise InvalidInputError(
            f"the source cannot be read: {error}; what is written stays, and the same call goes on "
            "when the source can be read again"
        ) from error


def _check_same(path: Path, begun: Noted, here: Noted) -> None:
    """The batches that are skipped have to be those that were written."""
    advice = "give the same source, or set overwrite=True to start again"
    if (here.batches, here.rows) != (begun.batches, begun.rows):
        raise InvalidInputError(
            f"{path} was begun from a source whose first {begun.batches} batches had "
            f"{begun.rows:,} documents, and now they have {here.rows:,}: {advice}"
        )
    if here.checksum != begun.checksum:
        raise InvalidInputError(
            f"{path} was begun from a source whose first {begun.rows:,} documents were others than "
            f"now: {advice}"
        )


def checksum(documents: Any, before: int = 0) -> int:
    """A checksum of a batch of texts or of rows, and of the batches before it."""
    before = zlib.crc32(str(count_of(documents)).encode(), before)
    if getattr(documents, "ndim", 1) != 2:
        return zlib.crc32(_joined(documents), before)
    if sp.issparse(documents):
        rows = sp.csr_array(documents)
        arrays = [rows.indptr, rows.indices, rows.data]
    else:
        dense = np.asarray(documents)
        arrays = [dense.astype(np.float64) if dense.dtype.hasobject else dense]
    for array in arrays:
        before = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, before)
    return before


def _joined(texts: Any) -> bytes:
    import polars as pl

    if isinstance(texts, pl.Series) and texts.dtype == pl.String:
        texts = [texts.str.join("\0").item()]
    return "\0".join(map(str, texts)).encode("utf-8", "surrogatepass")


def _write_batch(
    transform: Callable[[Any], Any], batch: Any, first: int, noted: Noted, writer: _Writer
) -> int:
    n = count_of(batch.documents)
    itemsize = np.dtype(noted.dtype).itemsize
    step = max(1, _SLICE_BYTES // (noted.width * itemsize))
    for start in range(0, n, step):
        part = batch.documents if n <= step else batch.documents[start : start + step]
        features = transform(part)
        if sp.issparse(features):
            raise InvalidParameterError(
                "output='concat' of sparse documents is sparse, and is not written: use "
                "output='layers', or n_components"
            )
        writer.write(np.ascontiguousarray(features, dtype=noted.dtype), first + start)
    return n * noted.width * itemsize


# -- where it stands ----------------------------------------------------------------------------


def _progress_file(path: Path) -> Path:
    return path.with_name(path.name + ".progress")


def in_progress(path: Path) -> bool:
    """Whether there is something to go on with."""
    return _progress_file(path).exists()


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def _begin(path: Path, fresh: Noted, overwrite: bool, resume: bool) -> Noted:
    """What an earlier call left to take up, or a fresh start."""
    if path.exists() and not overwrite:
        also = " and resume=True, to go on with what was begun" if in_progress(path) else ""
        raise InvalidParameterError(
            f"{path} is there already: give another path, or set overwrite=True{also}"
        )
    if not path.parent.is_dir():
        raise InvalidParameterError(f"the folder {path.parent} does not exist: make it first")
    record = _progress_file(path)
    if not resume:
        record.unlink(missing_ok=True)
    if not record.exists():
        return fresh
    try:
        found = json.loads(record.read_text())
        noted = Noted(**found)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"{record} is damaged: set overwrite=True to start again"
        ) from error
    if "checksum" not in found:
        raise InvalidInputError(
            f"{path} was begun by an older version of dcot, which did not note all that is needed "
            "to go on: set overwrite=True to start again"
        )
    if (noted.model, noted.width, noted.dtype) != (fresh.model, fresh.width, fresh.dtype):
        raise InvalidParameterError(
            f"{path} was begun with another model: go on with that one, or set overwrite=True to "
            "start again"
        )
    return noted


def _note(path: Path, noted: Noted, writer: _Writer, here: Noted) -> None:
    writer.sync()
    temporary = _progress_file(path).with_suffix(".new")
    try:
        with temporary.open("w") as file:
            json.dump(asdict(here), file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(_progress_file(path))
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    noted.batches, noted.rows, noted.checksum = here.batches, here.rows, here.checksum


def _cannot_write(error: OSError, path: Path, noted: Noted, anew: bool) -> OutputError:
    what = "make room" if error.errno in _FULL else "see to it"
    how = ", with resume=True," if anew else ""
    return OutputError(
        f"{path}: {reason_of(error)}. The features of {noted.rows:,} documents are written and "
        f"safe: {what} and call again with the same path and source{how} to go on from there"
    )


def reason_of(error: OSError) -> str:
    """Why writing failed, in words."""
    if error.errno in _FULL:
        return "there is no more room"
    return f"writing failed ({error.strerror or error})"


# -- one array ----------------------------------------------------------------------------------


class _Npy:
    """Rows one below the other behind a header of fixed length."""

    def __init__(self, path: Path, noted: Noted, names: list[str]) -> None:
        self.path, self.noted = path, noted
        self.file: Any = None

    def start(self, rows: int) -> None:
        partial = _partial(self.path)
        if rows and partial.exists() and partial.stat().st_size >= self._end(rows):
            self.file = partial.open("r+b", buffering=0)
        else:
            self.file = partial.open("w+b", buffering=0)
            self.noted.begin_anew()
        self._header(self.noted.rows)
        self.cut(self.noted.rows)

    def _end(self, rows: int) -> int:
        return _HEADER + rows * self.noted.width * np.dtype(self.noted.dtype).itemsize

    def cut(self, rows: int) -> None:
        self.file.truncate(self._end(rows))
        self.file.seek(self._end(rows))

    def _header(self, rows: int) -> None:
        shape = f"({rows}, {self.noted.width})"
        text = f"{{'descr': '{self.noted.dtype}', 'fortran_order': False, 'shape': {shape}, }}"
        body = text.ljust(_HEADER - 11).encode() + b"\n"
        self.file.seek(0)
        _write_all(self.file, b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body)

    def write(self, features: Array, first: int) -> None:
        _write_all(self.file, features.reshape(-1).view(np.uint8).data)

    def sync(self) -> None:
        os.fsync(self.file.fileno())

    def finish(self, rows: int) -> None:
        self._header(rows)
        self.sync()
        self.close()
        if self.path.is_dir():
            shutil.rmtree(self.path)
        _partial(self.path).replace(self.path)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def _write_all(file: Any, data: Any) -> None:
    view = memoryview(data)
    while len(view):
        view = view[file.write(view) :]


# -- a folder of parquet files ------------------------------------------------------------------


def write_parquet(frame: Any, path: Path) -> None:
    """Write a frame of polars, which hides the number of the system's errors in their text."""
    from polars.exceptions import PolarsError

    try:
        frame.write_parquet(path, compression="lz4")
    except (PolarsError, OSError) as error:
        found = re.search(r"os error (\d+)", str(error))
        if found is None:
            raise OSError(errno.EIO, str(error)) from error
        raise OSError(int(found[1]), os.strerror(int(found[1])), str(path)) from error


def sync_file(path: Path) -> None:
    """Make sure that a file is on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


class _Parquet:
    """A file for some tens of megabytes of features, named after its first document."""

    def __init__(self, path: Path, noted: Noted, names: list[str]) -> None:
        self.path, self.noted, self.names = path, noted, names
        self.folder = _partial(path)
        self.unsynced: list[Path] = []

    def start(self, rows: int) -> None:
        if not rows and self.folder.exists():
            shutil.rmtree(self.folder)
        if rows and not self.folder.exists():
            self.noted.begin_anew()
        self.folder.mkdir(exist_ok=True)
        self.cut(self.noted.rows)

    def cut(self, rows: int) -> None:
        for part in self.folder.glob("part-*.parquet"):
            if int(part.stem.removeprefix("part-")) >= rows:
                part.unlink()
        self.unsynced = [part for part in self.unsynced if part.exists()]

    def write(self, features: Array, first: int) -> None:
        import polars as pl

        documents = np.arange(first, first + len(features), dtype=np.int64)
        frame = pl.DataFrame({"document": documents, "features": features})
        part = self.folder / f"part-{first:015d}.parquet"
        write_parquet(frame, part)
        self.unsynced.append(part)

    def sync(self) -> None:
        for part in self.unsynced:
            sync_file(part)
        self.unsynced.clear()

    def finish(self, rows: int) -> None:
        self.sync()
        facts = {"documents": rows, "width": self.noted.width, "features": self.names}
        (self.folder / "features.json").write_text(json.dumps(facts, ensure_ascii=False))
        if self.path.is_dir():
            shutil.rmtree(self.path)
        elif self.path.exists():
            self.path.unlink()
        self.folder.replace(self.path)

    def close(self) -> None:
        """Nothing stays open."""
