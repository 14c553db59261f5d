"""Ours: all labels on standard splits, beside figures that others published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dcot.bench.experiments.few_labels import keys_of, work_of
from dcot.bench.jobs import Context, Job

NAME = "published"


@dataclass(frozen=True)
class Published:
    """Test accuracies in percent as others report them; not measured here."""

    system: str
    source: str
    r8: float
    r52: float
    newsgroups: float


_TEXTGCN = "Yao, Mao and Luo, Graph convolutional networks for text classification, AAAI 2019"
_TENSORGCN = "Liu et al., Tensor graph convolutional networks for text classification, AAAI 2020"
THEIRS = (
    Published("TextGCN", _TEXTGCN, 97.07, 93.56, 86.34),
    Published("TensorGCN", _TENSORGCN, 98.04, 95.05, 87.74),
)


def jobs(context: Context) -> Iterator[Job]:
    """A job for each corpus and system: all labels."""
    for name in context.profile.published:
        task = context.full_task(name)
        if task is None:
            continue
        # Not the pretrained ones: their hours are better spent on figure 4.
        for system in context.systems_for(task, context.profile.published_systems, extra=False):
            keys = [
                key
                for key in keys_of(context, task, system, NAME, context.profile.published_ways)
                if key["labels"] == "all"
            ]
            each = 2 + 0.5 * len(context.settings(system))
            cost = len(task.train) / 1000 * len(keys) * each
            title = f"{NAME}, {task.name}, {system.name}"
            yield Job(title, keys, work_of(context, task, system), cost)
