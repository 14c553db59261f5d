"""``dcot suggest``: which documents to label next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session

EXAMPLES = {
    "suggest": (
        "dcot suggest model news.csv --text body --label topic",
        "dcot suggest model news.csv --text body --label topic --id number -k 5 -o next.csv",
    )
}


def suggest(
    model: o.Model,
    corpus: o.Corpora,
    *,
    k: o.K = 10,
    output: Annotated[
        Path | None,
        o.output("Ends in .parquet, .csv, .tsv, .jsonl or .npz.", show_default="standard output"),
    ] = None,
    reading: o.Reading,
    labels: o.Labels,
    identifier: o.Identifier = None,
    session: Session,
) -> None:
    """Suggest documents to label next.

    The corpus has the labelled documents and those to choose from, as for dcot train. Suggested
    documents are uncertain and tell most about the others: they are harder than the rest, so do
    not measure accuracy on them. After labelling them, run dcot refit or dcot train.
    """
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import load_model
    from dcot.cli.output import check_output
    from dcot.cli.predict import destination, predictions
    from dcot.cli.train import checked_labels

    if output is not None:
        check_output(output, [*corpus, str(model)])
    source = Corpus(corpus, reading, labels, identifier)
    source.check()
    classifier = load_model(model, "DCoTClassifier", hint="make one with dcot train")
    documents = source.whole()
    given = checked_labels(documents.labels, source)
    open_rows = [row for row, found in enumerate(given) if found is None]
    if not open_rows:
        raise UserError(f"{source.name}: every document has a label: there is nothing to suggest")
    labelled = [row for row, found in enumerate(given) if found is not None]
    classifier.refit([documents.texts[row] for row in labelled], [given[row] for row in labelled])
    texts = [documents.texts[row] for row in open_rows]
    chosen = [int(one) for one in classifier.suggest(texts, min(k, len(texts)))]
    chosen_texts = [texts[one] for one in chosen]
    columns = {"id": [documents.ids[open_rows[one]] for one in chosen]}
    columns |= predictions(classifier, chosen_texts)
    with destination(session, output) as put:
        put(columns | ({"text": chosen_texts} if output or session.json else {}), chosen_texts)
    strange = int((~classifier.has_known_terms(chosen_texts)).sum())
    if strange:
        session.note(
            f"Note: {strange:,} of {len(chosen):,} documents have no word that the model knows, so "
            "their predictions say nothing."
        )
    if output is not None:
        facts = {"documents": len(chosen), "output": str(output)}
        session.done(facts, f"Wrote {len(chosen):,} documents to label to {output}.")
