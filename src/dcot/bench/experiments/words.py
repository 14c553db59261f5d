"""Figure 2: what a word is reconstructed as, before and after recursion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.bench.jobs import Context, Job, corpus_key
from dcot.bench.store import Key, Result
from dcot.bench.systems import OURS, PAPER
from dcot.estimator import DCoT

Array = NDArray[Any]

NAME = "words"
WORDS = ("reagan", "bush", "nasdaq", "reproduction", "opec", "yen")
STAND_IN_WORDS = ("asteroid", "mortgage", "plumage", "stalemate", "parsley", "verdict")
# Pairs of a word and the prototype it is reconstructed as, according to the paper.
PAPER_PAIRS = (
    ("reagan", "president"),
    ("bush", "president"),
    ("nasdaq", "stock"),
    ("reproduction", "agriculture"),
)
EMPTY = "(empty)"
DEPTH = 12
NOISE = 0.8


def jobs(context: Context) -> Iterator[Job]:
    """A job for the paper's method, and one for our defaults."""
    task = context.task("reuters-text", stand_in=True, cut=False)
    if task is None:
        return
    usual = STAND_IN_WORDS if task.stands_for else WORDS
    words = list(dict.fromkeys((*usual, *context.words)))
    for system, r in zip((PAPER, OURS), context.profile.words_prototypes, strict=True):
        key: Key = {
            "experiment": NAME,
            **corpus_key(task),
            "system": system,
            "n_prototypes": r,
            "words": words,
        }
        yield Job(NAME, f"{NAME}, {system}", [key], {}, 30, 3e9)


def work(context: Context, job: Job, missing: list[Key]) -> Iterator[tuple[Key, Result]]:
    """Nothing is classified here, so the model learns from all documents."""
    task = context.task("reuters-text", stand_in=True, cut=False)
    if task is None:
        return
    rows = np.concatenate([task.train, task.test, task.unlabelled])
    learned, _ = task.documents(rows, rows[:1])
    terms = task.known_terms(rows)
    for key in missing:
        paper = key["system"] == PAPER
        X = learned.counts if paper else learned.tfidf
        r = key["n_prototypes"]
        model = (DCoT.paper(r, NOISE, 2) if paper else DCoT(r)).fit(X)
        yield key, columns_of(model, learned.counts, terms, key["words"])


def columns_of(model: DCoT, counts: Any, terms: Array, words: Sequence[str]) -> Result:
    """The strongest prototypes of each word by layer, and the ranks of the expected ones.

    ``counts`` tells which prototypes are frequent, even if the model was fitted to weights.
    """
    index = {str(term): column for column, term in enumerate(terms)}
    known = [word for word in words if word in index]
    names = [str(name) for name in terms[model.prototypes_]]
    rows = np.arange(1, len(known) + 1)
    cells = (np.ones(len(known), counts.dtype), (rows, [index[word] for word in known]))
    documents = sp.csr_array(cells, shape=(len(known) + 1, len(terms)))
    columns: dict[str, dict[str, list[list[Any]]]] = {}
    ranks: dict[str, dict[str, int | None]] = {}
    for layer in (1, 2):
        values = model.reconstruct(documents, layer=layer)
        values[1:] -= values[0]
        order = np.argsort(-values, axis=1, kind="stable")
        columns[f"layer {layer}"] = {
            word: [[names[j], float(values[row, j])] for j in order[row, :DEPTH]]
            for row, word in enumerate([EMPTY, *known])
        }
        for word, expected in PAPER_PAIRS:
            if word in known:
                rank = None
                if expected in names:
                    place = names.index(expected)
                    rank = 1 + int(np.flatnonzero(order[known.index(word) + 1] == place)[0])
                ranks.setdefault(f"{word} → {expected}", {})[f"layer {layer}"] = rank
    totals = np.asarray(counts.sum(axis=0)).ravel()[model.prototypes_]
    frequent = [names[j] for j in np.argsort(-totals, kind="stable")[:DEPTH]]
    empty = [name for name, _ in columns["layer 1"][EMPTY]]
    return {
        "columns": columns,
        "ranks": ranks,
        "n_prototypes": len(names),
        "most_frequent": frequent,
        "empty_among_most_frequent": len(set(empty) & set(frequent)) / DEPTH,
        "unknown_words": [word for word in words if word not in index],
    }
