"""``dcot bench``: the benchmarks of ``dcot.bench``, loaded when one is run."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from dcot.cli import options as o
from dcot.cli.session import Session

HELP = "Rerun the experiments of the paper, or compare on your own corpus."
EXAMPLES = {
    "paper": ("dcot bench paper --profile quick -o bench-output",),
    "compare": ("dcot bench compare test.csv --text body --label topic --budgets 4 --draws 1",),
    "defaults": ("dcot bench defaults --only words --corpus everyday",),
}

_Data = Annotated[
    Path | None,
    o.option("Where the research corpora are.", metavar="FOLDER", show_default="DCOT_DATA"),
]
_Out = o.output("The folder for the results.", "FOLDER")


@dataclass(frozen=True)
class Running:
    """What the paper's experiments and a comparison have in common."""

    workers: Annotated[
        int | None, o.option("Processes at a time.", min=1, show_default="one per core")
    ] = None
    data: _Data = None
    encoder: Annotated[
        Path | None,
        o.option("A sentence-transformers model, as one more rival.", metavar="FOLDER"),
    ] = None
    static_embeddings: Annotated[
        bool, o.option("The vectors of wordllama, as a rival.", "--static-embeddings")
    ] = False


def _budgets(text: str) -> list[int | str]:
    """Numbers of labels, and the word all.

    >>> _budgets("20,all")
    [20, 'all']
    """
    parts = o.names(text)
    return [one if one == "all" else int(o.number(one, 1, whole=True)) for one in parts]


def paper(
    *,
    profile: Annotated[
        str, o.option("Minutes, or hours; can be resumed.", metavar="quick|full")
    ] = "quick",
    output: Annotated[Path, _Out] = Path("bench-output"),
    only: Annotated[
        list[str] | None,
        o.option("An experiment; can be repeated.", metavar="NAME", show_default="all"),
    ] = None,
    word: Annotated[
        list[str] | None, o.option("One more word; can be repeated.", metavar="WORD")
    ] = None,
    docs: Annotated[
        Path | None,
        o.option("Tables and figures as Markdown and SVG, too.", metavar="FOLDER"),
    ] = None,
    dry_run: Annotated[
        bool, o.option("Print what would be computed, and for how long.", "--dry-run")
    ] = False,
    running: Running,
    session: Session,
) -> None:
    """Rerun the paper's experiments, and ours, into a report.

    Finished parts are kept in the folder and not computed again: an interrupted run is resumed.
    """
    experiments = import_module("dcot.bench.paper")
    options = vars(running) | {"words": tuple(word or ())}
    if dry_run:
        session.say(experiments.dry_run(profile, output, only=only, **options).text())
        return
    done: Any = experiments.run(
        profile, output, only=only, progress=session.progress, docs=docs, **options
    )
    _end(session, done, list(done.results.notes))


def compare(
    corpus: Annotated[
        str,
        o.argument("A table, a folder of folders of .txt files, or a known corpus.", "CORPUS"),
    ],
    *,
    text: Annotated[
        list[str] | None,
        o.option("The column with the text; several are joined. [text]", metavar="COLUMN"),
    ] = None,
    label: Annotated[str | None, o.option("The column with the label.", metavar="COLUMN")] = None,
    split: Annotated[
        str | None,
        o.option("The column that says train, test or unlabelled.", metavar="COLUMN"),
    ] = None,
    test_share: Annotated[float, o.option("Share to test on, where there is no split.")] = 0.3,
    system: Annotated[
        list[str] | None,
        o.option(
            "A system to compare; can be repeated.", metavar="NAME", show_default="the quick ones"
        ),
    ] = None,
    budgets: Annotated[
        Any,
        o.option(
            "Numbers of labels, with commas; all is the slowest by far.",
            metavar="NUMBERS",
            parser=_budgets,
            show_default="20 to 2000",
        ),
    ] = None,
    draws: Annotated[int, o.option("How often labels are drawn.", min=1)] = 5,
    svm: Annotated[
        bool, o.option("Try a linear SVM on the features of each system, too.", "--svm")
    ] = False,
    output: Annotated[Path, _Out] = Path("compare-output"),
    running: Running,
    session: Session,
) -> None:
    """Compare dCoT with its rivals on a corpus, with few labels.

    Labels are hidden and tested on, so the corpus needs many. An interrupted run is resumed.
    """
    comparison = import_module("dcot.bench.compare")
    done: Any = comparison.run(
        corpus,
        text=text,
        label=label,
        split=split,
        test_share=test_share,
        out=output,
        systems=system,
        draws=draws,
        svm=svm,
        **vars(running),
        progress=session.progress,
        **({} if budgets is None else {"budgets": budgets}),
    )
    tables = list(done.results.notes)
    few_labels = import_module("dcot.bench.report.tables").TABLES["few-labels"]
    tables += [table.text() for table in few_labels(done.results)]
    _end(session, done, tables)


def defaults(
    *,
    only: Annotated[
        list[str] | None,
        o.option(
            "A study; can be repeated.",
            metavar="settings|words|frequent|classes|selection|many|precision|embedding|reliability",
            show_default="all",
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        o.option("A corpus; can be repeated.", metavar="NAME", show_default="all"),
    ] = None,
    docs: Annotated[
        Path | None, o.option("Write the tables as Markdown, too.", metavar="FOLDER")
    ] = None,
    data: _Data = None,
    session: Session,
) -> None:
    """Rerun the study behind the default settings, on training labels.

    Tables show differences to the default in points of accuracy.
    """
    study = import_module("dcot.bench.defaults")
    tables: Any = study.run(only, corpus, data, docs, session.progress)
    if session.json:
        session.emit({table.title: [table.head, *table.rows] for table in tables})
    for table in tables:
        session.say(table.text())


def _end(session: Session, done: Any, lines: list[str]) -> None:
    """Say where the report is; a part that failed is an error."""
    failures = [f"{failure.title}: {failure.reason}" for failure in done.failures]
    if session.json:
        session.emit({"report": str(done.report), "notes": lines, "failures": failures})
    for line in lines:
        session.say(line)
    session.say(f"Report: {done.report}")
    for failure in failures:
        session.note(f"Failed: {failure}")
    if failures:
        raise typer.Exit(1)
