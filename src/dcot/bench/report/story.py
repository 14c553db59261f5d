"""A paragraph on what each experiment shows, written from its figures: wins and losses alike."""

from __future__ import annotations

from typing import Any

from dcot.bench.experiments import published
from dcot.bench.protocol import COMPARED, VALIDATION_SHARE, WAYS
from dcot.bench.report import claims
from dcot.bench.report.results import Results
from dcot.bench.systems import OURS, PAPER, PRETRAINED, SYSTEMS, System

PROTOCOL = (
    "All systems see the same documents, the same draws of labelled documents and the same "
    "classifier. Every system has its own settings searched on training labels, the form of its "
    "rows among them; test labels are looked at once, to compute the figures shown. "
    f"In the paper's way, {VALIDATION_SHARE:.0%} of the training documents are a validation set "
    "whose labels choose the setting and the C of a linear SVM: labels that come on top of the "
    "budget, for all systems alike. The paper does not give the size of its validation set, C, "
    "the number of prototypes, or its weighting; these are our choices. In our way nothing beyond "
    "the budget is used: a ridge classifier, chosen by leave-one-out. Settings are compared with "
    f"at most {COMPARED} labelled documents (SVM). Draws are uniform; with all labels there is one."
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
        result = results.select("words", system=system)[0].result
        if not result["ranks"]:
            continue
        said = []
        for pair, by_layer in result["ranks"].items():
            places = [
                f"{rank} in {layer}" if rank is not None else f"not a prototype in {layer}"
                for layer, rank in by_layer.items()
            ]
            said.append(f"{pair} has rank {' and '.join(places)}")
        share = result["empty_among_most_frequent"]
        found.append(
            f"{system}, of {result['n_prototypes']} prototypes: {'; '.join(said)}. Of the "
            f"strongest prototypes of the empty document, {share:.0%} are among the most "
            "frequent ones."
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
        found.append(
            f"{system}: {noisy}. More layers beat one {deep}. Best noise by layers: {best}."
        )
    return found


def _few_labels(results: Results, experiment: str) -> list[str]:
    found = []
    for corpus in results.corpora_of(experiment):
        for way, kind in WAYS.items():
            options = {"corpus": corpus, "way": way}
            if results.select(experiment, system=OURS, **options):
                text = _standing(results, experiment, options)
                found.append(f"{results.title(corpus)}, {kind.title}: {text}")
        unseen = results.corpora.get(corpus, {}).get("unseen_classes", 0)
        if unseen:
            found.append(
                f"{unseen} classes of {corpus}'s test documents have no training document. They "
                "stay in: nobody can get them right, so nobody reaches 100 %."
            )
    return found


def _standing(results: Results, experiment: str, options: dict[str, Any]) -> str:
    """Who is best at which budget, and where we lose."""
    apart = {PAPER, *PRETRAINED}
    systems = [s for s in results.systems_of(experiment, **options) if s not in apart]
    values = {
        s: results.values(experiment, "labels", "accuracy", system=s, **options) for s in systems
    }
    wins: list[str] = []
    losses: list[str] = []
    for labels in values[OURS]:
        rivals = {s: v[labels].mean() for s, v in values.items() if s != OURS and labels in v}
        if not rivals:
            continue
        best = max(rivals, key=lambda s: rivals[s])
        gain = 100 * (values[OURS][labels].mean() - rivals[best])
        text = f"{labels} labels ({gain:+.1f} points against {best})"
        (wins if gain > 0 else losses).append(text)
    said = "of those that learn from these documents dCoT is best "
    said += f"with {', '.join(wins)}" if wins else "nowhere"
    if losses:
        said += f"; it does not beat the best rival with {', '.join(losses)}"
    said += "."
    if gaps := _gaps(results, experiment, options, PAPER):
        spread = f"{min(gaps.values()):+.1f} to {max(gaps.values()):+.1f}"
        said += f" Against the paper to the letter our defaults make {spread} points."
    for name in PRETRAINED:
        if gaps := _gaps(results, experiment, options, name):
            each = ", ".join(f"{gap:+.1f} with {labels}" for labels, gap in gaps.items())
            said += f" Against the {name}, trained on other text, it makes {each} labels."
    return said


def _gaps(
    results: Results, experiment: str, options: dict[str, Any], other: str
) -> dict[Any, float]:
    """Points of our defaults minus those of another system, by number of labels."""
    theirs = results.values(experiment, "labels", "accuracy", system=other, **options)
    ours = results.values(experiment, "labels", "accuracy", system=OURS, **options)
    return {b: 100 * float(ours[b].mean() - theirs[b].mean()) for b in ours if b in theirs}


def _time(results: Results) -> list[str]:
    if not results.corpora_of("time"):
        return []
    found = [
        "Measured in a process of its own for each system, compiled code loaded beforehand; the "
        "learning of one default setting, not its search. The paper's minutes are of another "
        "machine and other programs: they stand beside ours, not against them."
    ]
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
                said.append(f"{system} {gain:+.1f}")
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
