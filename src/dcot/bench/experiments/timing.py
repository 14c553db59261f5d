"""Table 1: seconds and memory to learn each representation, and milliseconds to use it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from dcot.bench.jobs import Context, Job, corpus_key, digest
from dcot.bench.measure import measure
from dcot.bench.store import Key, Result
from dcot.bench.systems import Encoder, System
from dcot.bench.tasks import Task

NAME = "time"
# Table 1 of the paper: on two six-core Xeon X5650 at 2.66 GHz, in seconds.
THEIRS = {
    "reuters": {"TF-IDF": 1, "LSI": 51 * 60, "LDA": 190 * 60, "dCoT (paper)": 2 * 60},
    "dmoz": {"TF-IDF": 1, "LSI": 98 * 60, "LDA": 541 * 60, "dCoT (paper)": 3 * 60},
}


def jobs(context: Context) -> Iterator[Job]:
    """A job for each corpus and system: its default setting, learned once, in its own process."""
    for task in context.tasks(context.profile.timed):
        for system in context.systems_for(task, context.profile.systems):
            setting = context.settings(system)[0]
            key: Key = {
                "experiment": NAME,
                **corpus_key(task, system),
                "system": system.name,
                "setting": digest(setting),
            }
            work = partial(_work, context, task, system)
            cost = 4 + len(task.train) / 1000 * (10 if system.slow else 1)
            yield Job(f"{NAME}, {task.name}, {system.name}", [key], work, cost)


def _work(
    context: Context, task: Task, system: System, missing: list[Key]
) -> Iterator[tuple[Key, Result]]:
    request = {
        "corpus": task.stands_for or task.name,
        "data": None if context.data is None else str(context.data),
        "sample": context.profile.sample,
        "system": system.name,
        "size": context.profile.size,
        "encoder": str(system.folder) if isinstance(system, Encoder) else None,
    }
    for key in missing:
        yield key, measure(request)
