"""How a large corpus is going to be fitted: what is kept, and what it costs, said beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.layers import BLOCK_BYTES
from dcot.core.options import FitOptions
from dcot.core.solvers._base import COLUMNS
from dcot.core.solvers.choice import DENSE, SPARSE, allowance
from dcot.errors import InvalidParameterError, OutOfMemoryError
from dcot.runtime.resources import format_bytes, n_threads
from dcot.stream.sums import PANEL

Array = NDArray[Any]

# Measured with ``python -m benchmarks.scale constants``; operations per second and thread.
PAIRS = 0.06e9  # pairs of terms added to a scatter matrix in panels
SPARSE_PAIRS = 0.04e9  # the same to a sparse one
READ = 30e6  # values of a matrix read and checked, where no pass was timed
# A batch of texts and its weighted terms, beside whatever is kept; and with its products.
TEXT_BYTES = 30e6
BATCH_BYTES = TEXT_BYTES + 2 * BLOCK_BYTES
# Below this, noise hardly makes the system regular, and the solution of least norm is needed.
SMALLEST_SHIFT = 1e-5


@dataclass(frozen=True)
class CorpusSize:
    """What is known of a corpus before it is summed.

    Attributes
    ----------
    d : terms
    n, nnz : documents and values
    pairs : pairs of terms in a document, Σ l(l+1)/2
    frequency : document frequency of each term, or None
    pass_seconds : what reading all documents once takes, or None
    """

    d: int
    n: float
    nnz: float
    pairs: float
    frequency: Array | None = None
    pass_seconds: float | None = None

    @property
    def cells(self) -> float:
        """Entries other than zero of the scatter matrix's lower triangle, at the most (about)."""
        all_cells = self.d * (self.d + 1) / 2
        if not self.n:
            return all_cells
        most = min(self.pairs, all_cells)
        if self.frequency is None:
            return most
        return min(most, meetings(self.frequency, self.n))


def meetings(frequency: Array, n: float) -> float:
    """Expected number of pairs of terms that share a document, were they independent.

    Real terms come in topics and meet fewer others, so this is an upper estimate.
    """
    positive = frequency[frequency > 0]
    if not len(positive):
        return 0.0
    edges = np.geomspace(positive.min(), positive.max() * 1.001, 65)
    counts, _ = np.histogram(positive, edges)
    middle = np.sqrt(edges[:-1] * edges[1:])
    chance = -np.expm1(-np.multiply.outer(middle, middle) / n)
    return float(counts @ chance @ counts) / 2 + len(positive) / 2


@dataclass(frozen=True)
class Plan:
    """One way to fit.

    Attributes
    ----------
    storage : ``"packed"``, ``"sparse"`` or ``"dense"`` scatter matrix, or ``"none"``
    method : ``"cholesky"``, ``"cg"`` or ``"least norm"``
    memory : bytes at the peak, beside what the process had before
    seconds : reading, summing and solving
    fixed : the part of the seconds that does not grow with the documents
    passes : over the documents, expected
    width : right-hand sides at a time
    """

    storage: str
    method: str
    memory: float
    seconds: float
    fixed: float
    passes: int
    width: int

    @property
    def solver(self) -> str:
        return "cg" if self.method == "cg" else "primal"

    def __str__(self) -> str:
        kept = {
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


def plans(corpus: CorpusSize, r: int, itemsize: int, noise: float) -> list[Plan]:
    """All ways, with their costs."""
    d, s, threads = corpus.d, itemsize, n_threads()
    dense, sparse = DENSE * threads * 4 / s, SPARSE * threads * 4 / s
    half, block = d * (d + PANEL) / 2.0 * s, float(d) * r * s
    read = corpus.pass_seconds if corpus.pass_seconds is not None else corpus.nnz / READ
    if noise / (1 - noise) <= SMALLEST_SHIFT:
        fill = read + corpus.pairs / (PAIRS * threads)
        # an eigendecomposition costs some twenty factorisations, in double precision
        fixed = 9.0 * d**3 * 2 / (DENSE * threads)
        memory = float(d) * d * (2 * s + 24) + 2 * block + BATCH_BYTES
        return [Plan("dense", "least norm", memory, fill + fixed, fixed, 1, r)]
    steps = int(np.ceil(5 / noise))
    fill = read + corpus.pairs / (PAIRS * threads)
    factor = (d**3 / 3 + 2.0 * d * d * r) / dense
    direct = half + 2 * block + 1.0 * d * min(r, COLUMNS) * s
    found = [Plan("packed", "cholesky", direct, fill + factor, factor, 1, r)]
    rest = 7 * block
    fixed = steps * 2.0 * d * d * r / dense
    found.append(Plan("packed", "cg", half + rest, fill + fixed, fixed, 1, r))
    cells = 2 * corpus.cells
    fill = read + corpus.pairs / SPARSE_PAIRS  # on one thread
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


def choose_plan(
    corpus: CorpusSize, r: int, itemsize: int, options: FitOptions, *, rereadable: bool = True
) -> Plan:
    """The quickest way by prediction among those that fit and that the source allows."""
    wanted = options.solver
    if wanted == "dual":
        raise InvalidParameterError(
            "solver='dual' holds the documents, which a source of batches is there to avoid: use "
            "'auto', 'primal' or 'cg', or fit one matrix"
        )
    budget = allowance(options.memory_limit)
    able = plans(corpus, r, itemsize, options.noise[0])
    able = [plan for plan in able if wanted in ("auto", plan.solver) or plan.storage == "dense"]
    if not rereadable:
        able = [plan for plan in able if plan.storage != "none"]
    fitting = [plan for plan in able if plan.memory <= budget]
    fitting += [narrow for plan in able if (narrow := narrowed(plan, corpus, itemsize, budget))]
    if not fitting:
        raise _too_large(min(able, key=_memory), corpus, r, budget, rereadable)
    return min(fitting, key=lambda plan: plan.seconds)


def _memory(plan: Plan) -> float:
    return plan.memory


def narrowed(plan: Plan, corpus: CorpusSize, itemsize: int, budget: float) -> Plan | None:
    """Products by passes for fewer right-hand sides at a time: more passes, less memory."""
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
    read = corpus.pass_seconds if corpus.pass_seconds is not None else corpus.nnz / READ
    seconds = plan.seconds + (passes - plan.passes) * read
    return replace(plan, memory=memory, seconds=seconds, passes=passes, width=width)


def _too_large(
    plan: Plan, corpus: CorpusSize, r: int, budget: float, rereadable: bool
) -> OutOfMemoryError:
    again = "" if rereadable else "a source that can be read again, "
    return OutOfMemoryError(
        f"{corpus.d:,} terms → {r:,} prototypes need about {format_bytes(plan.memory)} at the "
        f"least, and {format_bytes(budget)} are allowed: use {again}solver='auto', fewer terms "
        "(min_df, max_features) or n_prototypes, or raise memory_limit"
    )
