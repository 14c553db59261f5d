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
    nnz = c["terms a document"] * n
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


def document(c: dict[str, float], runs: list[dict[str, Any]], r: int) -> str:
    """The tables of docs/scaling.md."""
    lines = ["| constant | value |", "|---|---|"]
    lines += [f"| {name} | {value:,.4g} |" for name, value in c.items()]
    lines += ["", *comparison(c, runs, r), "", *extrapolation(c, r=r)]
    return "\n".join(lines) + "\n"
