"""Pieces of work: cells that share a representation are one job, and a run is a list of jobs."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dcot.bench.profiles import Profile
from dcot.bench.protocol import SEED, Candidate
from dcot.bench.store import PROTOCOL, Key, Result, Store
from dcot.bench.systems import SYSTEMS, Setting, System
from dcot.bench.systems._base import SEED as SYSTEMS_SEED
from dcot.bench.tasks import SAMPLE_SEED, DataDir, Documents, Task, load_task
from dcot.errors import DatasetMissingError
from dcot.runtime.files import write_atomically
from dcot.runtime.progress import Progress, silent

Array = NDArray[Any]
SEEDS = {"draws": SEED, "samples": SAMPLE_SEED, "systems": SYSTEMS_SEED}


@dataclass(frozen=True)
class Job:
    """Cells that share work.

    Attributes
    ----------
    title : for the progress line
    keys : the cells
    work : computes those that are asked for, one after the other
    cost : a guess in seconds on two cores, for the time left
    """

    title: str
    keys: list[Key]
    work: Callable[[list[Key]], Iterator[tuple[Key, Result]]]
    cost: float = 1.0


@dataclass
class Context:
    """What the experiments of one run share."""

    profile: Profile
    cache: Path
    data: DataDir = None
    extra: dict[str, System] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    _tasks: dict[str, Task | None] = field(default_factory=dict)

    def task(self, name: str, *, stand_in: bool = False) -> Task | None:
        """A corpus, cut as the profile wants it; None, and a note, where it cannot be had."""
        task = self.full_task(name, stand_in=stand_in)
        return None if task is None else self.cut(task)

    def cut(self, task: Task) -> Task:
        """The sample of a corpus that the profile wants."""
        return task if self.profile.sample is None else task.sample(*self.profile.sample)

    def full_task(self, name: str, *, stand_in: bool = False) -> Task | None:
        """The same, never cut."""
        if name not in self._tasks:
            try:
                task = load_task(name, self.data, stand_in=stand_in)
            except DatasetMissingError as error:
                self.note(f"{name} is left out: {error}")
                self._tasks[name] = None
                return None
            if task.stands_for:
                self.note(
                    f"{name} was not found: the embedded corpus stands in for it. "
                    "Its figures say nothing about the paper's corpus. Name the directory with the "
                    "data (--data DIR, or DCOT_DATA) for the real one."
                )
            self._tasks[name] = task
        return self._tasks[name]

    def tasks(self, names: Sequence[str]) -> list[Task]:
        """Those that can be had; what stands in for several corpora comes once."""
        found: dict[str, Task] = {}
        for name in names:
            task = self.task(name, stand_in=True)
            if task is not None:
                found.setdefault(task.fingerprint, task)
        return list(found.values())

    def note(self, text: str) -> None:
        """Something that the report has to say."""
        if text not in self.notes:
            self.notes.append(text)

    def system(self, name: str) -> System:
        """By its name, also those that were named on the command line."""
        return {**SYSTEMS, **self.extra}[name]

    def systems_for(self, task: Task, names: Sequence[str], *, extra: bool = True) -> list[System]:
        """Those that can read the corpus; with ``extra``, those of the command line too."""
        found = [self.system(name) for name in (*names, *(self.extra if extra else ()))]
        if task.texts is None:
            for system in found:
                if system.needs_text:
                    self.note(f"{system.name}: not on {task.name}, which comes as counts")
            found = [system for system in found if not system.needs_text]
        return found

    def settings(self, system: System) -> list[Setting]:
        """What is searched in this profile."""
        return system.settings(self.profile.size)


def corpus_key(task: Task, system: System | None = None) -> Key:
    """What identifies the documents of a cell, as a system sees them: counts, or texts."""
    key: Key = {"corpus": task.name, "data": task.fingerprint}
    if system is not None and system.needs_text:
        key["texts"] = task.texts_fingerprint
    return {**key, "stands_for": task.stands_for} if task.stands_for else key


def digest(value: Any) -> str:
    """A short hash of anything that JSON can say."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


def candidates_of(
    system: System,
    learned: Documents,
    wanted: Documents,
    settings: Sequence[Setting],
    cache: Path,
    key: Any,
) -> list[Candidate]:
    """Every setting's features of the wanted documents; those of slow systems come from the disk.

    ``key`` says which documents these are.
    """
    if not system.slow:
        return [
            Candidate(model.setting, model.features(wanted))
            for model in system.learn(learned, settings)
        ]
    paths = {
        digest(setting): cache / f"{digest([system.name, setting, key, PROTOCOL])}.npz"
        for setting in settings
    }
    kept: dict[str, list[Array]] = {}
    for name, path in paths.items():
        if (found := _kept(path)) is not None:
            kept[name] = found
    missing = [setting for setting in settings if digest(setting) not in kept]
    if missing:
        for model in system.learn(learned, missing):
            name = digest(model.setting)
            kept[name] = [np.asarray(block) for block in model.features(wanted)]
            _keep(paths[name], kept[name])
    return [Candidate(setting, kept[digest(setting)]) for setting in settings]


def _keep(path: Path, blocks: Sequence[Any]) -> None:
    import io

    buffer = io.BytesIO()
    np.savez(buffer, *blocks)
    write_atomically(path, buffer.getvalue())


def _kept(path: Path) -> list[Array] | None:
    """None if there is no such file, or it is damaged: then it is made again."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return [archive[name] for name in archive.files]
    except (OSError, EOFError, ValueError, BadZipFile):
        return None


@dataclass
class Failure:
    """A job that did not work, which the report has to show."""

    title: str
    cells: int
    reason: str


def run_jobs(
    jobs: Sequence[Job], store: Store, progress: Progress = silent, title: str = "bench"
) -> list[Failure]:
    """Compute what is not there yet; what fails is reported, and tried again in the next run."""
    open_cells = [[key for key in job.keys if store.get(key) is None] for job in jobs]
    shares = [
        job.cost * len(missing) / max(len(job.keys), 1)
        for job, missing in zip(jobs, open_cells, strict=True)
    ]
    total, done = sum(shares) or 1.0, 0.0
    failures = []
    for job, missing, share in zip(jobs, open_cells, shares, strict=True):
        if not missing:
            continue
        progress(f"{title}: {job.title}", done / total)
        begun = time.perf_counter()
        finished = 0
        try:
            for key, result in job.work(missing):
                now = time.perf_counter()
                store.put(key, result, seconds=now - begun, seeds=SEEDS)
                begun, finished = now, finished + 1
                progress(f"{title}: {job.title}", (done + share * finished / len(missing)) / total)
        except Exception as error:  # one system's library must not cost the others their results
            reason = f"{type(error).__name__}: {error}"
            failures.append(Failure(job.title, len(missing) - finished, reason))
        done += share
    progress(title, 1.0)
    return failures
