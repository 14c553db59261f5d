"""The experiments: the paper's figures and table, and ours. Each plans jobs and computes them."""

from __future__ import annotations

from collections.abc import Sequence

from dcot.bench.experiments import accuracy, noise, retrieval, suggestion, timing, words
from dcot.bench.jobs import Context, Job, Work

__all__ = ["EXPERIMENTS", "WORK", "plan"]

WORK: dict[str, Work] = {
    accuracy.NAME: accuracy.work,
    noise.NAME: noise.work,
    retrieval.NAME: retrieval.work,
    suggestion.NAME: suggestion.work,
    timing.NAME: timing.work,
    words.NAME: words.work,
}
_ACCURACY = (accuracy.FEW_LABELS, accuracy.UNLABELLED, accuracy.PUBLISHED)
_OTHERS = {
    words.NAME: words.jobs,
    noise.NAME: noise.jobs,
    timing.NAME: timing.jobs,
    suggestion.NAME: suggestion.jobs,
    retrieval.NAME: retrieval.jobs,
}
EXPERIMENTS = (words.NAME, noise.NAME, *_ACCURACY, timing.NAME, suggestion.NAME, retrieval.NAME)


def plan(context: Context, experiments: Sequence[str]) -> list[Job]:
    """All jobs of these experiments; corpora are loaded for it."""
    jobs = list(accuracy.jobs(context, experiments))
    for name, make in _OTHERS.items():
        if name in experiments:
            jobs += make(context)
    return jobs
