"""From a Dask collection to partitions, each of which can fail by itself and is known by name."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dcot._exceptions import InvalidInputError, InvalidTypeError
from dcot._extras import require
from dcot.text.readers import TextFiles

# Files of a partition, where they are given as files.
_PARTITION_BYTES, _PARTITION_FILES = 64_000_000, 10_000
_PAUSE = 0.1  # seconds before a partition is tried again; doubled each time


class Recipe:
    """The tasks that make one partition, as one: opaque to Dask, so that it is run by us.

    This is what lets a partition be tried again with any scheduler, and names it when it fails.
    (Not a dataclass: Dask looks into these for tasks.)
    """

    def __init__(self, graph: dict[Any, Any], key: Any) -> None:
        self.graph, self.key = graph, key

    def make(self) -> Any:
        from dask import get

        return get(self.graph, self.key)


@dataclass
class Partition:
    """A part of a collection: its name, and a recipe, or a Dask object where others share it."""

    name: str
    value: Any


@dataclass
class Failed:
    """A partition that could not be had."""

    name: str
    reason: str


def partitions_of(collection: Any, column: str | None = None) -> list[Partition]:
    """The partitions of a bag, dataframe, series, array, list of delayed objects, or of files."""
    require("dask", "dask")
    if isinstance(collection, TextFiles):
        return [Partition(_named_files(part), _reading(part)) for part in _cut(collection)]
    parts = _delayed(collection, column)
    if not parts:
        raise InvalidInputError("the collection has no partitions: there is nothing to learn from")
    recipes = _recipes(parts)
    return [Partition(f"partition {i}", recipe) for i, recipe in enumerate(recipes)]


def _cut(files: TextFiles) -> Iterator[TextFiles]:
    """Files in their order, small ones together; a large file is a partition of its own."""
    group: list[Any] = []
    size = 0
    for path, kind in files.files:
        bytes_ = path.stat().st_size
        if group and (size + bytes_ > _PARTITION_BYTES or len(group) >= _PARTITION_FILES):
            yield TextFiles(group, files.column, files.errors, files.batch_size)
            group, size = [], 0
        group.append((path, kind))
        size += bytes_
    if group:
        yield TextFiles(group, files.column, files.errors, files.batch_size)


def _named_files(files: TextFiles) -> str:
    first, last = files.files[0][0], files.files[-1][0]
    return f"{first}" if first == last else f"{first} to {last.name} ({len(files.files)} files)"


def _reading(files: TextFiles) -> Recipe:
    # workers are to see the same files: paths that mean the same wherever they are read
    there = [(path.resolve(), kind) for path, kind in files.files]
    whole = TextFiles(there, files.column, files.errors, files.batch_size)
    return Recipe({"texts": (_read_column, whole)}, "texts")


def _read_column(files: TextFiles) -> Any:
    """One column of texts, which is smaller than a list of strings and quicker to count."""
    import polars as pl

    columns = list(files.batches())
    return pl.concat(columns, rechunk=True) if columns else pl.Series([], dtype=pl.String)


def _delayed(collection: Any, column: str | None) -> list[Any]:
    from dask.delayed import Delayed

    if isinstance(collection, list | tuple):
        if not all(isinstance(part, Delayed) for part in collection):
            raise InvalidTypeError("a list of partitions must hold dask.delayed objects")
        return list(collection)
    kind = type(collection).__module__.split(".")[:2]
    if not hasattr(collection, "to_delayed"):
        raise InvalidTypeError(
            f"got a {type(collection).__name__}, expected a Dask bag or dataframe of texts, a Dask "
            "array of documents × terms, or a list of delayed objects"
        )
    if hasattr(collection, "columns") and not hasattr(collection, "to_frame"):
        collection = collection[_column(list(collection.columns), column)]
    if kind == ["dask", "array"] or hasattr(collection, "chunks"):
        return _of_array(collection)
    return list(collection.to_delayed())


def _column(names: list[str], column: str | None) -> str:
    if column is None:
        column = "text" if "text" in names else names[0] if len(names) == 1 else None
    if column is None or column not in names:
        raise InvalidInputError(
            f"which of the columns {names} holds the texts? Say so, as in column={names[0]!r}"
        )
    return column


def _of_array(array: Any) -> list[Any]:
    if array.ndim != 2:
        raise InvalidInputError(
            f"the array has {array.ndim} dimensions, expected 2, documents × terms"
        )
    if array.numblocks[1] != 1:
        raise InvalidInputError(
            f"the array is cut into {array.numblocks[1]} pieces along its columns, expected 1: "
            "rechunk it, as in array.rechunk({1: -1})"
        )
    return list(array.to_delayed().ravel())


def _recipes(parts: list[Any]) -> list[Any]:
    """One recipe a partition, unless partitions share tasks: then Dask has to run them, once."""
    from dask.optimization import cull

    shared: dict[int, dict[Any, Any]] = {}
    recipes = []
    for part in parts:
        whole = part.__dask_graph__()
        graph = shared.setdefault(id(whole), dict(whole))
        culled, _ = cull(graph, [part.key])
        recipes.append(Recipe(dict(culled), part.key))
    seen = Counter(key for recipe in recipes for key in recipe.graph)
    futures = any(_holds_future(value) for r in recipes for value in r.graph.values())
    if futures or any(count > 1 for count in seen.values()):
        return parts
    return recipes


def _holds_future(value: Any) -> bool:
    from distributed import Future

    inner = getattr(value, "value", value)
    return isinstance(value, Future) or isinstance(inner, Future)


def load(partition: Any, name: str, retries: int, on_error: str) -> Any:
    """The documents of a partition, tried several times; ``Failed`` if it may be skipped."""
    if not isinstance(partition, Recipe):
        return _settled(partition)
    for attempt in range(retries + 1):
        try:
            return _settled(partition.make())
        except Exception as error:
            if attempt == retries:
                return failed(name, error, on_error)
            time.sleep(_PAUSE * 2**attempt)
    raise AssertionError("not reached")


def _settled(documents: Any) -> Any:
    """What can be read more than once: a partition of a bag may be an iterator."""
    return list(documents) if hasattr(documents, "__next__") else documents


def failed(name: str, error: Exception, on_error: str) -> Failed:
    """Raise an error that names the partition, or note it."""
    from dcot.sources._base import named

    better = named(name, error)
    if on_error == "raise":
        raise better from error
    return Failed(name, str(error) or type(error).__name__)
