"""What each experiment is and shows, in words written from its figures: wins and losses alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dcot.bench.experiments import retrieval, suggestion
from dcot.bench.experiments.accuracy import ALL, COMPARE, FEW_LABELS, NAME, PUBLISHED, UNLABELLED
from dcot.bench.protocol import MAX_COMPARED, RIDGE
from dcot.bench.report import paper_claims
from dcot.bench.report.comparison import comparisons, gain, points, rivals_of, title_of
from dcot.bench.report.results import Results, systems_of, values
from dcot.bench.report.tables import (
    PUBLISHED_FIGURES,
    TABLES,
    Table,
    published_corpora,
    unlabelled_cells,
    unlabelled_panels,
)
from dcot.bench.systems import OURS, PAPER, PRETRAINED, SYSTEMS, Classifier, name_with

PROTOCOL = (
    "All systems have the same documents and the same draws of labelled documents. No label beyond "
    "the budget is used. dCoT is DCoTClassifier as a user calls it, on texts where there are any. "
    "Every rival has its settings searched by the rule that DCoTClassifier uses: leave-one-out of "
    "a ridge classifier on the labelled documents, and the default setting is kept unless another "
    f"one is better by more than one standard error, on at most {MAX_COMPARED} labelled documents. "
    "Class weights are those of DCoTClassifier for all. The ridge's strength is chosen by "
    "leave-one-out, the C of the linear SVM by cross-validation on the labelled documents. "
    "Representations are learned without labels, once, from all training documents. Rivals count "
    "words of two letters or more, without English stop words and words of a single document. "
    "Test labels are used once, to compute the figures shown. ± is one standard deviation over "
    "draws. p is that of a paired t-test over draws; with all labels there is one draw, and "
    "McNemar's exact test over documents takes its place."
)


@dataclass(frozen=True)
class Section:
    """One experiment in the report."""

    name: str
    title: str
    what: str
    paragraphs: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


_FEW_LABELS = (
    "The representation is learned on the training documents without labels, the classifier on "
    "some of them with labels."
)
_ABOUT = {
    FEW_LABELS: ("Few labels (figure 4)", _FEW_LABELS),
    COMPARE: ("Few labels", _FEW_LABELS.replace("training", "training and unlabelled")),
    UNLABELLED: (
        "Unlabelled documents",
        "Not in the paper: the same labels, and more and more documents without labels to learn "
        "the representation from. The labelled documents of a draw come first, then the other "
        "training documents, then the unlabelled ones.",
    ),
    PUBLISHED: (
        "Published splits",
        "Not in the paper: all labels on standard splits, beside figures from the literature.",
    ),
    suggestion.NAME: (
        "What to label next",
        f"DCoTClassifier.suggest from {suggestion.START} random labels, {suggestion.STEP} labels "
        "at a time, against as many random labels.",
    ),
    retrieval.NAME: (
        "Retrieval",
        "The default SearchIndex beside BM25 (bm25s), TF-IDF and LSI, and dCoT's cosine alone. "
        "Sparse vectors are those of to_sparse. Only cranfield was judged by people. For items and "
        "pieces, some words were cut out of a document and have to find it; for names and classes, "
        "every document of the query's class is relevant. "
        "LSI's size, and k1 and b of tuned BM25, are chosen on the other half of the queries; BM25 "
        "has those of the index. p is that of a paired randomisation test over queries. The rule "
        "for the weight of the default index was settled by looking at these collections, so this "
        "is no test on unseen ones.",
    ),
    "words": (
        "Words (figure 2)",
        "A model is learned on texts (of Reuters-21578, the stories that have one topic or are "
        "outside the ModApte split). A document of a single word then shows which prototypes that "
        "word means, in the first layer and after recursion.",
    ),
    "noise": (
        "Noise and layers (figure 3)",
        "Accuracy as a function of the noise and the number of layers. As in the paper, the "
        "representation is learned on all documents, those of the test set too, without labels.",
    ),
    "time": ("Time (table 1)", "What it costs to learn and to use each representation."),
}


def sections(results: Results, figures: dict[str, list[str]]) -> list[Section]:
    """Those that were asked for, with figures by experiment; the paper's claims come last."""
    found = []
    for name, (title, what) in _ABOUT.items():
        if name not in results.experiments:
            continue
        view = FEW_LABELS if name == COMPARE else name
        tables = list(TABLES[view](results)) if view in TABLES else []
        words = _PARAGRAPHS[view](results) if view in _PARAGRAPHS else []
        if tables or words or figures.get(view):
            found.append(Section(name, title, what, words, figures.get(view, []), tables))
    if set(results.experiments) - {COMPARE}:
        what = (
            "The sentences of the paper that claim something, and what was measured here, for the "
            "paper's method and for our defaults. The paper's pictures and their numbers are not "
            "public, so nothing here claims to match them."
        )
        table = paper_claims.table(results)
        found.append(Section("claims", "Claims of the paper", what, [], [], [table]))
    return found


def _few_labels(results: Results) -> list[str]:
    found = []
    for corpus in results.corpora_of(NAME, system=OURS):
        mine = [c for c in comparisons(results) if c.corpus == corpus and c.labels != ALL]
        mine += [c for c in comparisons(results) if c.corpus == corpus and c.labels == ALL]
        groups: dict[str, list[str]] = {"better": [], "level": [], "worse": []}
        for each in mine:
            up = each.gain.points > 0
            kind = "level" if not each.gain.significant else "better" if up else "worse"
            about = f"{points(each.gain.points)} against {each.rival}{each.gain.tested}"
            groups[kind].append(f"{each.labels} ({about})")
        said = []
        for kind, words in (
            ("better", "significantly better than the best rival with"),
            ("level", "not significantly different from the best rival with"),
            ("worse", "significantly worse than the best rival with"),
        ):
            if groups[kind]:
                said.append(f"{words} {', '.join(groups[kind])} labels")
        if said:
            found.append(f"{corpus}: dCoT is {'; '.join(said)}.{_others(results, corpus)}")
        unseen = results.corpora.get(corpus, {}).get("unseen_classes", 0)
        if unseen:
            found.append(
                f"{unseen} classes of {corpus}'s test documents have no training document. They "
                "stay in: nobody can get them right, so nobody reaches 100 %."
            )
    return found


def _others(results: Results, corpus: str) -> str:
    """Against the paper's method and pretrained systems, over all numbers of labels."""
    text = ""
    titles = {PAPER: "the paper's method"}
    titles |= {name: f"the {name}, trained on other text," for name in PRETRAINED}
    ours = values(results.few_labels(corpus, system=OURS), "labels", "accuracy")
    for name, title in titles.items():
        cells = results.few_labels(corpus, system=name, classifier=RIDGE)
        theirs = values(cells, "labels", "accuracy")
        gaps = [100 * float(ours[b].mean() - theirs[b].mean()) for b in ours if b in theirs]
        if gaps:
            text += (
                f" Against {title} the difference is {points(min(gaps))} to {points(max(gaps))} "
                "points."
            )
    return text


def _time(results: Results) -> list[str]:
    if not results.corpora_of("time"):
        return []
    found = [
        "Measured in a process of its own for each system, compiled code loaded beforehand; the "
        "learning of one default setting, which the table names, not its search. The paper's "
        "minutes are of other hardware, other programs and another sample of Dmoz."
    ]
    if len({str(sorted(cell.hardware.items())) for cell in results.select("time")}) > 1:
        found.append("These times were measured on different hardware: do not compare them.")
    for corpus in results.corpora_of("time"):
        said = []
        for rival in ("LSI", "LDA", "SDA"):
            ratio = paper_claims.ratios_of(results, OURS, rival).get(corpus)
            if ratio is not None:
                said.append(
                    f"{rival} takes {ratio:.3g} times as long"
                    if ratio >= 1
                    else f"{rival} is {1 / ratio:.3g} times as fast"
                )
        if said:
            found.append(f"{corpus}, compared with dCoT's features: {'; '.join(said)}.")
    return found


def _unlabelled(results: Results) -> list[str]:
    found = []
    for corpus, labels in unlabelled_panels(results):
        cells, said, ends = unlabelled_cells(results, corpus, labels), [], (0, 0)
        for name in systems_of(cells):
            own = values((c for c in cells if c.key["system"] == name), "learned", "accuracy")
            ends = (min(own), max(own))
            change = 100 * float(own[ends[1]].mean() - own[ends[0]].mean())
            said.append(f"{name} {points(change)}")
        if said:
            found.append(
                f"{corpus}, {labels} labels, from {ends[0]:,} to {ends[1]:,} documents: "
                f"{', '.join(said)} points."
            )
    return found


def _published(results: Results) -> list[str]:
    found = []
    for corpus in results.corpora_of(NAME, labels=ALL):
        cells = results.few_labels(corpus, labels=ALL)
        ours = [cell for cell in cells if cell.key["system"] == OURS]
        rivals = [cell for cell in cells if cell.key["system"] in rivals_of(cells)]
        if corpus not in published_corpora() or not ours or not rivals:
            continue
        best = max(rivals, key=lambda cell: float(cell.result["accuracy"]))
        over = gain(ours, [best])
        theirs = "; ".join(
            f"{other.system} has {other.accuracies[corpus]:.2f} %" for other in PUBLISHED_FIGURES
        )
        tested = "" if over is None else f" ({points(over.points)}{over.tested})"
        found.append(
            f"{corpus}: dCoT has {100 * ours[0].result['accuracy']:.2f} %, the best rival measured "
            f"here, {title_of(best)}, {100 * best.result['accuracy']:.2f} %{tested}; as published, "
            f"{theirs}."
        )
    if found:
        found.insert(
            0,
            "Rows in italics are figures that others published; they were not measured here, and "
            "their preprocessing differs. Their graphs include the test documents, without labels.",
        )
    return found


_PARAGRAPHS: dict[str, Callable[[Results], list[str]]] = {
    FEW_LABELS: _few_labels,
    UNLABELLED: _unlabelled,
    PUBLISHED: _published,
    "time": _time,
}


def systems_used(results: Results) -> list[tuple[str, str]]:
    """Name and library of every system with results."""
    used = {cell.key["system"] for cell in results.cells}
    known = {name: system.about for name, system in SYSTEMS.items()}
    known |= {name: kind.about for name, kind in PRETRAINED.items()}
    known[OURS] = Classifier.about
    known |= {name_with(name): f"the same, with the vectors of the {name}" for name in PRETRAINED}
    return [(name, about) for name, about in known.items() if name in used]
