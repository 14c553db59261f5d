"""The operations of the exploring page, which other programs may call too, and its server."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcot.errors import UnknownTermError
from dcot.explain import LayerMeaning, Meaning
from dcot.web.explore import reading
from dcot.web.explore.atlas import Atlas, distinctive_terms
from dcot.web.explore.explorer import Explorer
from dcot.web.explore.report import model_report
from dcot.web.labels import MAX_NAME
from dcot.web.routes import Download, Failure, Operation, integer, record, text
from dcot.web.security import Access, App
from dcot.web.server import application, listen, serve, server_of

VIEWS = ("/", "/write", "/words", "/map", "/documents", "/model")
MAX_TEXT = 100_000  # characters to write
MAX_FROM = 6  # words for a prototype
PROTOTYPES = 10  # of each layer
MIN_LIT_SHARE = 0.35  # of the best score: less than that does not light up

_WORD = text(200, 1)
_CLASS = text(1000, 1)
MAX_MASK = 1 << 18  # bytes in base64: a bit for each point
_MASK = text(MAX_MASK - 1000)


class ExploreApi:
    """The operations of an explorer."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer

    def operations(self) -> list[Operation]:
        unknown = {404: "Not a word of the model; `near` has words that are spelled alike"}
        early = {409: "There are no documents, or they are still being read"}
        focus = record({"layer": integer(1, 100), "prototype": _WORD})
        return [
            Operation("/about", "What is explored, and what is ready", self.explorer.about),
            Operation(
                "/write",
                "A text, translated into prototypes layer by layer",
                self.write,
                body=record({"text": text(MAX_TEXT)}, focus=focus),
                computes=True,
            ),
            Operation(
                "/words",
                "Words that begin like this, the most common first",
                self.words,
                {"start": text(200), "n": integer(1, 100)},
            ),
            Operation(
                "/word",
                "One word: prototypes, neighbours, frequency, cohort",
                self.word,
                {"word": _WORD, "n": integer(1, 50)},
                computes=True,
                failures=unknown,
            ),
            Operation(
                "/search",
                "Documents found by meaning and words, with reasons; without a query, the first",
                self.search,
                {"q": text(2000), "n": integer(1, 100), "start": integer(0, 10**9)},
                computes=True,
                failures=early,
            ),
            Operation(
                "/document",
                "One document by id or row, shaded (by a query, if given), and its neighbours",
                self.document,
                {"id": text(1000), "row": integer(0, 10**9), "q": text(2000), "n": integer(1, 50)},
                computes=True,
                failures=early | {404: "No such document"},
            ),
            Operation("/map", "Points, regions and columns", self.map, failures=early),
            Operation("/map/words", "Words on a map", self.word_map, failures=early),
            Operation(
                "/lit",
                "Rows of the documents that a query finds, the best first",
                self.lit,
                {"q": text(2000, 1), "n": integer(1, 1000)},
                computes=True,
                failures=early,
            ),
            Operation(
                "/preview",
                "The beginning of a document",
                self.preview,
                {"row": integer(0, 10**9)},
                failures=early | {404: "No such document"},
            ),
            Operation(
                "/region",
                "The words that set documents of the map apart from the rest, and some of them",
                self.region,
                body=record({"mask": _MASK}),
                max_bytes=MAX_MASK,
                failures=early,
            ),
            Operation(
                "/region/csv",
                "Documents of the map as a table",
                self.region_csv,
                body=record({"mask": _MASK}),
                max_bytes=MAX_MASK,
                failures=early,
            ),
            Operation(
                "/region/label",
                "Give documents of the map a label; those that have one keep it",
                self.region_label,
                body=record({"mask": _MASK, "name": text(MAX_NAME, 1)}),
                max_bytes=MAX_MASK,
                failures=early,
            ),
            Operation("/model", "Selection, estimate, confusions, card", self.model),
            Operation(
                "/cell",
                "Held-out documents of one class that were taken for another, or the same",
                self.cell,
                {"given": _CLASS, "predicted": _CLASS, "n": integer(1, 100)},
                failures=early,
            ),
        ]

    # -- writing ----------------------------------------------------------------------------

    def write(self, text: str, focus: dict[str, Any] | None = None) -> dict[str, Any]:
        explorer = self.explorer
        row = sp.csr_array(explorer.reader.read([text]))
        meaning = explorer.tracer.meaning(row, text, PROTOTYPES)
        decision = explorer.decision(text)
        if focus is None and decision is not None:
            shares, by = decision.shares, decision.why
        else:
            shares, by = _shares_in(meaning, focus)
        return {
            "layers": [_layer(meaning, part) for part in meaning.layers],
            "known": len(meaning.words),
            "pieces": explorer.pieces([(text, row.indices, shares)])[0],
            "shaded_by": by,
            "classes": [] if decision is None else decision.classes,
        }

    # -- words ------------------------------------------------------------------------------

    def words(self, start: str = "", n: int = 12) -> dict[str, Any]:
        found = self.explorer.completions(start, n)
        if not found and start != start.lower():
            found = self.explorer.completions(start.lower(), n)
        return {"words": found}

    def word(self, word: str, n: int = 12) -> dict[str, Any]:
        explorer = self.explorer
        reader = explorer.reader
        try:
            column = reader.column(word)
        except UnknownTermError as error:
            raise Failure(
                404, f"{word!r} is not a word of this model", near=error.suggestions
            ) from error
        name, known = explorer.terms[column], explorer.X is not None
        prototype = bool(explorer.is_prototype[column])
        meaning = explorer.tracer.meaning(reader.weigh(reader._counted([column])), name, PROTOTYPES)
        cohort = reader.cohort(name, n, None, True) if prototype else ()
        return {
            "word": name,
            "documents": int(explorer.document_frequency[column]) if known else None,
            "rank": int((explorer.commonness > explorer.commonness[column]).sum()) + 1,
            "prototype": prototype,
            "layers": [_layer(meaning, part) for part in meaning.layers],
            "neighbours": _ranked(reader.similar(name, n, None)),
            "cohort": _ranked(cohort),
        }

    # -- documents --------------------------------------------------------------------------

    def _with_documents(self) -> Explorer:
        if self.explorer.subject.corpus is None:
            raise Failure(409, "there are no documents: start dcot explore with a corpus")
        return self.explorer

    def _ready(self) -> Explorer:
        explorer = self._with_documents()
        if explorer.index is None:
            raise Failure(409, "the documents are still being read")
        return explorer

    def search(self, q: str = "", n: int = 20, start: int = 0) -> dict[str, Any]:
        if q.strip():
            return reading.search(self._ready(), q, n)
        explorer = self._with_documents()
        total = len(explorer.corpus)
        return reading.rows_listed(explorer, range(start, min(start + n, total)), total)

    def document(
        self, id: str | None = None, row: int | None = None, q: str = "", n: int = 8
    ) -> dict[str, Any]:
        explorer = self._ready()
        place = explorer.corpus.documents.row_of_id.get(id) if id is not None else row
        if place is None or place >= len(explorer.corpus):
            raise Failure(404, f"there is no document {id if row is None else row!r:.80}")
        return reading.read(explorer, place, q.strip(), n)

    # -- the map ----------------------------------------------------------------------------

    def _atlas(self) -> Atlas:
        found = self._ready().atlas
        if found is None:
            raise Failure(409, "the map is still being drawn")
        return found

    def map(self) -> dict[str, Any]:
        return self._atlas().as_json(self.explorer.columns)

    def word_map(self) -> dict[str, Any]:
        if self.explorer.word_atlas is None:
            raise Failure(409, "the map is still being drawn")
        return self.explorer.word_map()

    def lit(self, q: str, n: int = 300) -> dict[str, Any]:
        explorer = self._ready()
        assert explorer.index is not None
        hits = explorer.index.search(q, n)
        best = MIN_LIT_SHARE * max((hit.score for hit in hits), default=0.0)
        rows = [explorer.row_of(hit.id) for hit in hits if hit.score >= best]
        return {"known": bool(hits.known), "rows": rows}

    def preview(self, row: int) -> dict[str, Any]:
        explorer = self._with_documents()
        if row >= len(explorer.corpus):
            raise Failure(404, f"there is no document {row}")
        found: dict[str, Any] = reading.rows_listed(explorer, [row], 1)["documents"][0]
        return found

    def _chosen(self, mask: str) -> Any:
        try:
            return self._atlas().chosen(base64.b64decode(mask, validate=True))
        except ValueError as error:
            raise Failure(422, f"mask is not base64: {error}") from error

    def region(self, mask: str) -> dict[str, Any]:
        rows, explorer = self._chosen(mask), self.explorer
        found = zip(*distinctive_terms(explorer.X, rows, 24), strict=True) if len(rows) else ()
        some = rows[:: max(1, len(rows) // 5)][:5]
        return {
            "count": len(rows),
            "words": [
                {"word": explorer.terms[k], "inside": _short(inside), "outside": _short(outside)}
                for k, inside, outside in found
            ],
            "documents": reading.rows_listed(explorer, some.tolist(), len(rows))["documents"],
        }

    def region_csv(self, mask: str) -> Download:
        return Download("region.csv", reading.as_csv(self.explorer, self._chosen(mask)), "text/csv")

    def region_label(self, mask: str, name: str) -> dict[str, Any]:
        return self.explorer.give_label(self._chosen(mask), name)

    # -- the model --------------------------------------------------------------------------

    def model(self) -> dict[str, Any]:
        explorer = self.explorer
        if explorer.phase == "ready":
            return explorer.report
        return model_report(explorer.subject, explorer.confusion)  # more is still to come

    def cell(self, given: str, predicted: str, n: int = 20) -> dict[str, Any]:
        explorer = self._ready()
        found = explorer.confusion
        rows = [] if found is None else found.documents(given, predicted)
        return reading.rows_listed(explorer, rows[:n], len(rows), shade=True)


# -- what people read -------------------------------------------------------------------------


def _ranked(found: Iterable[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{"word": word, "value": _short(value)} for word, value in found]


def _layer(meaning: Meaning, part: LayerMeaning) -> dict[str, Any]:
    """The strongest prototypes of a layer, each with the words that made it."""
    prototypes = []
    for place, (name, value) in enumerate(part.top()):
        shares = part.shares[:, place]
        order = np.argsort(-np.abs(shares), kind="stable")[:MAX_FROM]
        words = [[meaning.words[k], _short(shares[k])] for k in order]
        prototypes.append({"word": name, "value": _short(value), "from": words})
    return {"layer": part.layer, "prototypes": prototypes}


def _shares_in(meaning: Meaning, focus: Mapping[str, Any] | None) -> tuple[Any, str]:
    """The shares of the words in one prototype, or in the last layer as a whole."""
    if focus is not None and 1 <= focus["layer"] <= len(meaning.layers):
        part = meaning.layer(focus["layer"])
        shown = [name for name, _ in part.top()]
        if focus["prototype"] in shown:
            place = shown.index(focus["prototype"])
            return part.shares[:, place], f"{focus['prototype']} in layer {part.layer}"
    return meaning.layers[-1].word_shares, "the whole"


def _short(value: Any) -> float:
    """Four figures are enough for a page.

    >>> _short(0.123456)
    0.1235
    """
    return float(f"{float(value):.4g}")


# -- the page ---------------------------------------------------------------------------------


def explore_app(explorer: Explorer, access: Access) -> App:
    """The application for an explorer."""
    return application(ExploreApi(explorer).operations(), "explore.html", VIEWS, access)


def run_explore(
    explorer: Explorer,
    host: str = "127.0.0.1",
    port: int | None = None,
    ready: Callable[[Access], None] = lambda access: None,
) -> None:
    """Serve the page until interrupted; ``ready`` is called when it can be opened."""
    with listen(host, port) as listening, closing(explorer):
        access = Access(host, listening.getsockname()[1])
        explorer.start()
        serve(server_of(explore_app(explorer, access)), listening, lambda: ready(access))
