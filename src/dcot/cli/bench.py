"""``dcot bench``: the benchmarks of ``dcot.bench``, loaded when one is run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from dcot.cli import options as o
from dcot.cli.session import Session

PAPER_EXAMPLES = ("dcot bench paper --profile quick -o bench-output",)
DEFAULTS_EXAMPLES = ("dcot bench defaults --only words --corpus everyday",)
COMPARE_EXAMPLES = ("dcot bench compare test.csv --text body --label topic --budgets 4 --draws 1",)

_Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        readable=False,
        metavar="FOLDER",
        show_default="DCOT_DATA",
        help="Where the research corpora are.",
    ),
]
_Encoder = Annotated[
    Path | None,
    typer.Option(
        "--encoder",
        readable=False,
        metavar="FOLDER",
        show_default=False,
        help="A sentence-transformers model, as one more rival.",
    ),
]
_Static = Annotated[
    bool, typer.Option("--static-embeddings", help="The vectors of wordllama, as a rival.")
]
_Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        metavar="INT",
        show_default="one per core",
        help="Processes at a time.",
    ),
]


def _budgets(text: str) -> list[int | str]:
    """Numbers of labels, and the word all.

    >>> _budgets("20,all")
    [20, 'all']
    """
    parts = o.names(text)
    return [one if one == "all" else int(o.number(one, 1, whole=True)) for one in parts]


def paper(
    profile: Annotated[
        str,
        typer.Option("--profile", metavar="quick|full", help="Minutes, or hours; can be resumed."),
    ] = "quick",
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", readable=False, metavar="FOLDER", help="The folder for the results."
        ),
    ] = Path("bench-output"),
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="NAME", show_default="all", help="An experiment; can be repeated."
        ),
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option(
            "--word", metavar="WORD", show_default=False, help="One more word; can be repeated."
        ),
    ] = None,
    docs: Annotated[
        Path | None,
        typer.Option(
            "--docs",
            readable=False,
            metavar="FOLDER",
            show_default=False,
            help="Tables and figures as Markdown and SVG, too.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be computed, and for how long.")
    ] = False,
    workers: _Workers = None,
    data: _Data = None,
    encoder: _Encoder = None,
    static_embeddings: _Static = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    debug: o.Debug = False,
) -> None:
    """Rerun the paper's experiments, and ours, into a report.

    Finished parts are kept in the folder and not computed again: an interrupted run is resumed.
    """
    session = Session.start(json, quiet, seed, threads, debug)
    experiments = import_module("dcot.bench.paper")
    options = {
        "encoder": encoder,
        "static_embeddings": static_embeddings,
        "words": tuple(word or ()),
        "workers": workers,
    }
    if dry_run:
        session.say(experiments.dry_run(profile, output, data, only, **options).text())
        return
    done: Any = experiments.run(profile, output, data, only, session.progress, docs=docs, **options)
    _end(session, done, list(done.results.notes))


def compare(
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            show_default=False,
            help="A table, a folder of folders of .txt files, or a known corpus.",
        ),
    ],
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text",
            metavar="COLUMN",
            show_default=False,
            help="The column with the text; several are joined. [text]",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label", metavar="COLUMN", show_default=False, help="The column with the label."
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            metavar="COLUMN",
            show_default=False,
            help="The column that says train, test or unlabelled.",
        ),
    ] = None,
    test_share: Annotated[
        float,
        typer.Option(
            "--test-share", metavar="NUMBER", help="Share to test on, where there is no split."
        ),
    ] = 0.3,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            metavar="NAME",
            show_default="the quick ones",
            help="A system to compare; can be repeated.",
        ),
    ] = None,
    budgets: Annotated[
        Any,
        typer.Option(
            "--budgets",
            metavar="NUMBERS",
            parser=_budgets,
            show_default="20 to 2000",
            help="Numbers of labels, with commas; all is the slowest by far.",
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option("--draws", min=1, metavar="INT", help="How often labels are drawn.")
    ] = 5,
    svm: Annotated[
        bool, typer.Option("--svm", help="Try a linear SVM on the features of each system, too.")
    ] = False,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", readable=False, metavar="FOLDER", help="The folder for the results."
        ),
    ] = Path("compare-output"),
    workers: _Workers = None,
    data: _Data = None,
    encoder: _Encoder = None,
    static_embeddings: _Static = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    debug: o.Debug = False,
) -> None:
    """Compare dCoT with its rivals on a corpus, with few labels.

    Labels are hidden and tested on, so the corpus needs many. An interrupted run is resumed.
    """
    session = Session.start(json, quiet, seed, threads, debug)
    comparison = import_module("dcot.bench.compare")
    done: Any = comparison.run(
        corpus,
        text=text,
        label=label,
        split=split,
        test_share=test_share,
        out=output,
        data=data,
        systems=system,
        draws=draws,
        svm=svm,
        workers=workers,
        encoder=encoder,
        static_embeddings=static_embeddings,
        progress=session.progress,
        **({} if budgets is None else {"budgets": budgets}),
    )
    tables = list(done.results.notes)
    few_labels = import_module("dcot.bench.report.tables").TABLES["few-labels"]
    tables += [table.text() for table in few_labels(done.results)]
    _end(session, done, tables)


def defaults(
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="settings|words|precision",
            show_default="all",
            help="A study; can be repeated.",
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus", metavar="NAME", show_default="all", help="A corpus; can be repeated."
        ),
    ] = None,
    docs: Annotated[
        Path | None,
        typer.Option(
            "--docs",
            readable=False,
            metavar="FOLDER",
            show_default=False,
            help="Write the tables as Markdown, too.",
        ),
    ] = None,
    data: _Data = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    debug: o.Debug = False,
) -> None:
    """Rerun the study behind the default settings, on training labels.

    Tables show differences to the default in points of accuracy.
    """
    session = Session.start(json, quiet, seed, threads, debug)
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
