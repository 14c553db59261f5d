"""``dcot bench``: the experiments of ``dcot.bench``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcot.cli import options as o
from dcot.cli.errors import write_error
from dcot.cli.session import Session

if TYPE_CHECKING:
    from dcot.bench.paper import Run
    from dcot.bench.report.tables import Table

HELP = "Rerun the experiments of the paper, or compare on your own corpus."
EXAMPLES = {
    "paper": ("dcot bench paper --profile quick -o bench-output",),
    "compare": ("dcot bench compare test.csv --text body --label topic --budgets 4 --draws 1",),
    "defaults": ("dcot bench defaults --only words --corpus everyday",),
    "labeller": ("dcot bench labeller --corpus everyday --documents 200 --labels 25 --draws 1",),
}

_Data = Annotated[
    Path | None,
    o.option("Folder with the research corpora.", metavar="FOLDER", show_default="DCOT_DATA"),
]
_Docs = Annotated[Path | None, o.option("Also write the tables as Markdown.", metavar="FOLDER")]
_Out = o.output("Folder for the results.", "FOLDER")


@dataclass(frozen=True)
class Running:
    """Options of both ``paper`` and ``compare``."""

    workers: Annotated[
        int | None, o.option("Number of processes.", min=1, show_default="one per core")
    ] = None
    data: _Data = None
    encoder: Annotated[
        Path | None, o.option("Also measure this sentence-transformers model.", metavar="FOLDER")
    ] = None
    static_embeddings: Annotated[
        bool, o.option("Also measure the vectors of wordllama.", "--static-embeddings")
    ] = False


def _budgets(text: str) -> list[int | str]:
    """Read numbers of labels, and the word all.

    >>> _budgets("20,all")
    [20, 'all']
    """
    parts = o.names(text)
    return [one if one == "all" else int(o.number(one, 1, whole=True)) for one in parts]


def paper(
    *,
    profile: Annotated[
        str, o.option("Minutes or hours of computing.", metavar="quick|full")
    ] = "quick",
    output: Annotated[Path, _Out] = Path("bench-output"),
    only: Annotated[
        list[str] | None,
        o.option("Experiment to run. Can be repeated.", metavar="NAME", show_default="all"),
    ] = None,
    word: Annotated[
        list[str] | None, o.option("Another word for figure 2. Can be repeated.", metavar="WORD")
    ] = None,
    docs: Annotated[
        Path | None,
        o.option("Also write tables and figures as Markdown and SVG.", metavar="FOLDER"),
    ] = None,
    dry_run: Annotated[
        bool, o.option("Print what would be computed, and how long it takes.", "--dry-run")
    ] = False,
    running: Running,
    session: Session,
) -> None:
    """Rerun the paper's experiments and ours, and write a report.

    Finished parts are kept in the folder: run the same command again to resume.
    """
    from dcot.bench import paper as experiments

    options = vars(running) | {"words": tuple(word or ())}
    if dry_run:
        _show(session, [experiments.dry_run(profile, output, only=only, **options)])
        return
    done = experiments.run(
        profile, output, only=only, progress=session.progress, docs=docs, **options
    )
    _end(session, done, done.results.notes)


def compare(
    corpus: Annotated[
        str,
        o.argument("A table, a folder with a subfolder per class, or a known corpus.", "CORPUS"),
    ],
    *,
    text: Annotated[
        list[str] | None,
        o.option(
            "Column with the text. If repeated, the columns are joined.",
            metavar="COLUMN",
            show_default="text",
        ),
    ] = None,
    label: Annotated[str | None, o.option("Column with the label.", metavar="COLUMN")] = None,
    split: Annotated[
        str | None, o.option("Column with train, test or unlabelled.", metavar="COLUMN")
    ] = None,
    test_share: Annotated[float, o.option("Share to test on, if there is no split.")] = 0.3,
    system: Annotated[
        list[str] | None,
        o.option(
            "System to compare. Can be repeated.", metavar="NAME", show_default="the fast ones"
        ),
    ] = None,
    budgets: Annotated[
        Any,
        o.option(
            "Numbers of labels, separated by commas; all is by far the slowest.",
            metavar="NUMBERS",
            parser=_budgets,
            show_default="20 to 2000",
        ),
    ] = None,
    draws: Annotated[int, o.option("Number of random draws of labels.", min=1)] = 5,
    svm: Annotated[
        bool, o.option("Also try a linear SVM on the features of each system.", "--svm")
    ] = False,
    setfit: Annotated[
        bool, o.option("Also fine-tune the encoder with SetFit, which is slow.", "--setfit")
    ] = False,
    output: Annotated[Path, _Out] = Path("compare-output"),
    docs: _Docs = None,
    running: Running,
    session: Session,
) -> None:
    """Compare dCoT with its rivals on a corpus, with few labels.

    Most labels are hidden or used for testing, so the corpus needs many. Run the same command
    again to resume.
    """
    from dcot.bench import compare as comparison
    from dcot.bench.report.tables import TABLES

    done = comparison.run(
        corpus,
        text=text,
        label=label,
        split=split,
        test_share=test_share,
        out=output,
        systems=system,
        draws=draws,
        svm=svm,
        setfit=setfit,
        docs=docs,
        **vars(running),
        progress=session.progress,
        **({} if budgets is None else {"budgets": budgets}),
    )
    tables = [table.text() for table in TABLES["few-labels"](done.results)]
    _end(session, done, [*done.results.notes, *tables])


def defaults(
    *,
    only: Annotated[
        list[str] | None,
        o.option(
            "Study to run: settings, words, frequent, classes, selection, self-training, many, "
            "precision, embedding or reliability. Can be repeated.",
            metavar="NAME",
            show_default="all",
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        o.option("Corpus to use. Can be repeated.", metavar="NAME", show_default="all"),
    ] = None,
    docs: _Docs = None,
    data: _Data = None,
    encoder: Annotated[
        Path | None,
        o.option("Also study the vectors of this sentence-transformers model.", metavar="FOLDER"),
    ] = None,
    session: Session,
) -> None:
    """Rerun the study behind the default settings, on training labels.

    Tables show differences to the default in points of accuracy.
    """
    from dcot.bench import defaults as study

    _show(session, study.run(only, corpus, data, docs, encoder, session.progress))


def labeller(
    *,
    corpus: Annotated[str, o.option("Corpus to label.", metavar="NAME")] = "dmoz",
    documents: Annotated[int, o.option("Number of its documents, at random.", min=2)] = 8000,
    labels: Annotated[int, o.option("Most labels to give.", min=2)] = 400,
    draws: Annotated[int, o.option("Number of random draws.", min=1)] = 2,
    docs: Annotated[
        Path | None,
        o.option("Also write the table and the figure of the documentation.", metavar="FOLDER"),
    ] = None,
    data: _Data = None,
    session: Session,
) -> None:
    """Simulate a labeller on the page of dcot label.

    The true labels answer. Tables show the accuracy on all documents by number of labels,
    suggested and at random, and by seed words.
    """
    from dcot.bench import labeller as simulation

    tables = simulation.run(
        corpus,
        documents=documents,
        labels=labels,
        draws=draws,
        data=data,
        docs=docs,
        progress=session.progress,
    )
    _show(session, tables)


def _show(session: Session, tables: list[Table]) -> None:
    if session.json:
        session.emit({table.title: [table.head, *table.rows] for table in tables})
    for table in tables:
        session.result(table.text())


def _end(session: Session, done: Run, lines: list[str]) -> None:
    """Say where the report is; a failed part is an error."""
    failures = [f"{failure.title}: {failure.reason}" for failure in done.failures]
    if session.json:
        session.emit({"report": str(done.report), "notes": lines, "failures": failures})
    for line in lines:
        session.result(line)
    session.say(f"Report: {done.report}")
    for failure in failures:
        write_error(f"failed: {failure}")
    if failures:
        raise typer.Exit(1)
