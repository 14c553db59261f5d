"""Split a Dask collection into named partitions, which can fail independently."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.runtime.extras import require
from dcot.stream.sources import named

_LONG_LIST = 1000  # a longer list of strings in a graph has texts
_RETRY_SECONDS = 0.1  # seconds before a partition is tried again; doubled each time


class Recipe:
    """Several Dask tasks that run as one, which Dask does not look into.

    So a partition can be tried again with any scheduler, and an error can name it. ``wanted`` are
    the keys of results that the tasks need from others. This is not a dataclass, because Dask
    searches dataclasses for tasks.
    """

    def __init__(self, graph: dict[Any, Any], key: Any, wanted: Sequence[Any] = ()) -> None:
        self.graph, self.key, self.wanted = graph, key, list(wanted)

    def make(self, given: Sequence[Any] = ()) -> Any:
        """Run the tasks and return the result; ``given`` are the values of ``wanted``."""
        from dask import get

        values = dict(zip(self.wanted, given, strict=True))
        if self.key in values:
            return values[self.key]
        # as functions without arguments, because Dask searches lists and tuples for tasks
        held = {key: (_Held(value),) for key, value in values.items()}
        return get({**self.graph, **held}, self.key)


class _Held:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


@dataclass
class Partition:
    """A part of a collection.

    Attributes
    ----------
    name : the name in errors
    recipe : the tasks that make it
    mark : a digest of its files, which changes when they do; empty without files
    inputs : Dask objects that the recipe needs, because they are shared or persisted
    futures : the futures of persisted inputs
    """

    name: str
    recipe: Recipe
    mark: str = ""
    inputs: list[Any] = field(default_factory=list)
    futures: list[Any] = field(default_factory=list)


@dataclass
class Failed:
    """A partition, or a task shared by partitions, that failed."""

    name: str
    reason: str


def partitions_of(
    collection: Any, column: str | None = None, *, apart: bool = False, retries: int = 0
) -> list[Partition]:
    """Return the partitions of a bag, dataframe, series, array, list of delayed objects, or files.

    Parameters
    ----------
    column : the column of a dataframe with the texts
    apart : put only one file in a partition, so that it can be skipped without others
    retries : how often to try a shared task again
    """
    require("dask", "dask")
    from dcot.distributed._files import partitions_of_files
    from dcot.text.readers import TextFiles

    if isinstance(collection, TextFiles):
        return partitions_of_files(collection, apart=apart)
    parts = _delayed(collection, column)
    if not parts:
        raise InvalidInputError("the collection has no partitions: there is nothing to learn from")
    return _cut_graph(parts, retries)


def numbered(partitions: list[Partition]) -> list[Partition]:
    """Add a number to repeated names of partitions."""
    seen: Counter[str] = Counter()
    found = []
    for partition in partitions:
        seen[partition.name] += 1
        again = seen[partition.name]
        name = partition.name if again == 1 else f"{partition.name} ({again})"
        found.append(replace(partition, name=name))
    return found


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
        shown = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
        raise InvalidInputError(
            f"which of the columns {shown} has the texts? Name it, as in column='body'; if the "
            "columns are terms, give the array, as in frame.to_dask_array(lengths=True)"
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


# -- splitting the graph --------------------------------------------------------------------------


def _cut_graph(parts: list[Any], retries: int) -> list[Partition]:
    """Return a recipe for each partition, with the tasks that no other partition needs.

    A task that several partitions need runs once, as a Dask task. Tasks with futures, and shared
    tasks that depend on them, are left to Dask.
    """
    from dask.optimization import cull

    whole: dict[int, dict[Any, Any]] = {}
    graphs = []
    tasks: dict[Any, Any] = {}
    needs: dict[Any, list[Any]] = {}
    given = [part.__dask_graph__() for part in parts]  # kept, so that no two have the same id
    for part, found in zip(parts, given, strict=True):
        graph = whole.setdefault(id(found), dict(found))
        culled, dependencies = cull(graph, [part.key])
        graphs.append(culled)
        tasks.update(culled)
        needs.update(dependencies)
    users = Counter(key for graph in graphs for key in graph)
    held = {key for key, task in tasks.items() if _futures_in(task)}
    outside = {key for key in tasks if users[key] > 1 or key in held}
    nodes = _Nodes(tasks, needs, outside, held, retries)
    return [nodes.partition(f"partition {i}", part.key) for i, part in enumerate(parts)]


@dataclass
class _Nodes:
    """Builds partitions, and the tasks that they share.

    Attributes
    ----------
    tasks, needs : tasks by key, and the keys that each needs
    outside : keys of tasks that do not belong to one partition
    held : those of them that have futures
    made : Dask objects of the outside tasks
    """

    tasks: Mapping[Any, Any]
    needs: Mapping[Any, list[Any]]
    outside: set[Any]
    held: set[Any]
    retries: int
    made: dict[Any, Any] = field(default_factory=dict)

    def partition(self, name: str, key: Any) -> Partition:
        inside, wanted = self._reach(key, into_outside=False)
        recipe = Recipe({one: self.tasks[one] for one in inside}, key, wanted)
        futures = [future for one in wanted for future in self._futures(one)]
        return Partition(name, recipe, inputs=[self._node(one) for one in wanted], futures=futures)

    def _reach(self, key: Any, into_outside: bool) -> tuple[list[Any], list[Any]]:
        """Return the tasks that ``key`` depends on, and the outside tasks that they need."""
        reached, wanted, todo, seen = [], [], [key], {key}
        while todo:
            one = todo.pop()
            if one in self.outside and not into_outside:
                wanted.append(one)
                continue
            reached.append(one)
            for need in self.needs[one]:
                if need not in seen:
                    seen.add(need)
                    todo.append(need)
        return reached, wanted

    def _node(self, key: Any) -> Any:
        """Return a Dask object for an outside task."""
        from dask import delayed
        from dask.delayed import Delayed

        if key not in self.made:
            reached, _ = self._reach(key, into_outside=True)
            if self.held.intersection(reached):
                self.made[key] = Delayed(key, {one: self.tasks[one] for one in reached})
            else:
                recipe = Recipe({key: self.tasks[key]}, key, self.needs[key])
                inputs = [self._node(one) for one in self.needs[key]]
                make = delayed(_make_shared, pure=False)
                self.made[key] = make(recipe, inputs, self.retries)
        return self.made[key]

    def _futures(self, key: Any) -> list[Any]:
        reached, _ = self._reach(key, into_outside=True)
        return [future for one in reached for future in _futures_in(self.tasks[one])]


def _futures_in(task: Any) -> list[Any]:
    """Return the futures in a task and its arguments."""
    from distributed import Future

    found, todo = [], [task]
    while todo:
        one = todo.pop()
        if isinstance(one, Future):
            found.append(one)
        elif isinstance(one, list | tuple | set):
            if len(one) < _LONG_LIST or not isinstance(next(iter(one)), str):
                todo.extend(one)
        elif isinstance(one, dict):
            todo.extend(one.values())
        elif type(one).__module__ == "dask._task_spec":  # tasks of newer Dask versions
            todo += [getattr(one, name, ()) for name in ("args", "kwargs", "value")]
    return found


# -- on a worker ----------------------------------------------------------------------------------


def _make_shared(recipe: Recipe, given: list[Any], retries: int) -> Any:
    """Run a shared task; if it fails, the partitions that need it report the error."""
    for one in given:
        if isinstance(one, Failed):
            return one
    try:
        return _tried(recipe, given, retries)
    except Exception as error:
        return Failed("a task that several partitions share", _reason(error))


class Loader:
    """Reads a partition in a task. Like a recipe, this is not a dataclass."""

    def __init__(self, partition: Partition, retries: int, on_error: str = "raise") -> None:
        self.recipe, self.name = partition.recipe, partition.name
        self.retries, self.on_error = retries, on_error

    def load(self, given: list[Any]) -> Any:
        """Return the documents, with retries; ``Failed`` if the partition is skipped."""
        for one in given:
            if isinstance(one, Failed):
                return self.failed(InvalidInputError(f"{one.name} failed: {one.reason}"))
        try:
            return _tried(self.recipe, given, self.retries)
        except Exception as error:
            return self.failed(error)

    def failed(self, error: Exception) -> Failed:
        """Raise an error that names the partition, or return it as ``Failed``."""
        return failed(self.name, error, self.on_error)


def _tried(recipe: Recipe, given: list[Any], retries: int) -> Any:
    for attempt in range(retries):
        try:
            return _settled(recipe.make(given))
        except Exception:
            time.sleep(_RETRY_SECONDS * 2**attempt)
    return _settled(recipe.make(given))


def _settled(documents: Any) -> Any:
    """Turn an iterator, such as a partition of a bag, into a list."""
    return list(documents) if hasattr(documents, "__next__") else documents


def failed(name: str, error: Exception, on_error: str) -> Failed:
    """Raise an error that names the partition, or return it as ``Failed``."""
    if on_error == "raise":
        raise named(name, error) from error
    return Failed(name, _reason(error))


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
