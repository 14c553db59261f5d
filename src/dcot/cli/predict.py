"""``dcot predict`` and ``dcot suggest``: classes of documents, and what to label next."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.corpus import Batch, Corpus
from dcot.cli.errors import UserError
from dcot.cli.files import (
    SEPARATOR,
    check_output,
    joined,
    keeps_lists,
    load_classifier,
    writing,
)
from dcot.cli.session import Session, counted, table
from dcot.runtime.progress import documents_done
from dcot.runtime.terminal import one_line

if TYPE_CHECKING:
    from dcot import DCoTClassifier

Rows = dict[str, list[Any]]
# names of our columns
_OURS = re.compile(r"id|prediction|probability(_\d+)?|class_\d+|known_words|then")
_SHOWN = 400  # characters of a text in a table, before it is cut to the width of the terminal

EXAMPLES = {
    "predict": (
        "dcot predict model new.csv --text body --id number -o predictions.csv",
        'echo "OPEC cut its output" | dcot predict model - --top 3',
        "dcot predict model new.csv --text body --json",
    ),
    "suggest": (
        "dcot suggest model news.csv --text body --label topic",
        "dcot suggest model news.csv --text body --label topic --id number -k 5 -o next.csv",
    ),
}


def predict(
    model: o.Model,
    corpus: o.Corpora,
    *,
    output: Annotated[
        Path | None,
        o.output(
            "Ends in .parquet, .csv, .tsv, .jsonl, .npz, or .npy (only the predictions).",
            show_default="standard output",
        ),
    ] = None,
    top: Annotated[int, o.option("Show this many classes, the most probable first.", min=1)] = 1,
    keep: Annotated[
        list[str] | None,
        o.option(
            "Column of the input to copy to the output. Can be repeated.",
            metavar="COLUMN",
        ),
    ] = None,
    unknown: Annotated[
        str | None,
        o.option(
            "Prediction for documents without any known word.",
            metavar="LABEL",
            show_default="that of an empty document",
        ),
    ] = None,
    abstain: Annotated[
        float | None,
        o.option(
            "Leave the least certain predictions empty, so that about this share of the others is "
            "right, such as 0.9.",
            metavar="SHARE",
        ),
    ] = None,
    label_separator: Annotated[
        str,
        o.option(
            "Written between several labels of a document, in formats without lists.",
            metavar="TEXT",
        ),
    ] = SEPARATOR,
    reading: o.Reading,
    identifier: o.Identifier = None,
    session: Session,
) -> None:
    """Predict the classes of documents.

    Without -o, predictions go to standard output: as a table on a terminal, as tab-separated lines
    into a pipe, or as JSON lines with --json. The column known_words is false for documents without
    any word that the model knows; their predictions say nothing.
    """
    if output is not None:
        check_output(output, [*corpus, str(model)], array=True)
    source = Corpus(corpus, reading, identifier=identifier, metadata=tuple(keep or ()))
    source.check()
    classifier = load_classifier(model)
    _check_separator(session, output, classifier, label_separator)
    if abstain is not None and not classifier._fitted().exclusive:
        raise UserError(
            f"--abstain needs a classifier with one label per document, and {model} gives several: "
            "leave it out; --top shows the probabilities of the classes"
        )
    least = 0.0 if abstain is None else classifier._answer_from(abstain)
    progress, done, strange = session.progress, 0, 0
    with _destination(session, output, label_separator, named=identifier is not None) as put:
        for batch in source.batches():
            columns = {"id": batch.ids} | _kept(batch, keep or [])
            found = predictions(classifier, batch.texts, top)
            known = classifier.has_known_terms(batch.texts)
            found["known_words"] = known.tolist()
            if abstain is not None:
                for place, share in enumerate(found["probability"]):
                    if share < least or not known[place]:
                        found["prediction"][place] = ""
            for place in (~known).nonzero()[0].tolist():
                strange += 1
                if unknown is not None:
                    several = isinstance(found["prediction"][place], list)
                    found["prediction"][place] = [unknown] if several else unknown
            put(columns | found, batch.texts)
            done += len(batch)
            documents_done(progress, "predict", done)
    progress("predict", 1.0)
    _note_unknown(session, strange, done, " --unknown LABEL marks them.")
    if output is not None:
        facts = {"documents": done, "output": str(output)}
        session.done(facts, f"Wrote predictions for {counted(done, 'document')} to {output}.")


def _check_separator(
    session: Session, output: Path | None, classifier: DCoTClassifier, separator: str
) -> None:
    """Refuse a separator that labels contain, before the work is done."""
    if not separator:
        raise UserError("--label-separator is empty: it must be at least one character, such as |")
    lists = session.json if output is None else keeps_lists(output.suffix.lower())
    if not lists and not classifier._fitted().exclusive:
        joined([str(name) for name in classifier.classes_], separator)


def _note_unknown(session: Session, unknown: int, documents: int, advice: str = "") -> None:
    if unknown:
        session.note(
            f"Note: {unknown:,} of {documents:,} documents have no word that the model knows, so "
            f"their predictions say nothing.{advice}"
        )


def _kept(batch: Batch, names: list[str]) -> Rows:
    """Columns of the input; a name that is taken gets an underscore."""
    found: Rows = {}
    for name in names:
        free = name
        while _OURS.fullmatch(free) or (free != name and free in names):
            free += "_"
        found[free] = [row[name] for row in batch.metadata]
    return found


def predictions(classifier: DCoTClassifier, texts: list[str], top: int = 1) -> Rows:
    """Prediction and probability of each text, and those of the next most probable classes."""
    import numpy as np

    shares = classifier.predict_proba(texts)
    names = np.array([str(name) for name in classifier.classes_], dtype=object)
    order = np.argsort(-shares, axis=1, kind="stable")[:, :top]
    ranked = np.take_along_axis(shares, order, axis=1).astype(float)
    columns: Rows
    if classifier._fitted().exclusive:
        columns = {"prediction": names[order[:, 0]].tolist(), "probability": ranked[:, 0].tolist()}
        first = 1
    else:  # every class above one half, the most probable first
        chosen = [[k for k in np.argsort(-row, kind="stable") if row[k] > 0.5] for row in shares]
        columns = {
            "prediction": [names[found].tolist() for found in chosen],
            "probability": [
                row[found].astype(float).tolist() for row, found in zip(shares, chosen, strict=True)
            ],
        }
        first = 0 if top > 1 else order.shape[1]
    for place in range(first, order.shape[1]):
        columns[f"class_{place + 1}"] = names[order[:, place]].tolist()
        columns[f"probability_{place + 1}"] = ranked[:, place].tolist()
    return columns


@contextmanager
def _destination(
    session: Session, output: Path | None, separator: str, *, named: bool
) -> Iterator[Any]:
    """A function that writes rows: to a file, as JSON lines, as a table, or as plain lines.

    ``named`` says that identifiers were asked for, so that a table shows them even if all of them
    are numbers.
    """
    if output is not None:
        with writing(output, main="prediction", separator=separator) as writer:
            yield lambda columns, texts: writer.write(columns)
    elif session.json:
        yield lambda columns, texts: _emit_rows(session, columns)
    elif sys.stdout.isatty():
        yield lambda columns, texts: _show_rows(session, columns, texts, named)
    else:
        yield _Lines(separator)


def _emit_rows(session: Session, columns: Rows) -> None:
    for row in zip(*columns.values(), strict=True):
        session.emit(dict(zip(columns, row, strict=True)))
    sys.stdout.flush()


def _show_rows(session: Session, columns: Rows, texts: list[str], named: bool) -> None:
    # a text says more than its number
    shown = [" ".join(text[:_SHOWN].split()) for text in texts]
    named = named or any(not isinstance(name, int) for name in columns["id"])
    more = [name for name in columns if name != "text" and not _OURS.fullmatch(name)]
    as_given = {name: list(map(_as_given, columns[name])) for name in ("id", *more)}
    values = {**columns, **as_given, "text": shown, "then": _others(columns)}
    heads = [*(["id"] if named else []), *more, "text", "prediction", "probability"]
    heads += ["then"] if any(values["then"]) else []
    heads += [] if all(values.get("known_words", [])) else ["known_words"]
    rows = zip(*(map(_plain, values[name]) for name in heads), strict=True)
    session.show(table(heads, rows, cut="text"))


def _others(columns: Rows) -> list[str]:
    """The classes after the first, each with its probability, in one cell."""
    names = [name for name in columns if name.startswith("class_")]
    pairs = [(columns[name], columns[name.replace("class", "probability")]) for name in names]
    return [
        ", ".join(f"{classes[row]} {shares[row]:.3f}" for classes, shares in pairs)
        for row in range(len(columns["id"]))
    ]


def _as_given(value: Any) -> Any:
    """A whole number of the input as it is there, such as a year, without commas."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _plain(value: Any) -> Any:
    """A value as one cell of a table for people."""
    if isinstance(value, list):
        return ", ".join(f"{one:.3f}" if isinstance(one, float) else str(one) for one in value)
    return value


class _Lines:
    """Writes tab-separated lines for other programs; the first line has the names."""

    def __init__(self, separator: str) -> None:
        self.separator, self.first = separator, True

    def __call__(self, columns: Rows, texts: list[str]) -> None:
        if self.first:
            self._write(columns)
            self.first = False
        for row in zip(*columns.values(), strict=True):
            self._write(joined(_short(value), self.separator) for value in row)
        sys.stdout.flush()

    def _write(self, cells: Iterable[Any]) -> None:
        sys.stdout.write("\t".join(" ".join(one_line(cell).split()) for cell in cells) + "\n")


def _short(value: Any) -> Any:
    """A value as in a .tsv file, but a number with few digits; lists have such values."""
    if isinstance(value, list):
        return [_short(one) for one in value]
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else value


def suggest(
    model: o.Model,
    corpus: o.Corpora,
    *,
    k: o.K = 10,
    output: o.TableOut = None,
    reading: o.Reading,
    labels: o.Labels,
    identifier: o.Identifier = None,
    session: Session,
) -> None:
    """Suggest documents to label next.

    The corpus has the labelled documents and those to choose from, as for dcot train. Suggested
    documents are the ones a label would help most with. They are harder than the rest, so do not
    measure accuracy on them. After labelling them, run dcot refit or dcot train.
    """
    if output is not None:
        check_output(output, [*corpus, str(model)])
    source = Corpus(corpus, reading, labels, identifier)
    source.check()
    classifier = load_classifier(model)
    separator = labels.label_separator or SEPARATOR
    documents = source.whole()
    given = source.checked_labels(documents)
    open_rows = [row for row, found in enumerate(given) if found is None]
    if not open_rows:
        raise UserError(f"{source.name}: every document has a label, so none can be suggested")
    labelled = [row for row, found in enumerate(given) if found is not None]
    classifier.refit([documents.texts[row] for row in labelled], [given[row] for row in labelled])
    _check_separator(session, output, classifier, separator)
    texts = [documents.texts[row] for row in open_rows]
    chosen = [int(one) for one in classifier.suggest(texts, min(k, len(texts)))]
    chosen_texts = [texts[one] for one in chosen]
    columns = {"id": [documents.ids[open_rows[one]] for one in chosen]}
    columns |= predictions(classifier, chosen_texts)
    with _destination(session, output, separator, named=identifier is not None) as put:
        put(columns | ({"text": chosen_texts} if output or session.json else {}), chosen_texts)
    unknown = int((~classifier.has_known_terms(chosen_texts)).sum())
    _note_unknown(session, unknown, len(chosen))
    if output is not None:
        facts = {"documents": len(chosen), "output": str(output)}
        session.done(facts, f"Wrote {counted(len(chosen), 'document')} to label to {output}.")
