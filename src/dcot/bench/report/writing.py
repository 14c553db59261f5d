"""Files of a run: ``report.html``, ``results.json``, ``results.csv``, figures; and the docs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from dcot.bench.experiments.accuracy import NAME
from dcot.bench.report.comparison import METRICS, verdict
from dcot.bench.report.figures import figures, png, svg
from dcot.bench.report.html import page, provenance
from dcot.bench.report.paragraphs import PROTOCOL, Section, sections
from dcot.bench.report.results import Results, values
from dcot.runtime.files import write_atomically

TITLE = "dCoT: the paper's experiments, and ours"
# What identifies a figure of the complete table.
IDENTITY = ("corpus", "system", "classifier", "learned", "labels")


def write_report(results: Results, folder: Path, title: str = TITLE) -> Path:
    """Write everything; returns the path of the page."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    drawings: dict[str, tuple[str, str]] = {}
    names: dict[str, list[str]] = {}
    for experiment, name, caption, figure in figures(results):
        drawings[name] = svg(figure), caption
        names.setdefault(experiment, []).append(name)
        write_atomically(folder / "figures" / f"{name}.svg", drawings[name][0].encode())
        write_atomically(folder / "figures" / f"{name}.png", png(figure))
    write_atomically(folder / "results.json", as_json(results).encode())
    write_atomically(folder / "results.csv", as_csv(results).encode())
    report = folder / "report.html"
    html = page(results, sections(results, names), drawings, title)
    write_atomically(report, html.encode())
    return report


def as_json(results: Results) -> str:
    """Every cell with its settings, seeds (draws), versions and machine."""
    content = {
        "profile": results.profile,
        "commit": results.commit,
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
    """A line per cell; what is not a number or a word is JSON inside its field."""
    rows: list[dict[str, Any]] = []
    for cell in results.cells:
        shown = {
            k: v for k, v in cell.result.items() if k not in ("columns", "hits", "ndcg_by_query")
        }
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


def summary(results: Results) -> list[dict[str, Any]]:
    """Every figure of the complete table: mean, standard deviation and draws of a metric."""
    groups: dict[str, list[Any]] = {}
    for cell in results.select(NAME):
        identity = {name: cell.key[name] for name in IDENTITY}
        groups.setdefault(json.dumps(identity), []).append(cell)
    found = []
    for text, cells in groups.items():
        for metric in METRICS:
            each = next(iter(values(cells, "labels", metric).values()))
            figure = {
                "metric": metric,
                "mean": round(100 * float(each.mean()), 2),
                "sd": round(100 * float(each.std(ddof=1)), 2) if len(each) > 1 else None,
                "draws": len(each),
            }
            found.append({**json.loads(text), **figure})
    return found


def write_docs(results: Results, folder: Path) -> None:
    """For the documentation: all tables, the main result, the figures, and the same as data.

    ``results.md`` is the complete table. ``verdict.md`` is its main result in words, for pages
    that quote it. ``figures.json`` has every figure for programs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    captions: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    for experiment, name, caption, figure in figures(results):
        captions[name] = caption
        names.setdefault(experiment, []).append(name)
        write_atomically(folder / f"{name}.svg", svg(figure).encode())
    text = markdown(results, sections(results, names), captions)
    write_atomically(folder / "results.md", text.encode())
    said = "".join(f"- {line}\n" for line in verdict(results))
    write_atomically(folder / "verdict.md", said.encode())
    data = {"commit": results.commit, "profile": results.profile, "figures": summary(results)}
    write_atomically(folder / "figures.json", (json.dumps(data, indent=0) + "\n").encode())


def markdown(results: Results, parts: list[Section], captions: dict[str, str]) -> str:
    """The report as Markdown; figures are files beside it."""
    lines = [f"*{provenance(results)}*", "", *(f"{text}\n" for text in verdict(results))]
    lines += [f"> {note}\n" for note in results.notes]
    lines += [f"> Failed: {f.title}, {f.cells} cells. {f.reason}\n" for f in results.failures]
    lines += [PROTOCOL, ""]
    for section in parts:
        lines += [f"### {section.title}", "", section.what, ""]
        for text in section.paragraphs:
            lines += [text, ""]
        for name in section.figures:
            lines += [f"![{captions[name]}](experiments/{name}.svg)", "", f"*{captions[name]}*", ""]
        lines += [table.markdown() for table in section.tables]
    return "\n".join(lines)
