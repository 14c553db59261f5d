"""From a Dask collection to named partitions, each of which can fail on its own."""

from __future__ import annotations

import hashlib
import io
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.runtime.extras import require
from dcot.text.batch import Texts
from dcot.text.decoding import COMPRESSED
from dcot.text.readers import TextFiles
from dcot.text.tables import ReadOptions, stream_rows

# Files of a partition, where they are given as files.
_PARTITION_BYTES, _PARTITION_FILES = 64_000_000, 10_000
_RETRY_SECONDS = 0.1  # seconds before a partition is tried again; doubled each time


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
    """A part of a collection: its name, and a recipe, or a Dask object where others share it.

    Files have a mark, which changes when they do.
    """

    name: str
    value: Any
    mark: str = ""


@dataclass
class Failed:
    """A partition that could not be read."""

    name: str
    reason: str


def partitions_of(
    collection: Any, column: str | None = None, *, apart: bool = False
) -> list[Partition]:
    """The partitions of a bag, dataframe, series, array, list of delayed objects, or of files.

    With ``apart`` no two files are in one partition, so that one can be skipped without others.
    """
    require("dask", "dask")
    if isinstance(collection, TextFiles):
        return _distinct(_of_files(collection, apart))
    parts = _delayed(collection, column)
    if not parts:
        raise InvalidInputError("the collection has no partitions: there is nothing to learn from")
    recipes = _recipes(parts)
    return [Partition(f"partition {i}", recipe) for i, recipe in enumerate(recipes)]


def _distinct(partitions: Iterator[Partition]) -> list[Partition]:
    """The same partitions; a repeated name gets a number."""
    seen: Counter[str] = Counter()
    found = []
    for partition in partitions:
        seen[partition.name] += 1
        again = seen[partition.name]
        name = partition.name if again == 1 else f"{partition.name} ({again})"
        found.append(Partition(name, partition.value, partition.mark))
    return found


def _of_files(files: TextFiles, apart: bool) -> Iterator[Partition]:
    """Files in their order: small ones together, large ones in pieces where lines are documents."""
    group: list[Any] = []
    size = 0

    def whole() -> Partition:
        part = files.only(group)
        return Partition(_named_files(part), _reading(part), mark_of(part))

    most = 1 if apart else _PARTITION_FILES
    for path, kind in files.files:
        bytes_ = path.stat().st_size
        pieces = cuts(path, kind, bytes_, files.options)
        if group and (len(pieces) > 1 or size + bytes_ > _PARTITION_BYTES or len(group) >= most):
            yield whole()
            group, size = [], 0
        if len(pieces) > 1:
            single = files.only([(path, kind)])
            for piece in pieces:
                lines = Lines(path.resolve(), kind, files.options, *piece)
                name = f"{path}, bytes {piece[0]:,} to {piece[1]:,}"
                yield Partition(name, _recipe(lines), mark_of(single))
            continue
        group.append((path, kind))
        size += bytes_
    if group:
        yield whole()


def mark_of(files: TextFiles) -> str:
    """A digest of the paths, sizes and times of files, and of how they are read."""
    digest = hashlib.blake2b(str(files.options).encode(), digest_size=16)
    for path, kind in files.files:
        found = path.stat()
        facts = f"{path.resolve()}\0{kind} {found.st_size} {found.st_mtime_ns}\0"
        digest.update(facts.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def cuts(path: Path, kind: str, size: int, options: ReadOptions) -> list[tuple[int, int]]:
    """Pieces of a file of lines that can be read separately; one piece for any other file."""
    plain = path.suffix.lower() not in COMPRESSED and options.encoding == "utf-8"
    if not plain or kind not in ("lines", "jsonl") or size <= 2 * _PARTITION_BYTES:
        return [(0, size)]
    edges = [*range(0, size - _PARTITION_BYTES // 2, _PARTITION_BYTES), size]
    return list(pairwise(edges))


@dataclass
class Lines:
    """The lines of a file that begin in a range of bytes."""

    path: Path
    kind: str
    options: ReadOptions
    start: int
    stop: int

    def texts(self) -> Any:
        with self.path.open("rb") as file:
            file.seek(max(self.start - 1, 0))
            if self.start:
                file.readline()  # it began before, or is the end of the line before
            begun = file.tell()
            data = file.read(self.stop - begun) if begun < self.stop else b""
            if data and not data.endswith(b"\n"):
                data += file.readline()
        rows = stream_rows(io.BytesIO(data), self.path, self.kind, self.options)
        return Texts.of([row[0] for row in rows])


def _named_files(files: TextFiles) -> str:
    first, last = files.files[0][0], files.files[-1][0]
    return f"{first}" if first == last else f"{first} to {last.name} ({len(files.files)} files)"


def _reading(files: TextFiles) -> Recipe:
    # absolute paths, which mean the same on every worker
    there = [(path.resolve(), kind) for path, kind in files.files]
    return _recipe(files.only(there))


def _recipe(files: TextFiles | Lines) -> Recipe:
    return Recipe({"texts": (_read_column, files)}, "texts")


def _read_column(files: TextFiles | Lines) -> Any:
    """One batch of texts, which is smaller than a list of strings and quicker to count."""
    if isinstance(files, Lines):
        return files.texts()
    return Texts.joined(list(files.batches()))


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
            time.sleep(_RETRY_SECONDS * 2**attempt)
    raise AssertionError("not reached")


def _settled(documents: Any) -> Any:
    """What can be read more than once: a partition of a bag may be an iterator."""
    return list(documents) if hasattr(documents, "__next__") else documents


def failed(name: str, error: Exception, on_error: str) -> Failed:
    """Raise an error that names the partition, or note it."""
    from dcot.stream.sources import named

    better = named(name, error)
    if on_error == "raise":
        raise better from error
    return Failed(name, str(error) or type(error).__name__)
