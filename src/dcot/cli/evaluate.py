"""``dcot evaluate``: how good a classifier is on labelled documents."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dcot.cli import options as o
from dcot.cli.frame import command
from dcot.cli.metrics import Evaluation
from dcot.cli.metrics import evaluate as compare
from dcot.cli.session import Session, table


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(
        app,
        panel="Classes",
        examples=["dcot evaluate model test.csv --text body --label topic"],
        name="evaluate",
    )(evaluate_)


def evaluate_(
    session: Session,
    model: o.Model,
    corpus: o.Corpora,
    text: o.Text = None,
    label: o.Label = None,
    label_separator: o.LabelSeparator = None,
    unlabelled_label: o.UnlabelledLabel = None,
    confusions: Annotated[
        int,
        typer.Option("--confusions", min=0, metavar="INT", help="Show so many confused pairs."),
    ] = 10,
    format: o.Format = None,
    errors: o.Errors = o.ErrorsName.STRICT,
) -> None:
    """Compare predictions with the labels of documents.

    Documents without a label are left out. Labels that the model has never seen count as errors.
    """
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import load_model

    source = Corpus(
        corpus,
        text=text,
        label=label,
        label_separator=label_separator,
        unlabelled=unlabelled_label,
        format=format,
        errors=errors,
        part="test",
    )
    source.check()
    classifier = load_model(model, "DCoTClassifier", hint="make one with dcot train")
    found = evaluation(classifier, source)
    if session.json:
        session.emit(found.as_json())
    else:
        show_evaluation(session, found, confusions)


def evaluation(classifier: Any, source: Any) -> Evaluation:
    """Scores on a corpus, read by and by."""
    from dcot.cli.predict import predictions
    from dcot.cli.train import checked_labels

    truth: list[frozenset[str]] = []
    predicted: list[frozenset[str]] = []
    unlabelled = 0
    for batch in source.batches():
        kept = [place for place, label in enumerate(batch.labels) if label is not None]
        unlabelled += len(batch) - len(kept)
        if not kept:
            continue
        truth += [_as_set(batch.labels[place]) for place in kept]
        found = predictions(classifier, [batch.texts[place] for place in kept])
        predicted += [_as_set(label) for label in found["prediction"]]
    if not truth:
        checked_labels([None], source)
    known = [str(name) for name in classifier.classes_]
    return compare(truth, predicted, known, unlabelled)


def _as_set(label: Any) -> frozenset[str]:
    return frozenset(label if isinstance(label, list) else [label])


def show_evaluation(session: Session, found: Evaluation, confusions: int = 10) -> None:
    """For a person."""
    low, high = found.interval
    session.show(_sentence(f"{found.documents:,} labelled documents", found.unlabelled))
    session.show(
        f"Accuracy {100 * found.accuracy:.1f} % "
        f"(95 % interval {100 * low:.1f} – {100 * high:.1f}), "
        f"macro-F1 {100 * found.macro_f1:.1f} %, micro-F1 {100 * found.micro_f1:.1f} %."
    )
    if found.unseen:
        session.show(_unseen(found.unseen))
    rows = [
        (score.label, score.documents, score.precision, score.recall, score.f1)
        for score in found.classes
    ]
    session.show(table(["class", "documents", "precision", "recall", "F1"], rows))
    if found.confusions and confusions:
        session.show(
            table(["most confused", "taken for", "documents"], found.confusions[:confusions])
        )


def _sentence(documents: str, unlabelled: int) -> str:
    return documents + (f", {unlabelled:,} without a label left out." if unlabelled else ".")


def _unseen(unseen: dict[str, int]) -> Any:
    from rich.text import Text

    names = ", ".join(list(unseen)[:5]) + (", …" if len(unseen) > 5 else "")
    count = sum(unseen.values())
    return Text(f"{count:,} of them have labels that the model has never seen ({names}): errors.")
