"""``dcot index`` and ``dcot search``: the documents nearest to a query."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.frame import command
from dcot.cli.session import Session, table

_PANEL = "Search"
_NEW = "new"  # in the place of a model
_HYBRID = Annotated[
    float | None,
    typer.Option(
        "--hybrid",
        min=0,
        max=1,
        metavar="NUMBER",
        show_default=False,
        help="The share of meaning beside words: 0 is BM25 alone, 1 is dCoT alone.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(
        app,
        panel=_PANEL,
        examples=[
            "dcot index model news.csv --text body --id number -o index",
            "dcot index new news.txt -o index",
        ],
    )(index)
    command(
        app,
        panel=_PANEL,
        examples=[
            "dcot search index 'opec output'",
            "dcot search index 'opec output' -k 3 --json",
            "cat queries.txt | dcot search index - -o hits.csv",
        ],
    )(search)


def index(
    session: Session,
    model: Annotated[
        Path,
        typer.Argument(
            readable=False,
            metavar="MODEL",
            show_default=False,
            help="A model folder; or the word new: learn one for search from the corpus itself.",
        ),
    ],
    corpus: o.Corpora,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            readable=False,
            metavar="INDEX",
            show_default=False,
            help="The index folder to write; an index that is there is replaced.",
        ),
    ],
    text: o.Text = None,
    identifier: o.Identifier = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata",
            metavar="COLUMN",
            rich_help_panel="The corpus",
            show_default=False,
            help="A column to keep, for --where; can be repeated.",
        ),
    ] = None,
    format: o.Format = None,
    errors: o.Errors = o.ErrorsName.STRICT,
    hybrid: _HYBRID = None,
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Keep the texts, to show them.")
    ] = True,
    precision: o.Precision = None,
) -> None:
    """Make documents searchable, by what words mean and by the words themselves."""
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import check_target, load_model, save_model

    check_target(output)
    source = Corpus(
        corpus,
        text=text,
        identifier=identifier,
        metadata=tuple(metadata or ()),
        format=format,
        errors=errors,
    )
    source.check()
    is_new = str(model) == _NEW and not model.exists()
    loaded = None if is_new else load_model(model, "DCoTVectorizer", hint="make one with dcot fit")
    from dcot import SearchIndex

    documents = source.whole()
    start = time.perf_counter()
    options: dict[str, Any] = {} if hybrid is None else {"hybrid": hybrid}
    found = SearchIndex(loaded, store_texts=texts, **options)
    found.add(documents.texts, ids=_unique(documents.ids, source), metadata=documents.metadata)
    seconds = time.perf_counter() - start
    size = save_model(found, output, precision)
    from dcot.runtime.resources import format_bytes

    facts = {
        "index": str(output),
        "documents": len(found),
        "seconds": round(seconds, 3),
        "bytes": size,
    }
    session.done(
        facts,
        f"Indexed {len(found):,} documents in {seconds:.1f} s.\n"
        f"Saved to {output} ({format_bytes(size)}).",
    )


def _unique(ids: list[Any], source: Any) -> list[Any]:
    """Identifiers that the index can use; text, unless they are numbers."""
    plain = [one if isinstance(one, int) else str(one) for one in ids]
    seen: set[Any] = set()
    for one in plain:
        if one in seen:
            raise UserError(
                f"{source.name}: two documents have the id {one!r}; identifiers have to be "
                "different: use another column for --id, or none"
            )
        seen.add(one)
    return plain


def search(
    session: Session,
    index: Annotated[
        Path,
        typer.Argument(
            readable=False, metavar="INDEX", show_default=False, help="An index folder."
        ),
    ],
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY", show_default=False, help="What to look for; - reads a query a line."
        ),
    ],
    k: Annotated[
        int, typer.Option("-k", min=1, metavar="INT", help="How many documents to find.")
    ] = 10,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="COLUMN=VALUE",
            show_default=False,
            help="Only documents with this metadata; can be repeated.",
        ),
    ] = None,
    hybrid: _HYBRID = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            readable=False,
            metavar="FILE",
            show_default="standard output",
            help="Ends in .parquet, .csv, .tsv, .jsonl or .npz.",
        ),
    ] = None,
) -> None:
    """Find the documents nearest to a query.

    A query in no known word finds nothing. With k beyond the number of documents, all are found.
    """
    from dcot.cli.models import load_model
    from dcot.cli.output import check_output

    if output is not None:
        check_output(output)
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
        raise UserError("standard input is a terminal: pipe queries into it, one a line")
    from dcot.text.decoding import DecodedFile

    lines = DecodedFile(Path("standard input"), sys.stdin.buffer, "strict")
    found = [line.rstrip("\r\n") for line in lines if line.strip()]
    if not found:
        raise UserError("standard input has no queries: expected one a line")
    return found


def _conditions(where: list[str], index: Any) -> dict[str, Any]:
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


def _as_json(hit: Any) -> dict[str, Any]:
    names = ("rank", "id", "score", "similarity", "bm25", "metadata", "text")
    values: Mapping[str, Any] = {name: getattr(hit, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _show(session: Session, hits: Any, titled: bool) -> None:
    from rich.text import Text

    if titled:
        session.show(Text(hits.query, style="bold"))
    if not len(hits):
        session.show("Nothing found.")
        return
    rows = [(hit.rank, hit.score, str(hit.id), _described(hit)) for hit in hits]
    session.show(table(["", "score", "id", "document"], rows, cut="document"))


def _described(hit: Any) -> str:
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
