"""``transform`` on a cluster: to a Dask array, or to a folder of parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dcot.core.fit import FittedDCoT
from dcot.core.options import check_flag
from dcot.core.representation import WITH_X
from dcot.distributed._fit import check_model
from dcot.distributed._partitions import Failed, Loader, Partition, partitions_of
from dcot.distributed._running import Options, Shared, compute, connected, in_use, settle, shared
from dcot.errors import InvalidInputError, InvalidParameterError, OutputError
from dcot.estimator import DCoT
from dcot.runtime.files import as_path, atomic_file, explained, write_atomically
from dcot.stream.outputs import OUTPUT_FILES, reason_of, write_parquet
from dcot.stream.passes import count_of
from dcot.stream.writing import checksum
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

    Its chunks are the partitions, whose numbers of rows are not known before they are computed.

    Parameters
    ----------
    model : a fitted DCoT or DCoTVectorizer
    collection, cluster, column, retries : see ``dcot.distributed.fit``. A large model is sent
        to the workers now if ``cluster`` is a client, or if it is None and there is a client in
        use; otherwise the model is part of the graph.

    Raises
    ------
    ModelNotFittedError
        If the model is not fitted.
    InvalidTypeError
        If the collection is not one of Dask.
    InvalidInputError
        If the collection is empty; or, when it is computed, if a partition cannot be used.

    Examples
    --------
    >>> import dask.bag
    >>> from dcot import DCoTVectorizer, distributed
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
    >>> bag = dask.bag.from_sequence(texts, npartitions=2)
    >>> model = DCoTVectorizer(n_prototypes=3).fit(texts)
    >>> distributed.transform(model, bag).compute(scheduler="synchronous").shape
    (4, 6)
    """
    import dask.array as da
    from dask import delayed
    from distributed import Client

    fitted = _fitted(model)
    width, dtype = fitted.n_features, fitted.dtype
    client = in_use() if cluster is None else cluster
    given = shared(model, client if isinstance(client, Client) else None)
    make = delayed(_features, pure=False)
    partitions = partitions_of(collection, column, retries=retries)
    blocks = [make(given, Loader(part, retries), part.inputs) for part in partitions]
    parts = [da.from_delayed(block, (np.nan, width), dtype=dtype) for block in blocks]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _fitted(model: Model) -> FittedDCoT:
    check_model(model)
    dcot = model._fitted() if isinstance(model, DCoTVectorizer) else model
    return dcot._fitted()


def _features(model: Shared, loader: Loader, inputs: list[Any]) -> Any:
    """A task that returns the features of a partition."""
    return _features_of(model.value, loader.load(inputs), loader)


def _features_of(model: Model, documents: Any, loader: Loader) -> Any:
    """Return the features of documents; ``Failed`` if the partition is skipped."""
    if not count_of(documents):
        fitted = _fitted(model)
        return np.empty((0, fitted.n_features), dtype=fitted.dtype)
    try:
        return model._features(documents)
    except (ValueError, TypeError) as error:
        return loader.failed(error)


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

    Each file is written atomically, so the same call after a crash writes only the missing files.
    Another model or other documents raise an error: files are compared by name, size and time; the
    documents of bags, dataframes and arrays are read again and compared. The columns are
    ``partition``, ``row`` (in the partition) and ``features``.

    Parameters
    ----------
    path : a folder that all workers can access under this name
    overwrite : write all files again
    model, collection, cluster, column, on_error, retries, timeout :
        see ``dcot.distributed.fit``

    Raises
    ------
    ModelNotFittedError
        If the model is not fitted.
    InvalidParameterError
        If an argument is out of range, the features are sparse, or the folder has features of
        another model.
    InvalidInputError
        If the collection is empty, has other documents than those in the folder, or a partition
        cannot be used and ``on_error`` is ``"raise"``.
    OutputError
        If a file cannot be written.
    ClusterError
        If the cluster does not answer, or loses its workers.
    MissingExtraError
        If dask is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import dask.bag
    >>> from dcot import DCoTVectorizer, distributed
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
    >>> bag = dask.bag.from_sequence(texts, npartitions=2)
    >>> model = DCoTVectorizer(n_prototypes=3).fit(texts)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     distributed.transform_to(model, bag, Path(folder) / "features", cluster="threads")
    4
    """
    folder = as_path(path)
    check_flag("overwrite", overwrite)
    made = _fitted(model).representation
    if made.output in WITH_X and made.components is None:
        raise InvalidParameterError(
            "output='concat' and 'all' are sparse for sparse documents, and not written: use "
            "output='layers', or n_components"
        )
    partitions = partitions_of(collection, column, retries=retries)
    marks = [[part.name, part.mark or str(column)] for part in partitions]
    with connected(cluster) as client:
        options = Options(client, retries, on_error, timeout)
        skipped = settle(partitions, options)
        with explained(folder):
            rows = _begin(folder, model._fingerprint(), marks, overwrite)
        usable = {k: part for k, part in enumerate(partitions) if part.name not in skipped}
        _check_documents(usable, folder, rows, options)
        missing = {number: part for number, part in usable.items() if number not in rows}
        results = compute(_writing(shared(model, client), missing, folder, options), options)
    written = [found for found in results if not isinstance(found, Failed)]
    skipped |= {found.name: found.reason for found in results if isinstance(found, Failed)}
    total = int(sum(rows.values()) + sum(written))
    names = model.get_feature_names_out().tolist()
    facts = {"documents": total, "skipped": skipped, "features": names}
    _put(folder / "features.json", facts)
    for left in folder.glob(".part-*.partial"):  # left by workers that died
        left.unlink(missing_ok=True)
    return total


def _check_documents(
    partitions: Mapping[int, Partition], folder: Path, rows: dict[int, int], options: Options
) -> None:
    """Raise an error if a partition has other documents than those of its written features.

    Files are compared by their marks. A partition without a recorded checksum is removed from
    ``rows``, so that it is written again.
    """
    from dask import delayed

    check, tasks = delayed(_check_same_documents, pure=False), []
    for number, part in partitions.items():
        if number not in rows or part.mark:
            continue
        recorded = _recorded_checksum(folder, number)
        if recorded is None:
            del rows[number]
        else:
            tasks.append(check(options.loader(part), part.inputs, recorded, str(folder)))
    compute(tasks, options)


def _writing(
    node: Any, partitions: Mapping[int, Partition], folder: Path, options: Options
) -> list[Any]:
    """Return tasks that write partitions; ``node`` is the model in Dask's graph."""
    from dask import delayed

    write, tasks = delayed(_write, pure=False), []
    for number, part in partitions.items():
        what = (options.loader(part), part.inputs, number, str(folder), not part.mark)
        tasks.append(write(node, *what))
    return tasks


Mark = list[str]  # the name of a partition, and a digest of its files or its column


def _begin(folder: Path, model: str, partitions: list[Mark], overwrite: bool) -> dict[int, int]:
    """Return the numbers of rows of the partitions that are already written."""
    record = folder / "model.json"
    if overwrite and record.exists():
        _check_ours(folder, record)
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


def _check_ours(folder: Path, record: Path) -> None:
    """Raise an error if the folder has anything that ``transform_to`` did not write."""
    others = sorted(path.name for path in folder.iterdir() if not OUTPUT_FILES.fullmatch(path.name))
    with suppress(ValueError, TypeError, RecursionError):  # a damaged record may be replaced
        if "model" not in json.loads(record.read_text(encoding="utf-8")):
            others.append(record.name)
    if others:
        raise InvalidParameterError(
            f"{folder} has {others[0]}, which transform_to did not write, so it is not replaced: "
            "give another folder"
        )


def _check_same(folder: Path, record: Path, model: str, partitions: list[Mark]) -> None:
    """Raise an error if the folder was begun with another model or other documents."""
    again = "or set overwrite=True to start again"
    try:
        begun = json.loads(record.read_text(encoding="utf-8"))
        began_with, recorded = begun["model"], begun["partitions"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{record} is damaged: set overwrite=True to start again"
        ) from error
    if not isinstance(recorded, list) or not all(_is_mark(one) for one in recorded):
        raise InvalidInputError(
            f"{folder} was begun by an older version of dcot, which did not record what the "
            "partitions were: set overwrite=True to start again"
        )
    if began_with != model:
        raise InvalidParameterError(
            f"{folder} was begun with another model: resume with that one, {again}"
        )
    if len(recorded) != len(partitions):
        raise InvalidInputError(
            f"{folder} was begun with {len(recorded):,} partitions, and now there are "
            f"{len(partitions):,}: give the same ones, {again}"
        )
    # the same file may have another name now: compare only the digests
    for before, (name, now) in zip(recorded, partitions, strict=True):
        if before[-1] != now:
            raise InvalidInputError(
                f"{folder} was begun with other documents: {name} is another file or column, or "
                f"has changed since; give the same ones, {again}"
            )


def _is_mark(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)


def _rows_there(folder: Path) -> dict[int, int]:
    from dcot.text import parquet

    rows = {}
    for part in folder.glob("part-*.parquet"):
        number = part.stem.removeprefix("part-")
        with suppress(InvalidInputError):  # a damaged file is written again
            if number.isdecimal():
                rows[int(number)] = parquet.n_rows(part)
    return rows


def _checksum_file(folder: Path, number: int) -> Path:
    """Return the path of the file with the checksum of a partition's documents."""
    return folder / f".part-{number:06d}.json"


def _recorded_checksum(folder: Path, number: int) -> int | None:
    """Return the recorded checksum of a partition's documents, or None."""
    try:
        found = json.loads(_checksum_file(folder, number).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if type(found) is int else None


def _check_same_documents(loader: Loader, inputs: list[Any], recorded: int, folder: str) -> None:
    """A task that compares the documents of a partition with those of its written features."""
    documents = loader.load(inputs)
    if not isinstance(documents, Failed) and checksum(documents) != recorded:
        raise InvalidInputError(
            f"{folder} was begun with other documents: {loader.name} has changed since; give the "
            "same ones, or set overwrite=True to start again"
        )


def _put(path: Path, value: Any) -> None:
    """Write JSON atomically."""
    with _explained(path, "Fix the problem, and the same call resumes from there"):
        write_atomically(path, json.dumps(value).encode())


@contextmanager
def _explained(path: Path, advice: str) -> Iterator[None]:
    """Turn an OSError into an OutputError with advice."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: {reason_of(error)}. {advice}") from error


def _write(
    model: Shared,
    loader: Loader,
    inputs: list[Any],
    number: int,
    folder: str,
    record_checksum: bool,
) -> int | Failed:
    """A task that writes the features of a partition and, with ``record_checksum``, a checksum."""
    import polars as pl

    documents = loader.load(inputs)
    if isinstance(documents, Failed):
        return documents
    features = _features_of(model.value, documents, loader)
    if isinstance(features, Failed):
        return features
    n = count_of(documents)
    columns = {"partition": np.full(n, number), "row": np.arange(n), "features": features}
    target = Path(folder) / f"part-{number:06d}.parquet"
    advice = (
        f"The features of {loader.name} are not written; the files that are there are complete: "
        "fix the problem, and the same call makes those that are missing"
    )
    with _explained(target, advice):
        if record_checksum:
            write_atomically(
                _checksum_file(Path(folder), number), json.dumps(checksum(documents)).encode()
            )
        with atomic_file(target) as file:
            write_parquet(pl.DataFrame(columns), file, compression="lz4")
    return n
