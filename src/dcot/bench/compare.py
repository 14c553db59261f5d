"""``dcot bench compare``: the few-labels comparison on any corpus, also the user's own.

The corpus is a table (.csv, .tsv, .jsonl, .parquet), a folder of text files in folders named by
their label, or the name of a corpus that dcot knows. It needs labels enough to hide most of them:
that is how few are tried.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path

import numpy as np

from dcot import datasets
from dcot.bench.experiments.accuracy import ALL, COMPARE, jobs
from dcot.bench.jobs import Context
from dcot.bench.paper import Run, extra_systems, finished, runner_for
from dcot.bench.profiles import Profile
from dcot.bench.systems import FEATURES, NAMES, OURS, PAPER
from dcot.bench.tasks import Task, load_corpus, task_of
from dcot.errors import InvalidInputError, InvalidParameterError
from dcot.runtime.extras import require
from dcot.runtime.progress import Progress, silent

__all__ = ["run"]

BUDGETS = (20, 50, 100, 200, 500, 1000, 2000)
# Those that learn in seconds; the others can be asked for.
DEFAULT_SYSTEMS = ("bag of words", "TF-IDF", "LSI", PAPER, OURS)


def run(
    corpus: str | os.PathLike[str] | datasets.Corpus,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    split: str | None = None,
    test_share: float = 0.3,
    out: str | os.PathLike[str] = Path("compare-output"),
    data: str | os.PathLike[str] | None = None,
    systems: Sequence[str] | None = None,
    budgets: Sequence[int | str] = BUDGETS,
    draws: int = 5,
    svm: bool = False,
    encoder: str | os.PathLike[str] | None = None,
    static_embeddings: bool = False,
    workers: int | None = None,
    progress: Progress = silent,
) -> Run:
    """Compare the systems with few labels, and write the page that shows it.

    Parameters
    ----------
    corpus : a loaded corpus, a table, a folder, or one of `dcot.datasets.available`
    text, label, split : columns of a table; the text is in "text" unless another is named
    test_share : share of labelled documents to test on where the corpus has no split
    out : folder for results; the same one resumes
    data : directory with research corpora
    systems : names of systems; by default those that learn in seconds
    budgets, draws : numbers of labelled documents, or "all", and how often they are drawn; with
        all labels of a large corpus a run takes many times longer
    svm : try a linear SVM on each system's features, too
    encoder, static_embeddings : pretrained rivals, see `dcot.bench.paper.run`
    workers : processes at a time; by default as many as cores
    progress : called with what is done and the share that is finished
    """
    require("matplotlib", "bench")  # before the work
    names = tuple(DEFAULT_SYSTEMS if systems is None else systems)
    if unknown := set(names) - set(NAMES):
        raise InvalidParameterError(
            f"unknown systems {sorted(unknown)}: expected some of {list(NAMES)}"
        )
    few = [budget for budget in budgets if budget != ALL]
    for name, given in (("budgets", few), ("draws", [draws])):
        if wrong := [value for value in given if not isinstance(value, Integral) or value < 1]:
            raise InvalidParameterError(f"{name} must be whole numbers from 1, got {wrong[0]!r}")
    task = _checked(_task(corpus, text, label, split, test_share, data))
    svm_systems = tuple(dict.fromkeys((*names, FEATURES))) if svm else ()
    profile = Profile(
        name="compare",
        size="full",
        sample=None,
        few_labels={task.name: names if not svm else svm_systems},
        budgets=tuple(sorted({int(budget) for budget in few})),
        all_labels=ALL in budgets or all(int(one) >= len(task.train) for one in few),
        draws=draws,
        svm_systems=svm_systems,
    )
    folder = Path(out)
    extra = extra_systems(encoder, static_embeddings)
    context = Context(profile, folder / "features", data, extra, given={task.name: task})
    planned = list(jobs(context, [COMPARE]))
    title = f"Few labels on {task.name}: a comparison"
    runner = runner_for(context, folder, workers)
    return finished(runner, planned, [COMPARE], folder, progress, title)


def _task(
    corpus: str | os.PathLike[str] | datasets.Corpus,
    text: str | Sequence[str] | None,
    label: str | None,
    split: str | None,
    test_share: float,
    data: str | os.PathLike[str] | None,
) -> Task:
    if isinstance(corpus, datasets.Corpus):
        return task_of(corpus)
    path = Path(corpus)
    if str(corpus) in datasets.available() and not path.exists():
        return task_of(load_corpus(str(corpus), data))
    if path.is_dir():
        return task_of(datasets.load_folder(path, test_share=test_share))
    if label is None:
        raise InvalidParameterError(
            f"{path} is read as a table: name its columns with label=... (--label) and, if it is "
            "not called 'text', with text=... (--text). Corpora by name are "
            + ", ".join(datasets.available())
        )
    columns = "text" if text is None else text
    return task_of(
        datasets.load_table(path, text=columns, label=label, split=split, test_share=test_share)
    )


def _checked(task: Task) -> Task:
    classes = np.unique(task.labels[task.train])
    if len(classes) < 2:
        raise InvalidInputError(
            f"{task.name} has {len(classes)} classes among {len(task.train)} training documents: "
            "a comparison needs two at least"
        )
    if not len(task.test):
        raise InvalidInputError(
            f"{task.name} has no labelled documents to test on: give test_share, or a split"
        )
    if len(classes) > len(task.train) // 2:
        raise InvalidInputError(
            f"{task.name} has {len(classes)} labels on {len(task.train)} training documents: is "
            "the label column the right one? Expected a few classes with many documents each"
        )
    return task
