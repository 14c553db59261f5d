"""``dcot evaluate``: how good a classifier is on labelled documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.session import Session, table

if TYPE_CHECKING:
    from dcot import DCoTClassifier
    from dcot.cli.corpus import Corpus

EXAMPLES = {"evaluate": ("dcot evaluate model test.csv --text body --label topic",)}

Labels = frozenset[str]


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
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import load_model

    source = Corpus(corpus, reading, labels, part="test")
    source.check()
    classifier = load_model(model, "DCoTClassifier", hint="make one with dcot train")
    found, _ = evaluation(classifier, source)
    if session.json:
        session.emit(found.as_json())
    else:
        show_evaluation(session, found, confusions)


def evaluation(
    classifier: DCoTClassifier, source: Corpus, trained_on: set[str] | None = None
) -> tuple[Evaluation, int]:
    """Scores on a corpus, read in batches; how many of its documents are ``trained_on``."""
    from dcot.cli.predict import predictions
    from dcot.cli.train import checked_labels

    truth: list[Labels] = []
    predicted: list[Labels] = []
    unlabelled = same = strange = 0
    for batch in source.batches():
        kept = [place for place, label in enumerate(batch.labels) if label is not None]
        unlabelled += len(batch) - len(kept)
        if not kept:
            continue
        texts = [batch.texts[place] for place in kept]
        same += sum(text in (trained_on or ()) for text in texts)
        strange += int((~classifier.has_known_terms(texts)).sum())
        truth += [_as_set(batch.labels[place]) for place in kept]
        predicted += [_as_set(label) for label in predictions(classifier, texts)["prediction"]]
    if not truth:
        checked_labels([None], source)
    known = [str(name) for name in classifier.classes_]
    return scores_of(truth, predicted, known, unlabelled, strange), same


def _as_set(label: Any) -> Labels:
    return frozenset(label if isinstance(label, list) else [label])


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one class, and how many documents have it."""

    label: str
    precision: float
    recall: float
    f1: float
    documents: int


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model on labelled documents.

    Attributes
    ----------
    documents : labelled ones, which all scores are about
    unlabelled : documents without a label, which are skipped
    unknown : labelled documents without any word that the model knows: guesses
    accuracy, interval : share of documents with the right labels, and its 95 % interval (Wilson)
    macro_f1 : mean over the classes that the documents have
    micro_f1 : of all pairs of document and label together
    classes : a score for each, the most frequent first
    confusions : true class, predicted class, documents; the most frequent first
    unseen : labels that the model has never seen, with their documents: all count as errors
    """

    documents: int
    unlabelled: int
    unknown: int
    accuracy: float
    interval: tuple[float, float]
    macro_f1: float
    micro_f1: float
    classes: list[ClassScore]
    confusions: list[tuple[str, str, int]]
    unseen: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """The scores as a JSON object."""
        return {
            "documents": self.documents,
            "unlabelled": self.unlabelled,
            "without_known_words": self.unknown,
            "accuracy": self.accuracy,
            "accuracy_interval": list(self.interval),
            "macro_f1": self.macro_f1,
            "micro_f1": self.micro_f1,
            "classes": [vars(score) for score in self.classes],
            "confusions": [
                {"true": true, "predicted": predicted, "documents": count}
                for true, predicted, count in self.confusions
            ],
            "unseen_labels": self.unseen,
        }


def scores_of(
    truth: Sequence[Labels],
    predicted: Sequence[Labels],
    known: Sequence[str],
    unlabelled: int,
    unknown: int = 0,
) -> Evaluation:
    """Compare the labels of documents with predicted ones."""
    from scipy.stats import binomtest

    hits = sum(a == b for a, b in zip(truth, predicted, strict=True))
    interval = binomtest(hits, len(truth)).proportion_ci(method="wilson")
    occurs = Counter(label for labels in truth for label in labels)
    claimed = Counter(label for labels in predicted for label in labels)
    right = Counter(label for a, b in zip(truth, predicted, strict=True) for label in a & b)
    scores = [
        _score(label, right[label], claimed[label], occurs[label]) for label in occurs | claimed
    ]
    scores.sort(key=lambda score: (-score.documents, score.label))
    present = [score.f1 for score in scores if score.documents]
    return Evaluation(
        len(truth),
        unlabelled,
        unknown,
        hits / len(truth),
        (float(interval.low), float(interval.high)),
        sum(present) / len(present),
        2 * right.total() / (occurs.total() + claimed.total()),
        scores,
        _confusions(truth, predicted),
        {label: count for label, count in sorted(occurs.items()) if label not in set(known)},
    )


def _score(label: str, right: int, claimed: int, occurs: int) -> ClassScore:
    return ClassScore(
        label,
        right / claimed if claimed else 0.0,
        right / occurs if occurs else 0.0,
        2 * right / (claimed + occurs),
        occurs,
    )


def _confusions(truth: Sequence[Labels], predicted: Sequence[Labels]) -> list[tuple[str, str, int]]:
    """Pairs of one class taken for another; of documents with one label and one prediction."""
    pairs = Counter(
        (next(iter(a)), next(iter(b)))
        for a, b in zip(truth, predicted, strict=True)
        if a != b and len(a) == len(b) == 1
    )
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    return [(true, wrong, count) for (true, wrong), count in ranked]


# -- for people ---------------------------------------------------------------------------------


def show_evaluation(session: Session, found: Evaluation, confusions: int = 10) -> None:
    """Show scores to a person."""
    low, high = found.interval
    session.show(_sentence(f"{found.documents:,} labelled documents", found.unlabelled))
    session.show(
        f"Accuracy {100 * found.accuracy:.1f} % "
        f"(95 % interval {100 * low:.1f} – {100 * high:.1f}), "
        f"macro-F1 {100 * found.macro_f1:.1f} %, micro-F1 {100 * found.micro_f1:.1f} %."
    )
    if found.unseen:
        session.show(_unseen(found.unseen))
    if found.unknown:
        session.show(
            f"{found.unknown:,} of them have no word that the model knows: "
            "their predictions are guesses."
        )
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
    return documents + (f", {unlabelled:,} unlabelled ones skipped." if unlabelled else ".")


def _unseen(unseen: dict[str, int]) -> str:
    names = ", ".join(list(unseen)[:5]) + (", …" if len(unseen) > 5 else "")
    count = sum(unseen.values())
    return f"{count:,} of them have labels that the model has never seen ({names}): errors."
