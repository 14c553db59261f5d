"""The report in order: what each experiment is, its paragraphs, figures and tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dcot.bench.protocol import WAYS
from dcot.bench.report import claims, tables
from dcot.bench.report.results import Results
from dcot.bench.report.story import paragraphs
from dcot.bench.report.tables import Table


@dataclass
class Section:
    """One experiment in the report."""

    name: str
    title: str
    what: str
    paragraphs: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


_WHAT = {
    "words": (
        "Words (figure 2)",
        "A model is learned on texts (of Reuters-21578, the stories that have one topic or are "
        "outside the ModApte split); then a document of a single word shows which prototypes that "
        "word means, in the first layer and after recursion.",
    ),
    "noise": (
        "Noise and layers (figure 3)",
        "Accuracy as a function of the noise and the number of layers. As in the paper, the "
        "representation is learned on all documents, those of the test set too, without labels.",
    ),
    "few-labels": (
        "Few labels (figure 4)",
        "The representation is learned on the training documents without labels, the classifier "
        "on some of them with labels.",
    ),
    "compare": (
        "Few labels",
        "The representation is learned on the training and unlabelled documents without labels, "
        "the classifier on some of them with labels.",
    ),
    "time": ("Time (table 1)", "What it costs to learn and to use each representation."),
    "unlabelled": (
        "Unlabelled documents",
        "Not in the paper: the same labels, and more and more documents without labels to learn "
        "the representation from, in one shuffled order, training documents first. At the left end "
        "most labelled documents are not among those learned from. LDA is learned anew for every "
        "number: with one prior and up to 100 topics.",
    ),
    "published": (
        "Published tables",
        "Not in the paper: all labels on standard splits, beside figures from the literature.",
    ),
    "claims": (
        "Claims",
        "The sentences of the paper that claim something, and what was measured here, for the "
        "paper to the letter and for our defaults.",
    ),
}


def sections(results: Results, figures: Iterable[str]) -> list[Section]:
    """Those that there are results for; the claims come last."""
    names = list(figures)
    stories = paragraphs(results)
    found = []
    done = {cell.key["experiment"] for cell in results.cells}
    for name, (title, what) in _WHAT.items():
        if name in done:
            section = Section(name, title, what, stories[name])
            section.figures = [f for f in names if f == name or f.startswith(f"{name}-")]
            section.tables = list(_tables(results, name))
            found.append(section)
    if done - {"compare"}:
        title, what = _WHAT["claims"]
        found.append(
            Section("claims", title, what, stories["claims"], tables=[claims.table(results)])
        )
    return found


def _tables(results: Results, name: str) -> Iterable[Table]:
    if name == "noise":
        for system in results.systems_of("noise"):
            yield tables.noise_table(results, system)
    elif name in ("few-labels", "compare"):
        for corpus in results.corpora_of(name):
            for way, kind in WAYS.items():
                if results.select(name, corpus=corpus, way=way):
                    for metric in ("accuracy", "macro_f1"):
                        table = tables.by_budget(results, name, corpus, way, metric)
                        table.title += f"; {kind.title}"
                        yield table
    elif name == "time":
        for corpus in results.corpora_of("time"):
            yield tables.time_table(results, corpus)
    elif name == "unlabelled":
        cells = results.select("unlabelled")
        for corpus, labels in dict.fromkeys((c.key["corpus"], c.key["labels"]) for c in cells):
            yield tables.unlabelled_table(results, corpus, labels)
    elif name == "published":
        yield tables.published_table(results)
