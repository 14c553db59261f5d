"""The exploring page in one file, which needs neither a server nor the network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier.labels import is_missing
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.runtime.files import write_atomically
from dcot.text.inputs import as_texts
from dcot.web.documents import Documents
from dcot.web.explore.atlas import packed
from dcot.web.explore.explorer import Explorer
from dcot.web.explore.subject import Corpus, subject_of

Array = NDArray[Any]

MAX_DOCUMENTS = 2000  # of more, a random sample is in the file
MAX_CHARACTERS = 1000  # of each document
MAX_WORDS = 4000
PER_WORD = 12  # prototypes of a word in each layer, and its neighbours
_ENTRY = "explore.js"


@dataclass(frozen=True)
class Page:
    """A page in one file; a notebook shows it, and ``save`` keeps it."""

    html: str
    name: str

    def save(self, path: str | Path) -> None:
        """Write the file, in one step."""
        write_atomically(path, self.html.encode())

    def __repr__(self) -> str:
        return f"<page about {self.name}: {len(self.html) / 1e6:.1f} MB, see it in a notebook>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.name)}" width="100%" '
            'height="860" style="border:1px solid #8886;border-radius:8px" '
            'sandbox="allow-scripts allow-downloads"></iframe>'
        )


def page_of(
    model: object,
    documents: Any = None,
    labels: Iterable[Any] | None = None,
    metadata: Iterable[Any] | None = None,
) -> Page:
    """A page about a model, with documents if they are given."""
    corpus = None
    if documents is not None:
        mark = getattr(model, "unlabelled_label", -1)
        given = [None if is_missing(one, mark) else str(one) for one in _listed(labels)]
        entries = _listed(metadata)
        texts = as_texts(documents).to_list()
        for name, found in (("labels", given), ("entries of metadata", entries)):
            if found and len(found) != len(texts):
                raise InvalidInputError(
                    f"there are {len(texts)} documents and {len(found)} {name}: give one for each"
                )
        wrong = [one for one in entries if not isinstance(one, Mapping | None)]
        if wrong:
            raise InvalidTypeError(
                f"metadata must have a mapping, or None, per document, got {wrong[0]!r:.80}"
            )
        corpus = Corpus(Documents.of(texts, name="documents"), given, entries)
    explorer = Explorer(subject_of(model, type(model).__name__, corpus))
    explorer.prepare()
    return export_page(explorer)


def _listed(values: Iterable[Any] | None) -> list[Any]:
    return [] if values is None else list(values)


def export_page(explorer: Explorer) -> Page:
    """The page about an explorer that is prepared."""
    data = json.dumps(_data(explorer), ensure_ascii=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    script, style = _bundle(), _static("style.css") + _static("explore.css")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    html = _static("explore.html")
    html = re.sub(r"<link .*?>\n|<script .*?</script>\n", "", html)
    html = html.replace(
        "</head>",
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<style>{style}</style>\n</head>",
    )
    blocks = (
        f'<script type="application/json" id="dcot-data">{data}</script>\n<script>{script}</script>'
    )
    html = html.replace("</body>", f"{blocks}\n</body>")
    # a name in metadata may have half a character, which no file can have
    return Page(html.encode(errors="replace").decode(), explorer.subject.name)


# -- what is in it --------------------------------------------------------------------------------


def _data(explorer: Explorer) -> dict[str, Any]:
    rows = _rows(explorer)
    pairs = zip(rows.tolist(), explorer.classes(rows), strict=True)
    documents = [_document(explorer, row, classes) for row, classes in pairs]
    place = {int(row): k for k, row in enumerate(rows)}
    cells, shown = [], None
    if explorer.confusion is not None:
        found = explorer.confusion
        triples = zip(found.rows.tolist(), found.given, found.predicted, strict=True)
        names = found.classes
        cells = [[place[row], names[g], names[p]] for row, g, p in triples if row in place]
    if explorer.atlas is not None:
        # drawn documents are in the order of their rows
        where = np.searchsorted(explorer.atlas.rows, rows)
        numbers = np.arange(len(rows))
        part = replace(explorer.atlas, rows=numbers, points=explorer.atlas.points[where])
        shown = part.as_json(explorer._columns(rows)) | {"rows": None}
    return {
        "about": _about(explorer, len(documents)),
        "words": _words(explorer),
        "word_map": explorer.word_map(),
        "documents": documents,
        "map": shown,
        "cells": cells,
        "model": explorer.report,
    }


def _rows(explorer: Explorer) -> Array:
    if explorer.atlas is None:
        return np.zeros(0, dtype=np.intp)
    rows = explorer.atlas.rows
    if len(rows) <= MAX_DOCUMENTS:
        return rows
    generator = np.random.RandomState(explorer.seed)
    return np.sort(generator.choice(rows, MAX_DOCUMENTS, replace=False))


def _about(explorer: Explorer, n: int) -> dict[str, Any]:
    total = 0 if explorer.subject.corpus is None else len(explorer.corpus)
    name = explorer.subject.name
    stated = name if n == total else f"{name} ({n:,} of {total:,} documents)"
    return explorer.about() | {"name": stated, "documents": n, "phase": "ready", "labels": None}


def _document(explorer: Explorer, row: int, classes: list[dict[str, Any]]) -> dict[str, Any]:
    corpus = explorer.corpus
    text = corpus.documents.texts[row]
    metadata = (corpus.metadata[row] if corpus.metadata else None) or {}
    return {
        "id": corpus.documents.ids[row],
        "text": text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]} …",
        "label": explorer.label(row),
        "predicted": explorer.predicted_name(row),
        "metadata": [[str(name), str(value)[:200]] for name, value in metadata.items()],
        "classes": classes,
    }


def _words(explorer: Explorer) -> dict[str, Any]:
    """The most common words: their strongest prototypes in each layer, and their neighbours."""
    reader = explorer.reader
    columns = np.argsort(-explorer.commonness, kind="stable")[:MAX_WORDS]
    names = [explorer.terms[column] for column in reader.prototypes]
    width = min(PER_WORD, len(names))
    layers = []
    for depth in range(1, len(reader.layers) + 1):
        values = reader.vectors(columns.tolist(), depth)
        best = np.argpartition(-np.abs(values), width - 1, axis=1)[:, :width]
        chosen = np.take_along_axis(values, best, axis=1)
        scale = float(np.abs(chosen).max(initial=0.0)) / 32767 or 1.0
        whole = np.round(chosen / scale).astype("<i2")
        layers.append(
            {"places": packed(best.astype("<u2")), "values": packed(whole), "scale": scale}
        )
    near, cosines = _neighbours(values, min(PER_WORD, max(1, len(columns) - 1)))
    frequency = None if explorer.X is None else explorer.document_frequency[columns].tolist()
    return {
        "terms": [explorer.terms[column] for column in columns],
        "prototypes": names,
        "width": width,
        "idf": packed(-explorer.commonness[columns].astype("<f4")),
        "documents": frequency,
        "layers": layers,
        "near": packed(near.astype("<u2")),
        "cosines": packed(np.round(255 * np.clip(cosines, 0, 1)).astype("<u1")),
    }


def _neighbours(values: Array, k: int) -> tuple[Array, Array]:
    """Of each row the k others with the largest cosine, and these."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    units = values / np.where(lengths > 0, lengths, 1.0)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -1.0)
    near = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return near, np.take_along_axis(cosines, near, axis=1)


# -- one script of all modules --------------------------------------------------------------------

_IMPORT = re.compile(r'^import (\{[^}]*\}|\* as \w+) from "\./([\w-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) ([\w$]+)", re.MULTILINE)


def _bundle() -> str:
    """All modules in one script, each a function that returns what it exports."""
    parts: dict[str, str] = {}
    _add(_ENTRY, parts)
    return '"use strict";\nconst modules = {};\n' + "\n".join(parts.values())


def _add(name: str, parts: dict[str, str]) -> None:
    """The modules that one imports, then itself."""
    if name in parts:
        return
    source = _static(name)
    for _, imported in _IMPORT.findall(source):
        _add(imported, parts)
    exported = ", ".join(found[1] for found in _EXPORT.findall(source))
    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(_taken, source))
    parts[name] = f"modules[{name!r}] = (async () => {{\n{body}\nreturn {{ {exported} }};\n}})();"
    if name != _ENTRY:
        parts[name] = parts[name].replace("(async () =>", "(() =>", 1)


def _taken(found: re.Match[str]) -> str:
    """An import as a constant."""
    names = found[1].replace("* as ", "") if found[1].startswith("*") else found[1]
    return f'const {names.replace(" as ", ": ")} = modules["{found[2]}"];'


def _static(name: str) -> str:
    return files("dcot.web").joinpath("static", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"
