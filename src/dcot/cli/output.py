"""Results to a file, by its ending: parquet, npz, npy, csv, tsv or jsonl; whole or not at all.

A file is written beside its place under a name of its own, seen to the disk, and then renamed. An
error or Ctrl-C removes it, and what was there before stays.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from dcot.cli.errors import UserError, is_full
from dcot.errors import OutputError

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet", ".npz", ".npy", ".csv", ".tsv", ".jsonl", ".ndjson")


def check_output(path: Path, sources: Sequence[str] = ()) -> None:
    """Refuse a file that could not be written, before the work is done."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(
            f"{path} ends in {path.suffix!r}, and that says how it is written: expected one of "
            f"{', '.join(ENDINGS)}"
        )
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file")
    check_place(path)
    for source in sources:
        if path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise UserError(f"{path} is the corpus itself: write to another file")


def check_place(path: Path) -> None:
    """Refuse a place where nothing can be made."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise UserError(f"{parent} does not exist: create it first, as in mkdir -p {parent}")
    if not os.access(parent, os.W_OK):
        raise UserError(
            f"{parent} cannot be written: you have no permission to; use another folder"
        )


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes its place when all went well."""
    from dcot.persistence.files import sync_folder

    folder = path.absolute().parent
    partial = folder / f".{path.name}-{secrets.token_hex(8)}.partial"
    try:
        with _explained(path):
            raw = io.FileIO(partial, "xb")
        with _Output(raw, path) as file:
            yield file
            with _explained(path):
                file.flush()
                os.fsync(file.fileno())
        with _explained(path):
            os.replace(partial, path)
            sync_folder(folder)
    finally:
        with suppress(OSError):  # renamed, if all went well
            os.unlink(partial)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        advice = "free some space" if is_full(error) else "check the folder"
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}; {advice}, or write elsewhere"
        ) from error


class _Output(io.BufferedWriter):
    """A file whose errors are told from those of what is being read meanwhile."""

    def __init__(self, raw: io.FileIO, path: Path) -> None:
        super().__init__(raw)
        self.path = path

    def write(self, data: Any) -> int:
        with _explained(self.path):
            return super().write(data)

    def close(self) -> None:
        with _explained(self.path):
            super().close()


class Writer(Protocol):
    """Takes rows by and by."""

    def write(self, columns: Mapping[str, Sequence[Any]], features: Any = None) -> None:
        """Columns of values, and a matrix with a column for each feature."""

    def close(self) -> None:
        """Write what is left."""


@contextmanager
def writing(path: Path, names: Sequence[str] = (), main: str = "features") -> Iterator[Writer]:
    """A writer for a file.

    Parameters
    ----------
    path : its ending says how
    names : of the features
    main : what an ``.npy`` file holds, which has room for one thing: features, or a column
    """
    with atomic(path) as file:
        writer = _WRITERS[path.suffix.lower()](file, names, main)
        yield writer
        writer.close()


class _Lines:
    """CSV, TSV and JSON lines: every batch is written as it comes."""

    def __init__(self, file: IO[bytes], names: Sequence[str], main: str) -> None:
        self.file, self.names, self.first = file, names, True

    def write(self, columns: Mapping[str, Sequence[Any]], features: Any = None) -> None:
        self.file.write(self.encoded(frame(columns, features, self.names)))
        self.first = False

    def encoded(self, rows: pl.DataFrame) -> bytes:
        raise NotImplementedError

    def close(self) -> None:
        pass


class _Csv(_Lines):
    separator = ","

    def encoded(self, rows: pl.DataFrame) -> bytes:
        import polars as pl

        lists = [name for name, kind in rows.schema.items() if kind == pl.List]
        rows = rows.with_columns(
            pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists
        )
        buffer = io.BytesIO()
        rows.write_csv(buffer, include_header=self.first, separator=self.separator)
        return buffer.getvalue()


class _Tsv(_Csv):
    separator = "\t"


class _JsonLines(_Lines):
    def encoded(self, rows: pl.DataFrame) -> bytes:
        buffer = io.BytesIO()
        rows.write_ndjson(buffer)
        return buffer.getvalue()


class _Parquet:
    """Parquet: one table, kept until the end."""

    def __init__(self, file: IO[bytes], names: Sequence[str], main: str) -> None:
        self.file, self.names = file, names
        self.frames: list[pl.DataFrame] = []

    def write(self, columns: Mapping[str, Sequence[Any]], features: Any = None) -> None:
        self.frames.append(frame(columns, features, self.names))

    def close(self) -> None:
        import polars as pl

        buffer = io.BytesIO()  # so that it is Python that meets the full disk
        pl.concat(self.frames, how="vertical_relaxed").write_parquet(buffer)
        self.file.write(buffer.getbuffer())


class _Npy:
    """One array. Features are written as they come; the header is completed at the end."""

    def __init__(self, file: IO[bytes], names: Sequence[str], main: str) -> None:
        self.file, self.main = file, main
        self.rows, self.width, self.dtype = 0, len(names), ""
        self.values: list[Any] = []

    def write(self, columns: Mapping[str, Sequence[Any]], features: Any = None) -> None:
        if features is None:
            self.values += columns[self.main]
            return
        dense = _dense(features)
        if not self.rows:
            self.dtype, self.width = dense.dtype.str, dense.shape[1]
            self._head()
        self.rows += len(dense)
        self.file.write(dense.tobytes())

    def _head(self) -> None:
        import numpy as np

        # numpy leaves room in the header for a number of rows that grows
        shape = (self.rows, self.width)
        description = {"descr": self.dtype, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self.file, description)

    def close(self) -> None:
        import numpy as np

        if self.rows:
            end = self.file.tell()
            self.file.seek(0)
            self._head()
            self.file.seek(end)
        else:
            np.save(self.file, plain_array(self.values), allow_pickle=False)


class _Npz:
    """All columns as arrays; sparse features in the form that ``scipy.sparse.load_npz`` reads."""

    def __init__(self, file: IO[bytes], names: Sequence[str], main: str) -> None:
        self.file, self.names = file, names
        self.columns: dict[str, list[Any]] = {}
        self.features: list[Any] = []

    def write(self, columns: Mapping[str, Sequence[Any]], features: Any = None) -> None:
        for name, values in columns.items():
            self.columns.setdefault(name, []).extend(values)
        if features is not None:
            self.features.append(features)

    def close(self) -> None:
        import numpy as np
        import scipy.sparse as sp

        arrays = {name: plain_array(values) for name, values in self.columns.items()}
        if self.features:
            arrays["feature_names"] = plain_array(list(self.names))
        if self.features and sp.issparse(self.features[0]):
            X = sp.csr_array(sp.vstack(self.features))
            arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
            arrays |= {"shape": np.array(X.shape), "format": np.array(b"csr")}
        elif self.features:
            arrays["features"] = np.vstack(self.features)
        np.savez(self.file, **arrays)


def frame(
    columns: Mapping[str, Sequence[Any]], features: Any, names: Sequence[str]
) -> pl.DataFrame:
    """Columns and features side by side; a feature is never taken for a column."""
    import polars as pl

    table = pl.DataFrame(
        {name: pl.Series(values, strict=False) for name, values in columns.items()}
    )
    if features is None:
        return table
    taken = set(columns)
    free = [f"{name}_" if name in taken else str(name) for name in names]
    return table.hstack(pl.DataFrame(_dense(features), schema=free, orient="row"))


def plain_array(values: Sequence[Any]) -> Any:
    """An array without objects, which would have to be pickled."""
    import numpy as np

    if any(isinstance(value, list | tuple) for value in values):
        values = [" ".join(map(str, value)) for value in values]
    found = np.array(values)
    return found if found.dtype.kind in "biufU" else np.array([str(value) for value in values])


def _dense(features: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(features.toarray() if hasattr(features, "toarray") else features)


_WRITERS: dict[str, Any] = {
    ".parquet": _Parquet,
    ".npz": _Npz,
    ".npy": _Npy,
    ".csv": _Csv,
    ".tsv": _Tsv,
    ".jsonl": _JsonLines,
    ".ndjson": _JsonLines,
}
