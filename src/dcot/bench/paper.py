"""``dcot bench paper``: the paper's experiments and ours, rerun by one command.

Finished cells are kept in the output folder and never computed twice; an interrupted run goes on
where it was.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dcot.bench.experiments import EXPERIMENTS
from dcot.bench.jobs import Context, Failure, Job, run_jobs
from dcot.bench.profiles import Profile, profile_of
from dcot.bench.report import Results, write_docs, write_report
from dcot.bench.store import Store
from dcot.bench.systems import Encoder, StaticEmbeddings, System
from dcot.datasets._files import search_dirs
from dcot.errors import InvalidParameterError
from dcot.runtime.progress import Progress, silent

__all__ = ["Run", "run"]

OUT = Path("bench-output")


@dataclass(frozen=True)
class Run:
    """What a run gave.

    Attributes
    ----------
    report : path of the HTML page
    results : every cell, for further use
    failures : jobs that did not work; they are tried again in the next run
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
) -> Run:
    """Compute what is missing, then write JSON, CSV, figures and the report into ``out``.

    Parameters
    ----------
    profile : "quick" (under five minutes on two cores) or "full" (hours; resumes)
    out : folder for results; give the same one to go on after an interruption
    data : directory with Reuters21578.mat, reuters21578.tar.gz and dmoz.tsv; by default
        ``DCOT_DATA`` and the cache. Without them the embedded corpus stands in, and is marked
    only : some of words, noise, few-labels, time, unlabelled, published; all by default
    progress : called with what is done and the share that is finished
    encoder : folder of a sentence-transformers model, measured beside the others
    static_embeddings : measure the vectors in the package wordllama too
    words : more words for figure 2
    docs : folder for tables and figures of the documentation
    """
    chosen = read_only(only)
    if data is not None:
        search_dirs(data)  # a directory that is not there is an error, not a missing corpus
    settings = profile if isinstance(profile, Profile) else profile_of(profile)
    folder = Path(out)
    context = Context(
        profile=settings,
        cache=folder / "features",
        data=data,
        extra=extra_systems(encoder, static_embeddings),
        words=tuple(word.lower() for word in words),
    )
    jobs = plan(context, chosen)
    store = Store(folder / "cells")
    failures = run_jobs(jobs, store, progress)
    results = Results.collect(store, jobs, context, failures)
    report = write_report(results, folder)
    if docs is not None:
        write_docs(results, Path(docs))
    return Run(report, results, failures)


def plan(context: Context, only: Sequence[str]) -> list[Job]:
    """All jobs of the chosen experiments; corpora are loaded for it."""
    return [job for name in only for job in EXPERIMENTS[name](context)]


def read_only(only: Sequence[str] | None) -> tuple[str, ...]:
    """The experiments that were asked for, in their own order."""
    asked = {name.replace("_", "-") for name in only or EXPERIMENTS}
    if unknown := asked - set(EXPERIMENTS):
        raise InvalidParameterError(
            f"unknown experiments {sorted(unknown)}: expected some of {list(EXPERIMENTS)}"
        )
    return tuple(name for name in EXPERIMENTS if name in asked)


def extra_systems(
    encoder: str | os.PathLike[str] | None, static_embeddings: bool
) -> dict[str, System]:
    """Pretrained rivals that were asked for."""
    found: dict[str, System] = {}
    if encoder is not None:
        found[Encoder.name] = Encoder(Path(encoder))
    if static_embeddings:
        found[StaticEmbeddings.name] = StaticEmbeddings()
    return found
