"""Documents for people: found with reasons, shaded, and with their neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.explain.tracing import Trace
from dcot.web.explore.explorer import Decision, Explorer
from dcot.web.formats import csv_row
from dcot.web.shading import Piece

Array = NDArray[Any]

SNIPPET = 320  # characters
REASONS = 4


@dataclass(frozen=True)
class Query:
    """A text that documents are compared with, in the layer that the index compares."""

    trace: Trace
    values: Array

    @classmethod
    def of(cls, explorer: Explorer, row: Any) -> Query:
        index = explorer.index
        depth = 1 if index is None or index.layer is None else index.layer
        trace = Trace.of(row, explorer.tracer.layers[:depth])
        return cls(trace, trace.added[-1])

    @classmethod
    def of_text(cls, explorer: Explorer, text: str) -> Query:
        return cls.of(explorer, explorer.reader.read([text]))

    def shares(self, document: Any) -> tuple[Array, Array]:
        """Each term of a document and its share in the similarity: by its meaning and as a word."""
        trace = Trace.of(document, self.trace.layers)
        query_weights = np.zeros(document.shape[1])
        query_weights[self.trace.columns] = self.trace.weights
        meaning = trace.shares(len(self.trace.layers), self.values)[:, 0]
        return trace.columns, meaning + trace.weights * query_weights[trace.columns]

    def relative(self, column: int) -> int:
        """The term of the query that a term of a document is the most like."""
        first = self.trace.layers[0].coef_
        likeness = first[self.trace.columns] @ first[column] * self.trace.weights
        return int(self.trace.columns[int(np.argmax(likeness))])


def search(explorer: Explorer, text: str, k: int) -> dict[str, Any]:
    """The best documents for a text, each with the words it was found by."""
    assert explorer.index is not None
    hits = explorer.index.search(text, k)
    query = Query.of_text(explorer, text)
    rows = [explorer.row_of(hit.id) for hit in hits]
    why = [query.shares(_terms(explorer, row)) for row in rows]
    softened = (
        (row, columns, _softened(shares)) for row, (columns, shares) in zip(rows, why, strict=True)
    )
    found = []
    for hit, one, (columns, shares) in zip(hits, listed(explorer, softened), why, strict=True):
        parts = {"score": hit.score, "similarity": hit.similarity, "bm25": hit.bm25}
        found.append(
            one
            | {name: None if part is None else round(part, 4) for name, part in parts.items()}
            | {"reasons": _reasons(explorer, query, columns, shares)}
        )
    return {"known": bool(hits.known), "total": len(found), "documents": found}


def rows_listed(
    explorer: Explorer, rows: Sequence[int], total: int, shade: bool = False
) -> dict[str, Any]:
    """Documents in a list, shaded by the decision on request."""

    def shares(row: int) -> tuple[Array, Array]:
        if not shade:
            return np.zeros(0), np.zeros(0)
        decision = explorer.decision(explorer.corpus.documents.texts[row])
        return document_shares(explorer, _terms(explorer, row), decision)[:2]

    found = ((row, *shares(row)) for row in rows)
    return {"known": True, "total": total, "documents": listed(explorer, found)}


def read(explorer: Explorer, row: int, text: str, k: int) -> dict[str, Any]:
    """One document in full, shaded by a query or by its own meaning, and its neighbours."""
    assert explorer.index is not None
    corpus = explorer.corpus
    whole = corpus.documents.texts[row]
    terms = _terms(explorer, row)
    decision = explorer.decision(whole)
    columns, shares, why = document_shares(explorer, terms, decision)
    if text:
        columns, shares = Query.of_text(explorer, text).shares(terms)
        why = f"the similarity to “{text[:60]}”"
    query, hits = Query.of(explorer, terms), explorer.index.similar(explorer.index_id(row), k)
    others = []
    for other in (explorer.row_of(hit.id) for hit in hits):
        theirs, common = query.shares(_terms(explorer, other))
        others.append((other, theirs, _softened(common)))
    near = [
        one | {"similarity": round(hit.score, 4)}
        for hit, one in zip(hits, listed(explorer, others), strict=True)
    ]
    return {
        "row": row,
        "id": corpus.documents.ids[row],
        "length": len(whole),
        "pieces": explorer.pieces([(whole, columns, shares)])[0],
        "shaded_by": why,
        "label": explorer.label(row),
        "classes": [] if decision is None else decision.classes,
        "metadata": _shown(corpus.metadata[row] if corpus.metadata else None),
        "neighbours": near,
    }


def as_csv(explorer: Explorer, rows: Array) -> str:
    """Documents with all that is known about them. Cells that look like formulas are text."""
    corpus = explorer.corpus
    entries = [corpus.metadata[row] or {} for row in rows] if corpus.metadata else [{}] * len(rows)
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    lines = [csv_row(["id", "label", "predicted", *names, "text"])]
    for row, entry in zip(rows.tolist(), entries, strict=True):
        known = [explorer.label(row), explorer.predicted_name(row)]
        known += [entry.get(name) for name in names]
        cells = [corpus.documents.ids[row], *known, corpus.documents.texts[row]]
        lines.append(csv_row(cells))
    return "".join(lines)


def document_shares(
    explorer: Explorer, terms: Any, decision: Decision | None
) -> tuple[Array, Array, str]:
    """The terms of a document, their shares in the decision or in its meaning, and in which."""
    if decision is not None:
        return terms.indices, decision.shares, decision.why
    meaning = explorer.tracer.meaning(terms, "", 1)
    return terms.indices, meaning.layers[-1].word_shares, "its meaning"


def listed(explorer: Explorer, found: Iterable[tuple[int, Array, Array]]) -> list[dict[str, Any]]:
    """What a list shows of documents, given as rows with columns of terms and their shares."""
    documents, rows = explorer.corpus.documents, []
    starts, parts = [], []
    for row, columns, shares in found:
        text, start = documents.texts[row], 0
        if len(text) > SNIPPET and len(shares):
            start = _snippet_start(explorer, text, int(columns[int(np.argmax(shares))]))
        rows.append(row)
        starts.append(start)
        parts.append((text[start : start + SNIPPET], columns, shares))
    return [
        {
            "row": row,
            "id": documents.ids[row],
            "pieces": _with_dots(pieces, start, len(documents.texts[row])),
            "label": explorer.label(row),
            "predicted": explorer.predicted_name(row),
        }
        for row, start, pieces in zip(rows, starts, explorer.pieces(parts), strict=True)
    ]


def _with_dots(pieces: list[Piece], start: int, length: int) -> list[Piece]:
    """The pieces of a snippet, with dots where the text goes on."""
    before: list[Piece] = [("… ", 0.0)] if start else []
    after: list[Piece] = [(" …", 0.0)] if start + SNIPPET < length else []
    return [*before, *pieces, *after]


def _softened(shares: Array) -> Array:
    """Make words of similar meaning visible next to words that are the same."""
    return np.sign(shares) * np.abs(shares) ** 0.75


def _snippet_start(explorer: Explorer, text: str, column: int) -> int:
    """Where a snippet begins, so that it contains a word of a long text."""
    place = text.lower().find(explorer.terms[column].lower())
    if place < SNIPPET - 40:
        return 0
    return text.rfind(" ", 0, place - 80) + 1


def _reasons(explorer: Explorer, query: Query, columns: Array, shares: Array) -> list[Any]:
    """The words that count most: in the query too, or like a word of it."""
    total = float(np.abs(shares).sum()) or 1.0
    reasons = []
    for place in np.argsort(-shares, kind="stable")[:REASONS]:
        column, share = int(columns[place]), float(shares[place]) / total
        if share < 0.02:
            break
        same = column in query.trace.columns
        like = None if same else explorer.terms[query.relative(column)]
        word = explorer.terms[column]
        reasons.append({"word": word, "share": round(share, 3), "like": like})
    return reasons


def _terms(explorer: Explorer, row: int) -> Any:
    return explorer.X[[row]]


def _shown(metadata: Any) -> list[list[str]]:
    return [[str(name), str(value)[:2000]] for name, value in (metadata or {}).items()]
