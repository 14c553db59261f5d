"""How good predictions are, against labels that may be new to the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Labels = frozenset[str]


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
    unlabelled : documents without a label, left out
    accuracy, interval : share of documents whose labels are all right, with 95 % (Wilson)
    macro_f1 : mean over the classes that the documents have
    micro_f1 : of all pairs of document and label together
    classes : a score for each, the most frequent first
    confusions : true class, predicted class, documents; the most frequent first
    unseen : labels that the model does not know, with their documents: all of them errors
    """

    documents: int
    unlabelled: int
    accuracy: float
    interval: tuple[float, float]
    macro_f1: float
    micro_f1: float
    classes: list[ClassScore]
    confusions: list[tuple[str, str, int]]
    unseen: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "documents": self.documents,
            "unlabelled": self.unlabelled,
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


def evaluate(
    truth: Sequence[Labels], predicted: Sequence[Labels], known: Sequence[str], unlabelled: int
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
