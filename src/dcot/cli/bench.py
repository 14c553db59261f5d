"""``dcot bench``: the benchmarks of ``dcot.bench``, loaded when one is run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from dcot.cli.frame import command
from dcot.cli.help import Group
from dcot.cli.session import Session

app = typer.Typer(
    cls=Group,
    help="Run the experiments of the paper and ours.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _root() -> None:
    pass


def paper(
    session: Session,
    profile: Annotated[
        str,
        typer.Option(
            "--profile", metavar="quick|full", help="Some minutes, or some hours; can be resumed."
        ),
    ] = "quick",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the results.")
    ] = Path("bench-output"),
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            show_default="DCOT_DATA",
            help="Where the research corpora are; see docs/data.md.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="NAME", show_default="all", help="An experiment; can be repeated."
        ),
    ] = None,
) -> None:
    """Rerun the paper's experiments, and ours, into a report."""
    experiments = import_module("dcot.bench.paper")
    done: Any = experiments.run(profile, output, data, only, session.progress)
    failures = [str(failure) for failure in done.failures]
    facts = {"report": str(done.report), "failures": failures}
    session.done(facts, f"Report: {done.report}")
    for failure in failures:
        session.note(f"Failed: {failure}")


command(app, examples=["dcot bench paper --profile quick -o bench-output"])(paper)
