"""Passes over the partitions of a Dask collection: partial sums, added up in a tree."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dcot._exceptions import ClusterError, DcotError, InvalidInputError
from dcot._machine import format_bytes
from dcot._progress import Progress, announce, silent
from dcot.distributed._partitions import Failed, Partition, failed, load
from dcot.sources import Sum
from dcot.sources._passes import count_of
from dcot.streaming.fitting import PART_BYTES

# So many partial sums are merged by one task: they are in one worker's memory together.
FAN_IN = 4
# Sums whose totals are this large at the most are made by one task; more of them by several.
GROUP_BYTES = PART_BYTES
# What is larger than this does not travel with the graph, but once to each worker.
_EMBEDDED = 1_000_000


@dataclass
class Options:
    """How partitions are worked on."""

    client: Any  # a distributed.Client, or the name of a scheduler
    retries: int = 3
    on_error: str = "raise"
    timeout: float | None = None


@dataclass
class Part:
    """The totals of some partitions."""

    totals: list[Any] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class DaskPasses:
    """Passes on a cluster; the same sums as ``LocalPasses``, made where the partitions are."""

    rereadable = True

    def __init__(
        self,
        partitions: Sequence[Partition],
        options: Options,
        progress: Progress = silent,
        steps: tuple[Callable[[Any], Any], ...] = (),
        state: dict[str, Any] | None = None,
    ) -> None:
        self.partitions, self.options, self.progress = list(partitions), options, progress
        self.steps = steps
        # shared with what map returns: documents by partition, what was skipped
        self.state = {"counts": None, "skipped": {}} if state is None else state

    @property
    def skipped(self) -> dict[str, str]:
        return self.state["skipped"]  # type: ignore[no-any-return]

    def map(self, function: Callable[[Any], Any]) -> DaskPasses:
        steps = (*self.steps, function)
        return DaskPasses(self.partitions, self.options, self.progress, steps, self.state)

    def first(self) -> Any:
        for partition in self._remaining():
            (value,) = compute([self._block(partition, shared(self.steps, None))], self.options)
            if not isinstance(value, Failed) and count_of(value):
                return value
        raise InvalidInputError("the collection has no documents: there is nothing to learn from")

    def totals(self, sums: Sequence[Sum], message: str) -> list[Any]:
        self.progress(message, 0.0)
        for attempt in range(self.options.retries + 1):
            try:
                parts = compute(self._trees(sums), self.options)
                break
            except _LostError as error:  # what only a lost worker had: send it anew
                if attempt == self.options.retries:
                    raise ClusterError(
                        f"workers were lost {attempt + 1} times in one pass ({error}): see the "
                        "logs of the workers; they may have too little memory"
                    ) from error
        self.progress(message, 1.0)
        self._check(parts)
        # a group is empty-handed only if all partitions are: then every sum is that of nothing
        totals = [part.totals for part in parts]
        if any(total is None for total in totals):
            raise InvalidInputError(
                "the collection has no documents: there is nothing to learn from"
            )
        return [total for group in totals for total in group or []]

    # -- the graph ------------------------------------------------------------------------------

    def _remaining(self) -> list[Partition]:
        return [part for part in self.partitions if part.name not in self.skipped]

    def _block(self, partition: Partition, steps: Any) -> Any:
        from dask import delayed

        start = self._starts().get(partition.name, 0)
        options = (self.options.retries, self.options.on_error)
        return delayed(_read, pure=False)(partition.value, partition.name, steps, start, *options)

    def _starts(self) -> dict[str, int]:
        starts, done = {}, 0
        for name, count in (self.state["counts"] or {}).items():
            starts[name] = done
            done += count
        return starts

    def _trees(self, sums: Sequence[Sum]) -> list[Any]:
        """One tree of tasks for each group of sums; the blocks at their leaves are shared."""
        from dask import delayed

        client = self.options.client
        steps = shared(self.steps, client)
        blocks = [(part.name, self._block(part, steps)) for part in self._remaining()]
        if not blocks:
            raise InvalidInputError("every partition was skipped: there is nothing to learn from")
        roots = []
        groups = _groups(sums)
        self._say_memory(groups)
        for group in groups:
            given = shared(group, client)
            add, merge = delayed(_add, pure=False), delayed(_merge, pure=False)
            level = [add(given, block, name, self.options.on_error) for name, block in blocks]
            while len(level) > 1:
                level = [merge(given, level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
            roots += level
        return roots

    def _say_memory(self, groups: list[list[Sum]]) -> None:
        """What a merge holds: the totals of its parts, and the new one."""
        most = max(sum(map(largest, group)) for group in groups)
        if most and not self.state.get("said"):
            self.state["said"] = True
            need = format_bytes((FAN_IN + 1) * most)
            parts = f"{len(self.partitions):,} partitions, {len(groups)} groups of sums"
            announce(
                self.progress, f"{parts}: each thread of a worker needs at most {need} for sums"
            )

    def _check(self, parts: list[Part]) -> None:
        """The same documents in every pass, however often a partition was tried."""
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
        self.skipped.update(lost)
        if not sum(counts.values()):
            raise InvalidInputError(
                "the collection has no documents: there is nothing to learn from"
            )


def _groups(sums: Sequence[Sum]) -> list[list[Sum]]:
    """Sums that one task makes: as many as are not too large together."""
    groups: list[list[Sum]] = [[]]
    size = 0.0
    for one in sums:
        own = largest(one)
        if groups[-1] and size + own > GROUP_BYTES:
            groups.append([])
            size = 0.0
        groups[-1].append(one)
        size += own
    return groups


def largest(one: Sum) -> float:
    """Bytes of a sum's total at the most, where it can be large."""
    found: Any = one
    if hasattr(one, "stop"):
        size = (found.stop - found.start) * found.stop
        return float(size * np.dtype(found.dtype).itemsize)
    if hasattr(one, "dense"):
        return float(found.dense.nbytes)
    if hasattr(one, "targets"):
        return float(len(found.mean) * len(found.targets) * np.dtype(found.dtype).itemsize)
    return float(len(found.origin)) ** 2 * 8 if hasattr(one, "origin") else 0.0


# -- tasks --------------------------------------------------------------------------------------


def _read(partition: Any, name: str, steps: Any, start: int, retries: int, on_error: str) -> Any:
    """A partition, taken through the steps."""
    documents = load(partition, name, retries, on_error)
    if isinstance(documents, Failed):
        return documents
    try:
        for step in steps.value:
            documents = (step.at(start) if hasattr(step, "at") else step)(documents)
    except (DcotError, ValueError, TypeError) as error:
        return failed(name, error, on_error)
    return documents


def _add(sums: Any, block: Any, name: str, on_error: str) -> Part:
    if isinstance(block, Failed):
        return Part(failed={block.name: block.reason})
    count = count_of(block)
    if not count:
        return Part(counts={name: 0})
    try:
        totals = [one.add(one.empty(), block) for one in sums.value]
    except (DcotError, ValueError, TypeError) as error:
        gone = failed(name, error, on_error)
        return Part(failed={gone.name: gone.reason})
    return Part(totals, {name: count})


def _merge(sums: Any, parts: list[Part]) -> Part:
    whole = Part()
    for part in parts:
        whole.counts.update(part.counts)
        whole.failed.update(part.failed)
        if part.totals is None:
            continue
        if whole.totals is None:
            # results of other tasks are not ours to change
            whole.totals = pickle.loads(pickle.dumps(part.totals, protocol=5))
            continue
        pairs = zip(sums.value, whole.totals, part.totals, strict=True)
        whole.totals = [one.merge(left, right) for one, left, right in pairs]
    return whole


class Shared:
    """Something that many tasks use: opaque to Dask, sent once."""

    def __init__(self, value: Any) -> None:
        self.value = value


def shared(value: Any, client: Any) -> Any:
    """One node of the graph for all tasks; large ones go straight to the workers."""
    from dask import delayed

    opaque = Shared(value)
    if not isinstance(client, str) and client is not None:
        size = len(pickle.dumps(opaque, protocol=5, buffer_callback=None))
        if size > _EMBEDDED:
            return client.scatter(opaque, broadcast=True, hash=False)
    return delayed(opaque, traverse=False, pure=False)


# -- running ------------------------------------------------------------------------------------


class _LostError(Exception):
    """Data that was sent to workers is gone with them."""


def compute(tasks: list[Any], options: Options) -> list[Any]:
    """Results of tasks, one after the other: large ones are never here twice."""
    import dask

    client = options.client
    if isinstance(client, str):
        return list(dask.compute(*tasks, scheduler=client, optimize_graph=False))
    return _on_cluster(tasks, options)


def _on_cluster(tasks: list[Any], options: Options) -> list[Any]:
    from concurrent.futures import CancelledError

    from distributed import TimeoutError as Late
    from distributed import wait
    from distributed.scheduler import KilledWorker

    client = options.client
    futures = client.compute(tasks, optimize_graph=False)
    try:
        with client.as_current():
            wait(futures, timeout=options.timeout)
        results = []
        while futures:
            results.append(futures.pop(0).result(timeout=options.timeout))
        return results
    except KilledWorker as error:
        raise ClusterError(
            f"a task took several workers down with it ({error}): they probably ran out of memory; "
            "use smaller partitions, or workers with more memory"
        ) from error
    except (Late, TimeoutError) as error:
        raise ClusterError(
            f"the cluster gave no result within timeout={options.timeout:g} s: are there workers, "
            "and do they answer? Raise timeout if the work takes longer"
        ) from error
    except CancelledError as error:
        raise _LostError(str(error)) from error
    finally:
        client.cancel(futures)


__all__ = ["DaskPasses", "Options", "Part", "Shared", "compute", "shared"]
