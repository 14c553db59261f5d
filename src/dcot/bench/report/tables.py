"""Tables of the report: plain data, turned into HTML, Markdown or text by others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from dcot.bench.experiments import published, timing
from dcot.bench.progress import spoken
from dcot.bench.protocol import mcnemar
from dcot.bench.report.results import Results
from dcot.bench.systems import OURS, PAPER, PRETRAINED

Array = NDArray[Any]
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
        grid = [self.head, *self.rows]
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


def percent(values: Array) -> str:
    """Mean, and one standard deviation where there are several draws."""
    if len(values) == 1:
        return f"{100 * values[0]:.1f}"
    return f"{100 * values.mean():.1f} ± {100 * values.std():.1f}"


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
    rows, best = [], set()
    for label in found:
        means = [np.mean(values[s][label]) if label in values[s] else -1 for s in systems]
        best.add((int(np.argmax(means)), 1 + found.index(label)))
    for system in systems:
        cells = [percent(values[system][b]) if b in values[system] else "failed" for b in found]
        rows.append([system, *cells])
    if OURS in values:
        paired = {
            cell.key["system"]: cell.result["hits"]
            for cell in results.select(experiment, corpus=corpus, way=way, labels="all")
            if "hits" in cell.result and metric == "accuracy"
        }
        apart = [name for name in systems if name in PRETRAINED]
        rivals = [name for name in systems if name not in {OURS, PAPER, *apart}]
        rows += [
            [title, *(_gain(values, names, b, paired if b == "all" else {}) for b in found)]
            for title, names in (
                ("*dCoT against the best rival*", rivals),
                *((f"*dCoT against the {name}*", [name]) for name in apart),
            )
        ]
    name = "Accuracy" if metric == "accuracy" else "Macro-F1"
    return Table(f"{name} (%), {results.title(corpus)}", ["labels", *map(str, found)], rows, best)


def _gain(
    values: dict[str, dict[Any, Array]], among: Sequence[str], label: Any, paired: dict[str, str]
) -> str:
    """Against the rival that is best on the test documents: a hard comparison, on purpose.

    p is that of a paired t-test over draws; where there is one draw, of McNemar's exact test.
    """
    rivals = {name: values[name][label] for name in among if label in values[name]}
    ours = values[OURS].get(label)
    if not rivals or ours is None:
        return ""
    rival = max(rivals, key=lambda name: float(rivals[name].mean()))
    gain = 100 * float(ours.mean() - rivals[rival].mean())
    text = f"{gain:+.1f} ({rival}"
    if len(ours) > 1 and len(ours) == len(rivals[rival]) and np.ptp(ours - rivals[rival]) > 0:
        text += f", p {ttest_rel(ours, rivals[rival]).pvalue:.2f}"
    elif OURS in paired and rival in paired:
        text += f", p {mcnemar(paired[OURS], paired[rival]):.2f}"
    return text + ")"


def time_table(results: Results, corpus: str) -> Table:
    """Learning time, memory and use, beside the paper's own figures."""
    head = ["system", "learned in", "peak memory", "one document", "documents/s", "the paper's"]
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
                f"{found['seconds']:.2f} s",
                memory,
                f"{found['ms_per_document']:.2f} ms",
                f"{found['documents_per_second']:,.0f}",
                "" if paper is None else spoken(paper),
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
    rows = [
        [system, *(percent(values[system][n]) if n in values[system] else "failed" for n in sizes)]
        for system in systems
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
    rows = []
    for depth in depths:
        found = results.values("noise", "noise", "accuracy", system=system, layers=depth)
        rows.append([str(depth), *(percent(found[x]) if x in found else "failed" for x in noises)])
    return Table(f"Accuracy (%), {system}", ["layers \\ noise", *(f"{x:g}" for x in noises)], rows)
