"""Files that commands read and write: model folders, and results in the format of their ending.

Results are parquet, npz, npy, csv, tsv or jsonl; a file is written completely or not at all.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dcot.cli.errors import UserError
from dcot.cli.session import as_json
from dcot.runtime.files import atomic_file

if TYPE_CHECKING:
    import polars as pl

    from dcot import DCoTClassifier, DCoTVectorizer, SearchIndex

    Model = DCoTClassifier | DCoTVectorizer | SearchIndex

Columns = Mapping[str, Sequence[Any]]

SEPARATOR = "|"  # between the labels of a document, in formats without lists
_JSON = (".jsonl", ".ndjson")
_WITH_LISTS = (".parquet", *_JSON)

# -- model folders ------------------------------------------------------------------------------


def check_target(path: Path, kind: str) -> None:
    """Refuse a folder where the model could not be saved, before hours of training.

    A model of the same kind is replaced in one step when the new one is complete. Anything else in
    the folder is left alone.
    """
    from dcot.persistence import folder
    from dcot.persistence.manifest import MANIFEST, read_manifest

    check_place(path)
    folder.check_target(path)
    if (path / MANIFEST).exists() and (found := read_manifest(path).kind) != kind:
        raise UserError(
            f"{path} holds a {found}, and a {kind} does not replace it: name another folder, or "
            "remove it first"
        )


def load_model(path: Path, *kinds: str, hint: str = "", mmap: bool = False) -> Any:
    """Load the model of a folder, which must be of one of these classes (any, if none is named)."""
    import dcot

    if path.is_file():
        raise UserError(f"{path} is a file, but a model folder was expected here")
    model = dcot.load(path, mmap=mmap)
    found = type(model).__name__
    if kinds and found not in kinds:
        raise UserError(f"{path} holds a {found}, but a {' or '.join(kinds)} is needed: {hint}")
    if getattr(model, "vectorizer_", model) is None:
        raise UserError(f"{path} was trained on a matrix, not on texts: use it from Python")
    return model


def load_classifier(path: Path) -> DCoTClassifier:
    """Load a folder that must hold a classifier."""
    model: DCoTClassifier = load_model(path, "DCoTClassifier", hint="make one with dcot train")
    return model


def load_vectorizer(path: Path) -> DCoTVectorizer:
    """Load a folder that must hold a vectorizer, or a classifier, which has one."""
    kinds = ("DCoTVectorizer", "DCoTClassifier")
    model = load_model(path, *kinds, hint="make one with dcot fit")
    found: DCoTVectorizer = getattr(model, "vectorizer_", model)
    return found


def save_model(model: Model, path: Path, precision: str | None) -> int:
    """Save a model, with ``verbose`` off, and return its size in bytes."""
    if hasattr(model, "set_params"):
        model.set_params(verbose=False)
    model.save(path, precision=precision)
    return sum(file.stat().st_size for file in path.iterdir() if file.is_file())


# -- results ------------------------------------------------------------------------------------


def check_output(path: Path, sources: Sequence[str] = (), *, array: bool = False) -> None:
    """Refuse a file that could not be written, before the work is done.

    ``array`` says that one array is worth writing alone, as an ``.npy`` file has it.
    """
    endings = [ending for ending in (*_WHOLE, *_LINES) if array or ending != ".npy"]
    if path.suffix.lower() not in endings:
        raise UserError(
            f"{path} ends in {path.suffix!r}, and this command cannot write that format: expected "
            f"one of {', '.join(endings)}"
        )
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file")
    check_place(path)
    check_not_input(path, sources)


def check_not_input(path: Path, sources: Sequence[str]) -> None:
    """Refuse a file that is read by the same command."""
    for source in sources:
        if path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise UserError(f"{path} is an input of this command: write to another file")


def check_place(path: Path) -> None:
    """Refuse a file or folder whose parent does not exist, or that cannot be written."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise UserError(f"{parent} does not exist: create it first, as in mkdir -p {parent}")
    place = path if path.is_dir() else parent
    if not os.access(place, os.W_OK):
        raise UserError(f"{place} cannot be written: you have no permission; use another folder")


@contextmanager
def writing(
    path: Path,
    names: Sequence[str] = (),
    main: str = "features",
    separator: str = SEPARATOR,
) -> Iterator[Writer]:
    """Open a file for writing in the format of its ending.

    Parameters
    ----------
    path : the file
    names : names of the features
    main : what an ``.npy`` file holds: "features", or the name of a column
    separator : joins several labels of a document, if the format has no lists
    """
    with atomic_file(path) as file:
        writer = Writer(file, path.suffix.lower(), names, main, separator)
        yield writer
        writer.close()


def keeps_lists(ending: str) -> bool:
    """Whether files with this ending have lists; in others, several labels are one string."""
    return ending in _WITH_LISTS


def joined(value: Any, separator: str = SEPARATOR) -> Any:
    """A list as one string, from which the same list can be read again; other values as they are.

    >>> joined(["oil price", "crude oil"]), joined("oil price")
    ('oil price|crude oil', 'oil price')
    """
    if not isinstance(value, list | tuple):
        return value
    parts = [str(one) for one in value]
    text = separator.join(parts)
    if parts != (text.split(separator) if text else []):
        wrong = next((one for one in parts if not one or separator in one), text)
        raise UserError(
            f"{wrong!r:.100} cannot be among values that {separator!r} separates: write .jsonl or "
            ".parquet, which keep lists, or give dcot predict another --label-separator"
        )
    return text


class Writer:
    """Writes rows in batches: lines as they come, other formats at the end."""

    def __init__(
        self, file: IO[bytes], ending: str, names: Sequence[str], main: str, separator: str
    ) -> None:
        self.file, self.ending, self.names, self.main = file, ending, names, main
        self.separator = separator
        self.columns: dict[str, list[Any]] = {}
        self.features: list[Any] = []
        self.first = True

    def write(self, columns: Columns, features: Any = None) -> None:
        """Add rows: columns of values, and a matrix of features."""
        if not keeps_lists(self.ending):
            columns = {name: self._flat(values) for name, values in columns.items()}
        if features is None and self.ending in _JSON:  # has any value, of any kind
            for row in zip(*columns.values(), strict=True):
                self.file.write((as_json(dict(zip(columns, row, strict=True))) + "\n").encode())
            return
        if self.ending in _LINES:
            _LINES[self.ending](frame(columns, features, self.names), self.file, self.first)
            self.first = False
            return
        for name, values in columns.items():
            self.columns.setdefault(name, []).extend(values)
        if features is not None:
            self.features.append(features)

    def _flat(self, values: Sequence[Any]) -> Sequence[Any]:
        """A column in which every list has become one string."""
        if not any(isinstance(value, list | tuple) for value in values):
            return values
        return [joined(value, self.separator) for value in values]

    def close(self) -> None:
        """Write the formats that are written at the end."""
        if self.ending in _WHOLE:
            _WHOLE[self.ending](self)


def _write_csv(rows: pl.DataFrame, file: IO[bytes], first: bool, *, separator: str) -> None:
    buffer = io.BytesIO()  # so that Python, and not polars, meets a full disk
    rows.write_csv(buffer, include_header=first, separator=separator)
    with buffer.getbuffer() as data:  # let go of it also if the disk is full
        file.write(data)


def _write_json(rows: pl.DataFrame, file: IO[bytes], first: bool) -> None:
    buffer = io.BytesIO()
    rows.write_ndjson(buffer)
    with buffer.getbuffer() as data:  # let go of it also if the disk is full
        file.write(data)


def _write_parquet(writer: Writer) -> None:
    from dcot.stream.outputs import write_parquet

    features = _stacked(writer.features) if writer.features else None
    write_parquet(frame(writer.columns, features, writer.names), writer.file)


def _write_npy(writer: Writer) -> None:
    """Write one array; ``dcot transform`` has another way for large ones."""
    import numpy as np

    kept = writer.features
    found = _dense(_stacked(kept)) if kept else plain_array(writer.columns[writer.main])
    np.save(writer.file, found, allow_pickle=False)


def _write_npz(writer: Writer) -> None:
    """Write all columns as arrays; ``scipy.sparse.load_npz`` can read sparse features."""
    import numpy as np
    import scipy.sparse as sp

    arrays = {name: plain_array(values) for name, values in writer.columns.items()}
    if writer.features:
        arrays["feature_names"] = plain_array(list(writer.names))
        X = _stacked(writer.features)
        if sp.issparse(X):
            arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
            arrays |= {"shape": np.array(X.shape), "format": np.array(b"csr")}
        else:
            arrays["features"] = X
    np.savez(writer.file, **arrays)


def _stacked(features: list[Any]) -> Any:
    import numpy as np
    import scipy.sparse as sp

    if sp.issparse(features[0]):
        return sp.csr_array(sp.vstack(features))
    return np.vstack(features)


def frame(columns: Columns, features: Any, names: Sequence[str]) -> pl.DataFrame:
    """Columns and features in one frame; a feature named like a column gets an underscore."""
    import polars as pl

    table = pl.DataFrame({name: _series(values) for name, values in columns.items()})
    if features is None:
        return table
    taken = set(columns)
    free = [f"{name}_" if name in taken else str(name) for name in names]
    return table.hstack(pl.DataFrame(_dense(features), schema=free, orient="row"))


def _series(values: Sequence[Any]) -> pl.Series:
    """A column of a table; if it cannot have these values as they are, they become JSON text."""
    import polars as pl

    if all(map(_fits, values)):
        found = pl.Series(values, strict=False)
        if found.dtype != pl.Object and _same(found.to_list(), values):
            return found
    kept = [one if one is None or isinstance(one, str) else as_json(one) for one in values]
    return pl.Series(kept, dtype=pl.String)


def _fits(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_fits, value))
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return value is None or isinstance(value, str | float | date | time | Decimal)


def _same(found: Sequence[Any], values: Sequence[Any]) -> bool:
    return all(
        one == other or (one != one and other != other)  # NaN is not equal to itself
        for one, other in zip(found, values, strict=True)
    )


def plain_array(values: Sequence[Any]) -> Any:
    """An array without objects, which would need pickle, and of numbers only if they are exact."""
    import numpy as np

    found = np.array(values)
    exact = found.dtype.kind in "biufU" and _same(found.tolist(), values)
    return found if exact else np.array([str(value) for value in values])


def _dense(features: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(features.toarray() if hasattr(features, "toarray") else features)


_WHOLE: dict[str, Callable[[Writer], None]] = {
    ".parquet": _write_parquet,
    ".npz": _write_npz,
    ".npy": _write_npy,
}
_LINES: dict[str, Callable[[Any, IO[bytes], bool], None]] = {
    ".csv": partial(_write_csv, separator=","),
    ".tsv": partial(_write_csv, separator="\t"),
    ".jsonl": _write_json,
    ".ndjson": _write_json,
}
