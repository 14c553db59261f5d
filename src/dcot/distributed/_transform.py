"""``transform`` on a cluster: back to a Dask array, or to a folder of parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dcot.core.fit import FittedDCoT
from dcot.distributed._partitions import Failed, failed, load, partitions_of
from dcot.distributed._running import Options, Shared, compute, connected, shared
from dcot.errors import InvalidInputError, InvalidParameterError, OutputError
from dcot.estimator import DCoT
from dcot.runtime.files import atomic_file, write_atomically
from dcot.stream.outputs import reason_of, write_parquet
from dcot.stream.passes import count_of
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
    parts = [
        da.from_delayed(make(given, part.value, part.name, retries), (np.nan, width), dtype=dtype)
        for part in partitions_of(collection, column)
    ]
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


def _features(model: Shared, partition: Any, name: str, retries: int) -> Any:
    documents = load(partition, name, retries, "raise")
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
    missing. Another model, another number of partitions, and other or changed files are refused;
    that a bag or an array has the same contents as before is not checked. Columns:
    ``partition``, ``row`` (in it) and ``features``.

    Parameters
    ----------
    path : a folder that all workers reach under this name
    overwrite : make all files again
    model, collection, cluster, column, on_error, retries, timeout :
        see :func:`dcot.distributed.fit`
    """
    from dask import delayed

    folder = Path(path)
    made = _fitted(model).representation
    if made.output == "concat" and made.components is None:
        raise InvalidParameterError(
            "output='concat' of sparse documents is sparse, and is not written: use "
            "output='layers', or n_components"
        )
    partitions = partitions_of(collection, column)
    marks = [[part.name, part.mark or str(column)] for part in partitions]
    rows = _begin(folder, model._fingerprint(), marks, overwrite)
    missing = [i for i in range(len(partitions)) if i not in rows]
    with connected(cluster) as client:
        options = Options(client, retries, on_error, timeout)
        given = shared(model, client)
        write = delayed(_write, pure=False)
        tasks = [
            write(given, partitions[i].value, partitions[i].name, i, str(folder), retries, on_error)
            for i in missing
        ]
        results = compute(tasks, options)
    skipped = {found.name: found.reason for found in results if isinstance(found, Failed)}
    written = [found for found in results if not isinstance(found, Failed)]
    total = int(sum(rows.values()) + sum(written))
    names = model.get_feature_names_out().tolist()
    facts = {"documents": total, "skipped": skipped, "features": names}
    _put(folder / "features.json", facts)
    for left in folder.glob(".part-*.partial"):  # of workers that died
        left.unlink(missing_ok=True)
    return total


Mark = list[str]  # the name of a partition, and what else it is known by


def _begin(folder: Path, model: str, partitions: list[Mark], overwrite: bool) -> dict[int, int]:
    """The rows of the partitions that are there already."""
    record = folder / "model.json"
    if overwrite and record.exists():
        for part in folder.glob("part-*.parquet"):
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
    if not isinstance(noted, list):
        raise InvalidInputError(
            f"{folder} was begun by an older version of dcot, which did not note what the "
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


def _rows_there(folder: Path) -> dict[int, int]:
    import polars as pl

    rows = {}
    for part in folder.glob("part-*.parquet"):
        with suppress(pl.exceptions.PolarsError, OSError):  # a damaged file is made again
            count = pl.scan_parquet(part, glob=False).select(pl.len()).collect().item()
            rows[int(part.stem.removeprefix("part-"))] = int(count)
    return rows


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
    model: Shared, partition: Any, name: str, number: int, folder: str, retries: int, on_error: str
) -> int | Failed:
    import polars as pl

    documents = load(partition, name, retries, on_error)
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
    with _explained(target, advice), atomic_file(target) as file:
        write_parquet(pl.DataFrame(columns), file, compression="lz4")
    return n
