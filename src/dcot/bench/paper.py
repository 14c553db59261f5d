"""``dcot bench paper``: rerun the paper's experiments and ours.

Finished cells are kept in the output folder, so an interrupted run can be resumed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcot.bench.experiments import EXPERIMENTS, WORK, plan
from dcot.bench.jobs import Context, Failure, Job, Runner, predicted
from dcot.bench.profiles import Profile, profile_of
from dcot.bench.report.results import Results
from dcot.bench.report.tables import Table
from dcot.bench.report.writing import TITLE, write_docs, write_report
from dcot.bench.store import Store
from dcot.bench.systems import Classifier, Encoder, SetFit, StaticEmbeddings, Supervised, System
from dcot.datasets._files import search_dirs
from dcot.errors import InvalidParameterError
from dcot.runtime.extras import require
from dcot.runtime.progress import Progress, announce, format_duration, silent
from dcot.runtime.resources import n_cores

OUT = Path("bench-output")


@dataclass(frozen=True)
class Run:
    """The outcome of a run.

    Attributes
    ----------
    report : path of the HTML page
    results : all cells
    failures : jobs that failed; the next run tries them again
    """

    report: Path
    results: Results
    failures: list[Failure]


def run(
    profile: str | Profile = "quick",
    out: str | os.PathLike[str] = OUT,
    data: str | os.PathLike[str] | None = None,
    only: Sequence[str] | None = None,
    progress: Progress = silent,
    *,
    encoder: str | os.PathLike[str] | None = None,
    static_embeddings: bool = False,
    words: Sequence[str] = (),
    docs: str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> Run:
    """Compute what is missing, then write JSON, CSV, figures and the report into ``out``.

    Parameters
    ----------
    profile : "quick" (minutes) or "full" (hours)
    out : folder for results; use the same folder to resume after an interruption
    data : directory with Reuters21578.mat, reuters21578.tar.gz and dmoz.tsv; by default
        ``DCOT_DATA`` and the cache. Without them the embedded corpus stands in, and the report
        says so
    only : names of experiments, from `EXPERIMENTS`; by default all
    progress : called with a message and the fraction that is done
    encoder : folder of a sentence-transformers model to measure as well
    static_embeddings : also measure the vectors in the package wordllama
    words : more words for figure 2
    docs : folder for the tables and figures of the documentation
    workers : number of processes, with one thread each; by default one per core
    """
    require("matplotlib", "bench")  # fail before hours of work
    chosen = read_only(only)
    context = context_of(
        profile, out, data, encoder=encoder, static_embeddings=static_embeddings, words=words
    )
    jobs = plan(context, chosen)
    runner = runner_for(context, out, workers)
    announce(progress, forecast(jobs, runner).title)
    done = finished(runner, jobs, chosen, Path(out), progress)
    if docs is not None:
        write_docs(done.results, Path(docs))
    return done


def dry_run(
    profile: str | Profile = "quick",
    out: str | os.PathLike[str] = OUT,
    data: str | os.PathLike[str] | None = None,
    only: Sequence[str] | None = None,
    *,
    workers: int | None = None,
    **options: Any,
) -> Table:
    """What `run` would compute with these parameters, and about how long it would take."""
    context = context_of(profile, out, data, **options)
    return forecast(plan(context, read_only(only)), runner_for(context, out, workers))


def finished(
    runner: Runner,
    jobs: Sequence[Job],
    experiments: Sequence[str],
    out: Path,
    progress: Progress,
    title: str = TITLE,
) -> Run:
    """Compute the missing cells and write the report."""
    failures = runner.run(jobs, progress)
    results = Results.collect(runner.store, jobs, runner.context, failures, experiments)
    return Run(write_report(results, out, title), results, failures)


def runner_for(context: Context, out: str | os.PathLike[str], workers: int | None) -> Runner:
    """A runner that keeps its cells in the output folder; by default with one process per core."""
    count = n_cores() if workers is None else workers
    return Runner(context, Store(Path(out) / "cells"), WORK, count)


def context_of(
    profile: str | Profile,
    out: str | os.PathLike[str] = OUT,
    data: str | os.PathLike[str] | None = None,
    *,
    encoder: str | os.PathLike[str] | None = None,
    static_embeddings: bool = False,
    words: Sequence[str] = (),
) -> Context:
    """What the experiments share; the parameters are those of `run`."""
    if data is not None:
        search_dirs(data)  # raises an error if the directory does not exist
    return Context(
        profile=profile if isinstance(profile, Profile) else profile_of(profile),
        cache=Path(out) / "features",
        data=data,
        extra=extra_systems(encoder, static_embeddings),
        words=tuple(word.lower() for word in words),
    )


def forecast(jobs: Sequence[Job], runner: Runner) -> Table:
    """What is to be computed, and about how long it takes."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(", ".join(job.title.split(", ")[:2]), []).append(job)
    rows = []
    for name, members in groups.items():
        missing = [len(runner.missing(job)) for job in members]
        seconds = sum(j.seconds for j, n in zip(members, missing, strict=True) if n)
        cells = sum(len(job.keys) for job in members)
        rows.append([name, str(cells), str(sum(missing)), f"{seconds / 60:.1f}"])
    left = [job for job in jobs if runner.missing(job)]
    total = format_duration(predicted(left, runner.workers))
    title = f"About {total} with {runner.workers} processes"
    return Table(title, ["work", "cells", "to compute", "core minutes"], rows)


def read_only(only: Sequence[str] | None) -> tuple[str, ...]:
    """Check the names of experiments, and return them in their usual order."""
    asked = {name.replace("_", "-") for name in only or EXPERIMENTS}
    if unknown := asked - set(EXPERIMENTS):
        raise InvalidParameterError(
            f"unknown experiments {sorted(unknown)}: expected some of {list(EXPERIMENTS)}"
        )
    return tuple(name for name in EXPERIMENTS if name in asked)


def extra_systems(
    encoder: str | os.PathLike[str] | None, static_embeddings: bool, setfit: bool = False
) -> dict[str, System | Supervised]:
    """The pretrained rivals of a run, and dCoT with the vectors of each."""
    pretrained: list[System] = []
    if encoder is not None:
        pretrained.append(Encoder(Path(encoder)))
    if static_embeddings:
        pretrained.append(StaticEmbeddings())
    found: dict[str, System | Supervised] = {system.name: system for system in pretrained}
    if setfit:
        if encoder is None:
            raise InvalidParameterError("setfit needs an encoder to fine-tune: name its folder")
        found[SetFit.name] = SetFit(Path(encoder))
    return found | {system.name: system for system in map(Classifier, pretrained)}
