"""Which solver: the fastest by prediction among those that fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.centred import Centred, gram_work
from dcot.core.corruption import System
from dcot.core.solvers import SOLVERS, Shape, cg, dual, primal
from dcot.errors import OutOfMemoryError
from dcot.runtime.resources import format_bytes, free_memory, n_threads

Array = NDArray[Any]

# Operations per second and thread, measured with benchmarks/speed.py. Only their ratios matter
# for the choice, and these differ far less between machines than the rates themselves.
DENSE = 60e9  # factorising and solving, float32; half of it in float64
SPARSE = 8e9  # sparse times dense with the vector work of an iteration, float32; half in float64
SCATTERED = 1.2e9  # additions into a dense Gram matrix
SETUP = 2e-3  # seconds for what every solver does once
BLINK = 0.005  # a direct solver that takes no longer is taken: its digits are free
LOOK_WORTH = 0.05  # seconds below which looking ahead costs more than it can save


def shape_of(
    centred: Centred, n_targets: int, n_systems: int = 1, itemsize: int | None = None
) -> Shape:
    n, d = centred.shape
    size = itemsize or np.dtype(centred.dtype).itemsize
    return Shape(n, d, n_targets, centred.nnz, size, n_systems)


def seconds(solver: str, centred: Centred, shape: Shape, iterations: int) -> float:
    """Predicted time of one solver on this machine; rough, but right in proportion."""
    speed = n_threads() * 4 / shape.itemsize
    result = 3 * shape.n_systems * shape.result / 5e9
    if solver == "cg":
        return cg.sparse_work(shape, iterations) * 2 / (SPARSE * speed) + result + SETUP
    by_documents = solver == "dual"
    matrix = centred.X if by_documents else centred.transpose
    flops = dual.flops(shape) if by_documents else primal.flops(shape)
    size = shape.n if by_documents else shape.d
    fill = gram_work(matrix) / (SCATTERED * n_threads()) + 3.0 * size**2 * shape.itemsize / 8e9
    # small factorisations are slower, operation by operation
    dense = shape.n_systems * flops / (DENSE * speed) * (1 + 800 / size)
    return fill + dense + result + SETUP


def choose(
    centred: Centred,
    targets: Array,
    systems: Sequence[System],
    *,
    limit: float | None,
    tol: float,
    max_iter: int,
) -> str:
    """The name of the solver to use."""
    shape = shape_of(centred, len(targets), len(systems))
    budget = allowance(limit)
    fitting = [name for name in SOLVERS if SOLVERS[name].memory(shape) <= budget]
    if not fitting:
        smallest = min(SOLVERS, key=lambda name: SOLVERS[name].memory(shape))
        check_memory(smallest, shape, limit)
    direct = [name for name in fitting if name != "cg"]
    if systems[0].shift == 0:
        # Without noise the system may be singular, and the iteration slow.
        return min(direct, key=lambda name: SOLVERS[name].memory(shape)) if direct else "cg"
    times = {name: seconds(name, centred, shape, 0) for name in direct}
    quickest = min(times.values(), default=np.inf)
    few = seconds("cg", centred, shape, cg.LOOK_AHEAD)
    if "cg" in fitting and quickest > max(BLINK, few):
        many = int(12 * (1 + 1 / systems[0].shift))  # more than we have seen at this noise
        times["cg"] = seconds("cg", centred, shape, many)
        if quickest < LOOK_WORTH:
            usual = int(np.ceil(5 / systems[0].shift))
            times["cg"] = seconds("cg", centred, shape, min(usual, max_iter))
        elif quickest < times["cg"]:  # not clear yet: look ahead
            ahead = min(max_iter, many)
            iterations = cg.count_iterations(centred, targets, systems, tol=tol, max_iter=ahead)
            times["cg"] = seconds("cg", centred, shape, iterations)
    return min(times, key=lambda name: times[name])


def allowance(limit: float | None) -> float:
    """Bytes that may be used: the limit that was set, or most of what is free."""
    if limit is not None:
        return limit
    free = free_memory()
    return float("inf") if free is None else 0.9 * free


def check_memory(solver: str, shape: Shape, limit: float | None) -> None:
    """Refuse work that is predicted not to fit, before anything is allocated."""
    needed, allowed = SOLVERS[solver].memory(shape), allowance(limit)
    if needed <= allowed:
        return
    others = [name for name in SOLVERS if SOLVERS[name].memory(shape) <= allowed]
    way_out = f"solver={others[-1]!r} fits" if others else "use fewer n_prototypes or terms"
    raise OutOfMemoryError(
        f"solver={solver!r} needs about {format_bytes(needed)} for {shape.n} documents × "
        f"{shape.d} terms → {shape.r} prototypes, and {format_bytes(allowed)} are allowed: "
        f"{way_out}, set dtype='float32' if it is not, or raise memory_limit"
    )
