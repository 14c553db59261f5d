"""Time and memory of a piece of work, and the machine's own limits to hold them against."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The best of some repeats: what the machine can do when it is left alone."""
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def matmul_rate(dtype: Any = np.float32, size: int = 4000) -> float:
    """Floating point operations per second of a large matrix product."""
    a = np.random.default_rng(0).random((size, size)).astype(dtype)
    return 2.0 * size**3 / seconds(lambda: a @ a)


def read_rate(n_threads: int, size: int = 400_000_000) -> float:
    """Bytes per second that all threads together read from memory."""
    parts = np.array_split(np.ones(size // 4, dtype=np.float32), n_threads)
    with ThreadPoolExecutor(n_threads) as pool:
        return size / seconds(lambda: list(pool.map(np.max, parts)))


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def peak_memory(work: Callable[[], Any]) -> tuple[float, Any]:
    """Bytes by which the process grew at the most while it worked, and the result (Linux)."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now
    before = _status("VmRSS")
    result = work()
    return float(_status("VmHWM") - before), result


def textbook_bytes(solver: str, n: int, d: int, r: int, nnz: int, itemsize: int = 4) -> float:
    """What a plain implementation of a solver holds: a bound that does not come from dcot's code.

    All hold the result and the transpose of the documents. Cholesky holds the matrix it factorises,
    conjugate gradients solution, residual, direction and image for each right-hand side, in the
    smaller of document and term space.
    """
    held = {"dual": n * n, "primal": d * d, "cg": 4 * min(n, d) * r}[solver]
    return float(itemsize) * (held + d * r) + nnz * (4.0 + itemsize)


def in_subprocess(module: str, *arguments: str) -> str:
    """What ``python -m module arguments`` prints: a process with a memory of its own."""
    command = [sys.executable, "-m", module, *arguments]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed:\n{done.stderr[-2000:]}")
    return done.stdout.strip()


class Table:
    """Rows of name, figure, target and whether it is met, printed as they come."""

    def __init__(self, title: str) -> None:
        self.missed = 0
        print(f"\n{title}\n{'-' * len(title)}", flush=True)

    def row(self, name: str, value: float, unit: str, target: float, most: bool = True) -> None:
        met = value <= target if most else value >= target
        self.missed += not met
        bound = "at most" if most else "at least"
        verdict = "met" if met else "MISSED"
        figure = f"{value:.2f} {unit}"
        print(f"{name:<58} {figure:>12}   {bound} {target:g} {unit:<3} {verdict}", flush=True)

    def note(self, text: str) -> None:
        print(f"  {text}", flush=True)
