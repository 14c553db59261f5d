"""``dcot label``: label a corpus in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session

if TYPE_CHECKING:
    from dcot.web.documents import Documents

EXAMPLES = (
    "dcot label news.csv --text body -o labels.csv",
    "dcot label news.csv --text body --classes oil,stocks -o labels.csv",
    "dcot label news.csv --text body --label topic --id number -o labels.csv --no-open",
)


def label(
    corpus: o.Corpora,
    output: Annotated[
        Path,
        o.option(
            "--output",
            "-o",
            help="The file of labels, .csv or .jsonl. If it exists, labelling goes on from there.",
            readable=False,
            metavar="LABELS",
        ),
    ] = Path("labels.csv"),
    model: Annotated[
        Path | None,
        o.option(
            "--model",
            help="The folder that “Save the model” writes.",
            readable=False,
            metavar="MODEL",
            show_default="LABELS with the ending .model",
        ),
    ] = None,
    classes: Annotated[
        Any,
        o.option(
            "--classes",
            help="Names of the classes, with commas. More can be added on the page.",
            parser=o.names,
            metavar="NAMES",
        ),
    ] = None,
    imports: Annotated[
        list[Path] | None,
        o.option(
            "--import",
            help="Labels to take over: CSV, JSON lines, or JSON of Label Studio or Prodigy.",
            readable=False,
            metavar="FILE",
        ),
    ] = None,
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
    """Label documents in the browser, with a model that learns from every label.

    The page suggests documents, shows what it would predict and why, and says when to stop. Each
    label is saved to LABELS before the next document appears; stop with Ctrl-C, and start again
    to go on. Nothing leaves this computer.
    """
    session = Session.start(json, quiet, seed, threads, debug)
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import check_target
    from dcot.runtime.extras import require

    for module in ("starlette", "uvicorn"):
        require(module, "explore")
    from dcot.web.documents import Documents
    from dcot.web.label import LabelOptions, run_label

    folder = output.with_suffix(".model") if model is None else model
    check_target(folder, "DCoTClassifier")
    columns: dict[str, Any] = {
        "text": text,
        "label": label,
        "identifier": identifier,
        "format": format,
        "encoding": encoding,
        "separator": separator,
        "errors": errors,
    }
    source = Corpus(corpus, **columns)
    found = source.whole()
    documents = Documents.of(
        found.texts, found.ids if identifier is not None else None, Path(source.name).name
    )
    if any(isinstance(one, list) for one in found.labels):
        raise UserError(
            f"{source.name} has documents with several labels: `dcot label` gives one per document"
        )
    options = LabelOptions(
        output, folder, [name for name in classes or () if name], host, port, seed
    )
    page = _Page(session, open_page, documents, output)
    try:
        run_label(documents, options, found.labels if label else (), imports or (), page.ready)
    except KeyboardInterrupt:
        session.note("")
    session.done({"labels": str(output), "labelled": page.count()}, page.ended())


class _Page:
    """What is said when the page can be opened, and at the end."""

    def __init__(self, session: Session, open_page: bool, documents: Documents, path: Path) -> None:
        self.session, self.open_page, self.path = session, open_page, path
        self.documents = documents
        self.labelling: Any = None

    def ready(self, access: Any, labelling: Any) -> None:
        import webbrowser

        self.labelling = labelling
        self.session.note(f"Label {self.documents.name} at {access.address}")
        if not access.loopback:
            self.session.note(
                "Others can reach this address. Whoever has the token can read the documents and "
                "change labels; the connection is not encrypted."
            )
        self.session.note("Labels are saved one by one. Stop with Ctrl-C.")
        if self.open_page:
            webbrowser.open(access.address)

    def count(self) -> int:
        return 0 if self.labelling is None else len(self.labelling.labels)

    def ended(self) -> str:
        count = self.count()
        if not count:
            return f"Nothing was labelled; {self.path} is empty."
        return (
            f"{count:,} labels are in {self.path}. Train with: dcot train {self.path} --label label"
            " -o model"
        )
