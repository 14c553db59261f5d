"""The files of a run: ``report.html``, ``results.json``, ``results.csv`` and figures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from dcot.bench.experiments.accuracy import FEW_LABELS, NAME
from dcot.bench.report.figures import figures, png, svg
from dcot.bench.report.paragraphs import PROTOCOL, Section, sections, systems_used
from dcot.bench.report.results import METRICS, Results, values, verdict
from dcot.bench.report.tables import TABLES, Table
from dcot.runtime.files import write_atomically
from dcot.runtime.progress import format_duration

MANY_FIGURES = 4  # in a section of a page; if there are more, only two are shown at first
_STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --page: #fff; --soft: #555; --line: #ccc;
  --note: #fff4d6; --failed: #fde3e0; --verdict: #eef4fb; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e6e6; --page: #16181b; --soft: #a8adb3;
  --line: #444a51; --note: #3d3415; --failed: #4a201c; --verdict: #1d2a38; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--text); background: var(--page); }
h1 { font-size: 1.7rem; } h2 { margin-top: 2.6rem; border-bottom: 1px solid var(--line); }
p { max-width: 46rem; } a { color: inherit; }
figure { margin: 1.4rem 0; } figure svg { max-width: 100%; height: auto; background: #fff;
  border-radius: 6px; } /* figures are drawn on white, in both modes */
figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .88rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid var(--line); }
table:not(.words) tr:not(.gain) td { white-space: nowrap; } tr.gain td { color: var(--soft); }
th { border-bottom: 2px solid var(--soft); } td:first-child, th:first-child, .words td, .words th
  { text-align: left; } .theirs { color: var(--soft); font-style: italic; }
.note, .failed, .verdict { padding: .5rem .9rem; border-left: 4px solid #4a7ab0;
  background: var(--verdict); } .verdict { font-size: 1.05rem; }
.note { background: var(--note); border-color: #d9a400; }
.failed { background: var(--failed); border-color: #c0392b; }
nav a { margin-right: 1rem; } dt { font-weight: 600; } dd { margin: 0 0 .5rem 1rem; }
"""


def page(
    results: Results,
    sections: Sequence[Section],
    drawings: Mapping[str, tuple[str, str]],
    title: str,
) -> str:
    """The report as HTML; ``drawings`` has the SVG and caption of each figure by name."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        _head(results),
        "<nav>"
        + "".join(f'<a href="#{s.name}">{escape(s.title)}</a>' for s in sections)
        + '<a href="#about">About</a></nav>',
    ]
    for section in sections:
        parts.append(f'<h2 id="{section.name}">{escape(section.title)}</h2>')
        parts.append(f"<p>{escape(section.what)}</p>")
        parts += [f"<p>{escape(text)}</p>" for text in section.paragraphs]
        for name in section.figures:
            drawing, caption = drawings[name]
            parts.append(f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>")
        parts += [table(each, section.name == "claims") for each in section.tables]
    parts += [_about(results), "</body></html>"]
    return "\n".join(parts) + "\n"


def _head(results: Results) -> str:
    parts = [f'<p class="verdict">{escape(text)}</p>' for text in verdict(results)]
    parts.append(f"<p>{escape(provenance(results))}</p>")
    if results.profile == "quick":
        parts.append(
            '<p class="note">Quick profile: small samples of the corpora, few draws and small '
            "grids, to check that everything works. For reliable figures, run "
            "<code>--profile full</code>.</p>"
        )
    parts += [f'<p class="note">{escape(note)}</p>' for note in results.notes]
    for failure in results.failures:
        text = f"Failed: {failure.title}, {failure.cells} cells. {failure.reason}"
        parts.append(f'<p class="failed">{escape(text)}</p>')
    return "\n".join(parts)


def provenance(results: Results) -> str:
    """How many cells there are, and what code, machines and time they took."""
    said = [
        f"Profile {results.profile}: {len(results.cells)} of {results.planned} cells, "
        f"{format_duration(results.seconds)} of computing"
    ]
    if versions := results.versions.get("dcot"):
        where = f"at commit {results.commit}" if results.commit else "as an installed package"
        said.append(f"dcot {' and '.join(versions)} {where}")
    said += results.hardware
    return "; ".join(said) + "."


def table(data: Table, words: bool = False) -> str:
    """A table as HTML."""
    kind = ' class="words"' if words else ""
    lines = [f'<div class="scroll"><table{kind}><caption>{escape(data.title)}</caption>']
    lines.append("<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in data.head) + "</tr>")
    for number, row in enumerate(data.rows):
        mark = ' class="theirs"' if number in data.theirs else ""
        if row[0].startswith("*"):  # a gain: its cells break once, before the parenthesis
            mark = ' class="gain"'
            row = [cell.replace(" ", "\u00a0").replace("\u00a0(", " (") for cell in row]
        cells = []
        for column, cell in enumerate(row):
            text = escape(cell.strip("*"))
            best = (number, column) in data.best
            cells.append(f"<td>{f'<strong>{text}</strong>' if best else text}</td>")
        lines.append(f"<tr{mark}>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table></div>"])


def _about(results: Results) -> str:
    lines = ['<h2 id="about">About</h2>', f"<p>{escape(PROTOCOL)}</p>", "<h3>Systems</h3><dl>"]
    for name, text in systems_used(results):
        lines.append(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>")
    lines.append("</dl><h3>Corpora</h3><dl>")
    for name, corpus in results.corpora.items():
        sizes = ", ".join(f"{n:,} {part}" for part, n in corpus["documents"].items() if n)
        text = f"{sizes} documents, {corpus['classes']} classes (before sampling)."
        if corpus["description"]:
            text += f" {corpus['description'].rstrip('.')}."
        if corpus["unseen_classes"]:
            text += f" {corpus['unseen_classes']} of the classes used have only test documents."
        text += f" Licence: {corpus['licence'].rstrip('.')}. {corpus['citation']}"
        lines.append(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>")
    versions = ", ".join(
        f"{name} {' and '.join(found)}" for name, found in results.versions.items()
    )
    lines.append(f"</dl><h3>Versions</h3><p>{escape(versions)}</p>")
    return "\n".join(lines)


TITLE = "dCoT: the paper's experiments, and ours"
# The key of a figure in the complete table.
IDENTITY = ("corpus", "system", "classifier", "learned", "labels")


def write_report(results: Results, folder: Path, title: str = TITLE) -> Path:
    """Write all files and return the path of the page."""
    drawings, names = _draw(results, folder / "figures", with_png=True)
    write_atomically(folder / "results.json", as_json(results).encode())
    write_atomically(folder / "results.csv", as_csv(results).encode())
    report = folder / "report.html"
    html = page(results, sections(results, names), drawings, title)
    write_atomically(report, html.encode())
    return report


def _draw(
    results: Results, folder: Path, with_png: bool = False
) -> tuple[dict[str, tuple[str, str]], dict[str, list[str]]]:
    """Write the figures; return their SVG and captions by name, and names by experiment."""
    drawings: dict[str, tuple[str, str]] = {}
    names: dict[str, list[str]] = {}
    for experiment, name, caption, figure in figures(results):
        drawings[name] = svg(figure), caption
        names.setdefault(experiment, []).append(name)
        write_atomically(folder / f"{name}.svg", drawings[name][0].encode())
        if with_png:
            write_atomically(folder / f"{name}.png", png(figure))
    return drawings, names


def as_json(results: Results) -> str:
    """Every cell with its settings, seeds, versions and machine."""
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
    """A line per cell; lists and dicts are written as JSON."""
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
    """Mean, standard deviation and number of draws of every figure in the complete table."""
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
    """Write the tables, the main result and the figures for the documentation.

    ``results.md`` has all tables. ``verdict.md`` has the main result in words and one figure, for
    pages that quote it. ``figures.json`` has all figures as data.
    """
    drawings, names = _draw(results, folder)
    captions = {name: caption for name, (_, caption) in drawings.items()}
    text = markdown(results, sections(results, names), captions)
    write_atomically(folder / "results.md", text.encode())
    said = "".join(f"- {line}\n" for line in verdict(results))
    for name in names.get(FEW_LABELS, [])[:1]:
        said += f"\n{_figure(name, captions[name])}"
    write_atomically(folder / "verdict.md", said.encode())
    data = {"commit": results.commit, "profile": results.profile, "figures": summary(results)}
    write_atomically(folder / "figures.json", (json.dumps(data, indent=0) + "\n").encode())


def write_tables(results: Results, path: Path) -> None:
    """Write the tables of few labels alone, as Markdown."""
    tables = [table.markdown() for table in TABLES[FEW_LABELS](results)]
    write_atomically(path, "\n".join([*tables, f"*{provenance(results)}*\n"]).encode())


def markdown(results: Results, parts: list[Section], captions: dict[str, str]) -> str:
    """The report as Markdown; its figures are separate files."""
    lines = [f"*{provenance(results)}*", "", *_listed(verdict(results)), ""]
    lines += [f"> Failed: {f.title}, {f.cells} cells. {f.reason}\n" for f in results.failures]
    lines += [_folded("What was compared, and how", [PROTOCOL, "", *_listed(results.notes)]), ""]
    for section in parts:
        lines += [f"### {section.title}", "", section.what, ""]
        several = len(section.paragraphs) > 1
        lines += [*(_listed(section.paragraphs) if several else section.paragraphs), ""]
        drawn = [_figure(name, captions[name]) for name in section.figures]
        shown = 2 if len(drawn) > MANY_FIGURES else len(drawn)
        lines += drawn[:shown]
        if drawn[shown:]:
            lines.append(_folded(f"{len(drawn) - shown} more figures", drawn[shown:]) + "\n")
        for corpus, tables in groupby(section.tables, key=lambda table: table.corpus):
            texts = [table.markdown() for table in tables]
            lines += [_folded(f"Tables of {corpus}", texts) + "\n"] if corpus else texts
    return "\n".join(lines)


def _figure(name: str, caption: str) -> str:
    return f"![{caption}]({name}.svg)\n\n*{caption}*\n"


def _listed(texts: Sequence[str]) -> list[str]:
    return [f"- {text}" for text in texts]


def _folded(title: str, lines: Sequence[str]) -> str:
    """Markdown that a reader opens, in the repository and on the site."""
    text = "\n".join(lines).strip()
    return f'<details markdown="1">\n<summary>{title}</summary>\n\n{text}\n\n</details>'
