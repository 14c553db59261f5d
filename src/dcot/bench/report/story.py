"""A paragraph on what each experiment shows, written from its figures: wins and losses alike."""

from __future__ import annotations

from typing import Any

from dcot.bench.experiments import published
from dcot.bench.protocol import COMPARED, VALIDATION_SHARE, WAYS
from dcot.bench.report import claims
from dcot.bench.report.gains import best_of, gain, points
from dcot.bench.report.results import Results
from dcot.bench.systems import OURS, PAPER, PRETRAINED, SYSTEMS, System
from dcot.classifier.model import JUDGED

PROTOCOL = (
    "All systems see the same documents, the same draws of labelled documents and the same "
    "classifier. Every system has its own settings searched on training labels, the form of its "
    "rows among them where there is a choice (SDA and dCoT have one form); test labels are looked "
    "at once, to compute the figures shown. "
    f"In the paper's way, {VALIDATION_SHARE:.0%} of the training documents are a validation set "
    "whose labels choose the setting and the C of a linear SVM: labels that come on top of the "
    "budget, for all systems alike. The paper does not give the size of its validation set, C, "
    "the number of prototypes, or its weighting; these are our choices. In our way nothing beyond "
    "the budget is used: a ridge classifier, chosen by leave-one-out. There dCoT keeps its default "
    "setting unless another one is better by more than a standard error, as DCoTClassifier does; "
    "the others take the setting with the least error. Settings are compared with at most "
    f"{COMPARED} (SVM) or {JUDGED} (ridge) labelled documents. Representations are learned without "
    "labels, once, from all training documents, those of the validation set too. Draws are "
    "uniform; with all labels there is one. ± is one standard deviation over draws; p is that of a "
    "paired t-test over draws, or of McNemar's exact test where there is one draw."
)


def paragraphs(results: Results) -> dict[str, list[str]]:
    """By experiment."""
    return {
        "words": _words(results),
        "noise": _noise(results),
        "few-labels": _few_labels(results, "few-labels"),
        "compare": _few_labels(results, "compare"),
        "time": _time(results),
        "unlabelled": _unlabelled(results),
        "published": _published(results),
        "claims": _claims(results),
    }


def _words(results: Results) -> list[str]:
    found = []
    for system in results.systems_of("words"):
        cell = results.select("words", system=system)[0]
        result = cell.result
        said = []
        for pair, by_layer in result["ranks"].items():
            places = [
                f"{rank} in {layer}" if rank is not None else f"not a prototype in {layer}"
                for layer, rank in by_layer.items()
            ]
            said.append(f"{pair} has rank {' and '.join(places)}")
        share = result["empty_among_most_frequent"]
        found.append(
            f"{system}, {results.title(cell.key['corpus'])}, of {result['n_prototypes']} "
            f"prototypes: {'; '.join([*said, ''])}of the strongest of the empty document, "
            f"{share:.0%} are among the most frequent ones."
        )
        if result["unknown_words"]:
            found.append(f"Not in the vocabulary: {', '.join(result['unknown_words'])}.")
    return found


def _noise(results: Results) -> list[str]:
    found = []
    for system in results.systems_of("noise"):
        deep, noisy = claims._deep(results, system)[1], claims._noise(results, system)[1]
        best = ", ".join(
            f"{noise:g} with {depth}" for depth, noise in claims.best_noises(results, system)
        )
        text = f"{system}: {noisy}. More layers beat one {deep}. Best noise by layers: {best}."
        found.append(text)
    return found


def _few_labels(results: Results, experiment: str) -> list[str]:
    found = []
    for corpus in results.corpora_of(experiment):
        for way, kind in WAYS.items():
            options = {"corpus": corpus, "way": way}
            if results.select(experiment, system=OURS, **options):
                text = _standing(results, experiment, options)
                if text:
                    found.append(f"{results.title(corpus)}, {kind.title}: {text}")
        unseen = results.corpora.get(corpus, {}).get("unseen_in_use", 0)
        if unseen:
            found.append(
                f"{unseen} classes of {corpus}'s test documents have no training document. They "
                "stay in: nobody can get them right, so nobody reaches 100 %."
            )
    return found


def _standing(results: Results, experiment: str, options: dict[str, Any]) -> str:
    """Where we are best, where nobody can tell, and where we lose."""
    apart = {PAPER, OURS, *PRETRAINED}
    rivals = [s for s in results.systems_of(experiment, **options) if s not in apart]
    groups: dict[str, list[str]] = {"best": [], "level": [], "behind": []}
    for label in results.values(experiment, "labels", "accuracy", system=OURS, **options):
        rival = best_of(results, experiment, label, rivals, **options)
        found = None if rival is None else gain(results, experiment, label, OURS, rival, **options)
        if rival is not None and found is not None:
            kind = "level" if not found.sure else "best" if found.points > 0 else "behind"
            text = f"{label} ({points(found.points)} against {rival}{found.tested})"
            groups[kind].append(text)
    said = []
    if groups["best"]:
        said.append(f"dCoT is best with {', '.join(groups['best'])} labels")
    if groups["level"]:
        level = ", ".join(groups["level"])
        said.append(f"it is not told apart from the best rival with {level} labels")
    if groups["behind"]:
        said.append(f"it loses with {', '.join(groups['behind'])} labels")
    if said:
        first = said[0].replace("it ", "dCoT ", 1) if said[0].startswith("it ") else said[0]
        said[0] = f"of those that learn from these documents, {first}"
    text = "; ".join(said) + "." if said else ""
    others = {PAPER: "the paper to the letter"}
    others |= {name: f"the {name}, trained on other text," for name in PRETRAINED}
    for name, title in others.items():
        if gaps := _gaps(results, experiment, options, name):
            spread = f"{points(min(gaps))} to {points(max(gaps))}"
            text += f" Against {title} it makes {spread} points."
    return text.strip()


def _gaps(results: Results, experiment: str, options: dict[str, Any], other: str) -> list[float]:
    """Points of our defaults minus those of another system, for each number of labels."""
    theirs = results.values(experiment, "labels", "accuracy", system=other, **options)
    ours = results.values(experiment, "labels", "accuracy", system=OURS, **options)
    return [100 * float(ours[b].mean() - theirs[b].mean()) for b in ours if b in theirs]


def _time(results: Results) -> list[str]:
    if not results.corpora_of("time"):
        return []
    found = [
        "Measured in a process of its own for each system, compiled code loaded beforehand; the "
        "learning of one default setting, which the table names, not its search. The paper's "
        "minutes are of another machine, other programs and another sample of Dmoz: they stand "
        "beside ours, not against them."
    ]
    machines = {str(sorted(cell.machine.items())) for cell in results.select("time")}
    if len(machines) > 1:
        found.append("These times were measured on several machines: do not compare them.")
    for corpus in results.corpora_of("time"):
        said = []
        for rival in ("LSI", "LDA", "SDA"):
            ratio = claims._ratios(results, OURS, rival).get(corpus)
            if ratio is not None:
                said.append(
                    f"{rival} takes {ratio:.3g} times as long"
                    if ratio >= 1
                    else f"{rival} is {1 / ratio:.3g} times faster"
                )
        if said:
            found.append(f"{results.title(corpus)}, compared with our defaults: {'; '.join(said)}.")
    return found


def _unlabelled(results: Results) -> list[str]:
    found = []
    cells = results.select("unlabelled")
    for corpus, labels in dict.fromkeys((c.key["corpus"], c.key["labels"]) for c in cells):
        said = []
        for system in results.systems_of("unlabelled", corpus=corpus, labels=labels):
            options = {"corpus": corpus, "labels": labels, "system": system}
            values = results.values("unlabelled", "documents", "accuracy", **options)
            sizes = sorted(values)
            if len(sizes) > 1:
                gain = 100 * float(values[sizes[-1]].mean() - values[sizes[0]].mean())
                said.append(f"{system} {points(gain)}")
        if said:
            found.append(
                f"{results.title(corpus)}, {labels} labels, from {sizes[0]:,} to {sizes[-1]:,} "
                f"documents: {', '.join(said)} points."
            )
    return found


def _published(results: Results) -> list[str]:
    corpora = results.corpora_of("published")
    if not corpora:
        return []
    found = [
        "Rows in italics are figures that others published; they were not measured here, and "
        "their preprocessing differs from ours."
    ]
    names = {"r8": "r8", "r52": "r52", "20newsgroups": "newsgroups"}
    for corpus in corpora:
        cells = results.select("published", corpus=corpus)
        best = max(cells, key=lambda cell: cell.result["accuracy"])
        ours = [c.result["accuracy"] for c in cells if c.key["system"] == OURS]
        top = max(published.THEIRS, key=lambda other: float(getattr(other, names[corpus])))
        found.append(
            f"{results.title(corpus)}: the best measured is {best.key['system']} with "
            f"{100 * best.result['accuracy']:.2f} %"
            + (f", dCoT has {100 * max(ours):.2f} %" if ours and best.key["system"] != OURS else "")
            + f"; the best published here is {top.system} with {getattr(top, names[corpus]):.2f} %."
        )
    return found


def _claims(results: Results) -> list[str]:
    verdicts = claims.judge(results)
    found = []
    for system in (PAPER, OURS):
        mine = [v.verdict for v in verdicts if v.system == system]
        counts = ", ".join(
            f"{mine.count(kind)} {kind}"
            for kind in (claims.HOLDS, claims.PARTLY, claims.NOT, claims.MISSING)
            if kind in mine
        )
        found.append(f"{system}: {counts}.")
    found.append(
        "The paper's own pictures and their numbers are not public, so nothing here claims to "
        "match them; its claims are judged on our measurements."
    )
    return found


def systems_used(results: Results) -> list[tuple[str, str]]:
    """Name and library of every system with results."""
    used = {cell.key["system"] for cell in results.cells}
    known: dict[str, System | type[System]] = {**SYSTEMS, **PRETRAINED}
    return [(name, system.about) for name, system in known.items() if name in used]
