"""``dcot label``: the page on which a corpus is labelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcot.errors import InvalidInputError
from dcot.web.api import LabelApi
from dcot.web.documents import Documents
from dcot.web.given import Model
from dcot.web.labels import LabelStore
from dcot.web.security import Access, App
from dcot.web.server import application, listen, serve, server_of
from dcot.web.session import Session

VIEWS = ("/", "/label", "/seeds", "/progress", "/doubtful")


@dataclass(frozen=True)
class LabelOptions:
    """Where labels go and how the page is served.

    Attributes
    ----------
    labels : the file of labels
    model : the folder that the model is saved to
    classes : names, in the order of their keys
    host, port : where to listen; without a port the usual one, or a free one
    seed : for everything that is random
    given : a model to start from, as ``given.check_given`` accepts it
    embedding : vectors to use in addition to dCoT, as in ``DCoTClassifier``
    """

    labels: Path
    model: Path
    classes: Sequence[str] = ()
    host: str = "127.0.0.1"
    port: int | None = None
    seed: int = 0
    given: Model | None = None
    embedding: Any = None


def label_app(session: Session, access: Access) -> App:
    """The application for a session."""
    return application(LabelApi(session).operations(), "label.html", VIEWS, access)


def take_over(session: Session, labels: Sequence[str | None]) -> int:
    """Copy labels of the corpus to documents that have none yet; return how many."""
    known = session.store.labels
    new = {row: name for row, name in enumerate(labels) if name and row not in known}
    if new:
        session.label(new, "given")
    return len(new)


def run_label(
    documents: Documents,
    options: LabelOptions,
    given: Sequence[str | None] = (),
    imported: Sequence[Path] = (),
    ready: Callable[[Access, Session], None] = lambda access, session: None,
) -> None:
    """Serve the page until interrupted.

    Parameters
    ----------
    documents : the corpus
    given : labels that it has, by row
    imported : files of labels to take over, of any format in ``formats``
    ready : called when the page can be opened
    """
    listening = listen(options.host, options.port)
    try:
        store = LabelStore(options.labels, documents)
        session = Session(
            documents,
            store,
            options.model,
            tuple(options.classes),
            given=options.given,
            embedding=options.embedding,
            seed=options.seed,
        )
        try:
            take_over(session, given)
            for path in imported:
                # labels that were changed here since an earlier start are kept
                LabelApi(session).import_labels(_content(path), str(path), replace=False)
            access = Access(options.host, listening.getsockname()[1])
            session.start()
            server = server_of(label_app(session, access))
            serve(server, listening, lambda: ready(access, session))
        finally:
            session.close()
    finally:
        listening.close()


def _content(path: Path) -> str:
    """A file of labels as text, with its line breaks as they are."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8, and import it again"
        ) from error
