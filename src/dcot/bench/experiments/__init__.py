"""The experiments: the paper's figures and table, and ours. Each plans jobs and computes them."""

from __future__ import annotations

from collections.abc import Sequence

from dcot.bench.experiments import accuracy, noise, retrieval, suggestion, timing, words
from dcot.bench.jobs import Context, Job, Work

__all__ = ["EXPERIMENTS", "WORK", "plan"]

_OTHERS = (words, noise, timing, suggestion, retrieval)
_ACCURACY = (accuracy.FEW_LABELS, accuracy.UNLABELLED, accuracy.PUBLISHED)
WORK: dict[str, Work] = {module.NAME: module.work for module in (accuracy, *_OTHERS)}
EXPERIMENTS = (words.NAME, noise.NAME, *_ACCURACY, timing.NAME, suggestion.NAME, retrieval.NAME)


def plan(context: Context, experiments: Sequence[str]) -> list[Job]:
    """All jobs of these experiments; loads the corpora to plan them."""
    jobs = list(accuracy.jobs(context, experiments))
    for module in _OTHERS:
        if module.NAME in experiments:
            jobs += module.jobs(context)
    return jobs
