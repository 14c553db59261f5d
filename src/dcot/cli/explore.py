"""``dcot explore``: look at a model, an index or a corpus in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session

if TYPE_CHECKING:
    from dcot.cli.corpus import Corpus
    from dcot.web.explore import subject
    from dcot.web.explore.explorer import Explorer

EXAMPLES = {
    "explore": (
        "dcot explore model",
        "dcot explore model news.csv --text body --label topic",
        "dcot explore index",
        "dcot explore news.csv --text body --label topic --no-open",
        "dcot explore news.csv --text body --export news.html",
    )
}


def explore(
    what: Annotated[
        list[str],
        o.argument(
            "A model folder, a model folder and a corpus, an index folder, or a corpus: files "
            "(.txt, .csv, .tsv, .jsonl, .parquet), a folder of text files, or a known corpus.",
            "MODEL|INDEX|CORPUS...",
        ),
    ],
    *,
    output: Annotated[
        Path,
        o.output(
            "The file for labels that regions of the map are given, .csv or .jsonl. It is made "
            "with the first one; dcot label and dcot train read it.",
            "LABELS",
        ),
    ] = Path("labels.csv"),
    export: Annotated[
        Path | None,
        o.option(
            "Write the page into one file instead, which needs no server and no network. Of more "
            "than 2000 documents it has a sample.",
            metavar="PAGE.html",
        ),
    ] = None,
    page: o.Page,
    reading: o.Reading,
    label: o.Label = None,
    identifier: o.Identifier = None,
    session: Session,
) -> None:
    """Look at what a model has learned: words, documents, a map of them, and how good it is.

    From a corpus alone a model is learned first: a classifier if --label names a column. Nothing
    leaves this computer.
    """
    from dcot.cli.corpus import Corpus
    from dcot.cli.files import check_place
    from dcot.runtime.extras import require

    if export is None:
        for module in ("starlette", "uvicorn"):
            require(module, "explore")
    else:
        check_place(export)
        if export.suffix.lower() not in (".html", ".htm") or export.is_dir():
            raise UserError(f"--export {export}: name a file that ends in .html")
    from dcot.web.explore.explorer import Explorer

    is_model = (Path(what[0]) / "dcot.json").is_file()
    rest = what[1:] if is_model else what
    read = Corpus(rest, reading, o.Labels(label), identifier)
    source = read.with_all_columns() if rest else None
    found = _subject(session, what[0] if is_model else None, source)
    explorer = Explorer(found, session.seed, output)

    if export is not None:
        _export(session, explorer, export)
        return
    from dcot.web.explore.run import run_explore

    def ready(access: Any) -> None:
        import webbrowser

        session.note(f"Explore {found.name} at {access.address}")
        if not access.loopback:
            session.note(
                "Others can reach this address. Whoever has the token can read the documents; the "
                "connection is not encrypted."
            )
        session.note("Stop with Ctrl-C.")
        if page.open_page:
            webbrowser.open(access.address)

    try:
        run_explore(explorer, page.host, page.port, ready)
    except KeyboardInterrupt:
        session.note("")


def _export(session: Session, explorer: Explorer, path: Path) -> None:
    from dcot.runtime.resources import format_bytes
    from dcot.web.explore.export import export_page

    session.note("Drawing the map …")
    explorer.prepare()
    export_page(explorer).save(path)
    size = path.stat().st_size
    facts = {"page": str(path), "bytes": size}
    session.done(facts, f"Wrote {path} ({format_bytes(float(size))}). Open it in any browser.")


def _subject(session: Session, model: str | None, source: Corpus | None) -> subject.Subject:
    from dcot.cli.files import load_model
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
