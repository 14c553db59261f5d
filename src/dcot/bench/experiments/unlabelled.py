"""Ours: what more unlabelled documents are worth, to dCoT, LSI and LDA."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.bench.jobs import Context, Job, candidates_of, corpus_key, digest
from dcot.bench.protocol import SEED, LeaveOneOut, draws, score
from dcot.bench.store import Key, Result
from dcot.bench.systems import OURS, PAPER, Setting, System
from dcot.bench.tasks import Task

NAME = "unlabelled"
SYSTEMS = ("LSI", "LDA", PAPER, OURS)
# Draws are seeded by their number: this one is that of no draw, or its labelled documents would be
# those that are learned from.
ORDER = 1_000_000


def jobs(context: Context) -> Iterator[Job]:
    """A job for each corpus, system and number of documents to learn from."""
    for name, sizes in context.profile.learned.items():
        # A stand-in without unlabelled documents of its own would show nothing new.
        task = context.task(name, stand_in=name == "dmoz")
        if task is None:
            continue
        most = len(task.train) + len(task.unlabelled)
        for size in dict.fromkeys(min(size, most) for size in sizes):
            for system in (context.system(each) for each in SYSTEMS):
                yield _job(context, task, system, size)


def _settings(context: Context, system: System) -> list[Setting]:
    """LDA is learned for every size anew: one prior, fewer topics."""
    settings = context.settings(system)
    if system.name == "LDA":
        prior = settings[0]["prior"]
        settings = [s for s in settings if s["prior"] == prior and s["topics"] <= 100]
    return settings


def _job(context: Context, task: Task, system: System, size: int) -> Job:
    profile = context.profile
    common = {
        "experiment": NAME,
        **corpus_key(task, system),
        "system": system.name,
        "searched": digest(_settings(context, system)),
        "documents": size,
    }
    if size not in (len(task.train), len(task.train) + len(task.unlabelled)):
        common["order"] = ORDER  # it matters which documents these are
    keys: list[Key] = [
        {**common, "labels": budget, "draw": draw}
        for draw in range(profile.unlabelled_draws)
        for budget in profile.unlabelled_labels
        if budget <= len(task.train)
    ]
    work = partial(_work, context, task, system, size)
    each = size / 1000 * (3 if system.slow else 0.3) + 0.3 * len(keys)
    cost = len(_settings(context, system)) * each
    return Job(f"{NAME}, {task.name}, {system.name}, {size} documents", keys, work, cost)


def pool(task: Task) -> NDArray[Any]:
    """Documents in the order in which they are added: training documents first, each shuffled."""
    rng = np.random.default_rng([SEED, ORDER])
    return np.concatenate([rng.permutation(task.train), rng.permutation(task.unlabelled)])


def _work(
    context: Context, task: Task, system: System, size: int, missing: list[Key]
) -> Iterator[tuple[Key, Result]]:
    rows = np.sort(pool(task)[:size])
    learned, wanted = task.documents(rows, np.concatenate([task.train, task.test]))
    about = [corpus_key(task, system), "documents", size, ORDER]
    settings = _settings(context, system)
    candidates = candidates_of(system, learned, wanted, settings, context.cache, about)
    orders = draws(len(task.train), context.profile.unlabelled_draws)
    labels, truth = task.labels[task.train], task.labels[task.test]
    way = LeaveOneOut(prior=system.prior)
    for key in missing:
        order = orders[key["draw"]]
        found = way.judge(candidates, labels, order, key["labels"], len(task.test))
        yield key, {**score(truth, found.predicted), "setting": found.setting}
