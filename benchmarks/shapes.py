"""Whether ``solver="auto"`` picks well, and predicts memory well, over a grid of shapes.

Run as ``python -m benchmarks.shapes``. Every cell runs in a process of its own; a solver that is
predicted to take many times longer than the best is not run, and this is printed.
"""

from __future__ import annotations

import argparse
from itertools import product

from benchmarks.generated import topical_corpus
from benchmarks.measure import in_subprocess, matmul_rate, peak_memory, seconds

from dcot import DCoT
from dcot.core.centred import Centred
from dcot.core.corruption import marginalise
from dcot.core.fit import FitOptions
from dcot.core.moments import Moments
from dcot.core.options import choose_prototypes
from dcot.core.plan import bytes_in_memory, plan_in_memory, seconds_in_memory, shape_of
from dcot.core.solvers import SOLVERS, cg

SIZES = (1_000, 5_000, 30_000)
PROTOTYPES = (100, 1_000, 3_000)
NOISE = 0.8
HOPELESS = 6.0
NOTICEABLE = 0.1
SMALL = 50e6  # bytes below which a peak says little about a prediction


def model(r: int, solver: str) -> DCoT:
    return DCoT(r, noise=NOISE, n_layers=1, solver=solver)


def measure(n: int, d: int, r: int, solver: str) -> None:
    """Print the solver's seconds, and its peak and predicted bytes."""
    X = topical_corpus(n, d)
    model(10, solver).fit(X[:500, :700])  # load the compiled kernels
    matmul_rate(size=2000)  # BLAS has its own buffers from now on: they are not the solver's
    peak, _ = peak_memory(lambda: model(r, solver).fit(X))
    time = seconds(lambda: model(r, solver).fit(X), 3)
    shape = shape_of(Centred.of(X, Moments.of(X).mean), min(r, d))
    print(time, peak, bytes_in_memory(solver, shape))


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


def cell(n: int, d: int, r: int) -> tuple[float, float, float]:
    """Print one row; return how much slower auto is, its memory's prediction, the best time."""
    chosen, choosing_time, predicted = choice(n, d, r)
    hopeful = [s for s in SOLVERS if predicted[s] < HOPELESS * min(predicted.values())]
    times, ratios, shown = {}, {}, []
    for solver in dict.fromkeys([chosen, *hopeful]):
        printed = in_subprocess("benchmarks.shapes", "--cell", str(n), str(d), str(r), solver)
        time, peak, memory = map(float, printed.split())
        times[solver] = time
        ratios[solver] = memory / peak if peak > SMALL else None
        shown.append(f"{solver} {time:.3f} s ({predicted[solver]:.3f})")
    # the choice is timed by itself: two runs of one solver differ by more than it costs
    slower = (times[chosen] + choosing_time) / min(times.values())
    left = [s for s in SOLVERS if s not in times]
    note = f"   not run: {', '.join(left)}" if left else ""
    head = f"{n:>6} × {d:<6} r {r:<5} auto {chosen:<6} auto/best {slower:4.2f}"
    ratio = ratios[chosen]
    memory_note = "memory predicted/peak " + ("small" if ratio is None else f"{ratio:.2f}")
    print(f"{head}  {memory_note}  {', '.join(shown)}{note}", flush=True)
    wrong = 1.0 if ratio is None else max(ratio, 1 / ratio)
    return slower, wrong, min(times.values())


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
    found = [cell(*shape) for shape in grid]
    slower = max(ratio for ratio, _, best in found if best >= NOTICEABLE)
    wrong = max(ratio for _, ratio, _ in found)
    quick = max((ratio for ratio, _, best in found if best < NOTICEABLE), default=1.0)
    print(f"\nauto is at most {slower:.2f} × slower than the best solver (target: 1.3)")
    print(f"  (where the best takes less than {NOTICEABLE} s: {quick:.2f} ×)")
    print(f"predicted memory is at most {wrong:.2f} × off, peaks over 50 MB (target: 1.25)")


if __name__ == "__main__":
    main()
