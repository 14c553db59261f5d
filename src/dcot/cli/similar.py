"""``dcot similar``: the words that mean what a word means."""

from __future__ import annotations

from typing import Annotated

from dcot.cli import options as o
from dcot.cli.explain import READABLE
from dcot.cli.session import Session, table

EXAMPLES = ("dcot similar model nasdaq", "dcot similar model stocks --cohort -k 5")


def similar(
    model: o.Model,
    word: Annotated[str, o.argument("A word of the model.", "WORD")],
    *,
    cohort: Annotated[
        bool, o.option("Show the words that are translated into this prototype.", "--cohort")
    ] = False,
    layer: Annotated[
        int | None, o.option("Layer to compare in.", min=1, show_default="the last")
    ] = None,
    k: o.K = 10,
    session: Session,
) -> None:
    """Show the words that mean the same as a word."""
    from dcot.cli.models import load_model

    loaded = load_model(model, *READABLE, hint="use the model it was made with")
    find = loaded.cohort if cohort else loaded.similar_terms
    found = find(word, k, layer=layer)
    if session.json:
        terms = [{"term": term, found.measure: value} for term, value in found]
        session.emit({"word": word, "title": found.title, "terms": terms})
        return
    session.show(found.title, table(["term", found.measure], list(found)))
