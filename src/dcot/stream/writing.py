"""Write the features of a large corpus to a file, batch by batch, and resume after a crash.

From time to time, and after an error, the output is synced to disk (fsync) and a checkpoint in
``….progress`` records how much of it is complete; what follows is written again. A checksum of the
documents prevents mixing two corpora. The output gets its final name when it is complete: an
``.npy`` array, or a folder of parquet files.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcot.core.centred import check_indices
from dcot.core.fit import FittedDCoT
from dcot.core.options import check_flag
from dcot.errors import (
    DcotError,
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    OutputError,
)
from dcot.runtime.files import DISK_FULL, as_path, write_atomically
from dcot.runtime.progress import Progress, announce, documents_done, silent
from dcot.stream import Batch, Source
from dcot.stream.outputs import OUTPUT_FILES, Checkpoint, Npy, Parquet, Writer, reason_of
from dcot.stream.passes import count_of
from dcot.stream.sources import named

_SLICE_BYTES = 64 << 20
_SYNC_BYTES = 256 << 20


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
    """Write the features of all documents, and return the number of documents.

    Parameters
    ----------
    transform : function from a batch of documents to its features
    path : ``….npy`` for one array; anything else is a folder of parquet files, whose names sort in
        the order of the documents, with columns ``document`` and ``features``
    width, dtype : number of columns and dtype of the features
    model : a fingerprint; the output of another model is not resumed
    names : names of the features
    overwrite : replace a finished output
    resume : resume an unfinished output; None means unless ``overwrite``
    """
    path = as_path(path)
    check_flag("overwrite", overwrite)
    if resume is not None:
        check_flag("resume", resume)
    resume = not overwrite if resume is None else resume
    if path.suffix in (".csv", ".tsv", ".json", ".jsonl", ".npz"):
        raise InvalidParameterError(
            f"{path} ends in {path.suffix}, but the output is one .npy file or a folder of parquet "
            "files: use a name that ends in .npy, or one without an ending"
        )
    kind = "npy" if path.suffix == ".npy" else "parquet"
    empty = Checkpoint(model, width, np.dtype(dtype).str, kind)
    try:
        saved = _begin(path, empty, overwrite, resume)
    except OSError as error:
        if isinstance(error, DcotError):
            raise
        raise _cannot_write(error, path, empty, overwrite) from error
    writer = Npy(path, saved) if kind == "npy" else Parquet(path, saved, names)
    try:
        writer.start(saved.rows)
        if saved.rows:
            announce(progress, f"{path}: resuming after {saved.rows:,} documents")
        rows = _copy(transform, source, path, saved, writer, progress)
        writer.finish(rows)
        _progress_file(path).unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, DcotError):
            raise
        raise _cannot_write(error, path, saved, overwrite and not resume) from error
    finally:
        writer.close()
        if not saved.rows:  # there is nothing to resume
            writer.discard()
    return rows


def _copy(
    transform: Callable[[Any], Any],
    source: Source,
    path: Path,
    saved: Checkpoint,
    writer: Writer,
    progress: Progress,
) -> int:
    begun, here = replace(saved), replace(saved)  # where to resume, and the last whole batch
    here.restart()
    unsynced, expected = 0, source.n_documents
    documents_done(progress, "transform", 0, expected)
    try:
        for batch in _read(source):
            if here.batches >= begun.batches:
                if here.batches == begun.batches:
                    _check_same(path, begun, here)
                try:
                    unsynced += _write_batch(transform, batch, saved, writer)
                except (InvalidInputError, InvalidTypeError) as error:
                    raise named(batch.name, error) from error
            here = replace(
                here,
                batches=here.batches + 1,
                rows=here.rows + count_of(batch.documents),
                checksum=checksum(batch.documents, here.checksum),
            )
            if unsynced >= _SYNC_BYTES:
                _save_checkpoint(path, saved, writer, here)
                unsynced = 0
            documents_done(progress, "transform", here.rows, expected, source.fraction())
        if here.batches <= begun.batches:  # nothing left to write, or fewer batches than before
            _check_same(path, begun, here)
        else:
            _save_checkpoint(path, saved, writer, here)  # the next steps can fail too
    except BaseException:
        if here.batches > saved.batches:
            with suppress(OSError):  # report the first error
                writer.cut(here.rows)  # frees space for the checkpoint on a full disk
                _save_checkpoint(path, saved, writer, here)
        raise
    documents_done(progress, "transform", here.rows, here.rows, finished=True)
    return here.rows


def _read(source: Source) -> Iterator[Batch]:
    """Yield the batches; turn an OSError while reading into an error of the input."""
    try:
        yield from source.batches()
    except OSError as error:
        if isinstance(error, DcotError):
            raise
        raise InvalidInputError(
            f"the source cannot be read: {error}; what is written stays, and the same call "
            "resumes the work when the source can be read again"
        ) from error


def _check_same(path: Path, begun: Checkpoint, here: Checkpoint) -> None:
    """Check that the skipped batches are those that were written."""
    advice = "give the same source, or start again with overwrite=True (--overwrite)"
    if (here.batches, here.rows) != (begun.batches, begun.rows):
        raise InvalidInputError(
            f"{path} was begun from a source whose first {begun.batches} batches had "
            f"{begun.rows:,} documents, and now they have {here.rows:,}: {advice}"
        )
    if here.checksum != begun.checksum:
        raise InvalidInputError(
            f"{path} was begun from a source whose first {begun.rows:,} documents were "
            f"different: {advice}"
        )


def checksum(documents: Any, before: int = 0) -> int:
    """Return a checksum of a batch of texts or rows and of the batches before it."""
    before = zlib.crc32(str(count_of(documents)).encode(), before)
    if getattr(documents, "ndim", 1) != 2:
        return zlib.crc32("\0".join(map(str, documents)).encode("utf-8", "surrogatepass"), before)
    if sp.issparse(documents):
        check_indices(documents)
        rows = sp.csr_array(documents)
        arrays = [rows.indptr, rows.indices, rows.data]
    else:
        dense = np.asarray(documents)
        arrays = [dense.astype(np.float64) if dense.dtype.hasobject else dense]
    for array in arrays:
        before = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, before)
    return before


def _write_batch(
    transform: Callable[[Any], Any], batch: Batch, saved: Checkpoint, writer: Writer
) -> int:
    documents, n = batch.documents, count_of(batch.documents)
    itemsize = np.dtype(saved.dtype).itemsize
    step = max(1, _SLICE_BYTES // (saved.width * itemsize))
    if n > step and sp.issparse(documents):
        check_indices(documents)  # SciPy does not check them when it slices
        documents = sp.csr_array(documents)  # some formats have no slices
    for start in range(0, n, step):
        part = documents if n <= step else documents[start : start + step]
        features = transform(part)
        if sp.issparse(features):
            raise InvalidParameterError(
                "output='concat' and 'all' are sparse for sparse documents, and not written: use "
                "output='layers', or n_components"
            )
        writer.write(np.ascontiguousarray(features, dtype=saved.dtype))
    return n * saved.width * itemsize


def fingerprint(fitted: FittedDCoT, *settings: Any) -> str:
    """Return a digest that changes if the features change, and is the same in every process.

    ``settings`` are arrays, or other values that are hashed as text.
    """
    digest = hashlib.blake2b(digest_size=16)
    made = fitted.representation
    values: list[Any] = [
        made.output,
        made.normalize,
        made.components,
        made.directions,
        made.lsi_weight,
    ]
    for layer in made.layers:
        values += [layer.squash, layer.coef_, layer.intercept_, layer.mean_, layer.spread_]
    for value in (*values, *settings):
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype.str} {value.shape} ".encode())
            digest.update(np.ascontiguousarray(value).data)
        else:
            digest.update(f"{_settled(value)}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _settled(value: Any) -> str:
    """Return a setting as text that does not depend on addresses or on the order of sets."""
    if isinstance(value, dict):
        return str(sorted((name, _settled(one)) for name, one in value.items()))
    if isinstance(value, set | frozenset):
        return str(sorted(map(str, value)))
    if isinstance(value, list | tuple):
        return str([_settled(one) for one in value])
    name = getattr(value, "__qualname__", None)
    return str(value) if name is None else f"{value.__module__}.{name}"


# -- checkpoints --------------------------------------------------------------------------------


def _progress_file(path: Path) -> Path:
    return path.with_name(path.name + ".progress")


def in_progress(path: Path) -> bool:
    """Whether there is an unfinished output."""
    return _progress_file(path).exists()


def _begin(path: Path, fresh: Checkpoint, overwrite: bool, resume: bool) -> Checkpoint:
    """Return the checkpoint to resume from, or ``fresh``."""
    if path.exists() and not overwrite:
        also = " and resume=True, to resume the unfinished output" if in_progress(path) else ""
        raise InvalidParameterError(
            f"{path} already exists: give another path, or set overwrite=True{also}"
        )
    if path.exists() and not _is_output(path, fresh.kind):
        raise InvalidParameterError(
            f"{path} already exists and does not hold features that dcot wrote, so it is not "
            "replaced: give another path"
        )
    others = [] if fresh.kind == "npy" or not path.exists() else os.listdir(path)
    others = sorted(name for name in others if not OUTPUT_FILES.fullmatch(name))
    if others:
        raise InvalidParameterError(
            f"{path} also holds other files ({others[0]}), so it is not replaced: move them, or "
            "give another path"
        )
    if not path.parent.is_dir():
        raise InvalidParameterError(f"the folder {path.parent} does not exist: create it first")
    record = _progress_file(path)
    if not resume:
        record.unlink(missing_ok=True)
    if not record.exists():
        return fresh
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
        saved = Checkpoint(**found)
        if any(type(one) is not int or one < 0 for one in (saved.batches, saved.rows)):
            raise ValueError("a count is no number")
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"{record} is damaged: start again with overwrite=True (--overwrite)"
        ) from error
    if "checksum" not in found:
        raise InvalidInputError(
            f"{path} was begun by an older version of dcot, which did not record all that is "
            "needed to resume: start again with overwrite=True (--overwrite)"
        )
    if (saved.model, saved.width, saved.dtype) != (fresh.model, fresh.width, fresh.dtype):
        raise InvalidParameterError(
            f"{path} was begun with another model: resume with that one, or start again with "
            "overwrite=True (--overwrite)"
        )
    return saved


def _is_output(path: Path, kind: str) -> bool:
    """Whether ``path`` may be replaced by an output of this kind."""
    return path.is_file() if kind == "npy" else (path / "features.json").is_file()


def _save_checkpoint(path: Path, saved: Checkpoint, writer: Writer, here: Checkpoint) -> None:
    writer.sync()
    try:
        write_atomically(_progress_file(path), json.dumps(asdict(here)).encode())
    except OutputError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0)) from error
    saved.advance(here)


def _cannot_write(error: OSError, path: Path, saved: Checkpoint, again: bool) -> OutputError:
    if not saved.rows:
        return OutputError(f"{path!s:.100} cannot be written: {reason_of(error)}")
    what = "make room" if error.errno in DISK_FULL else "fix the problem"
    how = ", with resume=True," if again else ""
    return OutputError(
        f"{path}: {reason_of(error)}. The features of {saved.rows:,} documents are written and "
        f"safe: {what} and call again with the same path and source{how} to resume from there"
    )
