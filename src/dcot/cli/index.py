"""``dcot index``: make documents searchable."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session

if TYPE_CHECKING:
    from dcot.cli.corpus import Corpus

EXAMPLES = (
    "dcot index model news.csv --text body --id number -o index",
    "dcot index new news.txt -o index",
)
NEW = "new"  # in place of a model folder


def index(
    model: Annotated[
        Path,
        typer.Argument(
            readable=False,
            metavar="MODEL",
            show_default=False,
            help="A model folder; or the word new, to fit one for search on the corpus itself.",
        ),
    ],
    corpus: o.Corpora,
    output: Annotated[
        Path,
        o.option(
            "--output",
            "-o",
            help="The index folder to write; an older index is replaced.",
            readable=False,
            metavar="INDEX",
        ),
    ],
    hybrid: o.Hybrid = None,
    texts: Annotated[
        bool, o.option("--texts/--no-texts", help="Keep the texts, to show them in results.")
    ] = True,
    precision: o.Precision = None,
    text: o.Text = None,
    identifier: o.Identifier = None,
    metadata: Annotated[
        list[str] | None,
        o.option(
            "--metadata",
            help="Column to keep, for --where. Can be repeated.",
            panel=o.CORPUS,
            metavar="COLUMN",
        ),
    ] = None,
    format: o.Format = None,
    encoding: o.Encoding = "utf-8",
    separator: o.Separator = None,
    errors: o.Errors = "strict",
    json: o.Json = False,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    debug: o.Debug = False,
) -> None:
    """Make documents searchable by meaning and by words."""
    session = Session.start(json, quiet, seed, threads, debug)
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import check_target, load_model, save_model

    check_target(output, "SearchIndex")
    source = Corpus(
        corpus,
        text=text,
        identifier=identifier,
        metadata=tuple(metadata or ()),
        format=format,
        encoding=encoding,
        separator=separator,
        errors=errors,
    )
    source.check()
    is_new = str(model) == NEW and not model.exists()
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


def _unique(ids: list[Any], source: Corpus) -> list[Any]:
    """Identifiers for the index: numbers, or text."""
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
