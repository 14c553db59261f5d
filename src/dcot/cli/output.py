"""Results to a file, by its ending: parquet, npz, npy, csv, tsv or jsonl; whole or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from dcot.cli.errors import UserError
from dcot.runtime.files import atomic_file

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet", ".npz", ".npy", ".csv", ".tsv", ".jsonl", ".ndjson")


def check_output(path: Path, sources: Sequence[str] = ()) -> None:
    """Refuse a file that could not be written, before the work is done."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(
            f"{path} ends in {path.suffix!r}, which is no format that dcot writes: expected one of "
            f"{', '.join(ENDINGS)}"
        )
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file")
    check_place(path)
    for source in sources:
        if path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise UserError(f"{path} is an input of this command: write to another file")


def check_place(path: Path) -> None:
    """Refuse a folder that does not exist or cannot be written."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise UserError(f"{parent} does not exist: create it first, as in mkdir -p {parent}")
    if not os.access(parent, os.W_OK):
        raise UserError(f"{parent} cannot be written: you have no permission; use another folder")


class Writer(Protocol):
    """Takes rows in batches."""

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
    with atomic_file(path) as file:
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
    """One array, kept until the end; ``dcot transform`` has a writer for large ones."""

    def __init__(self, file: IO[bytes], names: Sequence[str], main: str) -> None:
        self.file, self.main = file, main
        self.values: list[Any] = []
        self.features: list[Any] = []

    def write(self, columns: Mapping[str, Sequence[Any]], features: Any = None) -> None:
        if features is None:
            self.values += columns[self.main]
        else:
            self.features.append(_dense(features))

    def close(self) -> None:
        import numpy as np

        found = np.vstack(self.features) if self.features else plain_array(self.values)
        np.save(self.file, found, allow_pickle=False)


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
