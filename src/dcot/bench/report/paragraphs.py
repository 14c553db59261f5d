"""What each experiment does and shows, in sentences written from its figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dcot.bench.experiments import retrieval, suggestion
from dcot.bench.experiments.accuracy import ALL, COMPARE, FEW_LABELS, NAME, PUBLISHED, UNLABELLED
from dcot.bench.protocol import MAX_COMPARED, RIDGE
from dcot.bench.report import paper_claims
from dcot.bench.report.results import (
    Results,
    against_best,
    comparisons,
    points,
    rivals_of,
    systems_of,
    title_of,
    values,
    where,
    with_article,
)
from dcot.bench.report.tables import (
    PUBLISHED_CORPORA,
    PUBLISHED_FIGURES,
    TABLES,
    Table,
    unlabelled_cells,
    unlabelled_panels,
)
from dcot.bench.systems import OURS, PAPER, PRETRAINED, SYSTEMS, Classifier, name_with

PROTOCOL = (
    "All systems get the same documents and the same draws of labelled documents, and use no "
    "other labels. dCoT is DCoTClassifier as a user calls it, on texts if there are any. The "
    "settings of every rival are searched by the rule of DCoTClassifier: leave-one-out of a ridge "
    f"classifier on at most {MAX_COMPARED} labelled documents. Another setting replaces the "
    "default only if it is better by more than three standard errors. All use the class weights of "
    "DCoTClassifier. The strength of the ridge is chosen by leave-one-out, and with more labels "
    "adapted on a held-out tenth of them; the C of the linear SVM is chosen by cross-validation on "
    "the labelled documents. Representations are learned once, without "
    "labels, from all training documents. Rivals count words of two or more letters, without "
    "English stop words and without words that occur in only one document. Test labels are used "
    "only to compute the figures. ± is one standard deviation over draws, and p is from a paired "
    "t-test over draws. With all labels there is one draw, and p is from McNemar's exact test over "
    "documents."
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
    "The representation is learned from all training documents without labels, the classifier "
    "from a few labelled ones."
)
_ABOUT = {
    FEW_LABELS: ("Few labels (figure 4)", _FEW_LABELS),
    COMPARE: ("Few labels", _FEW_LABELS.replace("training", "training and unlabelled", 1)),
    UNLABELLED: (
        "Unlabelled documents",
        "Not in the paper. The labels stay the same, and the representation is learned from more "
        "and more documents: first the labelled ones, then the other training documents, then the "
        "unlabelled ones.",
    ),
    PUBLISHED: (
        "Published splits",
        "Not in the paper. All labels on standard splits, beside figures from the literature.",
    ),
    suggestion.NAME: (
        "What to label next",
        f"DCoTClassifier.suggest, starting from {suggestion.START} random labels and adding "
        f"{suggestion.STEP} at a time, compared with the same number of random labels.",
    ),
    retrieval.NAME: (
        "Retrieval",
        "The default SearchIndex beside BM25 (bm25s), TF-IDF, LSI and dCoT's cosine alone. Sparse "
        "vectors are those of to_sparse. Only cranfield was judged by people. In items and pieces, "
        "the query is a few words cut out of a document, which is the one to find. In names and "
        "classes, every document of the query's class is relevant. BM25 has the k1 and b of the "
        "index; those of tuned BM25 and the size of LSI are chosen on the other half of the "
        "queries. p is from a paired randomisation test over queries. The rule for the weight of "
        "the default index was developed on these collections, so these are not unseen test data.",
    ),
    "words": (
        "Words (figure 2)",
        "A model is learned from texts (the stories of Reuters-21578 with one topic, and those "
        "outside the ModApte split). A document with a single word then shows which prototypes "
        "that word stands for, in the first layer and after recursion.",
    ),
    "noise": (
        "Noise and layers (figure 3)",
        "Accuracy by noise and number of layers. As in the paper, the representation is learned "
        "without labels from all documents, including those of the test set.",
    ),
    "time": ("Time (table 1)", "The cost of learning and using each representation."),
}


def sections(results: Results, figures: dict[str, list[str]]) -> list[Section]:
    """The sections of the experiments that were run; the paper's claims come last."""
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
            "The claims of the paper and what we measured, for the paper's method and for our "
            "defaults. The numbers behind the paper's figures are not public, so they cannot be "
            "compared."
        )
        table = paper_claims.table(results)
        found.append(Section("claims", "Claims of the paper", what, [], [], [table]))
    return found


def _few_labels(results: Results) -> list[str]:
    found = []
    for corpus in results.corpora_of(NAME, system=OURS):
        groups: dict[str, list[str]] = {
            "significantly better than": [],
            "not significantly different from": [],
            "significantly worse than": [],
        }
        better, level, worse = groups.values()
        for each in comparisons(results):
            if each.corpus == corpus:
                about = f"{points(each.gain.points)} against {each.rival}{each.gain.tested}"
                group = better if each.gain.points > 0 else worse
                (group if each.gain.significant else level).append(f"{each.labels} ({about})")
        said = [
            f"{words} the best rival with {', '.join(labels)} labels"
            for words, labels in groups.items()
            if labels
        ]
        if said:
            found.append(f"{corpus}: dCoT is {'; '.join(said)}.{_others(results, corpus)}")
        unseen = results.corpora.get(corpus, {}).get("unseen_classes", 0)
        if unseen:
            found.append(
                f"{unseen} classes of the test documents of {corpus} have no training document, "
                "so no system can reach 100 %."
            )
    return found


def _others(results: Results, corpus: str) -> str:
    """Differences to the paper's method and to pretrained systems, over all numbers of labels."""
    text = ""
    titles = {PAPER: "the paper's method"}
    titles |= {name: f"{with_article(name)}, trained on other text," for name in PRETRAINED}
    ours = values(results.few_labels(corpus, system=OURS), "labels", "accuracy")
    for name, title in titles.items():
        cells = results.few_labels(corpus, system=name, classifier=RIDGE)
        theirs = values(cells, "labels", "accuracy")
        gaps = [100 * float(ours[b].mean() - theirs[b].mean()) for b in ours if b in theirs]
        if gaps:
            ends = dict.fromkeys((points(min(gaps)), points(max(gaps))))
            text += f" The difference to {title} is {' to '.join(ends)} points."
    return text


def _time(results: Results) -> list[str]:
    if not results.corpora_of("time"):
        return []
    found = [
        "Each system is measured in its own process, after compiled code is loaded. The time is "
        "for learning one default setting, shown in the table, without any search. The paper's "
        "times are from other hardware, other programs and another sample of Dmoz."
    ]
    if len({str(sorted(cell.hardware.items())) for cell in results.select("time")}) > 1:
        found.append("These times were measured on different hardware: do not compare them.")
    for corpus in results.corpora_of("time"):
        rivals = ("LSI", "LDA", "SDA")
        ratios = {name: paper_claims.ratios_of(results, OURS, name).get(corpus) for name in rivals}
        said = [
            f"{name} takes {ratio:.3g} times as long"
            if ratio >= 1
            else f"{name} is {1 / ratio:.3g} times as fast"
            for name, ratio in ratios.items()
            if ratio is not None
        ]
        if said:
            found.append(f"{corpus}, compared with dCoT's features: {'; '.join(said)}.")
    return found


def _unlabelled(results: Results) -> list[str]:
    found = []
    for corpus, labels in unlabelled_panels(results):
        cells, said, ends = unlabelled_cells(results, corpus, labels), [], (0, 0)
        for name in systems_of(cells):
            accuracies = values(where(cells, system=name), "learned", "accuracy")
            ends = (min(accuracies), max(accuracies))
            change = 100 * float(accuracies[ends[1]].mean() - accuracies[ends[0]].mean())
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
        ours = where(cells, system=OURS)
        compared = against_best(ours, cells, rivals_of(cells))
        if corpus not in PUBLISHED_CORPORA or compared is None:
            continue
        best, over = compared
        theirs = (f"{name} {known[corpus]:.2f} %" for name, known in PUBLISHED_FIGURES.items())
        found.append(
            f"{corpus}: dCoT has {100 * ours[0].result['accuracy']:.2f} %. The best rival measured "
            f"here, {title_of(best)}, has {100 * best.result['accuracy']:.2f} % (dCoT "
            f"{points(over.points)}{over.tested}). Published: {', '.join(theirs)}."
        )
    if found:
        found.insert(
            0,
            "Rows in italics were published by others and not measured here; their preprocessing "
            "differs. Their graphs include the test documents, without labels.",
        )
    return found


_PARAGRAPHS: dict[str, Callable[[Results], list[str]]] = {
    FEW_LABELS: _few_labels,
    UNLABELLED: _unlabelled,
    PUBLISHED: _published,
    "time": _time,
}


def systems_used(results: Results) -> list[tuple[str, str]]:
    """Name and description of every system with results."""
    used = {cell.key["system"] for cell in results.cells}
    known = {name: system.about for name, system in SYSTEMS.items()}
    known |= {name: kind.about for name, kind in PRETRAINED.items()}
    known[OURS] = Classifier.about
    known |= {name_with(name): f"dCoT with the vectors of the {name}" for name in PRETRAINED}
    return [(name, about) for name, about in known.items() if name in used]
