"""``dcot search``: the documents nearest to a query."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session, table

if TYPE_CHECKING:
    from dcot import SearchIndex
    from dcot.search.results import Hit, Hits

EXAMPLES = {
    "search": (
        "dcot search index 'opec output'",
        "dcot search index 'opec output' -k 3 --json",
        "cat queries.txt | dcot search index - -o hits.csv",
    )
}


def search(
    index: Annotated[Path, o.argument("An index folder.", "INDEX")],
    query: Annotated[
        str,
        o.argument("Words to search for; - reads one query per line from standard input.", "QUERY"),
    ],
    *,
    k: o.K = 10,
    where: Annotated[
        list[str] | None,
        o.option("Only documents with this metadata. Can be repeated.", metavar="COLUMN=VALUE"),
    ] = None,
    hybrid: o.Hybrid = None,
    output: Annotated[
        Path | None,
        o.output("Ends in .parquet, .csv, .tsv, .jsonl or .npz.", show_default="standard output"),
    ] = None,
    session: Session,
) -> None:
    """Find the documents nearest to a query.

    A query without a known word finds nothing.
    """
    from dcot.cli.models import load_model
    from dcot.cli.output import check_output

    if output is not None:
        check_output(output, [str(index)])
    several = query == "-"
    queries = _queries() if several else [query]
    loaded = load_model(index, "SearchIndex", hint="make one with dcot index", mmap=True)
    conditions = _conditions(where or [], loaded)
    found = loaded.search(queries, k, where=conditions or None, hybrid=hybrid)
    for hits in found:
        if not hits.known:
            session.note(f"No word of {hits.query!r} is known to the index.")
    if output is not None:
        _write(session, output, found)
    elif session.json:
        for hits in found:
            session.emit({"query": hits.query, "hits": [_as_json(hit) for hit in hits]})
    else:
        for hits in found:
            _show(session, hits, several)


def _queries() -> list[str]:
    if sys.stdin.isatty():
        raise UserError("standard input is a terminal: pipe queries into it, one per line")
    from dcot.text.decoding import DecodedFile

    lines = DecodedFile(Path("standard input"), sys.stdin.buffer)
    found = [line.rstrip("\r\n") for line in lines if line.strip()]
    if not found:
        raise UserError("standard input has no queries: expected one per line")
    return found


def _conditions(where: list[str], index: SearchIndex) -> dict[str, Any]:
    """``column=value``; the value is text or, where the index has numbers there, a number."""
    conditions: dict[str, list[Any]] = {}
    known = {name for entry in index.metadata for name in entry or {}}
    for one in where:
        name, sign, value = one.partition("=")
        if not sign:
            raise UserError(f"--where {one!r} is not COLUMN=VALUE")
        if name not in known:
            have = ", ".join(map(repr, sorted(known))) or "none: index it with --metadata"
            raise UserError(f"the index has no metadata {name!r}: there are {have}")
        conditions.setdefault(name, []).extend([value, *_as_number(value)])
    return dict(conditions)


def _as_number(value: str) -> list[Any]:
    for kind in (int, float):
        try:
            return [kind(value)]
        except ValueError:
            continue
    return []


def _as_json(hit: Hit) -> dict[str, Any]:
    names = ("rank", "id", "score", "similarity", "bm25", "metadata", "text")
    values: Mapping[str, Any] = {name: getattr(hit, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _show(session: Session, hits: Hits, titled: bool) -> None:
    if titled:
        session.show(hits.query or "")
    if not len(hits):
        session.show("Nothing found.")
        return
    # the score of a hybrid search is relative to the best document, and reads as certainty
    measures = [name for name in ("similarity", "bm25") if getattr(hits[0], name) is not None]
    rows = [
        (hit.rank, *(getattr(hit, name) for name in measures), str(hit.id), _described(hit))
        for hit in hits
    ]
    session.show(table(["", *measures, "id", "document"], rows, cut="document"))


def _described(hit: Hit) -> str:
    metadata = ", ".join(
        f"{name}: {value}" for name, value in (hit.metadata or {}).items() if value
    )
    text = " ".join((hit.text or "")[:400].split())
    return " · ".join(filter(None, [metadata, text]))


def _write(session: Session, output: Path, found: Any) -> None:
    from dcot.cli.output import writing

    frame = found.to_frame()
    texts = [hits.query for hits in found]
    columns = {name: frame[name].to_list() for name in frame.columns}
    columns["query"] = [texts[number] for number in columns["query"]]
    with writing(output, main="id") as writer:
        writer.write(columns)
    facts = {"queries": len(found), "hits": len(frame), "output": str(output)}
    session.done(facts, f"Wrote {len(frame):,} hits of {len(found):,} queries to {output}.")
