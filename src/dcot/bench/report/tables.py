"""Tables of the report, as plain data that can be written as HTML, Markdown or text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.bench.experiments import retrieval, suggestion, timing
from dcot.bench.experiments.accuracy import ALL, COMPARE, FEW_LABELS, NAME, PUBLISHED, UNLABELLED
from dcot.bench.protocol import CLASSIFIERS, RIDGE, SVM
from dcot.bench.report.results import (
    METRICS,
    Gain,
    Results,
    against_best,
    gain,
    labels_of,
    points,
    rivals_of,
    systems_of,
    title_of,
    values,
    where,
    with_article,
)
from dcot.bench.store import Cell
from dcot.bench.systems import FEATURES, OURS, PRETRAINED, name_with
from dcot.runtime.progress import format_duration
from dcot.search.metrics import paired_p_value

Array = NDArray[Any]
NOT_SHOWN = ("rows", "files", "input")  # parts of a setting that tables do not show


# Test accuracies in percent, as published by others and not measured here. Both were checked
# against other repositories and papers that quote these papers.
PUBLISHED_FIGURES: dict[str, dict[str, float]] = {
    "TextGCN": {"r8": 97.07, "r52": 93.56, "20newsgroups": 86.34},
    "TensorGCN": {"r8": 98.04, "r52": 95.05, "20newsgroups": 87.74},
}
PUBLISHED_CORPORA = set(PUBLISHED_FIGURES["TextGCN"])
_SOURCES = {
    "TextGCN": "Yao, Mao and Luo, Graph convolutional networks for text classification, AAAI 2019",
    "TensorGCN": "Liu et al., Tensor graph convolutional networks for text classification, "
    "AAAI 2020",
}


@dataclass
class Table:
    """Rows of text; ``best`` are cells to show in bold, ``theirs`` rows not measured here.

    ``corpus`` is set if a corpus has several tables, which belong together.
    """

    title: str
    head: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = field(default_factory=set)
    theirs: set[int] = field(default_factory=set)
    corpus: str = ""

    def markdown(self) -> str:
        """The table as Markdown."""
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
        """The table in aligned columns, for a terminal."""
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


def percent(found: Array | None, draws: int = 0) -> str:
    """Mean ± one standard deviation over draws; mentions missing draws."""
    if found is None:
        return "failed"
    text = f"{100 * found.mean():.1f}"
    if len(found) > 1:
        text += f" ± {100 * found.std(ddof=1):.1f}"
    return text if len(found) >= draws else f"{text} ({len(found)} of {draws} draws)"


def _grid(
    cells: Sequence[Cell], column: str, metric: str, columns: Sequence[Any]
) -> tuple[list[list[str]], set[tuple[int, int]]]:
    """Rows by system and columns by a value in the key, and the best cell of each column."""
    systems = systems_of(cells)
    found = {name: values(where(cells, system=name), column, metric) for name in systems}
    draws = {
        value: len({cell.key["draw"] for cell in where(cells, **{column: value})})
        for value in columns
    }
    rows = [
        [name, *(percent(found[name].get(value), draws[value]) for value in columns)]
        for name in systems
    ]
    best = set()
    for place, value in enumerate(columns, 1):
        means = [float(found[s][value].mean()) if value in found[s] else -1.0 for s in systems]
        best.add((int(np.argmax(means)), place))
    return rows, best


def by_budget(results: Results, corpus: str, classifier: str, metric: str) -> Table:
    """Systems by number of labels; the last rows are dCoT's gain over the best rival."""
    cells = results.few_labels(corpus, classifier=classifier)
    labels = labels_of(cells)
    rows, best = _grid(cells, "labels", metric, labels)
    ours = FEATURES if classifier == SVM else OURS
    names = systems_of(cells)
    groups = [(ours, "the best rival", rivals_of(cells))]
    for name in names:
        if name in PRETRAINED:
            groups += [(each, with_article(name), [name]) for each in (ours, name_with(name))]
    for one, title, among in groups:
        if one in names and among:
            gains = [_against(where(cells, labels=each), one, among, metric) for each in labels]
            rows.append([f"*{one} against {title}*", *gains])
    title = f"{METRICS[metric]} (%), {corpus}; {CLASSIFIERS[classifier]}"
    return Table(title, ["labels", *map(str, labels)], rows, best, corpus=corpus)


def _against(cells: Sequence[Cell], ours: str, among: Sequence[str], metric: str) -> str:
    found = against_best(where(cells, system=ours), cells, among, metric)
    if found is None:
        return ""
    best, over = found
    named = best.key["system"] if len(among) > 1 else ""
    about = f"{named}{over.tested}".removeprefix(", ")
    return points(over.points) + (f" ({about})" if about else "")


def _few_labels(results: Results) -> Iterator[Table]:
    for corpus in results.corpora_of(NAME):
        for classifier in CLASSIFIERS:
            cells = results.few_labels(corpus, classifier=classifier)
            # of the paper's experiments, those with all labels have a table of their own
            few = any(cell.key["labels"] != ALL for cell in cells)
            if few or (cells and COMPARE in results.experiments):
                for metric in METRICS:
                    yield by_budget(results, corpus, classifier, metric)


def _unlabelled(results: Results) -> Iterator[Table]:
    """Systems by number of documents that the representation is learned from."""
    for corpus, labels in unlabelled_panels(results):
        cells = unlabelled_cells(results, corpus, labels)
        sizes = sorted({cell.key["learned"] for cell in cells})
        rows, best = _grid(cells, "learned", "accuracy", sizes)
        title = f"Accuracy (%) with {labels} labels, {corpus}; {CLASSIFIERS[RIDGE]}"
        yield Table(title, ["documents learned from", *(f"{n:,}" for n in sizes)], rows, best)


def unlabelled_panels(results: Results) -> list[tuple[str, int]]:
    """Corpora and labels with representations learned from several numbers of documents."""
    found: dict[tuple[str, Any], set[int]] = {}
    for cell in results.select(NAME, classifier=RIDGE):
        found.setdefault((cell.key["corpus"], cell.key["labels"]), set()).add(cell.key["learned"])
    return [place for place, sizes in found.items() if len(sizes) > 1]


def unlabelled_cells(results: Results, corpus: str, labels: int) -> list[Cell]:
    """Cells of the systems that were learned from several numbers of documents."""
    cells = results.select(NAME, corpus=corpus, labels=labels, classifier=RIDGE)
    usual = results.corpora[corpus]["learned"]
    names = {cell.key["system"] for cell in cells if cell.key["learned"] != usual}
    return [cell for cell in cells if cell.key["system"] in names]


def _published(results: Results) -> Iterator[Table]:
    """All labels on the standard splits: measured here, and as published."""
    known = [c for c in results.corpora_of(NAME, labels=ALL) if c in PUBLISHED_CORPORA]
    if not known:
        return
    rows = []
    found = [c for corpus in known for c in results.few_labels(corpus, labels=ALL)]
    for name in systems_of(found):
        for classifier in CLASSIFIERS:
            mine = where(found, system=name, classifier=classifier)
            if mine:
                by_corpus = {c.key["corpus"]: f"{100 * c.result['accuracy']:.2f}" for c in mine}
                cells = [by_corpus.get(corpus, "not measured") for corpus in known]
                rows.append([title_of(mine[0]), *cells, "measured here"])
    first = len(rows)
    for system, accuracies in PUBLISHED_FIGURES.items():
        cells = [f"{accuracies[corpus]:.2f}" for corpus in known]
        rows.append([system, *cells, f"published: {_SOURCES[system]}"])
    title = "Accuracy (%) with all labels on the standard splits"
    theirs = set(range(first, len(rows)))
    yield Table(title, ["system", *known, "source"], rows, theirs=theirs)


def _noise(results: Results) -> Iterator[Table]:
    """Accuracy by layers and noise, for each system."""
    for system in systems_of(results.select("noise")):
        cells = results.select("noise", system=system)
        noises = sorted({cell.key["noise"] for cell in cells})
        draws = len({cell.key["draw"] for cell in cells})
        rows = []
        for depth in sorted({cell.key["layers"] for cell in cells}):
            found = values(where(cells, layers=depth), "noise", "accuracy")
            rows.append([str(depth), *(percent(found.get(x), draws) for x in noises)])
        title = f"Accuracy (%), {system}, {cells[0].key['corpus']}, learned on all documents"
        yield Table(title, ["layers \\ noise", *(f"{x:g}" for x in noises)], rows)


def _time(results: Results) -> Iterator[Table]:
    return (time_table(results, corpus) for corpus in results.corpora_of("time"))


def time_table(results: Results, corpus: str) -> Table:
    """Time and memory to learn and use each system, and the time in the paper."""
    head = ["system", "setting", "learned in", "peak memory", "one document", "documents/s"]
    theirs = {} if results.corpora[corpus]["stands_for"] else timing.PAPER_SECONDS.get(corpus, {})
    cells = results.select("time", corpus=corpus)
    rows = []
    for name in systems_of(cells):
        found = next(cell.result for cell in cells if cell.key["system"] == name)
        paper = theirs.get(name)
        setting = found.get("setting", {}).items()
        rows.append(
            [
                name,
                ", ".join(f"{k} {v}" for k, v in setting if k not in NOT_SHOWN),
                f"{found['seconds']:.2f} s",
                "" if found["peak_mb"] is None else f"{found['peak_mb']:.0f} MB",
                f"{found['ms_per_document']:.2f} ms",
                f"{found['documents_per_second']:,.0f}",
                "" if paper is None else format_duration(paper),
            ]
        )
    return Table(f"Learning a representation, {corpus}", [*head, "in the paper"], rows)


def _suggest(results: Results) -> Iterator[Table]:
    """Random labels are the cells of the experiment on few labels."""
    head, rows = ["corpus"], []
    for labels in suggestion.BUDGETS:
        head += [f"{labels} suggested labels", "against random labels"]
    for corpus in results.corpora_of(suggestion.NAME):
        row = [corpus]
        for labels in suggestion.BUDGETS:
            chosen = results.select(suggestion.NAME, corpus=corpus, labels=labels)
            draws = {cell.key["draw"] for cell in chosen}
            random = results.few_labels(corpus, system=OURS, labels=labels)
            found = gain(chosen, [cell for cell in random if cell.key["draw"] in draws])
            row.append(percent(np.array([c.result["accuracy"] for c in chosen])) if chosen else "")
            row.append("" if found is None else f"{points(found.points)}{found.tested}")
        rows.append(row)
    if rows:
        yield Table("Accuracy (%) of dCoT with suggested labels", head, rows)


def _retrieval(results: Results) -> Iterator[Table]:
    cells = results.select(retrieval.NAME)
    rows, best = [], set()
    used = {cell.key["system"] for cell in cells}
    more = [retrieval.WITH_VECTORS] if retrieval.WITH_VECTORS in used else []
    systems = [*retrieval.SYSTEMS, *more]
    for place, corpus in enumerate(results.corpora_of(retrieval.NAME)):
        found = {c.key["system"]: c.result for c in where(cells, corpus=corpus)}
        scores = [100 * found[s]["ndcg"] if s in found else -1.0 for s in systems]
        best.add((place, 1 + int(np.argmax(scores))))
        gap = ""
        if retrieval.DEFAULT in found and retrieval.BASELINE in found:
            ours, theirs = found[retrieval.DEFAULT], found[retrieval.BASELINE]
            one, other = (np.array(side["ndcg_by_query"]) for side in (ours, theirs))
            ahead = Gain(100 * float(np.mean(one - other)), paired_p_value(one, other))
            gap = f"{points(ahead.points)} ({ahead.tested.removeprefix(', ')})"
        row = [f"{value:.1f}" if value >= 0 else "failed" for value in scores]
        rows.append([corpus, *row, gap])
    if rows:
        head = ["collection", *systems, f"{retrieval.DEFAULT} against BM25"]
        yield Table("nDCG@10 (%)", head, rows, best)


TABLES: dict[str, Callable[[Results], Iterator[Table]]] = {
    "noise": _noise,
    FEW_LABELS: _few_labels,
    "time": _time,
    UNLABELLED: _unlabelled,
    PUBLISHED: _published,
    suggestion.NAME: _suggest,
    retrieval.NAME: _retrieval,
}
