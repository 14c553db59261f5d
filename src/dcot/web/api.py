"""The operations of the labelling page, which other programs may call too, and its server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Any

from dcot.errors import InvalidInputError
from dcot.web import formats
from dcot.web.documents import MAX_ID, Documents, fingerprint
from dcot.web.labels import MAX_NAME, ConflictError, LabelStore, check_name
from dcot.web.routes import (
    Download,
    Failure,
    Operation,
    array,
    integer,
    nullable,
    record,
    text,
)
from dcot.web.security import Access, App
from dcot.web.server import application, listen, serve, server_of
from dcot.web.session import Session
from dcot.web.shading import MAX_SHOWN, Piece
from dcot.web.space import propose, ranked_by, unknown_words

VIEWS = ("/", "/label", "/seeds", "/progress", "/doubtful")
SHOWN_CLASSES = 9  # with a probability, for one document
MAX_IMPORT_BYTES = 64 << 20
BEGINNING = 60  # characters of a document that say which one it is

_ID = text(MAX_ID, 1)
_CLASS = text(MAX_NAME, 1)
_TAB = text(64, 1)
_WORDS = array(text(200, 1), 200)


class LabelApi:
    """The operations of a labelling session."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def operations(self) -> list[Operation]:
        how = text(
            40,
            1,
            enum=["first", "suggested", "random", "seed words", "together", "doubtful", "other"],
        )
        change = record(
            {"id": _ID, "label": nullable(text(MAX_NAME))},
            expected=nullable(text(MAX_NAME)),
            fingerprint=text(16, 16),
        )
        session, then_state = self.session, self._then_state
        conflict = {
            409: "Document `id`, which begins with `text`, was labelled meanwhile; `current` is "
            "the label it has"
        }
        missing = {404: "No such document"}
        return [
            Operation("/state", "Counts, classes, and what the server is doing", self.state),
            Operation(
                "/next",
                "Documents to label, with predictions",
                self.next,
                {"tab": _TAB, "n": integer(1, 50), "keep": text(5000), "by": _CLASS},
            ),
            Operation(
                "/labels",
                "Give labels, or remove them; on the disk before the answer",
                self.label,
                body=record({"changes": array(change, 500, 1)}, how=how),
                failures=conflict | missing,
            ),
            Operation(
                "/document",
                "One document",
                self.document,
                {"id": _ID},
                failures=missing,
            ),
            Operation(
                "/alike",
                "Unlabelled documents like one",
                self.alike,
                {"id": _ID, "n": integer(1, 60)},
                failures=missing,
            ),
            Operation(
                "/classes",
                "Add a class",
                then_state(session.add_class),
                body=record({"name": _CLASS}),
            ),
            Operation(
                "/classes/rename",
                "Rename a class, or merge it into another",
                then_state(session.rename_class),
                body=record({"old": _CLASS, "new": _CLASS}, merge={"type": "boolean"}),
            ),
            Operation(
                "/classes/remove",
                "Remove a class without labels",
                then_state(session.remove_class),
                body=record({"name": _CLASS}),
            ),
            Operation(
                "/seeds",
                "Set the seed words of a class",
                then_state(session.set_seeds),
                body=record({"name": _CLASS, "words": _WORDS}),
            ),
            Operation(
                "/seeds/propose",
                "More words like these, and the documents they find",
                self.propose,
                body=record({"words": _WORDS}, rejected=_WORDS),
            ),
            Operation("/progress", "Accuracy, per class, when to stop", self.progress),
            Operation(
                "/doubtful",
                "Labels that the other labels contradict, worst first",
                self.doubtful,
                {"n": integer(1, 100)},
            ),
            Operation(
                "/export",
                "All labels as a file",
                self.export,
                {"format": text(20, 1, enum=list(_EXPORTS))},
            ),
            Operation(
                "/import",
                "Take over labels from a file's content",
                self.import_labels,
                body=record({"content": text(MAX_IMPORT_BYTES)}),
                max_bytes=MAX_IMPORT_BYTES,
            ),
            Operation(
                "/model",
                "Learn the final model, and save it",
                then_state(session.save_model),
                body=record({}),
            ),
        ]

    # -- reading ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        session = self.session
        counts = session.counts()
        labelled = len(session.labels)
        return {
            "corpus": session.documents.name,
            "documents": len(session.documents),
            "file": session.store.path.name,
            "phase": session.phase,
            "revision": session.learned.number,
            "measured": session.measured,
            "labelled": labelled,
            "skipped": len(session.store.labels) - labelled,
            "doubtful": session.progress.doubtful,
            "elsewhere": len(session.store.foreign),
            "classes": [
                {"name": name, "labels": counts[name], "seeds": list(session.seeds.get(name, ()))}
                for name in session.classes
            ],
            "saving": asdict(session.saving),
            "target": session.model_path.name,
            "given": session.given is not None,
            "adds": bool(session.names),
        }

    def next(self, tab: str, n: int = 8, keep: str = "", by: str | None = None) -> dict[str, Any]:
        known = self.session.documents.row_of_id
        kept = [known[one] for one in keep.split("\n") if one in known]
        rows = self.session.next_rows(tab, n, kept, by)
        return {
            "revision": self.session.learned.number,
            "documents": [self._document(row, how) for row, how in rows],
        }

    def document(self, id: str) -> dict[str, Any]:
        return self._document(self._row(id))

    def alike(self, id: str, n: int = 12) -> dict[str, Any]:
        name, rows = self.session.alike(self._row(id), n)
        return {"class": name, "documents": [self._document(row, "together") for row in rows]}

    def progress(self) -> dict[str, Any]:
        return asdict(self.session.progress)

    def doubtful(self, n: int = 20) -> dict[str, Any]:
        snapshot = self.session.learned.snapshot
        if snapshot is None or not len(snapshot.rows):
            return {"total": 0, "documents": []}
        issues = snapshot.issues()
        found = []
        for place in range(min(n, len(issues))):
            row = int(snapshot.rows[issues.positions[place]])
            given = snapshot.classes[issues.given[place]]
            other = snapshot.classes[issues.predicted[place]]
            for_given, for_other = self.session.held_out_pieces(row, given, other)
            found.append(
                self._document(row)
                | {
                    "given": {"name": given, "probability": float(issues.given_probability[place])},
                    "other": {
                        "name": other,
                        "probability": float(issues.predicted_probability[place]),
                    },
                    "for_given": for_given,
                    "for_other": for_other,
                }
            )
        return {"total": len(issues), "documents": found}

    def export(self, format: str = "csv") -> Download:
        kind, media_type, ending = _EXPORTS[format]
        content = formats.written(self.session.store.entries(), kind)
        return Download(f"labels{ending}", content, media_type)

    # -- changing ---------------------------------------------------------------------------

    def _then_state(self, change: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
        """A handler with the parameters of a change of the session; it answers with the state."""

        @wraps(change)
        def handler(**values: Any) -> dict[str, Any]:
            change(**values)
            return self.state()

        return handler

    def label(self, changes: list[dict[str, Any]], how: str = "other") -> dict[str, Any]:
        rows = [self._changed_row(change) for change in changes]
        pairs = list(zip(rows, changes, strict=True))
        labels = {row: change["label"] for row, change in pairs}
        expected = {row: change["expected"] for row, change in pairs if "expected" in change}
        try:
            notice = self.session.label(labels, how, expected)
        except ConflictError as conflict:
            current = None if conflict.current is None else conflict.current.name
            raise Failure(
                409,
                "this document was labelled meanwhile, perhaps in another tab",
                id=changes[rows.index(conflict.row)]["id"],
                text=_beginning(self.session.documents.texts[conflict.row]),
                current=current,
            ) from conflict
        return {"labelled": len(self.session.labels), "notice": notice}

    def propose(self, words: list[str], rejected: list[str] | None = None) -> dict[str, Any]:
        space = self.session.space
        if space is None:
            return {"words": [], "unknown": [], "documents": []}
        rows = ranked_by(space, words, self.session.unlabelled(), 5)
        return {
            "words": [asdict(one) for one in propose(space, words, rejected or ())],
            "unknown": unknown_words(space, words),
            "documents": [
                {
                    "id": self.session.documents.ids[row],
                    "pieces": self._marked(int(row), words),
                }
                for row in rows
            ],
        }

    def import_labels(
        self, content: str, where: str = "the imported file", replace: bool = True
    ) -> dict[str, Any]:
        """Take over labels of a file; without ``replace``, those of unlabelled documents alone.

        A row without a label is no answer, and a skipped document keeps the label it has here.
        """
        documents, known = self.session.documents, self.session.store.labels
        rows = formats.read(content, where)
        entries = [entry for entry in rows if entry.label or entry.how]
        if rows and not entries:
            raise InvalidInputError(f"{where} has {len(rows)} documents and no label")
        found = {row: e.label for e in entries if (row := documents.find(e.id, e.text)) is not None}
        elsewhere = len(entries) - len(found)
        found = {row: name for row, name in found.items() if row not in known or (name and replace)}
        if found:
            self.session.label(found, "imported")
        return {"imported": len(found), "elsewhere": elsewhere}

    # -- documents for the page -------------------------------------------------------------

    def _row(self, identifier: str) -> int:
        row = self.session.documents.row_of_id.get(identifier)
        if row is None:
            raise Failure(404, f"there is no document {identifier[:80]!r}")
        return row

    def _changed_row(self, change: dict[str, Any]) -> int:
        """The row of a change: of its text, if the page has it from another start of the server."""
        documents, wanted = self.session.documents, change.get("fingerprint")
        if wanted is None:
            return self._row(change["id"])
        row = documents.row_of_id.get(change["id"])
        if row is None or fingerprint(documents.texts[row]) != wanted:
            row = documents.row_of_fingerprint.get(wanted)
        if row is None:
            raise Failure(404, "this document is not in the corpus any more: reload the page")
        return row

    def _document(self, row: int, how: str = "") -> dict[str, Any]:
        session = self.session
        whole = session.documents.texts[row]
        label = session.store.labels.get(row)
        snapshot, space = session.learned.snapshot, session.space
        predictions: list[dict[str, Any]] = []
        pieces: list[Piece] = [(whole[:MAX_SHOWN], 0.0)]
        if snapshot is not None and space is not None and space.known[row]:
            chances = snapshot.probabilities(space.Z[[row]])[0]
            order = chances.argsort()[::-1][:SHOWN_CLASSES]
            predictions = [
                {"name": snapshot.classes[k], "probability": round(float(chances[k]), 4)}
                for k in order
            ]
            pieces = self.session.pieces(row, predictions[0]["name"])
        return {
            "id": session.documents.ids[row],
            "fingerprint": fingerprint(whole),
            "how": how,
            "label": None if label is None else label.name,
            "length": len(whole),
            "pieces": pieces,
            "predictions": predictions,
            "calibrated": snapshot is not None and snapshot.calibrated,
        }

    def _marked(self, row: int, words: list[str]) -> list[Piece]:
        """The beginning of a text with the seed words marked."""
        space = self.session.space
        assert space is not None
        marks = dict.fromkeys(space.columns(words), 1.0)
        return space.pieces(self.session.documents.texts[row][:400], marks)


def _beginning(text: str) -> str:
    words = " ".join(text[: 5 * BEGINNING].split())
    return words if len(words) <= BEGINNING else f"{words[:BEGINNING]} …"


_EXPORTS: dict[str, tuple[formats.Format, str, str]] = {
    "csv": ("csv", "text/csv; charset=utf-8", ".csv"),
    "jsonl": ("jsonl", "application/jsonl; charset=utf-8", ".jsonl"),
    "label-studio": ("label-studio", "application/json", ".label-studio.json"),
    "prodigy": ("prodigy", "application/jsonl; charset=utf-8", ".prodigy.jsonl"),
}


# -- the page ---------------------------------------------------------------------------------


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
    labels: Path,
    model: Path,
    host: str = "127.0.0.1",
    port: int | None = None,
    *,
    known: Sequence[str | None] = (),
    imported: Sequence[Path] = (),
    ready: Callable[[Access, Session], None] = lambda access, session: None,
    **options: Any,
) -> None:
    """Serve the page until interrupted.

    Parameters
    ----------
    documents : the corpus
    labels : the file of labels
    model : the folder that the model is saved to
    host, port : where to listen; without a port the usual one, or a free one
    known : labels that the corpus has, by row
    imported : files of labels to take over, of any format in ``formats``
    ready : called when the page can be opened
    options : of the session: ``classes``, ``given``, ``embedding``, ``seed``
    """
    contents = {str(path): _content(path) for path in imported}
    for name in options.get("classes", ()):
        check_name(name)
    with (
        listen(host, port) as listening,
        closing(LabelStore(labels, documents)) as store,
        closing(Session(documents, store, model, **options)) as session,
    ):
        take_over(session, known)
        for path, content in contents.items():
            # labels that were changed here since an earlier start are kept
            LabelApi(session).import_labels(content, path, replace=False)
        access = Access(host, listening.getsockname()[1])
        session.start()
        server = server_of(label_app(session, access))
        serve(server, listening, lambda: ready(access, session))


def _content(path: Path) -> str:
    """A file of labels as text, with its line breaks as they are."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8, and import it again"
        ) from error
