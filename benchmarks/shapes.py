"""Whether ``solver="auto"`` picks well, and predicts memory well, over a grid of shapes.

Run as ``python -m benchmarks.shapes``. Every cell runs in a process of its own; a solver that is
predicted to take many times longer than the best is not run, and this is printed.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product

from benchmarks.generated import topical_corpus
from benchmarks.measure import in_subprocess, matmul_rate, peak_memory, seconds, textbook_bytes

from dcot import DCoT
from dcot.core.centred import Centred
from dcot.core.corruption import marginalise
from dcot.core.moments import Moments
from dcot.core.options import FitOptions, choose_prototypes
from dcot.core.plan import bytes_in_memory, plan_in_memory, seconds_in_memory, shape_of
from dcot.core.solvers import SOLVERS, cg

SIZES = (1_000, 5_000, 30_000)
PROTOTYPES = (100, 1_000, 3_000)
NOISE = 0.8
HOPELESS = 6.0
NOTICEABLE = 0.1
SMALL = 50e6  # bytes below which the ratio of a peak to a prediction says little
SMALL_ERROR = 25e6  # bytes that such a prediction may be off


def model(r: int, solver: str) -> DCoT:
    return DCoT(r, noise=NOISE, n_layers=1, solver=solver)


def measure(n: int, d: int, r: int, solver: str) -> None:
    """Print the solver's seconds, and its peak, predicted and textbook bytes."""
    X = topical_corpus(n, d)
    model(10, solver).fit(X[:500, :700])  # load the compiled kernels
    matmul_rate(size=2000)  # BLAS has its own buffers from now on: they are not the solver's
    peak, _ = peak_memory(lambda: model(r, solver).fit(X))
    time = seconds(lambda: model(r, solver).fit(X), 3)
    shape = shape_of(Centred.of(X, Moments.of(X).mean), min(r, d))
    print(time, peak, bytes_in_memory(solver, shape), textbook_bytes(solver, n, d, r, X.nnz))


def choice(n: int, d: int, r: int) -> tuple[str, float, dict[str, float]]:
    """What auto chooses, the seconds that takes, and predicted seconds by solver."""
    X = topical_corpus(n, d)
    moments = Moments.of(X)
    targets = choose_prototypes("document_frequency", r, moments)
    systems = [marginalise(moments, NOISE, shrinkage=1.0)]
    options = {"tol": 1e-4, "max_iter": 1000}

    centred = Centred.of(X, moments.mean)
    _ = centred.transpose  # every solver needs it

    def choose() -> str:
        return plan_in_memory(centred, targets, systems, FitOptions(**options)).solver

    chosen = choose()
    iterations = cg.count_iterations(centred, targets, systems, **options)
    shape = shape_of(centred, len(targets))
    predicted = {s: seconds_in_memory(s, centred, shape, iterations) for s in SOLVERS}
    return chosen, seconds(choose), predicted


@dataclass
class Judged:
    """What one shape shows.

    Attributes
    ----------
    slower : seconds of auto ÷ those of the best solver
    best : seconds of the best solver
    peak, predicted, textbook : bytes of the solver that auto chose
    """

    slower: float
    best: float
    peak: float
    predicted: float
    textbook: float

    @property
    def is_small(self) -> bool:
        return self.peak <= SMALL

    @property
    def wrong(self) -> float:
        """How many times the prediction is off."""
        return max(self.predicted / self.peak, self.peak / self.predicted)


def cell(n: int, d: int, r: int) -> Judged:
    """Measure and print one row."""
    chosen, choosing_time, predicted = choice(n, d, r)
    hopeful = [s for s in SOLVERS if predicted[s] < HOPELESS * min(predicted.values())]
    times, memory, shown = {}, {}, []
    for solver in dict.fromkeys([chosen, *hopeful]):
        printed = in_subprocess("benchmarks.shapes", "--cell", str(n), str(d), str(r), solver)
        times[solver], *memory[solver] = map(float, printed.split())
        shown.append(f"{solver} {times[solver]:.3f} s ({predicted[solver]:.3f})")
    # the choice is timed by itself: two runs of one solver differ by more than it costs
    slower = (times[chosen] + choosing_time) / min(times.values())
    found = Judged(slower, min(times.values()), *memory[chosen])
    left = [s for s in SOLVERS if s not in times]
    note = f"   not run: {', '.join(left)}" if left else ""
    head = f"{n:>6} × {d:<6} r {r:<5} auto {chosen:<6} auto/best {slower:4.2f}"
    off = (found.predicted - found.peak) / 1e6
    memory_note = f"memory predicted/peak {found.predicted / found.peak:.2f} ({off:+.0f} MB)"
    print(f"{head}  {memory_note}  {', '.join(shown)}{note}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cell", nargs=4, metavar=("N", "D", "R", "SOLVER"), help="(internal)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    if options.cell:
        n, d, r = map(int, options.cell[:3])
        measure(n, d, r, options.cell[3])
        return
    grid = [g for g in product(options.sizes, options.sizes, PROTOTYPES) if g[2] <= g[1]]
    report([cell(*shape) for shape in grid])


def report(found: list[Judged]) -> None:
    """Print the worst of all shapes beside the targets; every shape counts for memory."""
    slower = max((one.slower for one in found if one.best >= NOTICEABLE), default=1.0)
    quick = max((one.slower for one in found if one.best < NOTICEABLE), default=1.0)
    wrong = max((one.wrong for one in found if not one.is_small), default=1.0)
    off = max((abs(one.predicted - one.peak) for one in found if one.is_small), default=0.0)
    large = max((one.peak / one.textbook for one in found if not one.is_small), default=0.0)
    print(f"\nauto is at most {slower:.2f} × slower than the best solver (target: 1.3)")
    print(f"  (where the best takes less than {NOTICEABLE} s: {quick:.2f} ×)")
    print(f"predicted memory is at most {wrong:.2f} × off, peaks over 50 MB (target: 1.25)")
    print(f"  (other peaks: at most {off / 1e6:.0f} MB off, target: {SMALL_ERROR / 1e6:.0f} MB)")
    print(f"peaks over 50 MB are at most {large:.2f} × those of a textbook (target: 3)")


if __name__ == "__main__":
    main()
