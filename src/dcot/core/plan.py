"""Choose how to fit a model: the way with the least predicted time that fits in memory.

Time is predicted from operation counts and the rates below, memory from the shapes. For documents
in memory, the choice is between ``SOLVERS``. Documents that are read in passes are solved with a
scatter matrix (packed, sparse or dense), or by conjugate gradients whose products are passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.centred import COLUMNS, Centred, gram_work
from dcot.core.corruption import System
from dcot.core.layers import BLOCK_BYTES
from dcot.core.options import FitOptions
from dcot.core.solvers import SOLVERS, cg
from dcot.errors import InvalidParameterError, OutOfMemoryError
from dcot.runtime.resources import allowance, format_bytes, n_threads

Array = NDArray[Any]

# Operations per second and thread, measured with benchmarks/speed.py. Only their ratios matter
# for the choice, and these differ far less between machines than the rates themselves.
DENSE_RATE = 60e9  # factorising and solving, float32; half of it in float64
SPARSE_RATE = 8e9  # sparse × dense with the vector work of an iteration, float32; half in float64
GRAM_RATE = 1.2e9  # additions into a dense Gram matrix
SETUP_SECONDS = 2e-3  # fixed cost of every solver
FREE_DIRECT_SECONDS = 0.005  # a direct solver that takes no longer is always used: it is exact
LOOK_AHEAD_SECONDS = 0.05  # below this, looking ahead costs more than it can save
# Measured with ``python -m benchmarks.scale constants``; operations per second and thread.
PAIR_RATE = 0.06e9  # pairs of terms added to a scatter matrix in panels
SPARSE_PAIR_RATE = 0.04e9  # the same to a sparse one
READ_RATE = 30e6  # values of a matrix read and checked
PASS_SECONDS = 0.01  # fixed cost of a pass over documents
TEXT_RATE = 4e6  # values of a matrix made from texts that are read and counted
# Memory for a batch of texts and its weighted terms; and with its products.
TEXT_BYTES = 30e6
BATCH_BYTES = TEXT_BYTES + 2 * BLOCK_BYTES
# Below this shift the system is nearly singular, and the least-norm solution is needed.
SMALLEST_SHIFT = 1e-5
# Rows per array of a packed scatter matrix, for storage and for factorising.
PANEL = 1024


@dataclass(frozen=True)
class Plan:
    """One way to fit.

    Attributes
    ----------
    storage : what is kept: ``"documents"``, a ``"gram"`` matrix, a ``"packed"``, ``"sparse"`` or
        ``"dense"`` scatter matrix, or ``"none"``
    method : ``"cholesky"``, ``"cg"`` or ``"least norm"``
    memory : bytes at the peak, in addition to what the process already uses
    seconds : predicted time for reading, summing and solving
    fixed : the part of the seconds that does not grow with the number of documents
    passes : expected passes over the documents
    width : right-hand sides at a time
    """

    storage: str
    method: str
    memory: float
    seconds: float
    fixed: float = 0.0
    passes: int = 1
    width: int = 0

    @property
    def solver(self) -> str:
        if self.method == "cg":
            return "cg"
        return "dual" if self.storage == "gram" else "primal"

    def __str__(self) -> str:
        kept = {
            "documents": "the documents",
            "gram": "a Gram matrix of the documents",
            "packed": "a packed symmetric scatter matrix",
            "sparse": "a sparse scatter matrix",
            "dense": "a dense scatter matrix",
            "none": "no scatter matrix, products by passes over the documents",
        }[self.storage]
        return (
            f"{kept}, {self.method}: about {format_bytes(self.memory)}, {self.seconds:.0f} s "
            f"({self.fixed:.0f} s of it whatever the number of documents), {self.passes} "
            f"pass{'es' if self.passes != 1 else ''}"
        )


def fastest(plans: Sequence[Plan]) -> Plan:
    return min(plans, key=lambda plan: plan.seconds)


# -- documents in memory ------------------------------------------------------------------------

_KEPT = {"dual": ("gram", "cholesky"), "primal": ("dense", "cholesky"), "cg": ("documents", "cg")}


def plan_in_memory(
    centred: Centred, targets: Array, systems: Sequence[System], options: FitOptions
) -> Plan:
    """Return the fastest plan that fits in memory, or that of the requested solver."""
    shape = shape_of(centred, len(targets), len(systems))
    wanted = [name for name in SOLVERS if options.solver in ("auto", name)]
    allowed = allowance(options.memory_limit)
    fitting = [name for name in wanted if bytes_in_memory(name, shape) <= allowed]
    if not fitting:
        raise _too_large(min(wanted, key=lambda name: bytes_in_memory(name, shape)), shape, options)
    if len(fitting) == 1:
        return _plan(fitting[0], centred, shape)
    direct = [_plan(name, centred, shape) for name in fitting if name != "cg"]
    if systems[0].shift == 0:
        # Without noise the system may be singular, and cg slow.
        return min(direct, key=lambda plan: plan.memory)
    seconds = fastest(direct).seconds
    few = _plan("cg", centred, shape, cg.LOOK_AHEAD)
    if "cg" not in fitting or seconds <= max(FREE_DIRECT_SECONDS, few.seconds):
        return fastest(direct)
    iterations = _iterations(centred, targets, systems, options, shape, seconds)
    return fastest([*direct, _plan("cg", centred, shape, iterations)])


def _iterations(
    centred: Centred,
    targets: Array,
    systems: Sequence[System],
    options: FitOptions,
    shape: Shape,
    direct: float,
) -> int:
    """Return the expected iterations of cg, measured if the choice depends on it."""
    shift, max_iter = systems[0].shift, options.max_iter
    shift = max(shift, 1e-300)  # one over less would be infinite
    many = int(12 * (1 + 1 / shift))  # more than ever observed at this noise
    if direct < LOOK_AHEAD_SECONDS:
        return min(int(np.ceil(5 / shift)), max_iter)
    if direct >= _plan("cg", centred, shape, many).seconds:
        return many
    ahead = min(max_iter, many)
    return cg.count_iterations(centred, targets, systems, tol=options.tol, max_iter=ahead)


@dataclass(frozen=True)
class Shape:
    """The sizes from which time and memory are predicted."""

    n: int
    d: int
    r: int
    nnz: int
    itemsize: int
    n_systems: int = 1

    @property
    def result(self) -> float:
        """Bytes of one W."""
        return float(self.d) * self.r * self.itemsize

    @property
    def matrix(self) -> float:
        """Bytes of the transpose of X, and of scaled values for both; indices are shared."""
        return self.nnz * (4.0 + 3 * self.itemsize)


def shape_of(centred: Centred, n_targets: int, n_systems: int = 1) -> Shape:
    n, d = centred.shape
    size = np.dtype(centred.dtype).itemsize
    return Shape(n, d, n_targets, centred.nnz, size, n_systems)


def _plan(solver: str, centred: Centred, shape: Shape, iterations: int = 0) -> Plan:
    time = seconds_in_memory(solver, centred, shape, iterations)
    return Plan(*_KEPT[solver], bytes_in_memory(solver, shape), time, width=shape.r)


def seconds_in_memory(solver: str, centred: Centred, shape: Shape, iterations: int) -> float:
    """Predict the time of one solver; only the ratios between solvers are reliable."""
    speed = n_threads() * 4 / shape.itemsize
    result = 3 * shape.n_systems * shape.result / 5e9
    if solver == "cg":
        work = 4.0 * shape.nnz * shape.r * (iterations + 0.5) / (SPARSE_RATE * speed)
        return work + result + SETUP_SECONDS
    by_documents = solver == "dual"
    matrix = centred.X if by_documents else centred.transpose
    size = shape.n if by_documents else shape.d
    flops = size**3 / 3 + 2.0 * size**2 * shape.r  # a factorisation, and solving with it
    fill = gram_work(matrix) / (GRAM_RATE * n_threads()) + 3.0 * size**2 * shape.itemsize / 8e9
    # small factorisations are slower per operation
    dense = shape.n_systems * flops / (DENSE_RATE * speed) * (1 + 800 / size)
    return fill + dense + result + SETUP_SECONDS


def bytes_in_memory(solver: str, shape: Shape) -> float:
    """Predict the peak memory of one solver, with the result but without X."""
    twice = 2.0 * shape.nnz * shape.itemsize  # X scaled a second time
    if solver == "cg":
        sizes = (shape.n, shape.d, shape.r, shape.itemsize)
        vectors = cg.n_workers(*sizes) * cg.buffer_bytes(*sizes)
        again = twice if shape.n <= shape.d else 0.0
        return shape.n_systems * shape.result + shape.matrix + again + vectors
    size = shape.n if solver == "dual" else shape.d
    square = float(size) ** 2 * shape.itemsize * (2 if shape.n_systems > 1 else 1)
    columns = min(shape.r, COLUMNS) * shape.itemsize * size
    if solver == "dual":  # X's columns, their solution in two layouts
        return square + shape.result + shape.matrix + twice + 3 * columns
    return square + shape.result + shape.matrix + 4 * columns


def _too_large(solver: str, shape: Shape, options: FitOptions) -> OutOfMemoryError:
    needed, allowed = bytes_in_memory(solver, shape), allowance(options.memory_limit)
    others = [name for name in SOLVERS if bytes_in_memory(name, shape) <= allowed]
    way_out = f"solver={others[-1]!r} fits" if others else "use fewer n_prototypes or terms"
    return OutOfMemoryError(
        f"solver={solver!r} needs about {format_bytes(needed)} for {shape.n} documents × "
        f"{shape.d} terms → {shape.r} prototypes, and {format_bytes(allowed)} are allowed: "
        f"{way_out}, set dtype='float32' if it is not, or raise memory_limit"
    )


# -- documents in passes ------------------------------------------------------------------------


@dataclass(frozen=True)
class CorpusSize:
    """Sizes of a corpus that are known before it is summed.

    Attributes
    ----------
    d : number of terms
    n, nnz : number of documents and of values
    pairs : pairs of terms in a document, Σ l(l+1)/2
    frequency : document frequency of each term, or None
    read_rate : values read per second. It is not measured: the plan, and with it the last digits
        of the result, would depend on what else the machine does.
    """

    d: int
    n: float
    nnz: float
    pairs: float
    frequency: Array | None = None
    read_rate: float = READ_RATE

    @property
    def read_seconds(self) -> float:
        """Predicted time to read all documents once."""
        return PASS_SECONDS + self.nnz / self.read_rate

    @property
    def cells(self) -> float:
        """Approximate upper bound of the nonzero entries in the scatter's lower triangle."""
        all_cells = self.d * (self.d + 1) / 2
        if not self.n:
            return all_cells
        most = min(self.pairs, all_cells)
        if self.frequency is None:
            return most
        return min(most, meetings(self.frequency, self.n))


def meetings(frequency: Array, n: float) -> float:
    """Return the expected number of pairs of terms that share a document, if independent.

    Real terms cluster in topics and occur with fewer others, so this is an upper estimate.
    """
    positive = frequency[frequency > 0]
    if not len(positive):
        return 0.0
    edges = np.geomspace(positive.min(), positive.max() * 1.001, 65)
    counts, _ = np.histogram(positive, edges)
    middle = np.sqrt(edges[:-1] * edges[1:])
    chance = -np.expm1(-np.multiply.outer(middle, middle) / n)
    return float(counts @ chance @ counts) / 2 + len(positive) / 2


def pass_plans(corpus: CorpusSize, r: int, itemsize: int, noise: float) -> list[Plan]:
    """Return a plan for every way to fit in passes, with its predicted cost."""
    d, s, threads = corpus.d, itemsize, n_threads()
    dense, sparse = DENSE_RATE * threads * 4 / s, SPARSE_RATE * threads * 4 / s
    half, block = d * (d + PANEL) / 2.0 * s, float(d) * r * s
    read = corpus.read_seconds
    if noise / (1 - noise) <= SMALLEST_SHIFT:
        fill = read + corpus.pairs / (PAIR_RATE * threads)
        # an eigendecomposition costs about twenty factorisations, in double precision
        fixed = 9.0 * d**3 * 2 / (DENSE_RATE * threads)
        memory = float(d) * d * (2 * s + 24) + 2 * block + BATCH_BYTES
        return [Plan("dense", "least norm", memory, fill + fixed, fixed, 1, r)]
    steps = int(np.ceil(5 / noise))
    fill = read + corpus.pairs / (PAIR_RATE * threads)
    factor = (d**3 / 3 + 2.0 * d * d * r) / dense
    direct = half + 2 * block + 1.0 * d * min(r, COLUMNS) * s
    found = [Plan("packed", "cholesky", direct, fill + factor, factor, 1, r)]
    rest = 7 * block
    fixed = steps * 2.0 * d * d * r / dense
    found.append(Plan("packed", "cg", half + rest, fill + fixed, fixed, 1, r))
    cells = 2 * corpus.cells
    fill = read + corpus.pairs / SPARSE_PAIR_RATE  # on one thread
    fixed = steps * 2 * cells * r / sparse
    memory = 2 * cells * (4 + s) + rest
    found.append(Plan("sparse", "cg", memory, fill + fixed, fixed, 1, r))
    each = read + 4 * corpus.nnz * r / sparse
    vectors = steps * 8 * block / 8e9
    found.append(Plan("none", "cg", rest, (steps + 1) * each + vectors, vectors, steps + 2, r))
    return [
        replace(plan, memory=plan.memory + (BATCH_BYTES if plan.method == "cg" else TEXT_BYTES))
        for plan in found
    ]


def plan_passes(
    corpus: CorpusSize, r: int, itemsize: int, options: FitOptions, *, rereadable: bool = True
) -> Plan:
    """Return the fastest plan that fits in memory and that the source allows."""
    wanted = options.solver
    if wanted == "dual":
        raise InvalidParameterError(
            "solver='dual' holds the documents, which a source of batches is there to avoid: use "
            "'auto', 'primal' or 'cg', or fit one matrix"
        )
    budget = allowance(options.memory_limit)
    able = pass_plans(corpus, r, itemsize, options.noise[0])
    able = [plan for plan in able if wanted in ("auto", plan.solver) or plan.storage == "dense"]
    if not rereadable:
        able = [plan for plan in able if plan.storage != "none"]
    fitting = [plan for plan in able if plan.memory <= budget]
    fitting += [narrow for plan in able if (narrow := narrowed(plan, corpus, itemsize, budget))]
    if not fitting:
        raise _too_large_for_passes(
            min(able, key=lambda plan: plan.memory), corpus, r, budget, rereadable
        )
    return fastest(fitting)


def narrowed(plan: Plan, corpus: CorpusSize, itemsize: int, budget: float) -> Plan | None:
    """Return the plan with fewer right-hand sides at a time: more passes, less memory.

    None if the plan already fits, does not use passes for its products, or would be too narrow.
    """
    if plan.storage != "none" or plan.memory <= budget:
        return None
    result = float(corpus.d) * plan.width * itemsize  # W itself has to fit
    column = 6.0 * corpus.d * itemsize
    width = int((budget - result - BATCH_BYTES) // column)
    if width < min(32, plan.width):
        return None
    sweeps = -(-plan.width // width)
    memory = result + width * column + BATCH_BYTES
    passes = 1 + sweeps * (plan.passes - 1)
    seconds = plan.seconds + (passes - plan.passes) * corpus.read_seconds
    return replace(plan, memory=memory, seconds=seconds, passes=passes, width=width)


def _too_large_for_passes(
    plan: Plan, corpus: CorpusSize, r: int, budget: float, rereadable: bool
) -> OutOfMemoryError:
    again = "" if rereadable else "a source that can be read again, "
    return OutOfMemoryError(
        f"{corpus.d:,} terms → {r:,} prototypes need about {format_bytes(plan.memory)} at the "
        f"least, and {format_bytes(budget)} are allowed: use {again}solver='auto', fewer terms "
        "(min_df, max_features) or n_prototypes, or raise memory_limit"
    )
