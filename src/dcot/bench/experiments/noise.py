"""Figure 3: accuracy by noise and layers, with the representation learned on the whole dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dcot.bench.features import Block
from dcot.bench.jobs import Context, Job, corpus_key
from dcot.bench.protocol import Candidate, choose, draws, ridge_predictions, score
from dcot.bench.store import Key, Result
from dcot.bench.systems import OURS, PAPER
from dcot.bench.systems.dcot import outputs_of
from dcot.bench.tasks import Documents
from dcot.estimator import DCoT

NAME = "noise"


def jobs(context: Context) -> Iterator[Job]:
    """A job for each noise level, for the paper's method and for our defaults."""
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
            seconds = (10 if system == PAPER else 40) * len(task.train) / 6000 + 1.2 * len(keys)
            yield Job(NAME, f"{NAME}, {system}, noise {noise:g}", keys, {}, seconds, 3e9)


def work(context: Context, job: Job, missing: list[Key]) -> Iterator[tuple[Key, Result]]:
    """As in the paper, the representation is learned from test documents too, without labels."""
    task = context.task("reuters", stand_in=True)
    if task is None:
        return
    everything = np.concatenate([task.train, task.test])
    _, documents = task.documents(everything, everything)
    first = missing[0]
    depth = max(key["layers"] for key in missing)
    outputs = _outputs(first["system"], documents, first["n_prototypes"], first["noise"], depth)
    n = len(task.train)
    test = np.arange(n, n + len(task.test))
    labels, truth = task.labels[task.train], task.labels[task.test]
    orders = draws(n, context.profile.noise_draws)
    before = [documents.counts] if first["system"] == PAPER else []
    for key in missing:
        blocks = [Block.of(F) for F in (*before, *outputs[: key["layers"]])]
        order, budget = orders[key["draw"]], key["labels"]
        choice = choose([Candidate({}, blocks)], labels, order, [budget])[budget]
        found = ridge_predictions(choice, labels, order[:budget], test)
        yield key, {**score(truth, found.labels), "strength": found.strength}


def _outputs(system: str, documents: Documents, r: int, noise: float, depth: int) -> list[Any]:
    if system == PAPER:
        return outputs_of(DCoT.paper(r, noise, depth).fit(documents.counts), documents.counts, None)
    model = DCoT(r, noise=noise, n_layers=depth, tol=1e-3).fit(documents.tfidf)
    return outputs_of(model, documents.tfidf, "unit")
