"""Files of a run: ``report.html``, ``results.json``, ``results.csv``, figures; and the docs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from dcot.bench.report.figures import figures, png, svg
from dcot.bench.report.page import page, provenance
from dcot.bench.report.results import Results
from dcot.bench.report.sections import Section, sections
from dcot.runtime.files import write_atomically

TITLE = "dCoT: the paper's experiments, and ours"


def write_report(results: Results, folder: Path, title: str = TITLE) -> Path:
    """Write everything; returns the path of the page."""
    drawings = {}
    for name, caption, figure in figures(results):
        drawing = svg(figure)
        drawings[name] = (drawing, caption)
        write_atomically(folder / "figures" / f"{name}.svg", drawing.encode())
        write_atomically(folder / "figures" / f"{name}.png", png(figure))
    write_atomically(folder / "results.json", as_json(results).encode())
    write_atomically(folder / "results.csv", as_csv(results).encode())
    report = folder / "report.html"
    html = page(results, sections(results, drawings), drawings, title)
    write_atomically(report, html.encode())
    return report


def as_json(results: Results) -> str:
    """Every cell with its settings, seeds (draws), versions and machine."""
    content = {
        "profile": results.profile,
        "planned": results.planned,
        "failures": [vars(failure) for failure in results.failures],
        "notes": results.notes,
        "corpora": results.corpora,
        "searched": results.searched,
        "seeds": results.seeds,
        "cells": [vars(cell) for cell in results.cells],
    }
    return json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n"


def as_csv(results: Results) -> str:
    """A line a cell; what is not a number or a word is JSON inside its field."""
    rows: list[dict[str, Any]] = []
    for cell in results.cells:
        shown = {k: v for k, v in cell.result.items() if k not in ("columns", "hits")}
        flat = {**cell.key, **{f"result.{k}": v for k, v in shown.items()}}
        rows.append({**flat, "seconds": cell.seconds, "commit": cell.commit})
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in row.items()}
        )
    return out.getvalue()


def write_docs(results: Results, folder: Path) -> None:
    """``results.md`` with all tables, and the figures, for the documentation."""
    drawings = {}
    for name, caption, figure in figures(results):
        drawings[name] = caption
        write_atomically(folder / f"{name}.svg", svg(figure).encode())
    text = markdown(results, sections(results, drawings), drawings)
    write_atomically(folder / "results.md", text.encode())


def markdown(results: Results, parts: list[Section], captions: dict[str, str]) -> str:
    """The report as Markdown; figures are files beside it."""
    lines = [f"*{provenance(results)}*", ""]
    lines += [f"> {note}\n" for note in results.notes]
    lines += [f"> Failed: {f.title}, {f.cells} cells. {f.reason}\n" for f in results.failures]
    for section in parts:
        lines += [f"### {section.title}", "", section.what, ""]
        for text in section.paragraphs:
            lines += [text, ""]
        for name in section.figures:
            lines += [f"![{captions[name]}](experiments/{name}.svg)", "", f"*{captions[name]}*", ""]
        lines += [table.markdown() for table in section.tables]
    return "\n".join(lines)
