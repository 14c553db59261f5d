"""``dcot train``: a classifier from documents of which some have labels."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict
from typing import Annotated, Any

import typer

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.frame import command
from dcot.cli.session import Session, table
from dcot.cli.settings import classifier_options, given, is_of_classifier, is_tried


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(
        app,
        panel="Classes",
        options=classifier_options,
        examples=[
            "dcot train news.csv --text body --label topic -o model",
            "dcot train news.csv --text body --label topic --unlabelled news.txt -o model",
            "dcot train news.jsonl --text body --label topic --test test.jsonl -o model",
        ],
    )(train)


def train(
    session: Session,
    corpus: o.Corpora,
    output: o.ModelOut,
    text: o.Text = None,
    label: o.Label = None,
    label_separator: o.LabelSeparator = None,
    unlabelled_label: o.UnlabelledLabel = None,
    format: o.Format = None,
    errors: o.Errors = o.ErrorsName.STRICT,
    unlabelled: Annotated[
        list[str] | None,
        typer.Option(
            "--unlabelled",
            metavar="CORPUS",
            show_default=False,
            help="More documents, whose labels are not known or not used; can be repeated.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="CORPUS",
            show_default=False,
            help="Evaluate on these documents afterwards; the columns have the same names.",
        ),
    ] = None,
    precision: o.Precision = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Learn to classify from few labels and many documents.

    An empty label means: without one. Documents without labels are learned from, too. The settings
    are chosen by leave-one-out on the labelled documents, and an honest estimate of the accuracy is
    printed beside that of TF-IDF.
    """
    from dcot.cli.corpus import Corpus
    from dcot.cli.evaluate import evaluation, show_evaluation
    from dcot.cli.models import check_target, save_model

    check_target(output)
    columns: dict[str, Any] = {
        "text": text,
        "label": label,
        "format": format,
        "errors": errors,
        "label_separator": label_separator,
        "unlabelled": unlabelled_label,
    }
    source = Corpus(corpus, part="train", **columns)
    tested = None if test is None else Corpus([test], part="test", **columns)
    if tested is not None:
        tested.check()
    documents = source.whole()
    labels = checked_labels(documents.labels, source)
    more = Corpus(unlabelled, **{**columns, "label": None}).whole().texts if unlabelled else None
    start = time.perf_counter()
    model = _classifier(session, given(settings)).fit(documents.texts, labels, unlabelled=more)
    seconds = time.perf_counter() - start
    size = save_model(model, output, precision)
    facts = _facts(model) | {"model": str(output), "seconds": round(seconds, 3), "bytes": size}
    if not (session.json or session.quiet):
        _show(session, model, facts)
    if tested is not None:
        found = evaluation(model, tested)
        facts["test"] = found.as_json()
        if not session.json:
            session.say(f"On {tested.name}:")
            show_evaluation(session, found)
    if session.json:
        session.emit(facts)


def checked_labels(labels: list[Any], source: Any) -> list[Any]:
    """Labels of one kind, of which there are some."""
    if all(label is None for label in labels):
        where = f"the column {source.label!r}" if source.label else "the names of its folders"
        advice = "" if source.label else "; name the column with --label"
        raise UserError(
            f"{source.name}: no document has a label in {where}: label a few of each class{advice}"
        )
    if any(isinstance(label, list) for label in labels):
        return [[label] if isinstance(label, str) else label for label in labels]
    return labels


def _classifier(session: Session, settings: dict[str, Any]) -> Any:
    from dcot import DCoTClassifier, DCoTVectorizer

    grid = {name: values for name, values in settings.items() if is_tried(name)}
    own = {
        name: value
        for name, value in settings.items()
        if is_of_classifier(name) and name not in grid
    }
    texts = {name: value for name, value in settings.items() if name not in {*grid, *own}}
    return DCoTClassifier(
        **own,
        grid=grid or None,
        vectorizer=DCoTVectorizer(**texts) if texts else None,
        random_state=session.seed,
        verbose=session.verbose,
    )


def _facts(model: Any) -> dict[str, Any]:
    estimate = model.estimate_
    scores = {name: getattr(estimate, name) for name in ("dcot", "tfidf", "majority")}
    return {
        "kind": "DCoTClassifier",
        "documents": int(model.n_documents_),
        "labelled": int(model.n_labelled_),
        "classes": [str(name) for name in model.classes_],
        "setting": asdict(model.setting_),
        "settings_tried": len(model.cv_results_["params"]),
        "calibrated": bool(model.calibrated_),
        "estimate": {
            "held_out": estimate.n,
            **{
                name: {key: value for key, value in asdict(score).items() if key != "name"}
                for name, score in scores.items()
            },
        },
    }


def _show(session: Session, model: Any, facts: dict[str, Any]) -> None:
    from rich.text import Text

    from dcot.runtime.resources import format_bytes

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the text says it too
        summary, *others = model.report().split("\n\n")
    estimate = model.estimate_
    rows = [_row(score) for score in (estimate.dcot, estimate.tfidf, estimate.majority)]
    session.show(
        Text(summary),
        table(["", "accuracy", "95 % interval", "macro-F1", "95 % interval"], rows),
        *(Text(paragraph + "\n") for paragraph in others[1:]),
    )
    session.say(f"Saved to {facts['model']} ({format_bytes(facts['bytes'])}).")


def _row(score: Any) -> list[str]:
    accuracy = [_percent(score.accuracy), _span(score.accuracy_interval)]
    return [score.name, *accuracy, _percent(score.macro_f1), _span(score.macro_f1_interval)]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _span(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.1f} – {100 * interval[1]:.1f}"
