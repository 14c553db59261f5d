"""``dcot transform``: features of documents, to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dcot.cli import options as o
from dcot.cli.frame import command
from dcot.cli.session import Session


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(
        app,
        panel="Features",
        examples=[
            "dcot transform model news.txt -o features.npy",
            "dcot transform model news.csv --text body --id number -o features.parquet",
        ],
    )(transform)


def transform(
    session: Session,
    model: o.Model,
    corpus: o.Corpora,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            readable=False,
            metavar="FILE",
            show_default=False,
            help="Ends in .parquet, .csv, .tsv or .jsonl (features by name), .npz, or .npy (the "
            "matrix alone).",
        ),
    ],
    text: o.Text = None,
    identifier: o.Identifier = None,
    format: o.Format = None,
    errors: o.Errors = o.ErrorsName.STRICT,
) -> None:
    """Turn documents into features.

    Documents are read, transformed and written by and by; parquet and npz are kept in memory until
    the end.
    """
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import load_model
    from dcot.cli.output import check_output, writing
    from dcot.cli.session import Counter

    check_output(output, corpus)
    source = Corpus(corpus, text=text, identifier=identifier, format=format, errors=errors)
    source.check()
    vectorizer = load_model(model, "DCoTVectorizer", hint="make one with dcot fit")
    names = [str(name) for name in vectorizer.get_feature_names_out()]
    vectorizer.set_output(transform="default")
    with Counter(session, "documents") as counter, writing(output, names) as writer:
        for batch in source.batches():
            writer.write({"id": batch.ids}, vectorizer.transform(batch.texts))
            counter.add(len(batch))
    facts: dict[str, Any] = {
        "documents": counter.total,
        "features": len(names),
        "output": str(output),
    }
    session.done(
        facts, f"Wrote {len(names):,} features of {counter.total:,} documents to {output}."
    )
