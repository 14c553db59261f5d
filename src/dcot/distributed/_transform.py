"""``transform`` on a cluster: back to a Dask array, or to a folder of parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dcot.core.fit import FittedDCoT
from dcot.distributed._partitions import (
    Failed,
    Partition,
    Recipe,
    failed,
    load,
    partitions_of,
)
from dcot.distributed._running import Options, Shared, compute, connected, settle, shared
from dcot.errors import InvalidInputError, InvalidParameterError, OutputError
from dcot.estimator import DCoT
from dcot.runtime.files import atomic_file, write_atomically
from dcot.stream.outputs import reason_of, write_parquet
from dcot.stream.passes import count_of
from dcot.stream.writing import checksum
from dcot.text.tables import parquet_rows
from dcot.vectorizer import DCoTVectorizer

Model = DCoT | DCoTVectorizer


def transform(
    model: Model,
    collection: Any,
    *,
    cluster: Any = None,
    column: str | None = None,
    retries: int = 3,
) -> Any:
    """Features of a Dask collection as a Dask array, computed when it is.

    Its chunks are the partitions; how many rows they have is not known before.

    Parameters
    ----------
    model : a fitted DCoT or DCoTVectorizer
    collection, cluster, column, retries : see :func:`dcot.distributed.fit`; a model goes to the
        workers of ``cluster`` at once, or of the client in use; without either it is in the graph
    """
    import dask.array as da
    from dask import delayed

    fitted = _fitted(model)
    width, dtype = fitted.n_features, fitted.dtype
    given = shared(model, _client(cluster))
    make = delayed(_features, pure=False)
    partitions = partitions_of(collection, column, retries=retries)
    blocks = [make(given, part.recipe, part.inputs, part.name, retries) for part in partitions]
    parts = [da.from_delayed(block, (np.nan, width), dtype=dtype) for block in blocks]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _fitted(model: Model) -> FittedDCoT:
    dcot = model._fitted() if isinstance(model, DCoTVectorizer) else model
    return dcot._fitted()


def _no_features(model: Model) -> Any:
    """The features of no documents."""
    fitted = _fitted(model)
    return np.empty((0, fitted.n_features), dtype=fitted.dtype)


def _client(cluster: Any) -> Any:
    from distributed import Client, get_client

    if isinstance(cluster, Client):
        return cluster
    try:
        return get_client() if cluster is None else None
    except ValueError:
        return None


def _features(model: Shared, recipe: Recipe, inputs: list[Any], name: str, retries: int) -> Any:
    documents = load(recipe, inputs, name, retries, "raise")
    if not count_of(documents):
        return _no_features(model.value)
    try:
        return model.value._features(documents)
    except (ValueError, TypeError) as error:
        return failed(name, error, "raise")


def transform_to(
    model: Model,
    collection: Any,
    path: str | Path,
    *,
    cluster: Any = None,
    column: str | None = None,
    on_error: str = "raise",
    retries: int = 3,
    timeout: float | None = None,
    overwrite: bool = False,
) -> int:
    """Write features to a folder of parquet files, one per partition; the number of documents.

    Each file appears when it is complete, so the same call after a crash writes only those that are
    missing. Another model and other documents are refused: files are compared by name, size and
    time, and the documents of bags, dataframes and arrays are read again and compared. Columns:
    ``partition``, ``row`` (in it) and ``features``.

    Parameters
    ----------
    path : a folder that all workers reach under this name
    overwrite : make all files again
    model, collection, cluster, column, on_error, retries, timeout :
        see :func:`dcot.distributed.fit`
    """
    folder = Path(path)
    made = _fitted(model).representation
    if made.output == "concat" and made.components is None:
        raise InvalidParameterError(
            "output='concat' of sparse documents is sparse, and is not written: use "
            "output='layers', or n_components"
        )
    partitions = partitions_of(collection, column, retries=retries)
    marks = [[part.name, part.mark or str(column)] for part in partitions]
    with connected(cluster) as client:
        options = Options(client, retries, on_error, timeout)
        skipped = settle(partitions, options)
        rows = _begin(folder, model._fingerprint(), marks, overwrite)
        broken = [part.name in skipped for part in partitions]
        numbers = [number for number in range(len(partitions)) if not broken[number]]
        _check_documents(partitions, numbers, folder, rows, options)
        given = shared(model, client)
        missing = [number for number in numbers if number not in rows]
        results = compute(_writing(given, partitions, missing, folder, options), options)
    written = [found for found in results if not isinstance(found, Failed)]
    skipped |= {found.name: found.reason for found in results if isinstance(found, Failed)}
    total = int(sum(rows.values()) + sum(written))
    names = model.get_feature_names_out().tolist()
    facts = {"documents": total, "skipped": skipped, "features": names}
    _put(folder / "features.json", facts)
    for left in folder.glob(".part-*.partial"):  # of workers that died
        left.unlink(missing_ok=True)
    return total


def _check_documents(
    partitions: Sequence[Partition],
    numbers: Sequence[int],
    folder: Path,
    rows: dict[int, int],
    options: Options,
) -> None:
    """Refuse partitions that have other documents than those whose features are there.

    Files are known by their marks. Where nothing is known of the documents, the partition is taken
    out of ``rows``, so that it is written again.
    """
    from dask import delayed

    task = delayed(_check_same_documents, pure=False)
    tasks = []
    for number in numbers:
        part = partitions[number]
        if number not in rows or part.mark:
            continue
        noted = _noted(folder, number)
        if noted is None:
            del rows[number]
            continue
        how = (noted, str(folder), options.retries, options.on_error)
        tasks.append(task(part.recipe, part.inputs, part.name, *how))
    compute(tasks, options)


def _writing(
    given: Any,
    partitions: Sequence[Partition],
    missing: Sequence[int],
    folder: Path,
    options: Options,
) -> list[Any]:
    """Tasks that write the partitions that are missing."""
    from dask import delayed

    write = delayed(_write, pure=False)
    tasks = []
    for number in missing:
        part = partitions[number]
        what = (part.recipe, part.inputs, part.name, number, str(folder), not part.mark)
        tasks.append(write(given, *what, options.retries, options.on_error))
    return tasks


Mark = list[str]  # the name of a partition, and what else it is known by


def _begin(folder: Path, model: str, partitions: list[Mark], overwrite: bool) -> dict[int, int]:
    """The rows of the partitions that are there already."""
    record = folder / "model.json"
    if overwrite and record.exists():
        for part in (*folder.glob("part-*.parquet"), *folder.glob(".part-*.json")):
            part.unlink()
        (folder / "features.json").unlink(missing_ok=True)
        record.unlink()
    if not record.exists():
        if folder.exists() and any(path.suffix != ".partial" for path in folder.iterdir()):
            raise InvalidParameterError(f"{folder} is not empty: give a new folder")
        _put(record, {"model": model, "partitions": partitions})
        return {}
    _check_same(folder, record, model, partitions)
    return _rows_there(folder)


def _check_same(folder: Path, record: Path, model: str, partitions: list[Mark]) -> None:
    """Refuse to put the parts of two models or of two corpora together."""
    again = "or set overwrite=True to start again"
    try:
        begun = json.loads(record.read_text(encoding="utf-8"))
        began_with, noted = begun["model"], begun["partitions"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{record} is damaged: set overwrite=True to start again"
        ) from error
    if not isinstance(noted, list) or not all(_is_mark(one) for one in noted):
        raise InvalidInputError(
            f"{folder} was begun by an older version of dcot, which did not record what the "
            "partitions were: set overwrite=True to start again"
        )
    if began_with != model:
        raise InvalidParameterError(
            f"{folder} was begun with another model: resume with that one, {again}"
        )
    if len(noted) != len(partitions):
        raise InvalidInputError(
            f"{folder} was begun with {len(noted):,} partitions, and now there are "
            f"{len(partitions):,}: give the same ones, {again}"
        )
    # the same file may have another path now: compare what it is
    for before, (name, now) in zip(noted, partitions, strict=True):
        if before[-1] != now:
            raise InvalidInputError(
                f"{folder} was begun with other documents: {name} is another file or column, or "
                f"has changed since; give the same ones, {again}"
            )


def _is_mark(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)


def _rows_there(folder: Path) -> dict[int, int]:
    rows = {}
    for part in folder.glob("part-*.parquet"):
        number = part.stem.removeprefix("part-")
        with suppress(InvalidInputError):  # a damaged file is made again
            if number.isdecimal():
                rows[int(number)] = parquet_rows(part)
    return rows


def _note(folder: Path, number: int) -> Path:
    """The file with the checksum of a partition's documents."""
    return folder / f".part-{number:06d}.json"


def _noted(folder: Path, number: int) -> int | None:
    """The checksum of the documents that a part was made from."""
    try:
        found = json.loads(_note(folder, number).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if type(found) is int else None


def _check_same_documents(
    recipe: Recipe,
    inputs: list[Any],
    name: str,
    noted: int,
    folder: str,
    retries: int,
    on_error: str,
) -> None:
    """A task: compare the documents of a partition with those that its features were made from."""
    documents = load(recipe, inputs, name, retries, on_error)
    if not isinstance(documents, Failed) and checksum(documents) != noted:
        raise InvalidInputError(
            f"{folder} was begun with other documents: {name} has changed since; give the same "
            "ones, or set overwrite=True to start again"
        )


def _put(path: Path, value: Any) -> None:
    """JSON, whole or not at all."""
    with _explained(path, "Fix the problem, and the same call resumes from there"):
        write_atomically(path, json.dumps(value).encode())


@contextmanager
def _explained(path: Path, advice: str) -> Iterator[None]:
    """A file that cannot be written is an error with advice."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: {reason_of(error)}. {advice}") from error


def _write(
    model: Shared,
    recipe: Recipe,
    inputs: list[Any],
    name: str,
    number: int,
    folder: str,
    noting: bool,
    retries: int,
    on_error: str,
) -> int | Failed:
    """A task: write the features of a partition and, if asked, the checksum of its documents."""
    import polars as pl

    documents = load(recipe, inputs, name, retries, on_error)
    if isinstance(documents, Failed):
        return documents
    n = count_of(documents)
    try:
        features = model.value._features(documents) if n else _no_features(model.value)
    except (ValueError, TypeError) as error:
        return failed(name, error, on_error)
    columns = {"partition": np.full(n, number), "row": np.arange(n), "features": features}
    target = Path(folder) / f"part-{number:06d}.parquet"
    advice = (
        f"The features of {name} are not written; the files that are there are complete: fix "
        "the problem, and the same call makes those that are missing"
    )
    with _explained(target, advice):
        if noting:
            write_atomically(_note(Path(folder), number), json.dumps(checksum(documents)).encode())
        with atomic_file(target) as file:
            write_parquet(pl.DataFrame(columns), file, compression="lz4")
    return n
