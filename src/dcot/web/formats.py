"""Files of labels: CSV and JSON lines, and the JSON of Label Studio and Prodigy.

All of them become a list of ``Entry`` and back. CSV and JSON lines are what ``dcot label``
keeps; the others are for moving labels from and to other programs.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from dcot.errors import InvalidInputError
from dcot.text.tables import LABEL_COLUMNS, csv_fields, is_guarded, with_guard, without_guard

Format = Literal["csv", "jsonl", "label-studio", "prodigy"]


@dataclass(frozen=True)
class Entry:
    """One labelled document.

    Attributes
    ----------
    id : the document's identifier
    label : its class; empty for a document that was skipped
    how : how it came to be labelled: ``"suggested"``, ``"random"``, ``"together"``, …
    time : when, in ISO format
    text : the document itself, so that the file can be used without the corpus; None if it is not
        known. CSV and the formats of others write that as an empty text, and it is read as None.
    """

    id: str
    label: str
    how: str = ""
    time: str = ""
    text: str | None = None


def row_of(entry: Entry, kind: str) -> str:
    """An entry as it is appended to a file of this kind, with its line break."""
    if kind == "jsonl":
        return json.dumps(asdict(entry), ensure_ascii=False) + "\n"
    return csv_row(getattr(entry, name) for name in LABEL_COLUMNS)


def written(entries: Iterable[Entry], kind: Format) -> str:
    """A whole file of labels."""
    entries = list(entries)
    if kind in ("csv", "jsonl"):
        header = csv_row(LABEL_COLUMNS) if kind == "csv" else ""
        return header + "".join(row_of(entry, kind) for entry in entries)
    if kind == "prodigy":
        return "".join(json.dumps(_to_prodigy(e), ensure_ascii=False) + "\n" for e in entries)
    tasks = [_to_label_studio(number, entry) for number, entry in enumerate(entries, start=1)]
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def read(data: str, where: str) -> list[Entry]:
    """Entries of a file of any kind, recognised by its first character."""
    data = data.removeprefix("\ufeff")
    start = data.lstrip()[:1]
    if start == "[":
        return _read_label_studio(data, where)
    if start == "{":
        return _read_json_lines(data, where)
    return _read_csv(data, where)


def read_label_file(data: str, where: str, kind: str) -> list[Entry]:
    """Entries of a file that ``dcot label`` keeps and may write again.

    Its last line may be incomplete, and is then left out. If only a part of its text is missing,
    the line looks complete: the caller has to compare. A file with other columns is refused,
    because they would be lost.
    """
    data = data.removeprefix("\ufeff")
    if kind == "csv":
        return _read_csv(data, where, ours=True)
    return _read_json_lines(data, where, ours=True)


# -- CSV ------------------------------------------------------------------------------------


def csv_row(values: Iterable[Any]) -> str:
    """A line of CSV, in which None is empty and no text is run as a formula by a spreadsheet."""
    return ",".join(map(_cell, values)) + "\n"


def _cell(value: Any) -> str:
    """A field of a row. The csv module leaves a lone carriage return without quotes."""
    text = "" if value is None else str(value)
    if isinstance(value, str):
        text = with_guard(text)
    quoted = any(mark in text for mark in '",\r\n')
    return '"' + text.replace('"', '""') + '"' if quoted else text


def _read_csv(data: str, where: str, ours: bool = False) -> list[Entry]:
    if not data.strip():
        return []
    delimiter = "\t" if "\t" in data.partition("\n")[0] else ","
    if ";" in data.partition("\n")[0] and "," not in data.partition("\n")[0]:
        delimiter = ";"  # as spreadsheets write it where the comma is for decimals
    rows = _rows(data, delimiter, where, ours)
    names = rows[0] if rows else []
    if ("id" not in names and "text" not in names) or "label" not in names:
        raise InvalidInputError(
            f"{where} has the columns {', '.join(map(repr, names))}: expected 'label', and 'id' or "
            "'text'"
        )
    if ours:
        _check_columns(names, where)
    entries, guarded = [], is_guarded(names)
    for number, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        if len(row) != len(names):
            raise InvalidInputError(
                f"{where}, row {number}: {len(row)} fields, expected {len(names)}"
            )
        cells = map(without_guard, row) if guarded else row
        entries.append(_entry(dict(zip(names, cells, strict=True))))
    return entries


def _rows(data: str, delimiter: str, where: str, torn: bool) -> list[list[str]]:
    """Rows of a CSV file, without a last one that was cut off."""
    rows: list[list[str]] = []
    try:
        for row in csv_fields(io.StringIO(data, newline=""), delimiter):
            rows.append(row)  # noqa: PERF402  those before an error are kept
    except csv.Error as error:
        if torn and "unexpected end of data" in str(error):
            return rows
        raise InvalidInputError(f"{where} is not CSV: {error}") from error
    if torn and not data.endswith("\n") and rows and len(rows[-1]) < len(rows[0]):
        rows.pop()
    return rows


def _check_columns(names: Iterable[str], where: str) -> None:
    others = [name for name in names if name not in LABEL_COLUMNS]
    if others:
        raise InvalidInputError(
            f"{where} has {', '.join(map(repr, others[:5]))} besides {', '.join(LABEL_COLUMNS)}, "
            "which would be lost when labels change: choose a new file, and import this one"
        )


def _entry(values: dict[str, str]) -> Entry:
    return Entry(
        values.get("id", ""),
        values["label"].strip(),
        values.get("how", ""),
        values.get("time", ""),
        values.get("text") or None,
    )


# -- JSON -----------------------------------------------------------------------------------


def _read_json_lines(data: str, where: str, ours: bool = False) -> list[Entry]:
    """Our own lines, or Prodigy's, which have an ``answer``."""
    lines = data.split("\n")
    entries = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            json.dumps(record, ensure_ascii=False).encode()  # no half characters
        except (ValueError, RecursionError) as error:
            if ours and number == len(lines):
                break  # cut off
            raise InvalidInputError(f"{where}, line {number}: not JSON ({error})") from error
        if not isinstance(record, dict):
            raise InvalidInputError(
                f"{where}, line {number}: {type(record).__name__}, expected an object"
            )
        if ours:
            _check_columns(record, f"{where}, line {number}")
        place = f"{where}, line {number}"
        read_one = _from_prodigy if "answer" in record else _from_record
        entry = read_one(record, place)
        if entry is not None:
            entries.append(_identified(entry, place))
    return entries


def _from_record(record: dict[str, Any], where: str) -> Entry:
    text = record.get("text")
    return Entry(
        _plain(record.get("id")),
        _class(record.get("label"), where),
        _plain(record.get("how")),
        _plain(record.get("time")),
        text if isinstance(text, str) else None,
    )


def _plain(value: Any) -> str:
    return "" if value is None else str(value)


def _class(value: Any, where: str) -> str:
    """The name of a class; a number is one, too."""
    if isinstance(value, list | dict):
        kind = "a list" if isinstance(value, list) else "an object"
        raise InvalidInputError(f"{where}: the label is {kind}, expected the name of one class")
    return _plain(value).strip()


def _only(choices: list[Any], where: str) -> str:
    if len(choices) > 1:
        raise InvalidInputError(f"{where}: {len(choices)} classes were chosen, expected one")
    return _class(choices[0], where)


def _text(value: Any) -> str | None:
    """A text; None for an empty one, and for other values, such as the turns of a dialogue."""
    return value if isinstance(value, str) and value else None


def _identified(entry: Entry, where: str) -> Entry:
    if not entry.id and entry.text is None:
        raise InvalidInputError(
            f"{where}: has neither an 'id' nor a 'text': a label needs one of them, to say which "
            "document it is of"
        )
    return entry


def _to_prodigy(entry: Entry) -> dict[str, Any]:
    """A line of ``textcat.manual``; a skipped document is one that was ignored."""
    answer = "accept" if entry.label else "ignore"
    record: dict[str, Any] = {"text": entry.text or "", "meta": {"id": entry.id}}
    if entry.label:
        record |= {"label": entry.label, "accept": [entry.label]}
    return record | {"answer": answer}


def _from_prodigy(record: dict[str, Any], where: str) -> Entry | None:
    """None for a rejected class, which says what a document is not."""
    if record["answer"] == "reject":
        return None
    accepted = record.get("accept")
    label = ""
    if record["answer"] == "accept":
        several = accepted if isinstance(accepted, list) else []
        label = _only(several or [record.get("label")], where)
    meta = record.get("meta")
    identifier = meta.get("id") if isinstance(meta, dict) else None
    return Entry(_plain(identifier), label, "imported", "", _text(record.get("text")))


def _to_label_studio(number: int, entry: Entry) -> dict[str, Any]:
    """A task with one choice, for a template with ``<Choices name="label" toName="text">``."""
    choice = {
        "from_name": "label",
        "to_name": "text",
        "type": "choices",
        "value": {"choices": [entry.label]},
    }
    annotation: dict[str, Any] = {"result": [choice] if entry.label else []}
    if not entry.label:
        annotation["was_cancelled"] = True
    data = {"text": entry.text or "", "id": entry.id}
    return {"id": number, "data": data, "annotations": [annotation]}


def _read_label_studio(data: str, where: str) -> list[Entry]:
    try:
        tasks = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where} is not JSON ({error})") from error
    entries = []
    for number, task in enumerate(tasks):
        place = f"{where}, task {number}"
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise InvalidInputError(f"{place}: expected an object with 'data'")
        fields = task["data"]
        texts = [value for value in fields.values() if isinstance(value, str)]
        text = _text(fields.get("text", max(texts, key=len, default=None)))
        label = _first_choice(task.get("annotations") or task.get("completions"), place)
        if label is None:
            continue
        entry = Entry(_plain(fields.get("id")), label, "imported", "", text)
        entries.append(_identified(entry, place))
    return entries


def _first_choice(annotations: Any, where: str) -> str | None:
    """The first chosen class; empty if the task was skipped, None if it was not annotated."""
    skipped = False
    for annotation in _objects(annotations):
        if annotation.get("was_cancelled"):
            skipped = True
            continue
        for result in _objects(annotation.get("result")):
            value = result.get("value")
            choices = value.get("choices") if isinstance(value, dict) else None
            if isinstance(choices, list) and choices:
                return _only(choices, where)
    return "" if skipped else None


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list, or none if it is something else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
