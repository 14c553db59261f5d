"""Results of a search, which print as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, overload

from dcot.runtime.extras import as_text, require, series

MAX_SHOWN = 20  # hits per query, and queries


@dataclass(frozen=True)
class Hit:
    """A document that was found.

    Attributes
    ----------
    rank : 1 for the best
    id : id of the document
    score : the score to order by: similarity, BM25, or both with ``Hits.weights``
    similarity : cosine of meaning, at most 1; None if the search was by words alone
    bm25 : BM25 of the words; None if the search was by meaning alone
    metadata : metadata of the document, or None
    text : text of the document if the index keeps texts, else None

    Examples
    --------
    >>> from dcot import SearchIndex
    >>> hit = SearchIndex(store_texts=True).add(["crude oil", "wheat harvest"]).search("oil")[0]
    >>> hit.rank, hit.id, hit.text
    (1, 0, 'crude oil')
    """

    rank: int
    id: str | int
    score: float
    similarity: float | None = None
    bm25: float | None = None
    metadata: dict[str, Any] | None = None
    text: str | None = None


class Hits(Sequence[Hit]):
    """The documents found for one query, the best first.

    Attributes
    ----------
    query : text of the query, or None if it was a vector
    known : False for a query without known words, or a row of zeros; it finds nothing
    weights : for a hybrid search, ``(a, b)`` with ``score = a · similarity + b · bm25``; else None

    Examples
    --------
    >>> from dcot import SearchIndex
    >>> hits = SearchIndex().add(["crude oil", "wheat harvest"]).search("oil", k=1)
    >>> hits.query, hits.ids, hits.known
    ('oil', [0], True)
    >>> hits.to_frame()["id"].to_list()
    [0]
    """

    def __init__(
        self,
        hits: Sequence[Hit],
        query: str | None = None,
        known: bool = True,
        weights: tuple[float, float] | None = None,
    ) -> None:
        self._hits = tuple(hits)
        self.query = query
        self.known = known
        self.weights = weights

    @property
    def ids(self) -> list[str | int]:
        """Ids of the documents, the best first."""
        return [hit.id for hit in self._hits]

    @property
    def scores(self) -> list[float]:
        """Scores of the documents, in the order of ``ids``."""
        return [hit.score for hit in self._hits]

    def __len__(self) -> int:
        return len(self._hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> Hits: ...
    def __getitem__(self, place: int | slice) -> Hit | Hits:
        if isinstance(place, slice):
            return Hits(self._hits[place], self.query, self.known, self.weights)
        return self._hits[place]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hits):
            return NotImplemented
        return (self._hits, self.query, self.known) == (other._hits, other.query, other.known)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        title = "" if self.query is None else f"{_shortened(self.query, 70)}\n"
        if not self._hits:
            return f"{title}  ({self._why_empty()})"
        width = max(len(str(hit.id)) for hit in self._hits[:MAX_SHOWN])
        heads = self._heads()
        lines = ["      " + "  ".join(f"{head:>7}" for head in heads)]
        lines += [
            f"{hit.rank:>4}  {'  '.join(f'{value:>7.3f}' for value in _numbers(hit))}  "
            f"{hit.id!s:<{width}}  {_shown(hit)}".rstrip()
            for hit in self._hits[:MAX_SHOWN]
        ]
        if len(self._hits) > MAX_SHOWN:
            lines.append(f"      … {len(self._hits) - MAX_SHOWN} more")
        return title + "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = "" if self.query is None else f"<p><b>{escape(self.query)}</b></p>"
        if not self._hits:
            return f"{title}<p><i>{self._why_empty()}</i></p>"
        heads = ("", *self._heads(), "id", "document")
        head = "".join(f"<th>{name}</th>" for name in heads)
        rows = "".join(
            f"<tr><td>{hit.rank}</td>"
            f"{''.join(f'<td>{value:.3f}</td>' for value in _numbers(hit))}"
            f"<td>{escape(str(hit.id))}</td>"
            f'<td style="text-align:left">{escape(_shown(hit, 200))}</td></tr>'
            for hit in self._hits[:MAX_SHOWN]
        )
        return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def to_frame(self) -> Any:
        """A polars frame with a row per hit and a column per key of the metadata.

        Raises
        ------
        MissingExtraError
            If polars is not installed.
        """
        return _frame([self])

    def _heads(self) -> tuple[str, ...]:
        """Names of the numbers of a hit."""
        first = self._hits[0]
        if first.bm25 is None:
            return ("cosine",)
        return ("BM25",) if first.similarity is None else ("score", "cosine", "BM25")

    def _why_empty(self) -> str:
        if self.known:
            return "nothing found: the index is empty, or no document passes the filter"
        if self.query is None:
            return "nothing found: the query is a row of zeros, which has no direction"
        return "nothing found: no word of the query is known"


class Results(Sequence[Hits]):
    """The hits of several queries, in their order.

    Examples
    --------
    >>> from dcot import SearchIndex
    >>> results = SearchIndex().add(["crude oil", "wheat harvest"]).search(["oil", "harvest"], k=1)
    >>> [hits.ids for hits in results]
    [[0], [1]]
    >>> results.to_frame()["query"].to_list()
    [0, 1]
    """

    def __init__(self, results: Sequence[Hits]) -> None:
        self._results = tuple(results)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, place: int) -> Hits: ...
    @overload
    def __getitem__(self, place: slice) -> Results: ...
    def __getitem__(self, place: int | slice) -> Hits | Results:
        if isinstance(place, slice):
            return Results(self._results[place])
        return self._results[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and self._results == other._results

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        shown = "\n\n".join(str(hits) for hits in self._results[:MAX_SHOWN])
        rest = len(self) - MAX_SHOWN
        return shown + (f"\n\n… {rest} more queries" if rest > 0 else "")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(hits._repr_html_() for hits in self._results[:MAX_SHOWN])

    def to_frame(self) -> Any:
        """A polars frame with a row per hit; ``query`` is the number of the query.

        Raises
        ------
        MissingExtraError
            If polars is not installed.
        """
        return _frame(self._results, numbered=True)


def _frame(results: Sequence[Hits], numbered: bool = False) -> Any:
    pl = require("polars", "tables")
    hits = [hit for found in results for hit in found]
    columns: dict[str, Any] = {}
    if numbered:
        numbers = [place for place, found in enumerate(results) for _ in found]
        columns["query"] = pl.Series(numbers, dtype=pl.Int64)
    columns["rank"] = pl.Series([hit.rank for hit in hits], dtype=pl.Int64)
    ids: list[Any] = [hit.id for hit in hits]
    whole = bool(ids) and all(isinstance(name, int) and abs(name) < 2**63 for name in ids)
    columns["id"] = (
        pl.Series(ids, dtype=pl.Int64) if whole else pl.Series(map(as_text, ids), dtype=pl.String)
    )
    for name in ("score", "similarity", "bm25"):
        columns[name] = pl.Series([getattr(hit, name) for hit in hits], dtype=pl.Float64)
    if any(hit.text is not None for hit in hits):
        columns["text"] = pl.Series([hit.text for hit in hits], dtype=pl.String)
    for key in dict.fromkeys(key for hit in hits for key in hit.metadata or {}):
        values = [(hit.metadata or {}).get(key) for hit in hits]
        name = as_text(key)
        columns[name if name not in columns else f"metadata.{name}"] = series(values)
    return pl.DataFrame(columns)


def _numbers(hit: Hit) -> tuple[float, ...]:
    """The score, and its parts if there are two."""
    if hit.bm25 is None or hit.similarity is None:
        return (hit.score,)
    return hit.score, hit.similarity, hit.bm25


def _shown(hit: Hit, width: int = 80) -> str:
    if hit.text is not None:
        return _shortened(hit.text, width)
    if hit.metadata:
        return _shortened(", ".join(f"{k}: {v}" for k, v in hit.metadata.items()), width)
    return ""


def _shortened(text: str, width: int) -> str:
    plain = " ".join(text[: 4 * width].split())
    return plain if len(plain) <= width else plain[: width - 1] + "…"
