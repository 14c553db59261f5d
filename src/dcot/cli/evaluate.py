"""``dcot evaluate``: how good a classifier is on labelled documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.corpus import Corpus
from dcot.cli.files import load_classifier
from dcot.cli.predict import predictions
from dcot.cli.session import Session, counted, table

if TYPE_CHECKING:
    from dcot import DCoTClassifier

EXAMPLES = {"evaluate": ("dcot evaluate model test.csv --text body --label topic",)}

Labels = frozenset[str]
Scores = dict[str, Any]  # as --json shows them


def evaluate(
    model: o.Model,
    corpus: o.Corpora,
    *,
    confusions: Annotated[
        int, o.option("Show at most this many pairs of confused classes.", min=0)
    ] = 10,
    reading: o.Reading,
    labels: o.Labels,
    session: Session,
) -> None:
    """Compare predictions with the labels of documents.

    Unlabelled documents are skipped. Labels that the model has never seen count as errors. Use
    documents that the model was not trained on: on others the accuracy is too high.
    """
    source = Corpus(corpus, reading, labels, part="test")
    source.check()
    classifier = load_classifier(model)
    found, _ = evaluation(classifier, source)
    if session.json:
        session.emit(found)
    else:
        show_evaluation(session, found, confusions)
    _note_if_too_good(session, found, classifier)


def _note_if_too_good(session: Session, found: Scores, classifier: DCoTClassifier) -> None:
    """Note an accuracy far above the one expected: a model does not know its documents again."""
    estimate = classifier.estimate_
    if not estimate.n or estimate.one_per_class:
        return
    low, high = estimate.dcot.accuracy_interval
    if found["accuracy_interval"][0] > high:
        session.note(
            f"Note: when it was trained, the model was expected to reach {100 * low:.0f} to "
            f"{100 * high:.0f} %. If it was trained on some of these documents, the accuracy is "
            "too high: evaluate on others."
        )


def evaluation(
    classifier: DCoTClassifier, source: Corpus, trained_on: set[str] | None = None
) -> tuple[Scores, int]:
    """Scores on a corpus, read in batches, and how many of its documents are ``trained_on``."""
    truth: list[Labels] = []
    predicted: list[Labels] = []
    unlabelled = same = unknown = 0
    for batch in source.batches():
        kept = [place for place, label in enumerate(batch.labels) if label is not None]
        unlabelled += len(batch) - len(kept)
        if not kept:
            continue
        texts = [batch.texts[place] for place in kept]
        same += sum(text in (trained_on or ()) for text in texts)
        unknown += int((~classifier.has_known_terms(texts)).sum())
        truth += [_as_set(batch.labels[place]) for place in kept]
        predicted += [_as_set(label) for label in predictions(classifier, texts)["prediction"]]
    if not truth:
        raise source.no_labels()
    known = [str(name) for name in classifier.classes_]
    counts = {"documents": len(truth), "unlabelled": unlabelled, "without_known_words": unknown}
    return counts | scores_of(truth, predicted, known), same


def _as_set(label: Any) -> Labels:
    return frozenset(label if isinstance(label, list) else [label])


def scores_of(truth: Sequence[Labels], predicted: Sequence[Labels], known: Sequence[str]) -> Scores:
    """Compare predicted labels with the true ones; ``known`` are the classes of the model.

    Macro-F1 is the mean over the classes of the documents, and micro-F1 counts all pairs of
    document and label together. Classes and confusions have the most frequent first.
    """
    from dcot.classifier.estimate import wilson

    accuracy = sum(a == b for a, b in zip(truth, predicted, strict=True)) / len(truth)
    occurs = Counter(label for labels in truth for label in labels)
    claimed = Counter(label for labels in predicted for label in labels)
    right = Counter(label for a, b in zip(truth, predicted, strict=True) for label in a & b)
    classes: list[dict[str, Any]] = [
        {
            "label": label,
            "precision": right[label] / claimed[label] if claimed[label] else 0.0,
            "recall": right[label] / occurs[label] if occurs[label] else 0.0,
            "f1": 2 * right[label] / (claimed[label] + occurs[label]),
            "documents": occurs[label],
        }
        for label in sorted(occurs | claimed, key=lambda label: (-occurs[label], label))
    ]
    present = [score["f1"] for score in classes if score["documents"]]
    return {
        "accuracy": accuracy,
        "accuracy_interval": list(wilson(accuracy, len(truth))),
        "macro_f1": sum(present) / len(present),
        "micro_f1": 2 * right.total() / (occurs.total() + claimed.total()),
        "classes": classes,
        "confusions": _confusions(truth, predicted),
        "unseen_labels": {name: occurs[name] for name in sorted(occurs) if name not in set(known)},
    }


def _confusions(truth: Sequence[Labels], predicted: Sequence[Labels]) -> list[dict[str, Any]]:
    """How often one class was predicted for another, in documents with one label and prediction."""
    pairs = Counter(
        (next(iter(a)), next(iter(b)))
        for a, b in zip(truth, predicted, strict=True)
        if a != b and len(a) == len(b) == 1
    )
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    return [
        {"true": true, "predicted": wrong, "documents": count} for (true, wrong), count in ranked
    ]


def show_evaluation(session: Session, found: Scores, confusions: int = 10) -> None:
    """Show scores to a person."""
    low, high = found["accuracy_interval"]
    skipped = found["unlabelled"]
    session.show(
        counted(found["documents"], "labelled document")
        + (f", {skipped:,} unlabelled ones skipped." if skipped else ".")
    )
    session.show(
        f"Accuracy {100 * found['accuracy']:.1f} % "
        f"(95 % interval {100 * low:.1f} – {100 * high:.1f}), "
        f"macro-F1 {100 * found['macro_f1']:.1f} %, micro-F1 {100 * found['micro_f1']:.1f} %."
    )
    if unseen := found["unseen_labels"]:
        names = ", ".join(list(unseen)[:5]) + (", …" if len(unseen) > 5 else "")
        session.show(
            f"{sum(unseen.values()):,} of them have labels that the model has never seen "
            f"({names}): errors."
        )
    if found["without_known_words"]:
        session.show(
            f"{found['without_known_words']:,} of them have no word that the model knows: "
            "their predictions are guesses."
        )
    rows = [
        [score[name] for name in ("label", "documents", "precision", "recall", "f1")]
        for score in found["classes"]
    ]
    session.show(table(["class", "documents", "precision", "recall", "F1"], rows))
    if found["confusions"] and confusions:
        pairs = [list(pair.values()) for pair in found["confusions"][:confusions]]
        session.show(table(["true class", "predicted", "documents"], pairs))
