"""Fit a stack of layers in passes over the documents; the model is the same as in memory.

1. Moments, if the size of the corpus is not known; then the plan.
2. The scatter matrix in panels, in one pass, if it fits in memory.
3. The first layer: a factorisation, or conjugate gradients whose products are matrix products or
   passes.
4. Further layers: without squashing from ``Wᵀ C W``, which costs little once the first layer is
   solved; with squashing, one pass per layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.centred import centre_scatter, column_blocks, precision
from dcot.core.corruption import Solution, System
from dcot.core.fit import FittedDCoT, check_moments, check_weights
from dcot.core.layers import Layer, OutputMoments, OutputsTotal, scatter_after, stack_layers
from dcot.core.moments import Moments
from dcot.core.options import FitOptions
from dcot.core.plan import CorpusSize, Plan, plan_passes
from dcot.core.representation import Representation, sampled_rows
from dcot.core.solvers import direct
from dcot.core.solvers.cg import iterate
from dcot.errors import InvalidInputError, InvalidParameterError
from dcot.runtime.progress import announce
from dcot.stream import Passes, Source
from dcot.stream.packed import PackedScatter, SparseScatter
from dcot.stream.passes import AttachWeights, Block, ReadBlock
from dcot.stream.sums import (
    ColumnsSum,
    CountSum,
    MeanOutputSum,
    MomentsSum,
    OutputsSum,
    PanelSum,
    ProductSum,
    RowsSum,
    SparsePanelSum,
    panels_of,
)

Array = NDArray[Any]

# Largest partial sum that is sent between machines, in bytes.
PART_BYTES = 128e6


def source_weights(source: Source, sample_weight: Any) -> Array | None:
    """Check the weights of the documents of a source; None means weight 1."""
    if sample_weight is None:
        return None
    if source.on_error == "skip":
        raise InvalidParameterError(
            "sample_weight cannot be combined with on_error='skip': it would not be known which "
            "weights belong to the documents after a skipped batch. Use on_error='raise'"
        )
    count = source.n_documents if source.n_documents is not None else np.size(sample_weight)
    return check_weights(sample_weight, count)


def fit_matrices(
    passes: Passes,
    weights: Array | None,
    options: FitOptions,
    dtype: Any,
    *,
    sparse_parts: bool = False,
) -> FittedDCoT:
    """Learn from passes over matrices, locally or on a cluster."""
    first = passes.map(ReadBlock(None)).first()
    d, dtype = first.shape[1], precision(dtype, first.X.dtype)
    blocks = passes.map(ReadBlock(d, dtype, first.names)).map(AttachWeights(weights))
    return fit_passes(blocks, d, dtype, options, sparse_parts=sparse_parts)


def fit_passes(
    blocks: Passes,
    d: int,
    dtype: Any,
    options: FitOptions,
    *,
    known: CorpusSize | None = None,
    sparse_parts: bool = False,
) -> FittedDCoT:
    """Learn from passes over blocks of documents.

    Parameters
    ----------
    blocks : passes over ``Block``
    d, dtype : number of terms, and the dtype to compute in
    options : the settings
    known : size of the corpus, if it is known before any pass
    sparse_parts : whether partial sums are sent between machines; panels are then sparse, and
        products are computed in parts
    """
    if options.needs_sample and not blocks.rereadable:
        what = f"output={options.output!r}" if options.n_components is None else "n_components"
        raise InvalidInputError(
            f"{what} needs another pass, and the source can be read once: give a list of "
            "blocks, files or a function that returns a new iterator each time"
        )
    found = _Fit(blocks, d, np.dtype(dtype), options, sparse_parts).run(known)
    if options.needs_sample:
        found = replace(found, representation=_completed(found, blocks, options))
    return replace(found, skipped=dict(blocks.skipped))


def _completed(found: FittedDCoT, blocks: Passes, options: FitOptions) -> Representation:
    """Learn directions and the compression from the same documents as a fit in memory."""
    generator = options.generator()
    (n,) = blocks.totals([CountSum()], "counting")
    chosen = sampled_rows(n, generator)
    wanted = np.arange(n) if chosen is None else chosen
    what = "LSI" if options.n_components is None else "the compression"
    (parts,) = blocks.totals([RowsSum(wanted)], f"documents for {what}")
    parts = sorted(parts, key=lambda part: part[0])
    together = Block.stack([Block(rows, weights, start) for start, rows, weights in parts])
    return found.representation.learned_from(
        together.X, together.weights, found.n_documents, options.n_components, generator
    )


@dataclass
class _Fit:
    blocks: Passes
    d: int
    dtype: Any
    options: FitOptions
    sparse_parts: bool
    moments: Moments | None = None
    n_passes: int = 0

    def run(self, corpus: CorpusSize | None) -> FittedDCoT:
        options = self.options
        if corpus is None:
            corpus = self._look() if self.blocks.rereadable else CorpusSize(self.d, 0, 0, 0)
        explicit = not isinstance(options.prototypes, str) and not callable(options.prototypes)
        r = min(np.asarray(options.prototypes).size if explicit else options.n_prototypes, self.d)
        again = self.blocks.rereadable
        plan = plan_passes(corpus, r, self.dtype.itemsize, options, rereadable=again)
        self._check_passes()
        n = f"{corpus.n:,.0f}" if corpus.n else "?"
        size = f"{n} documents × {corpus.d:,} terms → {r:,} prototypes"
        announce(options.progress, f"{size}: {plan}")
        scatter = self._scatter(plan)
        moments = self._moments()
        check_moments(moments, self.dtype, options)
        prototypes = options.choose(moments)
        system = options.system(moments, 0)
        solution, gram = self._solve(plan, scatter, moments, prototypes, system)
        solver, squash = plan.solver, options.squash
        first = Layer.solved(
            solution.unless_equal(moments), solver, system, moments, prototypes, squash
        )
        below = None
        if gram is not None:
            assert first.mean_ is not None
            below = OutputMoments.centred(moments.n, first.mean_, gram * moments.differ)
        layers = stack_layers(first, options, self, below)
        made = Representation(layers, options.output, options.normalize)
        return FittedDCoT(made, prototypes, float(moments.n), self.d, plan)

    # -- passes ---------------------------------------------------------------------------------

    def _pass(self, sums: list[Any], what: str) -> list[Any]:
        self.n_passes += 1
        return self.blocks.totals(sums, f"pass {self.n_passes}: {what}")

    def _look(self) -> CorpusSize:
        """Make a first pass for the moments and the size of the corpus."""
        ((self.moments, size),) = self._pass([MomentsSum()], "moments")
        assert self.moments is not None
        frequency = self.moments.document_frequency
        n, nnz, pairs = size.tolist()
        return CorpusSize(self.d, n, nnz, pairs, frequency)

    def _check_passes(self) -> None:
        """Reject an iterator before it is read, if one pass is not enough."""
        deep = self.options.n_layers > 1 or self.options.means
        if not self.blocks.rereadable and self.options.squash != "identity" and deep:
            raise InvalidInputError(
                "several layers, or normalised ones, with squash='tanh' need more than one pass, "
                "and the source can be read once: give a list of blocks, files or a function that "
                "returns a new iterator each time, or set squash='identity'"
            )

    def _moments(self) -> Moments:
        if self.moments is None:
            ((self.moments, _),) = self._pass([MomentsSum()], "moments")
        assert self.moments is not None
        return self.moments

    def _scatter(self, plan: Plan) -> PackedScatter | SparseScatter | None:
        if plan.storage == "none":
            return None
        sparse = plan.storage == "sparse" or self.sparse_parts
        kind = SparsePanelSum if sparse else PanelSum
        sums: list[Any] = [kind(*rows, self.dtype) for rows in panels_of(self.d)]
        if self.moments is None:
            (found, *totals) = self._pass([MomentsSum(), *sums], "moments and scatter matrix")
            self.moments = found[0]
        else:
            totals = self._pass(sums, "scatter matrix")
        if plan.storage == "sparse":
            return SparseScatter(totals, self.d)
        return PackedScatter.of_parts(totals, panels_of(self.d), self.dtype)

    # -- the first layer ------------------------------------------------------------------------

    def _solve(
        self,
        plan: Plan,
        scatter: PackedScatter | SparseScatter | None,
        moments: Moments,
        prototypes: Array,
        system: System,
    ) -> tuple[Solution, Array | None]:
        """Return W, and ``Wᵀ C W`` if further layers need it."""
        say = partial(self.options.progress, f"layer 1 ({plan.method})")
        say(0.0)
        follow = self.options.n_layers > 1 and self.options.squash == "identity"
        if plan.storage == "dense":
            assert isinstance(scatter, PackedScatter)
            centred = centre_scatter(scatter.full(), moments.mean, moments.n)
            solution = next(direct.solve_scatter(centred.copy(), prototypes, [system], say))
            return solution, scatter_after(centred, solution.coef) if follow else None
        if scatter is not None:
            scatter.prepare(moments.mean, moments.n, system.inverse_root)
        if plan.method == "cholesky":
            assert isinstance(scatter, PackedScatter)
            return _by_cholesky(scatter, prototypes, system, follow, say)
        matrix = scatter or _PassScatter(self, moments.mean, system.inverse_root)
        return _by_cg(matrix, prototypes, system, plan.width, follow, self.options, say)

    def product(self, vectors: Array, mean: Array) -> Array:
        """``X_cᵀ X_c vectors``, in one pass."""
        parts = [np.ascontiguousarray(vectors[:, part]) for part in self._parts(vectors.shape[1])]
        return self._joined([ProductSum(part, mean) for part in parts], "product")

    def columns(self, chosen: Array, mean: Array) -> Array:
        """``X_cᵀ X_c[:, chosen]``, in one pass."""
        parts = [chosen[part] for part in self._parts(len(chosen))]
        sums = [ColumnsSum(part, mean, self.dtype) for part in parts]
        return self._joined(sums, "right-hand sides")

    def _parts(self, width: int) -> list[slice]:
        """Return the columns of each sum: all of them, or few enough to send between machines."""
        most = int(PART_BYTES // (self.d * self.dtype.itemsize))
        return list(column_blocks(width, max(32, most) if self.sparse_parts else width))

    def _joined(self, sums: list[Any], what: str) -> Array:
        parts = self._pass(sums, what)
        return np.asarray(parts[0] if len(parts) == 1 else np.hstack(parts))

    # -- further layers: a corpus for the recursion -----------------------------------------------

    def outputs(self, layers: Sequence[Layer]) -> OutputMoments:
        """Moments of the outputs, in one pass, around an estimate of the mean from one batch."""
        guess = MeanOutputSum(layers)
        size, total = guess.add(guess.empty(), self.blocks.first())
        origin = (total / size).astype(self.dtype)
        what = f"outputs of layer {len(layers)}"
        found: OutputsTotal
        (found,) = self._pass([OutputsSum(layers, origin)], what)
        return found.moments(origin)

    def mean_output(self, layers: Sequence[Layer]) -> Array:
        ((size, total),) = self._pass([MeanOutputSum(layers)], "mean output")
        return np.asarray(total / size)


class _PassScatter:
    """The matrix S = B^-½ C B^-½ without storage: its products are passes over the documents."""

    def __init__(self, passes: _Fit, mean: Array, root: Array) -> None:
        self.passes, self.mean = passes, mean
        self.root = root.astype(passes.dtype)

    def times(self, dense: Array) -> Array:
        image = self.passes.product(dense * self.root[:, None], self.mean)
        image *= self.root[:, None]
        return image

    def columns(self, chosen: Array) -> Array:
        found = self.passes.columns(chosen, self.mean)
        found *= self.root[:, None]
        found *= self.root[chosen]
        return found


ScaledScatter = PackedScatter | SparseScatter | _PassScatter


def _by_cg(
    matrix: ScaledScatter,
    prototypes: Array,
    system: System,
    width: int,
    follow: bool,
    options: FitOptions,
    say: Callable[[float], None],
) -> tuple[Solution, Array | None]:
    """Solve by conjugate gradients, for ``width`` right-hand sides at a time."""
    blocks = list(column_blocks(len(prototypes), width))
    gain, n_iter, converged = 0.0, 0, True
    parts: list[Array] = []
    for block in blocks:
        right = _right(matrix, prototypes[block], system)
        shift, tol, max_iter = system.shift / system.keep, options.tol, options.max_iter
        found = iterate(matrix.times, right, shift, tol=tol, max_iter=max_iter, progress=say)
        parts.append(found.solution)
        gain += _inner(found.solution, right)
        n_iter, converged = max(n_iter, found.n_iter), converged and found.converged
    del right, found
    whole = parts.pop() if len(parts) == 1 else np.hstack(parts)
    gram = None
    if follow:
        gram = np.hstack([whole.T @ matrix.times(whole[:, block]) for block in blocks])
    say(1.0)
    return _finished(whole, gain, gram, system, n_iter, converged)


def _by_cholesky(
    matrix: PackedScatter,
    prototypes: Array,
    system: System,
    follow: bool,
    say: Callable[[float], None],
) -> tuple[Solution, Array | None]:
    """Solve by a Cholesky factorisation, which overwrites the matrix."""
    right = _right(matrix, prototypes, system)
    shift = matrix.dtype.type(system.shift / system.keep)
    try:
        matrix.factorise(shift, lambda part: say(0.9 * part))
    except np.linalg.LinAlgError:
        raise InvalidInputError(
            f"the system is singular to {matrix.dtype}: set dtype='float64', or raise noise "
            f"({1 - system.keep:g}), shrinkage or ridge"
        ) from None
    solution = np.empty_like(right)
    for block in column_blocks(right.shape[1]):
        solution[:, block] = matrix.solve(right[:, block].copy())
    gain, gram = _inner(solution, right), None
    if follow:
        right -= shift * solution  # S Y, because (S + shift) Y = right
        gram = solution.T @ right
    say(1.0)
    return _finished(solution, gain, gram, system)


def _right(matrix: ScaledScatter, targets: Array, system: System) -> Array:
    """Return the right-hand sides ``B^-½ C[:, P]``, from the matrix scaled on both sides."""
    root = system.inverse_root[targets]
    width = np.divide(1, root, where=root > 0, out=np.zeros(len(root)))
    right = matrix.columns(targets)
    right *= width.astype(right.dtype)
    return right


def _inner(left: Array, right: Array) -> float:
    return float(np.einsum("ij,ij->", left, right, dtype=np.float64))


def _finished(
    solution: Array,
    gain: float,
    gram: Array | None,
    system: System,
    n_iter: int = 1,
    converged: bool = True,
) -> tuple[Solution, Array | None]:
    """Turn the scaled solution Y into W, and ``Yᵀ S Y`` into ``Wᵀ C W``."""
    keep = solution.dtype.type(system.keep)
    solution *= system.inverse_root.astype(solution.dtype)[:, None]
    solution /= keep
    if gram is not None:
        gram = (gram + gram.T) / (2 * keep**2)
    return Solution(solution, gain / system.keep, n_iter, converged), gram
