"""Tables of the report: plain data, turned into HTML, Markdown or text by others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.bench.experiments import published, timing
from dcot.bench.report.gains import best_of, gain, points
from dcot.bench.report.results import Results
from dcot.bench.systems import OURS, PAPER, PRETRAINED
from dcot.runtime.progress import format_duration

Array = NDArray[Any]
SILENT = ("rows", "files")  # parts of a setting that tables do not show
PUBLISHED_COLUMNS = {"r8": "r8", "r52": "r52", "20newsgroups": "newsgroups"}


@dataclass
class Table:
    """Rows of text; ``best`` are cells to be set bold, ``theirs`` rows not measured here."""

    title: str
    head: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = field(default_factory=set)
    theirs: set[int] = field(default_factory=set)

    def markdown(self) -> str:
        """As the documentation has it."""
        lines = [f"**{self.title}**", "", _row(self.head), "|" + "---|" * len(self.head)]
        for number, row in enumerate(self.rows):
            cells = [
                f"**{cell}**" if (number, column) in self.best else cell
                for column, cell in enumerate(row)
            ]
            if number in self.theirs:
                cells = [f"*{cell}*" if cell else cell for cell in cells]
            lines.append(_row(cells))
        return "\n".join(lines) + "\n"

    def text(self) -> str:
        """In columns, for a terminal."""
        grid = [self.head, *([cell.strip("*") for cell in row] for row in self.rows)]
        widths = [max(len(row[column]) for row in grid) for column in range(len(self.head))]
        lines = [
            "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in grid
        ]
        return "\n".join([self.title, "", *lines])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def percent(values: Array | None, draws: int = 0) -> str:
    """Mean, and one standard deviation where there are several draws; says if some are missing."""
    if values is None:
        return "failed"
    text = f"{100 * values.mean():.1f}"
    if len(values) > 1:
        text += f" ± {100 * values.std(ddof=1):.1f}"
    return text if len(values) >= draws else f"{text} ({len(values)} of {draws} draws)"


def by_budget(results: Results, experiment: str, corpus: str, way: str, metric: str) -> Table:
    """Systems × budgets; the last rows are our gain over the best rival, with a paired test.

    Rivals are those that read the same documents; who was trained on others has a row of its own.
    """
    systems = results.systems_of(experiment, corpus=corpus, way=way)
    values = {
        system: results.values(experiment, "labels", metric, corpus=corpus, way=way, system=system)
        for system in systems
    }
    found: list[Any] = sorted(
        {label for cells in values.values() for label in cells},
        key=lambda label: (isinstance(label, str), label),
    )
    draws = results.draws(experiment, "labels", corpus=corpus, way=way)
    best = set()
    for column, label in enumerate(found, 1):
        means = [np.mean(values[s][label]) if label in values[s] else -1 for s in systems]
        best.add((int(np.argmax(means)), column))
    rows = [
        [system, *(percent(values[system].get(label), draws[label]) for label in found)]
        for system in systems
    ]
    if OURS in values:
        apart = [name for name in systems if name in PRETRAINED]
        rivals = [name for name in systems if name not in {OURS, PAPER, *apart}]
        options = {"metric": metric, "corpus": corpus, "way": way}
        for title, among in [("best rival", rivals), *((name, [name]) for name in apart)]:
            gains = [_against(results, experiment, label, among, **options) for label in found]
            rows.append([f"*dCoT against the {title}*", *gains])
    name = "Accuracy" if metric == "accuracy" else "Macro-F1"
    return Table(f"{name} (%), {results.title(corpus)}", ["labels", *map(str, found)], rows, best)


def _against(
    results: Results, experiment: str, label: Any, among: Sequence[str], **options: Any
) -> str:
    rival = best_of(results, experiment, label, among, **options)
    if rival is None:
        return ""
    found = gain(results, experiment, label, OURS, rival, **options)
    if found is None:
        return ""
    named = rival if len(among) > 1 else ""
    about = f"{named}{found.tested}".removeprefix(", ")
    return points(found.points) + (f" ({about})" if about else "")


def time_table(results: Results, corpus: str) -> Table:
    """Learning time, memory and use, beside the paper's own figures."""
    head = ["system", "setting", "learned in", "peak memory", "one document", "documents/s"]
    head.append("the paper's")
    stands_for = results.corpora.get(corpus, {}).get("stands_for")
    theirs = {} if stands_for else timing.THEIRS.get(corpus, {})
    rows = []
    for system in results.systems_of("time", corpus=corpus):
        found = results.select("time", corpus=corpus, system=system)[0].result
        memory = "" if found["peak_mb"] is None else f"{found['peak_mb']:.0f} MB"
        paper = theirs.get(system)
        rows.append(
            [
                system,
                ", ".join(
                    f"{k} {v}" for k, v in found.get("setting", {}).items() if k not in SILENT
                ),
                f"{found['seconds']:.2f} s",
                memory,
                f"{found['ms_per_document']:.2f} ms",
                f"{found['documents_per_second']:,.0f}",
                "" if paper is None else format_duration(paper),
            ]
        )
    return Table(f"Learning a representation, {results.title(corpus)}", head, rows)


def unlabelled_table(results: Results, corpus: str, labels: int) -> Table:
    """Systems × documents learned from."""
    systems = results.systems_of("unlabelled", corpus=corpus, labels=labels)
    options = {"corpus": corpus, "labels": labels}
    values = {
        system: results.values("unlabelled", "documents", "accuracy", system=system, **options)
        for system in systems
    }
    sizes = sorted({size for cells in values.values() for size in cells})
    draws = results.draws("unlabelled", "documents", **options)
    rows = [
        [system, *(percent(values[system].get(n), draws[n]) for n in sizes)] for system in systems
    ]
    title = f"Accuracy (%) with {labels} labels, {results.title(corpus)}"
    return Table(title, ["documents learned from", *(f"{n:,}" for n in sizes)], rows)


def published_table(results: Results) -> Table:
    """Ours, measured; theirs, as published."""
    corpora = results.corpora_of("published")
    used = {cell.key["way"] for cell in results.select("published")}
    short = {"validation": "SVM", "leave-one-out": "ridge"}
    ways = {way: name for way, name in short.items() if way in used}
    rows = []
    for system in results.systems_of("published"):
        for way, classifier in ways.items():
            row = [f"{system}, {classifier}"]
            for corpus in corpora:
                cells = results.select("published", corpus=corpus, system=system, way=way)
                row.append(f"{100 * cells[0].result['accuracy']:.2f}" if cells else "failed")
            rows.append([*row, "measured here"])
    first = len(rows)
    for other in published.THEIRS:
        figures = [
            f"{getattr(other, PUBLISHED_COLUMNS[c]):.2f}" if c in PUBLISHED_COLUMNS else ""
            for c in corpora
        ]
        rows.append([other.system, *figures, f"published: {other.source}"])
    title = "Accuracy (%) with all labels on the standard splits"
    theirs = set(range(first, len(rows)))
    return Table(title, ["system", *map(results.title, corpora), "source"], rows, theirs=theirs)


def noise_table(results: Results, system: str) -> Table:
    """Layers × noise."""
    cells = results.select("noise", system=system)
    noises = sorted({cell.key["noise"] for cell in cells})
    depths = sorted({cell.key["layers"] for cell in cells})
    draws = results.draws("noise", "noise")
    rows = []
    for depth in depths:
        found = results.values("noise", "noise", "accuracy", system=system, layers=depth)
        rows.append([str(depth), *(percent(found.get(x), draws[x]) for x in noises)])
    title = f"Accuracy (%), {system}, {results.title(cells[0].key['corpus'])}"
    return Table(title, ["layers \\ noise", *(f"{x:g}" for x in noises)], rows)
