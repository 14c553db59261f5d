"""``dcot explore``: look at a model, an index or a corpus in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session

if TYPE_CHECKING:
    from dcot.cli.corpus import Corpus
    from dcot.web.explore import subject

EXAMPLES = (
    "dcot explore model",
    "dcot explore model news.csv --text body --label topic",
    "dcot explore index",
    "dcot explore news.csv --text body --label topic --no-open",
)


def explore(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL|INDEX|CORPUS...",
            show_default=False,
            help="A model folder, a model folder and a corpus, an index folder, or a corpus: files "
            "(.txt, .csv, .tsv, .jsonl, .parquet), a folder of text files, or a known corpus.",
        ),
    ],
    host: Annotated[
        str,
        o.option(
            "--host",
            help="Address to listen on. Anything but this computer itself can be reached by "
            "others, who need the token in the printed address.",
            metavar="ADDRESS",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        o.option(
            "--port",
            help="Port to listen on; 0 takes any that is free.",
            metavar="INT",
            min=0,
            max=65535,
            show_default="8765, or a free one",
        ),
    ] = None,
    open_page: Annotated[
        bool, o.option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    text: o.Text = None,
    label: o.Label = None,
    identifier: o.Identifier = None,
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
    """Look at what a model has learned: words, documents, a map of them, and how good it is.

    From a corpus alone a model is learned first: a classifier if --label names a column. Nothing
    leaves this computer.
    """
    session = Session.start(json, quiet, seed, threads, debug)
    from dcot.cli.corpus import Corpus
    from dcot.runtime.extras import require

    for module in ("starlette", "uvicorn"):
        require(module, "explore")
    from dcot.web.explore.explorer import Explorer
    from dcot.web.explore.run import run_explore

    columns: dict[str, Any] = {
        "text": text,
        "label": label,
        "identifier": identifier,
        "format": format,
        "encoding": encoding,
        "separator": separator,
        "errors": errors,
    }
    is_model = (Path(what[0]) / "dcot.json").is_file()
    rest = what[1:] if is_model else what
    source = Corpus(rest, **columns).with_all_columns() if rest else None
    found = _subject(session, what[0] if is_model else None, source)
    explorer = Explorer(found, seed)

    def ready(access: Any) -> None:
        import webbrowser

        session.note(f"Explore {found.name} at {access.address}")
        if not access.loopback:
            session.note(
                "Others can reach this address. Whoever has the token can read the documents; the "
                "connection is not encrypted."
            )
        session.note("Stop with Ctrl-C.")
        if open_page:
            webbrowser.open(access.address)

    try:
        run_explore(explorer, host, port, ready)
    except KeyboardInterrupt:
        session.note("")


def _subject(session: Session, model: str | None, source: Corpus | None) -> subject.Subject:
    from dcot.cli.models import load_model
    from dcot.web.explore.subject import learn_subject, subject_of

    corpus = None if source is None else _read(source)
    if model is not None:
        return subject_of(load_model(Path(model)), Path(model).name, corpus)
    assert corpus is not None
    session.note(f"Learning from {len(corpus):,} documents …")
    return learn_subject(corpus, session.seed)


def _read(source: Corpus) -> subject.Corpus:
    """The documents with their classes and all other columns."""
    from dcot.web.documents import Documents
    from dcot.web.explore import subject

    found = source.whole()
    ids = found.ids if source.identifier is not None else None
    documents = Documents.of(found.texts, ids, Path(source.name).name)
    if any(isinstance(one, list) for one in found.labels):
        raise UserError(
            f"{source.name} has documents with several labels: `dcot explore` takes one per "
            "document; leave --label out"
        )
    labelled = any(found.labels)
    metadata = found.metadata if any(found.metadata) else ()
    return subject.Corpus(documents, found.labels if labelled else (), metadata)
