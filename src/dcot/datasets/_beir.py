"""Collections with judged queries, in the layout of BEIR."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcot.errors import DatasetError

__all__ = ["JudgedCollection", "load_beir"]


@dataclass(frozen=True)
class JudgedCollection:
    """Documents, queries, and which documents are relevant to which query.

    Attributes
    ----------
    name : of the folder
    ids, texts : of the documents
    query_ids, queries : of the queries that have a relevant document
    relevant : for each query, the grades of its relevant documents by id
    """

    name: str
    ids: list[str]
    texts: list[str]
    query_ids: list[str]
    queries: list[str]
    relevant: list[dict[str, float]]


def load_beir(path: str | os.PathLike[str], *, split: str = "test") -> JudgedCollection:
    """Read a folder with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv``.

    A document is its title and its text. Queries without a relevant document are left out, as
    they can tell no system from another.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder: expected one in the layout of BEIR")
    ids, texts = [], []
    for entry in _entries(folder / "corpus.jsonl"):
        ids.append(entry["_id"])
        texts.append(f"{entry.get('title') or ''} {entry['text']}".strip())
    if len(set(ids)) != len(ids):
        raise DatasetError(f"{folder / 'corpus.jsonl'} has an _id twice: each has to be unique")
    grades = _grades(folder / "qrels" / f"{split}.tsv")
    judged = [q for q in _entries(folder / "queries.jsonl") if grades.get(q["_id"])]
    if not ids or not judged:
        raise DatasetError(f"{folder} has no documents, or no query with a relevant document")
    return JudgedCollection(
        folder.resolve().name,
        ids,
        texts,
        [query["_id"] for query in judged],
        [query["text"] for query in judged],
        [grades[query["_id"]] for query in judged],
    )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except FileNotFoundError:
        raise DatasetError(f"{path} is missing: BEIR's layout has it") from None
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 ({error})") from None


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in _lines(path):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetError(f"{path}, line {number}, is not JSON ({error})") from None
        if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
            raise DatasetError(f"{path}, line {number}: expected an object with _id and text")
        if not isinstance(entry.get("_id"), str | int):
            raise DatasetError(f"{path}, line {number}: _id has to be a string")
        yield {**entry, "_id": str(entry["_id"])}


def _grades(path: Path) -> dict[str, dict[str, float]]:
    """Positive grades by query and document."""
    grades: dict[str, dict[str, float]] = {}
    for number, line in _lines(path):
        cells = line.split("\t")
        if number == 1 and cells[:1] == ["query-id"]:
            continue
        try:
            query, document, grade = cells[0], cells[1], float(cells[2])
        except (IndexError, ValueError):
            raise DatasetError(
                f"{path}, line {number}: expected query-id, corpus-id and score with tabs between"
            ) from None
        if grade > 0:
            grades.setdefault(query, {})[document] = grade
    return grades
