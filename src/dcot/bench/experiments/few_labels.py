"""Figure 4: accuracy from 50 labels to all, the representation learned on the training set only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from dcot.bench.jobs import Context, Job, candidates_of, corpus_key, digest
from dcot.bench.protocol import WAYS, draws, hits, score
from dcot.bench.store import Key, Result
from dcot.bench.systems import System
from dcot.bench.tasks import Task

NAME = "few-labels"
CORPORA = ("reuters", "dmoz")  # the paper's two


def jobs(context: Context) -> Iterator[Job]:
    """A job for each corpus and system."""
    for task in context.tasks(CORPORA):
        yield from jobs_of(context, task, NAME, tuple(WAYS))


def jobs_of(context: Context, task: Task, experiment: str, ways: tuple[str, ...]) -> Iterator[Job]:
    """The same for any corpus."""
    for system in context.systems_for(task, context.profile.systems):
        keys = keys_of(context, task, system, experiment, ways)
        work = work_of(context, task, system, unlabelled=experiment == "compare")
        size = len(context.settings(system)) * len(task.train) / 1000
        cost = size * (0.08 * len(keys) + (5 if system.slow else 0))
        yield Job(f"{experiment}, {task.name}, {system.name}", keys, work, cost)


def keys_of(
    context: Context, task: Task, system: System, experiment: str, ways: tuple[str, ...]
) -> list[Key]:
    """Every budget and draw; with all labels there is one draw."""
    common = {
        "experiment": experiment,
        **corpus_key(task, system),
        "system": system.name,
        "searched": digest(context.settings(system)),
    }
    n = len(task.train)
    cells: list[tuple[int | str, int]] = [
        (budget, draw)
        for draw in range(context.profile.draws)
        for budget in context.profile.budgets
        if budget < n
    ]
    cells.append(("all", 0))
    return [
        {**common, "way": way, "labels": budget, "draw": draw}
        for way in ways
        for budget, draw in cells
    ]


def work_of(
    context: Context, task: Task, system: System, *, unlabelled: bool = False
) -> Callable[[list[Key]], Iterator[tuple[Key, Result]]]:
    """What computes these cells; with ``unlabelled``, it learns from unlabelled documents too."""
    return partial(_work, context, task, system, unlabelled)


def _work(
    context: Context, task: Task, system: System, unlabelled: bool, missing: list[Key]
) -> Iterator[tuple[Key, Result]]:
    n, n_test = len(task.train), len(task.test)
    rows = np.concatenate([task.train, task.unlabelled]) if unlabelled else task.train
    learned, wanted = task.documents(rows, np.concatenate([task.train, task.test]))
    settings = context.settings(system)
    about = [corpus_key(task, system), "training set", len(rows)]
    candidates = candidates_of(system, learned, wanted, settings, context.cache, about)
    orders = draws(n, context.profile.draws)
    ways = {name: kind(prior=system.prior) for name, kind in WAYS.items()}
    labels, truth = task.labels[task.train], task.labels[task.test]
    for key in missing:
        budget = n if key["labels"] == "all" else int(key["labels"])
        found = ways[key["way"]].judge(candidates, labels, orders[key["draw"]], budget, n_test)
        result: Result = {
            **score(truth, found.predicted),
            "setting": found.setting,
            "strength": found.strength,
            "score_on_training_labels": found.score,
            "labelled": budget,
        }
        if key["labels"] == "all":  # one draw: documents are what can be paired
            result["hits"] = hits(truth, found.predicted)
        yield key, result
