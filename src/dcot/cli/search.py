"""``dcot index`` and ``dcot search``: make documents searchable, and search them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.corpus import Corpus
from dcot.cli.errors import UserError
from dcot.cli.files import (
    check_output,
    check_target,
    load_model,
    load_vectorizer,
    save_model,
    writing,
)
from dcot.cli.session import Session, as_json, counted, table
from dcot.errors import InvalidInputError
from dcot.runtime.resources import format_bytes

if TYPE_CHECKING:
    from dcot import SearchIndex
    from dcot.search.results import Hit, Hits


EXAMPLES = {
    "index": (
        "dcot index model news.csv --text body --id number -o index",
        "dcot index new news.txt -o index",
    ),
    "search": (
        'dcot search index "opec output"',
        'dcot search index "opec output" -k 3 --json',
        "cat queries.txt | dcot search index - -o hits.csv",
    ),
}
NEW = "new"  # in place of a model folder


def index(
    model: Annotated[
        Path,
        o.argument(
            "Model folder; or the word new, to fit a model for search to the corpus.", "MODEL"
        ),
    ],
    corpus: o.Corpora,
    output: Annotated[
        Path, o.output("Index folder to write; an older index is replaced.", "INDEX")
    ],
    *,
    hybrid: o.Hybrid = None,
    embedding: o.WordVectors = None,
    texts: Annotated[bool, o.option("Keep the texts to show them in results.")] = True,
    precision: o.Precision = None,
    reading: o.Reading,
    identifier: o.Identifier = None,
    metadata: o.Metadata = None,
    session: Session,
) -> None:
    """Make documents searchable by meaning and by words."""
    check_target(output, "SearchIndex")
    source = Corpus(corpus, reading, identifier=identifier, metadata=tuple(metadata or ()))
    source.check()
    is_new = str(model) == NEW and not model.exists()
    loaded = None if is_new else load_vectorizer(model)
    from dcot import SearchIndex

    documents = source.whole()
    _check_metadata(documents.metadata, source)
    start = time.perf_counter()
    options: dict[str, Any] = {} if hybrid is None else {"hybrid": hybrid}
    found = SearchIndex(loaded, store_texts=texts, embedding=embedding, **options)
    found.add(documents.texts, ids=_unique(documents.ids, source), metadata=documents.metadata)
    seconds = time.perf_counter() - start
    size = save_model(found, output, precision)
    facts = {"index": str(output), "documents": len(found)}
    session.done(
        facts | {"seconds": round(seconds, 3), "bytes": size},
        f"Indexed {counted(len(found), 'document')} in {seconds:.1f} s.\n"
        f"Saved to {output} ({format_bytes(size)}).",
    )


def _unique(ids: list[Any], source: Corpus) -> list[Any]:
    """Identifiers for the index, as integers or text."""
    plain = [one if isinstance(one, int) else str(one) for one in ids]
    seen: set[Any] = set()
    for one in plain:
        if one in seen:
            raise UserError(
                f"{source.name}: two documents have the id {one!r}; identifiers must be unique: "
                "use another column for --id, or none"
            )
        seen.add(one)
    return plain


def _check_metadata(metadata: list[Any], source: Corpus) -> None:
    """Refuse values that an index cannot keep, such as dates, by the name of their column."""
    for entry in metadata:
        for name, value in (entry or {}).items():
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError, RecursionError):
                raise UserError(
                    f"{source.name}: the column {name!r} has the value {value!s:.60} "
                    f"({type(value).__name__}), and --metadata takes text, numbers, true and "
                    "false, and lists of them: convert the column to text"
                ) from None


def search(
    index: Annotated[Path, o.argument("Index folder.", "INDEX")],
    query: Annotated[
        str,
        o.argument("Words to search for; - reads a query per line from standard input.", "QUERY"),
    ],
    *,
    k: o.K = 10,
    where: Annotated[
        list[str] | None,
        o.option("Only documents with this metadata. Can be repeated.", metavar="COLUMN=VALUE"),
    ] = None,
    hybrid: o.Hybrid = None,
    output: o.TableOut = None,
    session: Session,
) -> None:
    """Find the documents nearest to a query.

    A query without any known word finds nothing.
    """
    if output is not None:
        check_output(output, [str(index)])
    several = query == "-"
    queries = _queries() if several else [query]
    loaded = load_model(index, "SearchIndex", hint="make one with dcot index", mmap=True)
    conditions = _conditions(where or [], loaded)
    found = loaded.search(queries, k, where=conditions, hybrid=hybrid)
    for hits in found:
        if not hits.known:
            session.note(f"The index knows no word of {hits.query!r}.")
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
    try:
        found = [line.rstrip("\r\n") for line in lines if line.strip()]
    except InvalidInputError as error:
        raise UserError(
            f"standard input, line {lines.number}: not a text in UTF-8: convert the queries, as in "
            "iconv -f latin1 -t utf-8"
        ) from error
    if not found:
        raise UserError("standard input has no queries: expected one per line")
    return found


def _conditions(where: list[str], index: SearchIndex) -> Callable[[Any], bool] | None:
    """Read ``column=value``; several values of a column are alternatives."""
    wanted: dict[str, list[str]] = {}
    known = {name for entry in index.metadata for name in entry or {}}
    for one in where:
        name, sign, value = one.partition("=")
        if not sign:
            raise UserError(f"--where {one!r} is not COLUMN=VALUE")
        if name not in known:
            have = ", ".join(map(repr, sorted(known))) or "none: index it with --metadata"
            raise UserError(f"the index has no metadata {name!r}: it has {have}")
        wanted.setdefault(name, []).append(value)
    if not wanted:
        return None
    return lambda entry: all(
        any(_is(entry.get(name), value) for value in values) for name, values in wanted.items()
    )


def _is(found: Any, value: str) -> bool:
    """Whether metadata has this value, as it is written on the command line.

    >>> _is("oil", "oil"), _is(1987, "1987"), _is(True, "true"), _is(["oil", "gas"], "gas")
    (True, True, True, True)
    """
    if isinstance(found, list):
        return any(_is(one, value) for one in found if not isinstance(one, list))
    if isinstance(found, bool) and value.lower() in ("true", "false"):
        return found == (value.lower() == "true")
    if isinstance(found, int | float):
        return found in _as_number(value)
    return bool(found == value)


def _as_number(value: str) -> list[Any]:
    for kind in (int, float):
        try:
            return [kind(value)]
        except ValueError:
            continue
    return []


def _as_json(hit: Hit) -> dict[str, Any]:
    names = ("rank", "id", "score", "similarity", "bm25", "metadata", "text")
    return {name: value for name in names if (value := getattr(hit, name)) is not None}


def _show(session: Session, hits: Hits, titled: bool) -> None:
    if titled:
        session.show(hits.query or "")
    if not len(hits):
        session.show("Nothing found.")
        return
    # the score of a hybrid search is relative to the best document, and would look like certainty
    measures = [name for name in ("similarity", "bm25") if getattr(hits[0], name) is not None]
    rows = [
        (hit.rank, *(getattr(hit, name) for name in measures), str(hit.id), _described(hit))
        for hit in hits
    ]
    session.show(table(["", *measures, "id", "document"], rows, cut="document"))


def _described(hit: Hit) -> str:
    pairs = (hit.metadata or {}).items()
    metadata = ", ".join(
        f"{name}: {value if isinstance(value, str) else as_json(value)}"
        for name, value in pairs
        if value not in (None, "")
    )
    text = " ".join((hit.text or "")[:400].split())
    return " · ".join(filter(None, [metadata, text]))


def _write(session: Session, output: Path, found: Any) -> None:
    frame = found.to_frame()
    texts = [hits.query for hits in found]
    columns = {name: frame[name].to_list() for name in frame.columns}
    columns["query"] = [texts[number] for number in columns["query"]]
    with writing(output) as writer:
        writer.write(columns)
    facts = {"queries": len(found), "hits": len(frame), "output": str(output)}
    wrote = f"{counted(len(frame), 'hit')} of {counted(len(found), 'query')}"
    session.done(facts, f"Wrote {wrote} to {output}.")
