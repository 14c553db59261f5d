"""What the paper claims, sentence by sentence, and what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dcot.bench.experiments.words import DEPTH
from dcot.bench.report.results import Results
from dcot.bench.report.tables import Table
from dcot.bench.systems import OURS, PAPER

HOLDS, PARTLY, NOT = "holds", "holds partly", "does not hold here"
MISSING = "not measured in this run"
RIVALS = ("bag of words", "TF-IDF", "LSI", "LDA")  # of the paper's figure 4
FEW = 500  # labels


@dataclass(frozen=True)
class Verdict:
    """On one claim, for one of our two rows of dCoT."""

    claim: str
    system: str
    verdict: str
    evidence: str


def verdict_of(held: int, total: int) -> str:
    """From the number of comparisons in which a claim held."""
    if not total:
        return MISSING
    return HOLDS if held == total else NOT if not held else PARTLY


def judge(results: Results) -> list[Verdict]:
    """Every claim, for the paper to the letter and for our defaults."""
    checks: list[tuple[str, Callable[[Results, str], tuple[str, str]]]] = [
        ("Frequent terms are rebuilt from specific ones (reagan → president, …)", _words),
        ("The empty document gives the most frequent prototypes", _empty),
        ("More than one layer is better than one", _deep),
        ("The best results need a surprisingly high level of noise", _noise),
        ("dCoT beats bag of words, TF-IDF, LSI and LDA", _beats),
        (f"… especially with few labels (up to {FEW})", _beats_with_few),
        ("dCoT is orders of magnitude faster than SDA", _faster("SDA", 100)),
        ("dCoT is faster than LSI", _faster("LSI", 1)),
        ("dCoT is faster than LDA", _faster("LDA", 1)),
        ("… by three orders of magnitude, LSI and LDA", _three_orders),
        ("A document is transformed in milliseconds", _milliseconds),
    ]
    return [
        Verdict(claim, system, *check(results, system))
        for claim, check in checks
        for system in (PAPER, OURS)
    ]


def table(results: Results) -> Table:
    """As the report shows it."""
    rows = [[v.claim, v.system, v.verdict, v.evidence] for v in judge(results)]
    return Table("What the paper claims", ["claim", "method", "verdict", "what we measured"], rows)


def _words(results: Results, system: str) -> tuple[str, str]:
    cells = [c for c in results.select("words", system=system) if c.result["ranks"]]
    if not cells:
        return MISSING, ""
    ranks = {
        pair: min((rank for rank in by_layer.values() if rank is not None), default=None)
        for pair, by_layer in cells[0].result["ranks"].items()
    }
    held = sum(rank is not None and rank <= DEPTH for rank in ranks.values())
    said = "; ".join(
        f"{pair}: {'not a prototype' if rank is None else f'rank {rank}'}"
        for pair, rank in ranks.items()
    )
    return verdict_of(held, len(ranks)), f"{said} (of {cells[0].result['n_prototypes']})"


def _empty(results: Results, system: str) -> tuple[str, str]:
    cells = results.select("words", system=system)
    if not cells:
        return MISSING, ""
    share = cells[0].result["empty_among_most_frequent"]
    verdict = HOLDS if share >= 0.75 else PARTLY if share >= 0.25 else NOT
    return verdict, f"{share:.0%} of its {DEPTH} strongest are the {DEPTH} most frequent"


def _grid(results: Results, system: str) -> dict[tuple[float, int], float]:
    found: dict[tuple[float, int], list[float]] = {}
    for cell in results.select("noise", system=system):
        place = (cell.key["noise"], cell.key["layers"])
        found.setdefault(place, []).append(cell.result["accuracy"])
    return {place: 100 * float(np.mean(values)) for place, values in found.items()}


def best_noises(results: Results, system: str) -> list[tuple[int, float]]:
    """``(layers, noise)``: the best noise for each number of layers, of equals the least."""
    grid = _grid(results, system)
    depths = sorted({depth for _, depth in grid})
    noises = sorted({noise for noise, _ in grid})
    return [
        (depth, max((x for x in noises if (x, depth) in grid), key=lambda x: grid[x, depth]))
        for depth in depths
    ]


def _deep(results: Results, system: str) -> tuple[str, str]:
    grid = _grid(results, system)
    noises = sorted({noise for noise, _ in grid})
    gains = []
    for noise in noises:
        deeper = [value for (x, depth), value in grid.items() if x == noise and depth > 1]
        if deeper and (noise, 1) in grid:
            gains.append(max(deeper) - grid[noise, 1])
    held = sum(gain > 0 for gain in gains)
    if not gains:
        return MISSING, ""
    spread = f"best deeper minus one layer: {min(gains):+.1f} to {max(gains):+.1f} points"
    return verdict_of(held, len(gains)), f"at {held} of {len(gains)} noise levels; {spread}"


def _noise(results: Results, system: str) -> tuple[str, str]:
    grid = _grid(results, system)
    if not grid:
        return MISSING, ""
    # Of equals the one with fewer layers, then less noise: the harder reading of the claim.
    noise, depth = min(grid, key=lambda place: (-grid[place], place[1], place[0]))
    best = grid[noise, depth]
    without = max((value for (x, _), value in grid.items() if x == 0), default=float("nan"))
    verdict = HOLDS if noise >= 0.7 else PARTLY if noise >= 0.5 else NOT
    return verdict, (
        f"best {best:.1f} % at noise {noise:g}, {depth} layer{'s' if depth > 1 else ''}; without "
        f"noise {without:.1f} %"
    )


def _comparisons(results: Results, system: str, few: bool) -> tuple[int, int, list[str]]:
    held, total, lost = 0, 0, []
    for corpus in results.corpora_of("few-labels"):
        options = {"corpus": corpus, "way": "validation"}
        ours = results.values("few-labels", "labels", "accuracy", system=system, **options)
        for rival in RIVALS:
            theirs = results.values("few-labels", "labels", "accuracy", system=rival, **options)
            for labels in ours.keys() & theirs.keys():
                if few and (labels == "all" or labels > FEW):
                    continue
                gain = 100 * float(ours[labels].mean() - theirs[labels].mean())
                total, held = total + 1, held + (gain > 0)
                if gain <= 0:
                    lost.append(f"{rival} on {corpus} with {labels} ({gain:+.1f})")
    return held, total, sorted(lost)


def _beats(results: Results, system: str, few: bool = False) -> tuple[str, str]:
    held, total, lost = _comparisons(results, system, few)
    if not total:
        return MISSING, ""
    said = f"better in {held} of {total} comparisons"
    if lost:
        shown = "; ".join(lost[:6]) + (f" and {len(lost) - 6} more" if len(lost) > 6 else "")
        said += f"; not better than {shown}"
    return verdict_of(held, total), said


def _beats_with_few(results: Results, system: str) -> tuple[str, str]:
    return _beats(results, system, few=True)


def _ratios(results: Results, system: str, rival: str) -> dict[str, float]:
    ratios = {}
    for corpus in results.corpora_of("time"):
        ours = results.select("time", corpus=corpus, system=system)
        theirs = results.select("time", corpus=corpus, system=rival)
        if ours and theirs:
            ratios[corpus] = theirs[0].result["seconds"] / ours[0].result["seconds"]
    return ratios


def _faster(rival: str, times: float) -> Callable[[Results, str], tuple[str, str]]:
    def check(results: Results, system: str) -> tuple[str, str]:
        ratios = _ratios(results, system, rival)
        held = sum(ratio > times for ratio in ratios.values())
        said = ", ".join(f"{ratio:.3g} × on {corpus}" for corpus, ratio in ratios.items())
        verdict = verdict_of(held, len(ratios))
        if verdict == NOT and times > 1 and all(ratio > 10 for ratio in ratios.values()):
            verdict = PARTLY  # one order of magnitude, not two
        return verdict, f"{rival} takes {said}" if said else ""

    return check


def _three_orders(results: Results, system: str) -> tuple[str, str]:
    ratios = [r for rival in ("LSI", "LDA") for r in _ratios(results, system, rival).values()]
    if not ratios:
        return MISSING, ""
    said = f"{min(ratios):.3g} × to {max(ratios):.3g} ×; their own table says 26 × to 180 ×"
    return verdict_of(sum(ratio > 1000 for ratio in ratios), len(ratios)), said


def _milliseconds(results: Results, system: str) -> tuple[str, str]:
    cells = results.select("time", system=system)
    times = [cell.result["ms_per_document"] for cell in cells]
    said = ", ".join(
        f"{cell.result['ms_per_document']:.2f} ms on {cell.key['corpus']}" for cell in cells
    )
    return verdict_of(sum(time < 100 for time in times), len(times)), said
