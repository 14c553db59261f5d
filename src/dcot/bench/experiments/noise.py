"""Figure 3: accuracy over noise and layers, the representation learned on the whole dataset."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dcot.bench.jobs import Context, Job, corpus_key
from dcot.bench.protocol import Candidate, Validation, draws, score
from dcot.bench.store import Key, Result
from dcot.bench.systems import OURS, PAPER
from dcot.bench.systems.dcot import outputs_of
from dcot.bench.tasks import Documents, Task
from dcot.estimator import DCoT

NAME = "noise"
STRENGTHS = (10.0, 1.0, 100.0)


def jobs(context: Context) -> Iterator[Job]:
    """A job for each noise level, of the paper's method and of our defaults."""
    task = context.task("reuters", stand_in=True)
    if task is None:
        return
    profile = context.profile
    for system, r in zip((PAPER, OURS), profile.noise_prototypes, strict=True):
        for noise in profile.noises:
            keys = [
                {
                    "experiment": NAME,
                    **corpus_key(task),
                    "system": system,
                    "n_prototypes": r,
                    "noise": noise,
                    "layers": depth,
                    "labels": min(profile.noise_labels, int(0.8 * len(task.train))),
                    "draw": draw,
                }
                for draw in range(profile.noise_draws)
                for depth in profile.depths
            ]
            work = partial(_work, context, task, system, noise)
            cost = 5 + len(keys) * profile.noise_labels / 250
            yield Job(f"{NAME}, {system}, noise {noise:g}", keys, work, cost)


def _work(
    context: Context, task: Task, system: str, noise: float, missing: list[Key]
) -> Iterator[tuple[Key, Result]]:
    """Test documents are learned from too, without labels, as the paper does in this figure."""
    everything = np.concatenate([task.train, task.test])
    _, documents = task.documents(everything, everything)
    depth = max(key["layers"] for key in missing)
    outputs = _outputs(system, documents, missing[0]["n_prototypes"], noise, depth)
    n, n_test = len(task.train), len(task.test)
    labels, truth = task.labels[task.train], task.labels[task.test]
    orders = draws(n, context.profile.noise_draws)
    for key in missing:
        blocks = outputs[: key["layers"]]
        if system == PAPER:
            blocks = [documents.counts, *blocks]
        way = Validation(strengths=STRENGTHS)
        candidate = Candidate({"noise": noise, "layers": key["layers"]}, blocks)
        found = way.judge([candidate], labels, orders[key["draw"]], key["labels"], n_test)
        yield key, {**score(truth, found.predicted), "strength": found.strength}


def _outputs(system: str, documents: Documents, r: int, noise: float, depth: int) -> list[Any]:
    if system == PAPER:
        return outputs_of(DCoT.paper(r, noise, depth).fit(documents.counts), documents.counts, None)
    model = DCoT(r, noise=noise, n_layers=depth, tol=1e-3).fit(documents.tfidf)
    return outputs_of(model, documents.tfidf, "unit")
