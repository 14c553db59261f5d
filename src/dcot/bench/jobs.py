"""Jobs: cells that share a representation, computed in several processes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from dcot.bench.profiles import Profile
from dcot.bench.protocol import SEED
from dcot.bench.store import Key, Result, Store
from dcot.bench.systems import SYSTEMS, Classifier, Setting, Supervised, System
from dcot.bench.systems.base import SEED as SYSTEMS_SEED
from dcot.bench.tasks import SAMPLE_SEED, DataDir, Task, load_task
from dcot.errors import DatasetMissingError
from dcot.runtime.progress import Progress, announce, silent
from dcot.runtime.resources import free_memory

SEEDS = {"draws": SEED, "samples": SAMPLE_SEED, "systems": SYSTEMS_SEED}
MEMORY_SHARE = 0.7  # of the free memory, for all jobs that run at the same time


@dataclass(frozen=True)
class Job:
    """Cells that share work.

    Attributes
    ----------
    experiment : the experiment that computes it
    title : text for the progress line
    keys : keys of the cells
    options : what the experiment needs besides the keys
    seconds : predicted time on one core
    memory : predicted memory in bytes
    alone : whether it runs with all cores and no other job beside it
    features : name of the slow features that it needs; jobs that need the same ones do not run at
        the same time, so that the second finds them on disk
    """

    experiment: str
    title: str
    keys: list[Key]
    options: dict[str, Any] = field(default_factory=dict)
    seconds: float = 1.0
    memory: float = 1e9
    alone: bool = False
    features: str = ""


@dataclass
class Context:
    """What the experiments of one run share."""

    profile: Profile
    cache: Path
    data: DataDir = None
    extra: dict[str, System | Supervised] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    given: dict[str, Task] = field(default_factory=dict)
    _loaded: dict[str, Task | None] = field(default_factory=dict)

    def task(self, name: str, *, stand_in: bool = False, cut: bool = True) -> Task | None:
        """A corpus, cut to the profile's sample; None, with a note, if it is missing."""
        if name in self.given:
            return self._cut(self.given[name]) if cut else self.given[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(name, stand_in)
        task = self._loaded[name]
        return self._cut(task) if task is not None and cut else task

    def _load(self, name: str, stand_in: bool) -> Task | None:
        try:
            task = load_task(name, self.data, stand_in=stand_in)
        except DatasetMissingError as error:
            self.note(f"{name} is skipped: {error}")
            return None
        if task.stands_for:
            self.note(
                f"{name} was not found, so the embedded corpus stands in for it. Its figures say "
                "nothing about the paper's corpus. To use the real one, name the data directory "
                "(--data DIR, or DCOT_DATA)."
            )
        return task

    def _cut(self, task: Task) -> Task:
        return task if self.profile.sample is None else task.sample(*self.profile.sample)

    def used(self) -> Iterator[tuple[Task, Task]]:
        """Every corpus of this run: the whole corpus, and the part that is used."""
        for task in (*self.given.values(), *self._loaded.values()):
            if task is not None:
                yield task, self._cut(task)

    def note(self, text: str) -> None:
        """Add a note to the report, once."""
        if text not in self.notes:
            self.notes.append(text)

    def system(self, name: str) -> System | Supervised:
        """A system by its name, including pretrained ones."""
        return Classifier() if name == Classifier.name else {**SYSTEMS, **self.extra}[name]

    def names_for(self, task: Task, names: Sequence[str]) -> list[str]:
        """These systems, and the pretrained ones of the run if the corpus has texts."""
        found = [*names, *self.extra]
        if task.texts is None:
            for name in self.extra:
                self.note(f"{name} is not measured on {task.name}, which has counts but no texts")
            found = list(names)
        return found

    def settings(self, name: str) -> list[Setting]:
        """Settings to search; for dCoT, which selects its own, its parameters."""
        system = self.system(name)
        if isinstance(system, Supervised):
            return [system.parameters(self.profile.size)]
        return system.settings(self.profile.size)


def corpus_key(task: Task, texts: bool = False) -> Key:
    """The documents in a key; with ``texts``, for systems that read texts."""
    key: Key = {"corpus": task.name, "data": task.fingerprint}
    if texts and task.texts is not None:
        key["texts"] = task.texts_fingerprint
    return {**key, "stands_for": task.stands_for} if task.stands_for else key


def digest(value: Any) -> str:
    """A short hash of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


@dataclass(frozen=True)
class Failure:
    """A job that failed, for the report."""

    title: str
    cells: int
    reason: str


Work = Callable[[Context, Job, list[Key]], Iterator[tuple[Key, Result]]]


@dataclass(frozen=True)
class Runner:
    """Computes jobs in this process, or in several processes with one thread each."""

    context: Context
    store: Store
    work: Mapping[str, Work]
    workers: int = 1

    def missing(self, job: Job) -> list[Key]:
        """Cells of a job that are not finished."""
        return [key for key in job.keys if self.store.get(key) is None]

    def run(self, jobs: Sequence[Job], progress: Progress = silent) -> list[Failure]:
        """Compute the missing cells; jobs that fail are reported and retried in the next run."""
        open_jobs = [job for job in jobs if self.missing(job)]
        total = sum(job.seconds for job in open_jobs) or 1.0
        failures, done = [], 0.0
        for job, failure in self._finished(open_jobs):
            done += job.seconds
            announce(progress, job.title + ("" if failure is None else f": {failure.reason}"))
            progress("experiments", min(done / total, 1.0))
            if failure is not None:
                failures.append(failure)
        return failures

    def _finished(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Failure | None]]:
        together = [job for job in jobs if not job.alone]
        if self.workers > 1 and len(together) > 1:
            yield from self._in_processes(together)
        else:
            yield from ((job, self.compute(job)) for job in together)
        yield from ((job, self.compute(job)) for job in jobs if job.alone)

    def compute(self, job: Job) -> Failure | None:
        """Compute the missing cells of a job, and store each as soon as it is finished."""
        missing = self.missing(job)
        finished, begun = 0, time.perf_counter()
        try:
            for key, result in self.work[job.experiment](self.context, job, missing):
                now = time.perf_counter()
                self.store.put(key, result, seconds=now - begun, seeds=SEEDS)
                finished, begun = finished + 1, now
        except Exception as error:  # an error in one system must not lose the results of others
            reason = f"{type(error).__name__}: {error}"
            return Failure(job.title, len(missing) - finished, reason)
        return None

    def _in_processes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Failure | None]]:
        """Start the longest jobs first, as many at a time as cores and memory allow."""
        waiting = sorted(jobs, key=lambda job: -job.seconds)
        allowed = MEMORY_SHARE * (free_memory() or 8e9)
        running: dict[Future[Failure | None], Job] = {}
        # corpora are not sent to the processes, which load them again
        runner = replace(self, context=replace(self.context, _loaded={}, notes=[]))
        spawned = get_context("spawn")
        pool = ProcessPoolExecutor(self.workers, spawned, _start_worker, (runner,))
        try:
            while waiting or running:
                used = sum(job.memory for job in running.values())
                for job in list(waiting):
                    made = {other.features for other in running.values()} - {""}
                    fits = used + job.memory <= allowed or not running
                    if len(running) < self.workers and fits and job.features not in made:
                        waiting.remove(job)
                        running[pool.submit(_compute, job)] = job
                        used += job.memory
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    yield job, _outcome(future, job)
        finally:
            pool.shutdown(cancel_futures=True)


def _outcome(future: Future[Failure | None], job: Job) -> Failure | None:
    try:
        return future.result()
    except Exception as error:  # the process died
        return Failure(job.title, len(job.keys), f"{type(error).__name__}: {error}")


_WORKER: list[Runner] = []


def _start_worker(runner: Runner) -> None:
    threadpool_limits(1)
    _WORKER[:] = [runner]


def _compute(job: Job) -> Failure | None:
    return _WORKER[0].compute(job)


def predicted(jobs: Sequence[Job], workers: int) -> float:
    """Seconds that these jobs take together."""
    together = [job.seconds for job in jobs if not job.alone]
    alone = sum(job.seconds for job in jobs if job.alone)
    return alone + max(sum(together) / workers, max(together, default=0.0))
