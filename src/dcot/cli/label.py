"""``dcot label``: label a corpus in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session

if TYPE_CHECKING:
    from dcot.web.documents import Documents

EXAMPLES = {
    "label": (
        "dcot label news.csv --text body -o labels.csv",
        "dcot label news.csv --text body --classes oil,stocks -o labels.csv",
        "dcot label news.csv --text body --label topic --id number -o labels.csv --no-open",
        "dcot label news.csv --text body --model model -o labels.csv",
    )
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
    from dcot.cli.corpus import Corpus
    from dcot.cli.files import check_target, load_model
    from dcot.runtime.extras import require

    for module in ("starlette", "uvicorn"):
        require(module, "explore")
    from dcot.classifier.embedding import as_encoder
    from dcot.web.documents import Documents
    from dcot.web.given import check_given
    from dcot.web.label import LabelOptions, run_label

    folder = output.with_suffix(".model") if save is None else save
    check_target(folder, "DCoTClassifier")
    if embedding is not None:
        as_encoder(embedding)  # an error now, not in the background
    given = None if model is None else check_given(load_model(model), str(model), embedding)
    source = Corpus(corpus, reading, o.Labels(label), identifier)
    found = source.whole()
    documents = Documents.of(
        found.texts, found.ids if identifier is not None else None, Path(source.name).name
    )
    if any(isinstance(one, list) for one in found.labels):
        raise UserError(
            f"{source.name} has documents with several labels: `dcot label` gives one per document"
        )
    options = LabelOptions(
        output,
        folder,
        [name for name in classes or () if name],
        page.host,
        page.port,
        session.seed,
        given,
        embedding,
    )
    shown = _Page(session, page.open_page, documents, output)
    try:
        run_label(documents, options, found.labels if label else (), imports or (), shown.ready)
    except KeyboardInterrupt:
        session.note("")
    session.done({"labels": str(output), "labelled": shown.count()}, shown.ended())


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
        labels = "1 label is" if count == 1 else f"{count:,} labels are"
        return f"{labels} in {self.path}. Train with: dcot train {self.path} --label label -o model"
