"""Figures that a corpus must have: a file with others is another file, and results would lie."""

from __future__ import annotations

from dcot.datasets._corpus import Corpus
from dcot.errors import DatasetError

__all__ = ["check_figures"]


def check_figures(corpus: Corpus, source: str, **expected: int) -> Corpus:
    """Compare the corpus with its published figures and return it.

    Figures: ``documents``, ``train``, ``test``, ``unlabelled``, ``classes``, ``train_classes``,
    ``terms``.
    """
    found = {
        "documents": corpus.n_documents,
        "train": len(corpus.train),
        "test": len(corpus.test),
        "unlabelled": len(corpus.unlabelled),
        "classes": len(corpus.target_names),
        "train_classes": len(set(corpus.train_labels.tolist())),
        "terms": 0 if corpus.counts is None else int(corpus.counts.shape[1]),
    }
    wrong = [f"{found[key]} {key} (expected {n})" for key, n in expected.items() if found[key] != n]
    if wrong:
        raise DatasetError(
            f"{source} is not the corpus {corpus.name!r} that it should be: it has "
            f"{', '.join(wrong)}. Get the original file again; see docs/data.md."
        )
    return corpus
