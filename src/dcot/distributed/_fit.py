"""``fit`` on a cluster: workers compute partial sums, and the caller's process runs the solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from dcot.core.options import check_choice
from dcot.distributed._leaves import (
    STACK_BYTES,
    Part,
    add_partitions,
    merge,
    pick,
    read_some,
)
from dcot.distributed._partitions import Failed, Partition, partitions_of
from dcot.distributed._running import LostError, Options, compute, connected, settle, shared
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.estimator import DCoT
from dcot.runtime.progress import Progress, announce, progress_for, silent
from dcot.runtime.resources import allowance, format_bytes, n_threads
from dcot.stream import Sum
from dcot.stream.fitting import PART_BYTES
from dcot.stream.passes import count_of
from dcot.stream.sources import ON_ERROR
from dcot.vectorizer import DCoTVectorizer

# Partial sums merged by one task; they are in the memory of one worker at the same time.
FAN_IN = 4
# Largest total size of the sums that one task merges.
GROUP_BYTES = PART_BYTES
# Bytes of documents per task, if there are enough tasks for all threads. Large tasks are better: a
# partial sum of many documents is hardly larger than one of few, and there are fewer to merge.
LEAF_BYTES = 1e9
# At most this many tasks per thread. Tasks of a lost worker are computed again.
LEAVES_PER_THREAD = 4
# Copies of the documents in a task: as texts, as terms, stacked, and transposed.
_DOCUMENT_COPIES = 4
# Sums in memory at the same time: those being computed (unmerged parts can double them), those of
# a finished task, and the result of merging.
_SUMS_HELD = 4
# Seconds to wait for a new worker when all are lost.
_RECONNECT_SECONDS = 60
# Share of a worker's memory that sums may use.
_MEMORY_SHARE = 0.7


def _nothing_read() -> dict[str, Any]:
    return {"counts": None, "sizes": {}, "skipped": {}}


@dataclass(eq=False)
class DaskPasses:
    """Passes on a cluster; the same sums as ``LocalPasses``, computed where the partitions are.

    ``state`` is shared with the result of ``map``: documents and bytes by partition, and skipped
    partitions.
    """

    partitions: Sequence[Partition]
    options: Options
    progress: Progress = silent
    steps: tuple[Callable[[Any], Any], ...] = ()
    state: dict[str, Any] = field(default_factory=_nothing_read)
    rereadable: ClassVar = True

    @property
    def skipped(self) -> dict[str, str]:
        return self.state["skipped"]  # type: ignore[no-any-return]

    def map(self, function: Callable[[Any], Any]) -> DaskPasses:
        return replace(self, steps=(*self.steps, function))

    def first(self) -> Any:
        from dask import delayed

        steps = shared(self.steps, None)
        for partition in self._remaining():
            start = self._starts().get(partition.name, 0)
            task = delayed(read_some, pure=False)
            value = task(self.options.loader(partition), partition.inputs, start, steps)
            (documents,) = compute([value], self.options)
            if not isinstance(documents, Failed) and count_of(documents):
                return documents
        raise InvalidInputError("the collection has no documents: there is nothing to learn from")

    def totals(self, sums: Sequence[Sum], message: str) -> list[Any]:
        self.progress(message, 0.0)
        leaves = self._leaves()
        if not leaves:
            raise InvalidInputError("every partition was skipped: there is nothing to learn from")
        waves = self._waves(sums, leaves)
        parts: list[Part] = []
        for number, groups in enumerate(waves):
            parts += self._computed(groups, leaves)
            self.progress(message, (number + 1) / len(waves))
        self._check(parts)
        return [total for part in parts for total in part.totals or []]

    def _computed(self, groups: list[list[Sum]], leaves: list[list[Partition]]) -> list[Part]:
        for attempt in range(self.options.retries + 1):
            try:
                return compute(self._trees(groups, leaves), self.options)
            except LostError:  # a lost worker had the only copy: send it again
                self.state.pop("steps", None)
                if attempt == self.options.retries:
                    raise
                with suppress(TimeoutError):  # a lost worker may restart
                    self.options.client.wait_for_workers(1, timeout=_RECONNECT_SECONDS)
        raise AssertionError("not reached")

    # -- the graph ------------------------------------------------------------------------------

    def _remaining(self) -> list[Partition]:
        return [part for part in self.partitions if part.name not in self.skipped]

    def _leaves(self) -> list[list[Partition]]:
        """Return the partitions of each task, in order.

        A partition has its own task if its size is not known, or if it needs a result of Dask; the
        task should then run where that result is.
        """
        sizes, remaining = self.state["sizes"], self._remaining()
        threads = _threads(self.options.client)
        total = sum(sizes.values())
        count = min(max(1.0, total / LEAF_BYTES / threads), LEAVES_PER_THREAD) * threads
        most = total / count
        leaves: list[list[Partition]] = []
        filled = 0.0
        for partition in remaining:
            alone = not sizes.get(partition.name) or bool(partition.inputs)
            size = most if alone else sizes[partition.name]
            # rather a slightly larger task than one more task
            if not leaves or alone or filled + size / 2 > most:
                leaves.append([])
                filled = 0.0
            leaves[-1].append(partition)
            filled += size
        return leaves

    def _steps(self) -> Any:
        """Return the steps as sent to the workers, once and not in every pass."""
        kept = self.state.get("steps")
        if kept is None or kept[0] is not self.steps:
            kept = self.state["steps"] = (self.steps, shared(self.steps, self.options.client))
        return kept[1]

    def _starts(self) -> dict[str, int]:
        starts, done = {}, 0
        for name, count in (self.state["counts"] or {}).items():
            starts[name] = done
            done += count
        return starts

    def _trees(self, groups: list[list[Sum]], leaves: list[list[Partition]]) -> list[Any]:
        """Return a tree of tasks for each group of sums; the leaves compute all groups."""
        from dask import delayed

        client, starts = self.options.client, self._starts()
        steps, all_groups = self._steps(), shared(groups, client)
        add, made = delayed(add_partitions, pure=False), []
        for leaf in leaves:
            loaders = [self.options.loader(partition) for partition in leaf]
            inputs = [partition.inputs for partition in leaf]
            begins = [starts.get(partition.name, 0) for partition in leaf]
            made.append(add(loaders, inputs, begins, steps, all_groups))
        roots = []
        for number, group in enumerate(groups):
            given = shared([one.for_merging() for one in group], client)
            level = [delayed(pick, pure=False)(parts, number) for parts in made]
            join = delayed(merge, pure=False)
            while len(level) > 1:
                level = [join(given, level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
            roots += level
        return roots

    def _waves(self, sums: Sequence[Sum], leaves: list[list[Partition]]) -> list[list[list[Sum]]]:
        """Return the groups of sums for each pass: as many as fit in the memory of workers."""
        one_group = self.options.client == "processes"  # a leaf would be sent for each group
        groups = [list(sums)] if one_group else _groups(sums)
        known = self.state["sizes"]
        most = max((known.get(part.name, 0.0) for leaf in leaves for part in leaf), default=0.0)
        documents = _DOCUMENT_COPIES * max(most, min(STACK_BYTES, sum(known.values())))
        given = sum(one.sent_bytes for one in sums)
        room = (_MEMORY_SHARE * _memory(self.options.client) - documents - given) / _SUMS_HELD
        waves: list[list[list[Sum]]] = []
        filled = held = 0.0
        for group in groups:
            size = sum(one.total_bytes for one in group)
            if not waves or filled + size > room:
                waves.append([])
                filled = 0.0
            waves[-1].append(group)
            filled += size
            held = max(held, filled)
        self._say(_SUMS_HELD * held + documents + given, len(leaves), len(waves))
        return waves

    def _say(self, need: float, tasks: int, passes: int) -> None:
        """Announce the memory that a thread needs; again only if it grew by more than 20 %."""
        if need <= 1.2 * self.state.get("need", 0.0):
            return
        self.state["need"] = need
        text = f"{len(self.partitions):,} partitions, {tasks:,} task{'s' if tasks > 1 else ''}"
        if passes > 1:
            text += f" in {passes} passes (fewer with smaller partitions or more memory)"
        announce(
            self.progress,
            f"{text}: a thread of a worker needs at most about {format_bytes(need)}",
        )

    def _check(self, parts: list[Part]) -> None:
        """Check that every pass reads the same documents."""
        counts, lost = parts[0].counts, parts[0].failed
        for part in parts[1:]:
            if part.counts != counts or part.failed.keys() != lost.keys():
                raise InvalidInputError("a partition gave different documents when read again")
        ordered = {p.name: counts[p.name] for p in self.partitions if p.name in counts}
        before = self.state["counts"]
        if before is not None and before != ordered:
            changed = [name for name in before if before[name] != ordered.get(name)]
            why = next((lost[name] for name in changed if name in lost), "")
            raise InvalidInputError(
                f"{', '.join(changed[:3])} changed between passes{f' ({why})' if why else ''}: a "
                "partition has to give the same documents every time"
            )
        self.state["counts"] = ordered
        self.state["sizes"] = parts[0].sizes
        self.skipped.update(lost)
        if not sum(counts.values()):
            raise InvalidInputError(
                "the collection has no documents: there is nothing to learn from"
            )


def _groups(sums: Sequence[Sum]) -> list[list[Sum]]:
    """Return groups of sums whose total size is at most ``GROUP_BYTES``, if possible."""
    groups: list[list[Sum]] = [[]]
    size = 0.0
    for one in sums:
        if groups[-1] and size + one.total_bytes > GROUP_BYTES:
            groups.append([])
            size = 0.0
        groups[-1].append(one)
        size += one.total_bytes
    return groups


def _threads(client: Any) -> int:
    """Number of threads of all workers."""
    if isinstance(client, str):
        return n_threads()
    return max(1, int(sum(client.nthreads().values())))


def _memory(client: Any) -> float:
    """Bytes of memory per thread, on the worker with the least."""
    if isinstance(client, str):
        return allowance(None) / n_threads()
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [w["memory_limit"] / max(w["nthreads"], 1) for w in workers if w["memory_limit"]]
    return min(limits, default=float("inf"))


Model = TypeVar("Model", DCoT, DCoTVectorizer)


def check_model(model: Any) -> None:
    if not isinstance(model, DCoT | DCoTVectorizer):
        raise InvalidTypeError(f"got a {type(model).__name__}, expected a DCoT or a DCoTVectorizer")


def fit(
    model: Model,
    collection: Any,
    *,
    cluster: Any = None,
    column: str | None = None,
    on_error: str = "raise",
    retries: int = 3,
    timeout: float | None = None,
) -> Model:
    """Fit a model to a Dask collection: the model of ``model.fit`` on all of it, to rounding.

    Parameters
    ----------
    model : DCoT or DCoTVectorizer
    collection : a bag, series or dataframe of texts for ``DCoTVectorizer``; an array of documents ×
        terms (usually of sparse blocks), one chunk wide, for ``DCoT``; a list of ``dask.delayed``
        texts or matrices for either; or ``read_texts(...)``, files that every worker can open, with
        one or more files per partition
    cluster : where to work: an address, a client, ``"threads"`` or ``"processes"``; None for the
        client in use, or else a cluster of local processes
    column : the column of a dataframe with the texts
    on_error : {"raise", "skip"}
        How to handle a partition that cannot be used: raise an error that names it, or skip it;
        ``model.skipped_`` has the names and reasons.
    retries : how often to try a partition again before it counts as failed
    timeout : seconds that a pass may take; None for no limit

    Returns
    -------
    the fitted model

    Raises
    ------
    InvalidTypeError
        If the model is not one of these, or the collection is not one of Dask.
    InvalidParameterError
        If an argument, or a parameter of the model, is out of range.
    InvalidInputError
        If the collection is empty, or a partition cannot be used and ``on_error`` is ``"raise"``.
    ClusterError
        If the cluster does not answer, or loses its workers.
    MissingExtraError
        If dask is not installed.

    Examples
    --------
    >>> import dask.bag
    >>> from dcot import DCoTVectorizer, distributed
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat prices"]
    >>> bag = dask.bag.from_sequence(texts, npartitions=2)
    >>> model = distributed.fit(DCoTVectorizer(n_prototypes=3), bag, cluster="threads")
    >>> model.dcot_.n_documents_
    4.0
    """
    check_model(model)
    check_choice("on_error", on_error, ON_ERROR)
    partitions = partitions_of(collection, column, apart=on_error == "skip", retries=retries)
    with connected(cluster) as client:
        options = Options(client, retries, on_error, timeout)
        dcot = model if isinstance(model, DCoT) else model._new_parts()[1]
        passes = DaskPasses(partitions, options, progress_for(dcot.verbose))
        passes.skipped.update(settle(partitions, options))
        model._fit_passes(passes, sparse_parts=True)
    return model
