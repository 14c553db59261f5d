"""``dcot fit``: learn features from documents without labels."""

from __future__ import annotations

import time
from typing import Any

import typer

from dcot.cli import options as o
from dcot.cli.frame import command
from dcot.cli.session import Session
from dcot.cli.settings import given, vectorizer_options


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(
        app,
        panel="Features",
        options=vectorizer_options,
        examples=[
            "dcot fit news.txt -o model",
            "dcot fit news.csv --text body --n-prototypes 1000 --noise 0.9,0.8 -o model",
            "zcat news.jsonl.gz | dcot fit - --text body -o model --precision int8",
            "dcot fit news.txt --dask threads -o model",
        ],
    )(fit)


def fit(
    session: Session,
    corpus: o.Corpora,
    output: o.ModelOut,
    text: o.Text = None,
    format: o.Format = None,
    errors: o.Errors = o.ErrorsName.STRICT,
    precision: o.Precision = None,
    dask: o.Dask = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Learn features from documents; no labels needed.

    The more documents the better. The model turns texts into features (dcot transform), tells what
    words mean (explain, similar) and searches (index).
    """
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import check_target, save_model

    check_target(output)
    documents = Corpus(corpus, text=text, format=format, errors=errors).texts()
    from dcot import DCoTVectorizer

    start = time.perf_counter()
    model = DCoTVectorizer(
        **{"random_state": session.seed, **given(settings)}, verbose=session.verbose
    )
    if dask is None:
        model.fit(documents)
    else:
        _fit_on(dask, model, documents)
    seconds = time.perf_counter() - start
    size = save_model(model, output, precision)
    facts = {
        "model": str(output),
        "kind": "DCoTVectorizer",
        "documents": int(model.dcot_.n_documents_),
        "terms": int(model.dcot_.n_features_in_),
        "prototypes": len(model.prototypes_),
        "layers": len(model.layers_),
        "features": int(model.dcot_._n_features_out),
        "solver": model.dcot_.solver_,
        "loss": [float(value) for value in model.loss_],
        "seconds": round(seconds, 3),
        "bytes": size,
    }
    session.done(facts, _summary(facts))


def _fit_on(cluster: str, model: Any, documents: Any) -> None:
    from dcot import distributed
    from dcot.errors import InvalidInputError
    from dcot.text.readers import TextFiles

    if not isinstance(documents, TextFiles):
        raise InvalidInputError(
            "--dask takes files, which workers can read, not standard input or a known corpus: "
            "save the documents to files first"
        )
    distributed.fit(model, documents, cluster=None if cluster == "local" else cluster)


def _summary(facts: dict[str, Any]) -> str:
    from dcot.runtime.resources import format_bytes

    layers = f"{facts['layers']} layer{'s' if facts['layers'] != 1 else ''}"
    return (
        f"Learned from {facts['documents']:,} documents in {facts['seconds']:.1f} s: "
        f"{facts['terms']:,} terms, {facts['prototypes']:,} prototypes, {layers}, "
        f"{facts['features']:,} features.\n"
        f"Saved to {facts['model']} ({format_bytes(facts['bytes'])})."
    )
