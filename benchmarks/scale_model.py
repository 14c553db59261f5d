"""The cost model of docs/scaling.md: prediction, comparison, and a billion texts on paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcot.distributed._fit import _DOCUMENT_COPIES as COPIES
from dcot.distributed._fit import _MEMORY_SHARE as SHARE
from dcot.distributed._fit import _SUMS_HELD as HELD
from dcot.distributed._leaves import STACK_BYTES

# Assumptions that are not measured; change them for your own cluster.
NETWORK = 1.25e9  # bytes per second and machine: 10 Gbit/s
PRICE = 0.04  # dollars per core and hour
MEMORY = 16e9  # bytes of a worker
STEPS = 6  # of conjugate gradients at noise 0.9


def predict(c: dict[str, float], n: float, d: int, r: int) -> dict[str, float]:
    """Seconds of the phases of a local fit with the direct solver, on the machine measured."""
    pairs = c["pairs a document"] * n
    read = n / c["read documents/s"]
    return {
        "vocabulary": read + n / c["vocabulary documents/s"],
        "moments and scatter": read
        + n / c["weighted terms and moments documents/s"]
        + pairs / c["pairs/s into a dense scatter matrix"],
        "factorisation": solving(c, d, r),
    }


def solving(c: dict[str, float], d: int, r: int) -> float:
    """Factorising, and solving for r right-hand sides."""
    flops = d**3 / 3 + 2.0 * d * d * r
    return flops / c["factorisation flop/s"] + d**2 / c["factorisation elements/s"]


def measured(run: dict[str, Any]) -> dict[str, float]:
    """The same phases of a fit that was made."""
    spent: dict[str, float] = run["phases"]
    passes = {name: s for name, s in spent.items() if name.startswith("pass")}
    return {
        "vocabulary": spent["vocabulary"],
        "moments and scatter": sum(passes.values()),
        "factorisation": sum(s for name, s in spent.items() if name.startswith("layer")),
    }


def comparison(c: dict[str, float], runs: list[dict[str, Any]], r: int) -> list[str]:
    """A table of predictions beside measurements."""
    lines = [
        "| documents | terms | phase | predicted, s | measured, s | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for run in runs:
        guess, real = predict(c, run["n"], run["terms"], r), measured(run)
        guess["all"], real["all"] = sum(guess.values()), sum(real.values())
        lines += [
            f"| {run['n']:,} | {run['terms']:,} | {phase} | {guess[phase]:.1f} | {real[phase]:.1f} "
            f"| {real[phase] / guess[phase]:.2f} |"
            for phase in guess
        ]
        lines.append(
            f"| {run['n']:,} | {run['terms']:,} | peak memory, GB | "
            f"{run['predicted_memory'] / 1e9:.2f} | {run['peak'] / 1e9:.2f} | "
            f"{run['peak'] / run['predicted_memory']:.2f} |"
        )
    return lines


def extrapolation(
    c: dict[str, float], n: float = 1e9, d: int = 100_000, r: int = 1000, workers: int = 100
) -> list[str]:
    """Two ways to fit a billion texts on workers like the machine measured."""
    cores = c["threads"]
    nnz = c["terms per document"] * n
    read = n / (workers * c["read documents/s"])
    vocabulary = read + n / (workers * c["vocabulary documents/s"])
    weigh = read + n / (workers * c["weighted terms and moments documents/s"])
    pairs = c["pairs a document"] * n
    fill = pairs / (workers * cores * c["pairs/s into a sparse scatter matrix, one thread"])
    matrix, block = d * d / 2 * 4.0, float(d) * r * 4
    documents = COPIES * STACK_BYTES
    passes = np.ceil(HELD * matrix / (SHARE * MEMORY / cores - documents))
    worker = cores * (HELD * matrix / passes + documents)
    levels = np.ceil(np.log(workers) / np.log(4))
    send = levels * matrix / workers / NETWORK + matrix / NETWORK  # up the tree, then to the caller
    factor = solving(c, d, r)
    product = 4 * nnz * r / (workers * c["sparse products flop/s"])
    moved = 2 * levels * block / NETWORK  # vectors out, partial sums back
    cg = (STEPS + 1) * (weigh + product + moved)
    ways = {
        "scatter matrix, factorised by the caller": (
            vocabulary + passes * weigh + fill + send,
            factor,
            worker,
            matrix + 3 * block,
            (workers * levels / 4 + 1) * matrix,
        ),
        "conjugate gradients over the partitions": (
            vocabulary + weigh + cg,
            0.0,
            cores * ((HELD + 1) * block + documents),
            6 * block,
            (STEPS + 1) * 2 * workers * block,
        ),
    }
    lines = [
        "| way | workers, min | a worker's memory, GB | then the caller, min | its memory, GB "
        "| network, TB | cost, $ |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, (busy, alone, held, memory, network) in ways.items():
        hours = (busy + alone) / 3600
        money = hours * (workers + 1) * cores * PRICE
        lines.append(
            f"| {name} | {busy / 60:.0f} | {held / 1e9:.1f} | {alone / 60:.0f} | "
            f"{memory / 1e9:.1f} | {network / 1e12:.2f} | {money:.0f} |"
        )
    return lines


def cluster(c: dict[str, float], d: int = 30_000, r: int = 1000) -> list[str]:
    """When a cluster pays: this machine alone beside workers of one thread of the same speed.

    Merging partial sums is left out, so these are the fewest workers that can be worth it.
    """
    threads = c["threads"]
    each = 2 / c["read documents/s"]
    each += threads / c["vocabulary documents/s"]
    each += threads / c["weighted terms and moments documents/s"]
    each += c["pairs a document"] / c["pairs/s into a sparse scatter matrix, one thread"]
    counts = (4, 16, 64)
    lines = [
        "| documents | this machine, s | "
        + " | ".join(f"{count} workers, s" for count in counts)
        + " | of that the caller's, s |",
        "|---|---|" + "---|" * (len(counts) + 1),
    ]
    fixed = solving(c, d, r)
    for n in (1e6, 1e7, 1e8, 1e9):
        alone = sum(predict(c, n, d, r).values())
        shown = " | ".join(f"{n * each / count + fixed:,.0f}" for count in counts)
        lines.append(f"| {n:,.0f} | {alone:,.0f} | {shown} | {fixed:,.0f} |")
    local = sum(predict(c, 1.0, d, r).values()) - fixed
    lines += [
        "",
        f"A document costs this machine {1e6 * local:.0f} µs with {threads:.0f} threads, and a "
        f"worker of one thread {1e6 * each:.0f} µs: {each / local:.1f} workers do what it does.",
    ]
    return lines


def constants_in(text: str) -> dict[str, float]:
    """The constants of a table that ``document`` wrote."""
    rows = [line.strip("|").split("|") for line in text.split("\n\n")[0].splitlines()[2:]]
    return {name.strip(): float(value.replace(",", "")) for name, value in rows}


def document(c: dict[str, float], runs: list[dict[str, Any]], r: int) -> str:
    """The tables of docs/scaling.md."""
    lines = ["| constant | value |", "|---|---|"]
    lines += [f"| {name} | {value:,.4g} |" for name, value in c.items()]
    lines += ["", *comparison(c, runs, r), "", *extrapolation(c, r=r)]
    return "\n".join(lines) + "\n"
