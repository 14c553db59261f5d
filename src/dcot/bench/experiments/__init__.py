"""The experiments: the paper's figures and table, and ours. Each gives jobs, nothing more."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dcot.bench.experiments import few_labels, noise, published, timing, unlabelled, words
from dcot.bench.jobs import Context, Job

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Callable[[Context], Iterator[Job]]] = {
    "words": words.jobs,
    "noise": noise.jobs,
    "few-labels": few_labels.jobs,
    "time": timing.jobs,
    "unlabelled": unlabelled.jobs,
    "published": published.jobs,
}
