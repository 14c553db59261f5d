"""``transform`` on a cluster: back to a Dask array, or to a folder of parquet files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from dcot._exceptions import InvalidParameterError
from dcot._writing import fingerprint, plain
from dcot.distributed._cluster import connected
from dcot.distributed._partitions import Failed, failed, load, partitions_of
from dcot.distributed._passes import Options, compute, shared
from dcot.sources._passes import count_of


def transform(
    model: Any, collection: Any, *, cluster: Any = None, column: str | None = None, retries: int = 3
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

    dcot = getattr(model, "dcot_", model)
    width, dtype = dcot._n_features_out, dcot.layers_[0].coef_.dtype
    given = shared(plain(model), _client(cluster))
    make = delayed(_features, pure=False)
    parts = [
        da.from_delayed(make(given, part.value, part.name, retries), (np.nan, width), dtype=dtype)
        for part in partitions_of(collection, column)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _client(cluster: Any) -> Any:
    from distributed import Client, get_client

    if isinstance(cluster, Client):
        return cluster
    try:
        return get_client() if cluster is None else None
    except ValueError:
        return None


def _features(model: Any, partition: Any, name: str, retries: int) -> Any:
    documents = load(partition, name, retries, "raise")
    if not count_of(documents):
        dcot = getattr(model.value, "dcot_", model.value)
        return np.empty((0, dcot._n_features_out), dtype=dcot.layers_[0].coef_.dtype)
    try:
        return model.value.transform(documents)
    except (ValueError, TypeError) as error:
        return failed(name, error, "raise")


def transform_to(
    model: Any,
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
    """Write the features to a folder of parquet files, one a partition; how many documents.

    Each file appears when it is complete, so the same call after a crash makes only those that are
    missing. Columns: ``partition``, ``row`` (in it) and ``features``.

    Parameters
    ----------
    path : a folder that all workers reach under this name
    overwrite : make all files again
    model, collection, cluster, column, on_error, retries, timeout :
        see :func:`dcot.distributed.fit`
    """
    from dask import delayed

    folder = Path(path)
    dcot = getattr(model, "dcot_", model)
    if dcot.output == "concat" and dcot.components_ is None:
        raise InvalidParameterError(
            "output='concat' of sparse documents is sparse, and is not written: use "
            "output='layers', or n_components"
        )
    partitions = partitions_of(collection, column)
    rows = _begin(folder, fingerprint(model, dcot), len(partitions), overwrite)
    missing = [i for i in range(len(partitions)) if i not in rows]
    with connected(cluster) as client:
        options = Options(client, retries, on_error, timeout)
        given = shared(plain(model), client)
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
    (folder / "features.json").write_text(json.dumps(facts, ensure_ascii=False))
    return total


def _begin(folder: Path, model: str, n_partitions: int, overwrite: bool) -> dict[int, int]:
    """The rows of the partitions that are there already."""
    import polars as pl

    record = folder / "model.json"
    now = {"model": model, "partitions": n_partitions}
    if overwrite and record.exists():
        for part in folder.glob("part-*.parquet"):
            part.unlink()
        (folder / "features.json").unlink(missing_ok=True)
        record.unlink()
    if not record.exists():
        if folder.exists() and any(folder.iterdir()):
            raise InvalidParameterError(f"{folder} is not empty: give a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(now))
        return {}
    if json.loads(record.read_text()) != now:
        raise InvalidParameterError(
            f"{folder} was begun with another model or other partitions: go on with these, or set "
            "overwrite=True"
        )
    return {
        int(part.stem.removeprefix("part-")): int(
            pl.scan_parquet(part).select(pl.len()).collect().item()
        )
        for part in folder.glob("part-*.parquet")
    }


def _write(
    model: Any, partition: Any, name: str, number: int, folder: str, retries: int, on_error: str
) -> int | Failed:
    import polars as pl

    documents = load(partition, name, retries, on_error)
    if isinstance(documents, Failed):
        return documents
    n = count_of(documents)
    dcot = getattr(model.value, "dcot_", model.value)
    try:
        features = model.value.transform(documents) if n else None
    except (ValueError, TypeError) as error:
        return failed(name, error, on_error)
    if features is None:
        features = np.empty((0, dcot._n_features_out), dtype=dcot.layers_[0].coef_.dtype)
    columns = {"partition": np.full(n, number), "row": np.arange(n), "features": features}
    target = Path(folder) / f"part-{number:06d}.parquet"
    temporary = target.with_suffix(f".{os.getpid()}.tmp")  # two workers may try the same one
    pl.DataFrame(columns).write_parquet(temporary, compression="lz4")
    temporary.replace(target)
    return n
