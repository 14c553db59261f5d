"""``dcot bench compare``: the comparison with few labels, on any corpus.

The corpus is a table (.csv, .tsv, .jsonl, .parquet), a folder of text files in folders named by
their label, or the name of a corpus that dcot knows. It should be well labelled: the comparison
hides most labels to see what a few can do.
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
from dcot.bench.report.writing import write_tables
from dcot.bench.systems import FEATURES, NAMES, OURS, PAPER
from dcot.bench.tasks import Task, load_corpus, task_of
from dcot.errors import InvalidInputError, InvalidParameterError
from dcot.runtime.extras import require
from dcot.runtime.progress import Progress, announce, silent

BUDGETS = (20, 50, 100, 200, 500, 1000, 2000)
# Systems that learn in seconds; ``systems`` can name others.
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
    setfit: bool = False,
    docs: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> Run:
    """Compare systems with few labels, and write a report.

    Parameters
    ----------
    corpus : a loaded corpus, a table, a folder, or one of `dcot.datasets.available`
    text, label, split : columns of a table; the text column is "text" by default
    test_share : share of labelled documents to test on, if the corpus has no split
    out : folder for results; use the same folder to resume
    data : directory with research corpora
    systems : names of systems; by default those that learn in seconds
    budgets, draws : numbers of labelled documents, or "all", and how often they are drawn. With
        all labels of a large corpus a run takes much longer
    svm : also try a linear SVM on the features of each system
    encoder, static_embeddings : pretrained rivals, see `dcot.bench.paper.run`
    setfit : also fine-tune the encoder with SetFit, which can take an hour for each draw
    docs : folder for the tables as Markdown, ``compare-NAME.md``
    workers : number of processes; by default one per core
    progress : called with a message and the fraction that is done
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
    if too_large := sorted({int(one) for one in few if int(one) >= len(task.train)}):
        announce(
            progress,
            f"Left out, because {task.name} has {len(task.train):,} labelled documents to train "
            f"on: {', '.join(map(str, too_large))} labels. The budget 'all' uses all of them.",
        )
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
    extra = extra_systems(encoder, static_embeddings, setfit)
    context = Context(profile, folder / "features", data, extra, given={task.name: task})
    planned = list(jobs(context, [COMPARE]))
    title = f"Few labels on {task.name}: a comparison"
    runner = runner_for(context, folder, workers)
    done = finished(runner, planned, [COMPARE], folder, progress, title)
    if docs is not None:
        write_tables(done.results, Path(docs) / f"compare-{task.name}.md")
    return done


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
            f"{path} is read as a table: name its label column with label=... (--label), and its "
            "text column with text=... (--text) unless it is 'text'. Known corpora are "
            + ", ".join(datasets.available())
        )
    columns = "text" if text is None else text
    share = test_share if split is None else 0.0
    return task_of(
        datasets.load_table(path, text=columns, label=label, split=split, test_share=share)
    )


def _checked(task: Task) -> Task:
    classes = np.unique(task.labels[task.train])
    if len(classes) < 2:
        raise InvalidInputError(
            f"{task.name}: a comparison needs at least two classes, and the {len(task.train)} "
            f"training documents have {len(classes)}"
        )
    if not len(task.test):
        raise InvalidInputError(
            f"{task.name} has no labelled documents to test on: pass test_share or a split"
        )
    if len(classes) > len(task.train) // 2:
        raise InvalidInputError(
            f"{task.name} has {len(classes)} classes in {len(task.train)} training documents, and "
            "a comparison needs many documents per class: is this the right label column?"
        )
    return task
