"""``dcot similar``: the words that mean what a word means."""

from __future__ import annotations

from typing import Annotated

import typer

from dcot.cli import options as o
from dcot.cli.explain import READABLE
from dcot.cli.session import Session, table

EXAMPLES = ("dcot similar model nasdaq", "dcot similar model stocks --cohort -k 5")


def similar(
    model: o.Model,
    word: Annotated[
        str, typer.Argument(metavar="WORD", show_default=False, help="A word of the model.")
    ],
    cohort: Annotated[
        bool,
        o.option("--cohort", help="Show the words that are translated into this prototype."),
    ] = False,
    layer: Annotated[
        int | None,
        o.option(
            "--layer", help="Layer to compare in.", min=1, metavar="INT", show_default="the last"
        ),
    ] = None,
    k: o.K = 10,
    json: o.Json = False,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    debug: o.Debug = False,
) -> None:
    """Show the words that mean the same as a word."""
    session = Session.start(json, quiet, seed, threads, debug)
    from dcot.cli.models import load_model

    loaded = load_model(model, *READABLE, hint="use the model it was made with")
    find = loaded.cohort if cohort else loaded.similar_terms
    found = find(word, k, layer=layer)
    if json:
        terms = [{"term": term, found.measure: value} for term, value in found]
        session.emit({"word": word, "title": found.title, "terms": terms})
        return
    session.show(found.title, table(["term", found.measure], list(found)))
