"""What to label next: documents that ``suggest`` chooses, against the same number at random.

Random labels are the first of a draw: their accuracies are the cells of `accuracy`, and are not
measured again. Suggested labels start from the same first documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from dcot.bench.jobs import Context, Job, corpus_key, digest
from dcot.bench.protocol import draws, score
from dcot.bench.store import Key, Result
from dcot.bench.systems import OURS, Classifier
from dcot.bench.systems.dcot import inputs_of
from dcot.bench.tasks import Documents, Task
from dcot.classifier import DCoTClassifier

NAME = "suggest"
Array = NDArray[Any]
START, STEP = 50, 25
BUDGETS = (100, 200)


def jobs(context: Context) -> Iterator[Job]:
    """A job for each corpus and draw."""
    for name in context.profile.suggested:
        task = context.task(name, stand_in=True)
        if task is None or len(task.train) <= max(BUDGETS):
            continue
        for draw in range(context.profile.suggested_draws):
            keys: list[Key] = [
                {
                    "experiment": NAME,
                    **corpus_key(task, True),
                    "system": OURS,
                    "searched": digest(context.settings(OURS)),
                    "labels": labels,
                    "draw": draw,
                }
                for labels in BUDGETS
            ]
            fits = 2 * Classifier.seconds * len(task.train) / 1000
            title = f"{NAME}, {task.name}, draw {draw}"
            yield Job(NAME, title, keys, {"corpus": task.stands_for or task.name}, 1.4 * fits, 4e9)


def work(context: Context, job: Job, missing: list[Key]) -> Iterator[tuple[Key, Result]]:
    """Grow the labelled set step by step; a classifier of its own at each budget."""
    task = context.task(job.options["corpus"], stand_in=True)
    if task is None:
        return
    learned, test = task.documents(task.train, task.test)
    truth = task.labels[task.test]
    order = draws(len(task.train), missing[0]["draw"] + 1)[-1]
    system = Classifier()
    representation = system.learn(learned)
    most = max(key["labels"] for key in missing)
    grown = _suggested(task, representation, learned, order[:START], most)
    for key in missing:
        chosen = grown[: key["labels"]]
        predicted, _ = system.predict(representation, learned, _labels(task, chosen), test)
        yield key, {**score(truth, predicted), "labelled": len(chosen)}


def _labels(task: Task, chosen: Array) -> list[Any]:
    labels = np.full(len(task.train), None, dtype=object)
    labels[chosen] = task.labels[task.train[chosen]]
    return list(labels)


def _suggested(
    task: Task, representation: FrozenEstimator, documents: Documents, start: Array, count: int
) -> Array:
    """Positions of the labelled documents, in the order in which they were asked for."""
    chosen = start
    model = DCoTClassifier(vectorizer=representation, random_state=0)
    model.fit(inputs_of(documents), _labels(task, chosen))
    while len(chosen) < count:
        rest = np.setdiff1d(np.arange(len(task.train)), chosen)
        best = model.suggest(inputs_of(documents[rest]), min(STEP, count - len(chosen)))
        chosen = np.concatenate([chosen, rest[best]])
        model.refit(inputs_of(documents[chosen]), task.labels[task.train[chosen]])
    return chosen
