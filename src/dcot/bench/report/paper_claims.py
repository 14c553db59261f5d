"""The claims of the paper, and what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dcot.bench.experiments.accuracy import ALL
from dcot.bench.experiments.words import DEPTH
from dcot.bench.protocol import RIDGE
from dcot.bench.report.results import (
    SIGNIFICANT,
    Gain,
    Results,
    gain,
    paired,
    points,
    values,
    where,
)
from dcot.bench.report.tables import Table
from dcot.bench.systems import FEATURES, OURS, PAPER

HOLDS, PARTLY, NOT = "holds", "holds partly", "does not hold here"
MISSING = "not measured in this run"
RIVALS = ("bag of words", "TF-IDF", "LSI", "LDA")  # of the paper's figure 4
MAX_FEW_LABELS = 500
HIGH_NOISE = 0.7
CORPORA = ("reuters", "dmoz")  # of the paper
TOPIC = "reproduction → agriculture"


@dataclass(frozen=True)
class Verdict:
    """The verdict on one claim, for the paper's method or for our defaults."""

    claim: str
    system: str
    verdict: str
    evidence: str


def verdict_of(held: int, total: int) -> str:
    """The verdict from the number of comparisons in which a claim held."""
    if not total:
        return MISSING
    return HOLDS if held == total else NOT if not held else PARTLY


def judge(results: Results) -> list[Verdict]:
    """Check every claim, for the paper's method and for our defaults.

    Cells of a stand-in corpus are left out: they say nothing about the paper's claims.
    """
    cells = [cell for cell in results.cells if not cell.key.get("stands_for")]
    results = replace(results, cells=cells)
    checks: list[tuple[str, Callable[[Results, str], tuple[str, str]]]] = [
        ("Frequent terms are reconstructed from specific ones (reagan → president, …)", _words),
        ("Applying it again reconstructs topics (reproduction → agriculture)", _topics),
        ("The empty document gives the most frequent prototypes", _empty),
        ("More than one layer is better than one", _deep),
        ("The best results need a surprisingly high level of noise", _noise),
        ("dCoT beats bag of words, TF-IDF, LSI and LDA", _beats),
        (f"… especially with few labels (up to {MAX_FEW_LABELS})", partial(_beats, few=True)),
        (f"… significantly (p < {SIGNIFICANT:g})", _beats_significantly),
        ("dCoT is orders of magnitude faster than SDA", _faster("SDA", 100)),
        ("dCoT is faster than LSI", _faster("LSI", 1)),
        ("dCoT is faster than LDA", _faster("LDA", 1)),
        ("… by three orders of magnitude, LSI and LDA", _three_orders),
        ("It is learned in seconds", _seconds),
        ("A document is transformed in milliseconds", _milliseconds),
    ]
    return [
        Verdict(claim, system, *check(results, system))
        for claim, check in checks
        for system in (PAPER, OURS)
    ]


def table(results: Results) -> Table:
    """The claims as a table."""
    rows = [[v.claim, v.system, v.verdict, v.evidence] for v in judge(results)]
    return Table("What the paper claims", ["claim", "method", "verdict", "what we measured"], rows)


def _of_words(results: Results, system: str) -> dict[str, Any]:
    """The cell on words: ranks of the expected prototypes by pair of words and layer, and more."""
    cells = results.select("words", system=system)
    return cells[0].result if cells else {"ranks": {}}


def _place(rank: int | None) -> str:
    return "not a prototype" if rank is None else f"rank {rank}"


def _words(results: Results, system: str) -> tuple[str, str]:
    found = _of_words(results, system)
    ranks = {pair: layers["layer 1"] for pair, layers in found["ranks"].items() if pair != TOPIC}
    if not ranks:
        return MISSING, ""
    held = sum(rank is not None and rank <= DEPTH for rank in ranks.values())
    said = "; ".join(f"{pair}: {_place(rank)}" for pair, rank in ranks.items())
    return verdict_of(held, len(ranks)), f"in layer 1, {said} (of {found['n_prototypes']})"


def _topics(results: Results, system: str) -> tuple[str, str]:
    found = _of_words(results, system)
    if TOPIC not in found["ranks"]:
        return MISSING, ""
    before, after = (found["ranks"][TOPIC][layer] for layer in ("layer 1", "layer 2"))
    verdict = NOT
    if before is not None and after is not None:
        verdict = HOLDS if after <= DEPTH else PARTLY if after < before else NOT
    said = f"{_place(before)} in layer 1, {_place(after)} in layer 2"
    return verdict, f"{said} (of {found['n_prototypes']})"


def _empty(results: Results, system: str) -> tuple[str, str]:
    share = _of_words(results, system).get("empty_among_most_frequent")
    if share is None:
        return MISSING, ""
    verdict = HOLDS if share >= 0.75 else PARTLY if share >= 0.25 else NOT
    return verdict, f"{share:.0%} of its {DEPTH} strongest are among the {DEPTH} most frequent"


Grid = dict[tuple[float, int], Any]  # by noise and number of layers


def _grid(results: Results, system: str) -> tuple[Grid, Grid]:
    """Accuracy in each draw, and its mean in percent."""
    draws: Grid = {}
    for cell in results.select("noise", system=system):
        place = (cell.key["noise"], cell.key["layers"])
        draws.setdefault(place, {})[cell.key["draw"]] = cell.result["accuracy"]
    means = {place: 100 * float(np.mean([*each.values()])) for place, each in draws.items()}
    return draws, means


def _deep(results: Results, system: str) -> tuple[str, str]:
    """Whether more layers are better than one."""
    _, grid = _grid(results, system)
    gains = [
        value - grid[noise, 1]
        for (noise, depth), value in grid.items()
        if depth > 1 and (noise, 1) in grid
    ]
    if not gains:
        return MISSING, ""
    held = sum(gain > 0 for gain in gains)
    spread = f"{points(min(gains))} to {points(max(gains))} points"
    mean = points(sum(gains) / len(gains))
    said = f"in {held} of {len(gains)} pairs of noise and layers: {spread}, {mean} on average"
    return verdict_of(held, len(gains)), said


def _noise(results: Results, system: str) -> tuple[str, str]:
    """Whether the best noise, and all levels not significantly worse than it, are high."""
    draws, grid = _grid(results, system)
    if not grid:
        return MISSING, ""
    # Ties go to fewer layers, then to less noise: the stricter reading of the claim.
    best = min(grid, key=lambda place: (-grid[place], place[1], place[0]))
    level = {best[0]}
    for place in grid:
        gain = paired(draws[best], draws[place])
        if gain is not None and not gain.significant and np.isfinite(gain.p):
            level.add(place[0])
    least, most = min(level), max(level)
    verdict = HOLDS if least >= HIGH_NOISE else NOT if most < HIGH_NOISE else PARTLY
    without = max((value for (x, _), value in grid.items() if x == 0), default=float("nan"))
    layers = "layer" if best[1] == 1 else "layers"
    said = f"best {grid[best]:.1f} % at noise {best[0]:g}, {best[1]} {layers}"
    if len(level) > 1:
        said += f", not significantly better than noise {least:g} to {most:g}"
    return verdict, f"{said}; without noise {without:.1f} %"


def _comparisons(
    results: Results, system: str, few: bool = False
) -> Iterator[tuple[str, str, str | int, Gain]]:
    """Rival, corpus, labels and gain, for every rival of the paper's figure 4."""
    for corpus in CORPORA:
        cells = results.few_labels(corpus, classifier=RIDGE)
        for label in values(where(cells, system=system), "labels", "accuracy"):
            if few and (label == ALL or label > MAX_FEW_LABELS):
                continue
            ours = where(cells, system=system, labels=label)
            for rival in RIVALS:
                found = gain(ours, where(cells, system=rival, labels=label))
                if found is not None:
                    yield rival, corpus, label, found


def _beats(results: Results, system: str, few: bool = False) -> tuple[str, str]:
    found = list(_comparisons(results, system, few))
    if not found:
        return MISSING, ""
    lost = [
        f"{rival} on {corpus} with {label} labels ({points(each.points)})"
        for rival, corpus, label, each in sorted(found, key=lambda item: item[3].points)
        if each.points <= 0
    ]
    held = len(found) - len(lost)
    said = f"better in {held} of {len(found)} comparisons"
    if lost:
        shown = "; ".join(lost[:6]) + (f" and {len(lost) - 6} more" if len(lost) > 6 else "")
        said += f"; not better than {shown}"
    return verdict_of(held, len(found)), said


def _beats_significantly(results: Results, system: str) -> tuple[str, str]:
    found = [each for *_, each in _comparisons(results, system)]
    if not found:
        return MISSING, ""
    held = sum(each.points > 0 and each.significant for each in found)
    lost = sum(each.points < 0 and each.significant for each in found)
    said = f"significantly better in {held} of {len(found)} comparisons, worse in {lost}"
    return verdict_of(held, len(found)), said


def ratios_of(results: Results, system: str, rival: str) -> dict[str, float]:
    """Learning time of a rival divided by that of a system, by corpus."""
    ratios = {}
    system = _timed(system)
    for corpus in results.corpora_of("time"):
        ours = results.select("time", corpus=corpus, system=system)
        theirs = results.select("time", corpus=corpus, system=rival)
        if ours and theirs:
            ratios[corpus] = theirs[0].result["seconds"] / ours[0].result["seconds"]
    return ratios


def _timed(system: str) -> str:
    """The representation that was timed: for dCoT, its features."""
    return FEATURES if system == OURS else system


def _faster(rival: str, times: float) -> Callable[[Results, str], tuple[str, str]]:
    def check(results: Results, system: str) -> tuple[str, str]:
        ratios = ratios_of(results, system, rival)
        held = sum(ratio > times for ratio in ratios.values())
        said = ", ".join(f"{ratio:.3g} × on {corpus}" for corpus, ratio in ratios.items())
        verdict = verdict_of(held, len(ratios))
        if verdict == NOT and times > 1 and all(ratio > 10 for ratio in ratios.values()):
            verdict = PARTLY  # one order of magnitude, not two
        return verdict, f"{rival} takes {said}" if said else ""

    return check


def _three_orders(results: Results, system: str) -> tuple[str, str]:
    ratios = [r for rival in ("LSI", "LDA") for r in ratios_of(results, system, rival).values()]
    if not ratios:
        return MISSING, ""
    said = f"{min(ratios):.3g} × to {max(ratios):.3g} ×; the paper's own table has 26 × to 180 ×"
    return verdict_of(sum(ratio > 1000 for ratio in ratios), len(ratios)), said


def _seconds(results: Results, system: str) -> tuple[str, str]:
    cells = results.select("time", system=_timed(system))
    said = ", ".join(f"{c.result['seconds']:.1f} s on {c.key['corpus']}" for c in cells)
    return verdict_of(sum(c.result["seconds"] < 60 for c in cells), len(cells)), said


def _milliseconds(results: Results, system: str) -> tuple[str, str]:
    cells = results.select("time", system=_timed(system))
    said = ", ".join(f"{c.result['ms_per_document']:.2f} ms on {c.key['corpus']}" for c in cells)
    held = sum(cell.result["ms_per_document"] < 100 for cell in cells)
    return verdict_of(held, len(cells)), said
