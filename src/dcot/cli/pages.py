"""``dcot label`` and ``dcot explore``: pages in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.corpus import Batch, Corpus
from dcot.cli.errors import UserError
from dcot.cli.files import check_not_input, check_place, check_target, load_model
from dcot.cli.session import Session, counted
from dcot.runtime.extras import require
from dcot.runtime.resources import format_bytes

if TYPE_CHECKING:
    from dcot.web.documents import Documents
    from dcot.web.explore import subject
    from dcot.web.explore.explorer import Explorer
    from dcot.web.security import Access

EXAMPLES = {
    "label": (
        "dcot label news.csv --text body -o labels.csv",
        "dcot label news.csv --text body --classes oil,stocks -o labels.csv",
        "dcot label news.csv --text body --label topic --id number -o labels.csv --no-open",
        "dcot label news.csv --text body --model model -o labels.csv",
    ),
    "explore": (
        "dcot explore model",
        "dcot explore model news.csv --text body --label topic",
        "dcot explore index",
        "dcot explore news.csv --text body --label topic --no-open",
        "dcot explore news.csv --text body --export news.html",
    ),
}


def label(
    corpus: o.Corpora,
    *,
    output: Annotated[
        Path,
        o.output(
            "The file of labels, .csv or .jsonl. If it exists, labelling goes on from there.",
            "LABELS",
        ),
    ] = Path("labels.csv"),
    model: Annotated[
        Path | None,
        o.option(
            "A model folder to start from: its features are used, and the classes and predictions "
            "of a classifier are there from the start.",
            metavar="MODEL",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        o.option(
            "The folder that “Save the model” writes.",
            metavar="MODEL",
            show_default="LABELS with the ending .model",
        ),
    ] = None,
    embedding: o.WordVectors = None,
    classes: Annotated[
        Any,
        o.option(
            "Names of the classes, with commas. More can be added on the page.",
            parser=o.names,
            metavar="NAMES",
        ),
    ] = None,
    imports: Annotated[
        list[Path] | None,
        o.option(
            "Labels to take over: CSV, JSON lines, or JSON of Label Studio or Prodigy.",
            "--import",
            metavar="FILE",
        ),
    ] = None,
    page: o.Page,
    reading: o.Reading,
    label: o.Label = None,
    identifier: o.Identifier = None,
    session: Session,
) -> None:
    """Label documents in the browser, with a model that learns from every label.

    The page suggests documents, shows what it would predict and why, and says when to stop. Each
    label is saved to LABELS before the next document appears; stop with Ctrl-C, and start again
    to go on. Nothing leaves this computer.
    """
    _require_server()
    from dcot.embedding.vectors import as_encoder
    from dcot.web.api import run_label
    from dcot.web.given import check_given

    check_not_input(output, corpus)
    folder = output.with_suffix(".model") if save is None else save
    check_target(folder, "DCoTClassifier")
    if embedding is not None:
        as_encoder(embedding)  # an error now, not in the background
    given = None if model is None else check_given(load_model(model), str(model), embedding)
    source = Corpus(corpus, reading, o.Labels(label), identifier)
    documents, found = _documents(source, "`dcot label` gives one per document")
    opened: list[Any] = []

    def ready(access: Access, labelling: Any) -> None:
        opened.append(labelling)
        what = f"Label {documents.name}"
        _open(session, page, access, what, "read the documents and change labels")

    try:
        run_label(
            documents,
            output,
            folder,
            page.host,
            page.port,
            known=found.labels if label else (),
            imported=imports or (),
            ready=ready,
            classes=tuple(name for name in classes or () if name),
            given=given,
            embedding=embedding,
            seed=session.seed,
        )
    except KeyboardInterrupt:
        session.note("")
    count = sum(len(labelling.labels) for labelling in opened)
    text = f"Nothing was labelled; {output} is empty."
    if count:
        labels = "1 label is" if count == 1 else f"{count:,} labels are"
        text = f"{labels} in {output}. Train with: dcot train {output} --label label -o model"
    session.done({"labels": str(output), "labelled": count}, text)


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
    if export is None:
        _require_server()
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
    from dcot.web.explore.api import run_explore

    def ready(access: Access) -> None:
        _open(session, page, access, f"Explore {found.name}", "read the documents")

    try:
        run_explore(explorer, page.host, page.port, ready)
    except KeyboardInterrupt:
        session.note("")


def _export(session: Session, explorer: Explorer, path: Path) -> None:
    from dcot.web.explore.export import export_page

    session.note("Drawing the map …")
    explorer.prepare()
    export_page(explorer).save(path)
    size = path.stat().st_size
    facts = {"page": str(path), "bytes": size}
    session.done(facts, f"Wrote {path} ({format_bytes(float(size))}). Open it in any browser.")


def _subject(session: Session, model: str | None, source: Corpus | None) -> subject.Subject:
    from dcot.web.explore import subject

    corpus = None
    if source is not None:
        advice = "`dcot explore` takes one per document; leave --label out"
        documents, found = _documents(source, advice)
        labels = found.labels if any(found.labels) else ()
        metadata = found.metadata if any(found.metadata) else ()
        corpus = subject.Corpus(documents, labels, metadata)
    if model is not None:
        return subject.subject_of(load_model(Path(model)), Path(model).name, corpus)
    assert corpus is not None
    session.note(f"Learning from {counted(len(corpus), 'document')} …")
    return subject.learn_subject(corpus, session.seed)


def _require_server() -> None:
    for module in ("starlette", "uvicorn"):
        require(module, "explore")


def _documents(source: Corpus, advice: str) -> tuple[Documents, Batch]:
    """The documents for a page, and all that was read; each may have one label."""
    from dcot.web.documents import Documents

    found = source.whole()
    ids = found.ids if source.identifier is not None else None
    documents = Documents.of(found.texts, ids, Path(source.name).name)
    if any(isinstance(one, list) for one in found.labels):
        raise UserError(f"{source.name} has documents with several labels: {advice}")
    return documents, found


def _open(session: Session, page: o.Page, access: Access, what: str, rights: str) -> None:
    """Say where a page is, and open it; ``rights`` is what the token lets others do."""
    session.note(f"{what} at {access.address}")
    if not access.loopback:
        session.note(
            f"Others can reach this address. Whoever has the token can {rights}; the connection is "
            "not encrypted."
        )
    saved = "Labels are saved one by one. " if "labels" in rights else ""
    session.note(f"{saved}Stop with Ctrl-C.")
    if page.open_page:
        webbrowser.open(access.address)
