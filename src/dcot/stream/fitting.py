"""A stack of layers from passes over the documents: the same model as from all of them at once.

1. Moments, where the corpus is not known well enough to plan; then the plan.
2. The scatter matrix in panels, in one pass; or nothing, if it does not fit.
3. The first layer: a factorisation, or conjugate gradients whose products are matrix products or
   passes.
4. Further layers: without squashing from ``Wᵀ C W``, which the solution of the first layer gives
   for next to nothing; with it, one pass a layer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.centred import centre_scatter
from dcot.core.checks import check_not_empty
from dcot.core.corruption import System
from dcot.core.layers import Below, Layer, Settings, layer_from, moments_from_scatter, system_of
from dcot.core.moments import Moments
from dcot.core.solvers import Solution, primal
from dcot.core.solvers._base import column_blocks
from dcot.errors import InvalidInputError
from dcot.runtime.progress import announce
from dcot.stream import Passes
from dcot.stream.iteration import conjugate_gradients
from dcot.stream.packed import NotPositiveError, PackedScatter, SparseScatter
from dcot.stream.plan import Corpus, Plan, choose_plan
from dcot.stream.sums import (
    ColumnsSum,
    MomentsSum,
    OutputsSum,
    PanelSum,
    ProductSum,
    Size,
    SparsePanelSum,
    panels_of,
)

Array = NDArray[Any]

# Partial sums that are sent between machines are of this size at the most.
PART_BYTES = 128e6

Choose = Callable[[Moments], Array]


@dataclass
class Streamed:
    """What was learned, and how."""

    layers: list[Layer]
    prototypes: Array
    moments: Moments
    plan: Plan


@dataclass
class Request:
    """What a fit from passes is asked for.

    Attributes
    ----------
    d, dtype : terms, and the precision to compute in
    settings : of the layers
    choose : from moments to prototypes
    n_prototypes : how many they will be, about
    known : facts about the corpus, if they are known before any pass
    sparse_parts : whether partial sums are sent: panels are sparse then, and products in parts
    """

    d: int
    dtype: Any
    settings: Settings
    choose: Choose
    n_prototypes: int
    known: Corpus | None = None
    sparse_parts: bool = False


def fit_passes(blocks: Passes, request: Request) -> Streamed:
    """Fit a stack of layers to the documents that ``blocks`` goes over."""
    return _Fit(blocks, request).run()


class _Fit:
    def __init__(self, blocks: Passes, request: Request) -> None:
        self.blocks, self.request = blocks, request
        self.settings = request.settings
        self.dtype = np.dtype(request.dtype)
        self.moments: Moments | None = None
        self.n_passes = 0

    def run(self) -> Streamed:
        corpus = self.request.known
        if corpus is None:
            corpus = self._look() if self.blocks.rereadable else self._blind()
        r = min(self.request.n_prototypes, self.request.d)
        again = self.blocks.rereadable
        plan = choose_plan(corpus, r, self.dtype.itemsize, self.settings, rereadable=again)
        self._check_passes()
        n = f"{corpus.n:,.0f}" if corpus.n else "?"
        size = f"{n} documents × {corpus.d:,} terms → {r:,} prototypes"
        announce(self.settings.progress, f"{size}: {plan}")
        scatter = self._scatter(plan)
        moments = self._moments()
        check_not_empty(moments)
        prototypes = self.request.choose(moments)
        system = system_of(moments, self.settings, 0)
        solution, gram = self._solve(plan, scatter, moments, prototypes, system)
        first = layer_from(solution, plan.solver, system, moments, prototypes, self.settings.squash)
        layers = self._deepen(first, moments, gram)
        return Streamed(layers, prototypes, moments, plan)

    # -- passes ---------------------------------------------------------------------------------

    def _pass(self, sums: list[Any], what: str) -> list[Any]:
        self.n_passes += 1
        return self.blocks.totals(sums, f"pass {self.n_passes}: {what}")

    def _look(self) -> Corpus:
        """A first pass, to know what there is."""
        begun = time.perf_counter()
        ((self.moments, size),) = self._pass([MomentsSum()], "moments")
        spent = time.perf_counter() - begun
        assert self.moments is not None
        frequency = self.moments.document_frequency
        return Corpus(self.request.d, size.n, size.nnz, size.pairs, frequency, spent)

    def _blind(self) -> Corpus:
        """What can be said of documents that can be read once only: nothing but their width."""
        return Corpus(self.request.d, 0, 0, 0)

    def _check_passes(self) -> None:
        """Refuse an iterator before it is used up, if one pass is not going to be enough."""
        deep = self.settings.n_layers > 1 or self.settings.means
        if not self.blocks.rereadable and self.settings.squash != "identity" and deep:
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
        sparse = plan.storage == "sparse" or self.request.sparse_parts
        kind = SparsePanelSum if sparse else PanelSum
        sums: list[Any] = [kind(*rows, self.dtype) for rows in panels_of(self.request.d)]
        if self.moments is None:
            (found, *totals) = self._pass([MomentsSum(), *sums], "moments and scatter matrix")
            self.moments = found[0]
        else:
            totals = self._pass(sums, "scatter matrix")
        if plan.storage == "sparse":
            return SparseScatter(totals, self.request.d)
        return PackedScatter.of_parts(totals, panels_of(self.request.d), self.dtype)

    # -- the first layer ------------------------------------------------------------------------

    def _solve(
        self,
        plan: Plan,
        scatter: PackedScatter | SparseScatter | None,
        moments: Moments,
        prototypes: Array,
        system: System,
    ) -> tuple[Solution, Array | None]:
        """W, and ``Wᵀ C W`` where further layers ask for it."""
        say = partial(self.settings.progress, f"layer 1 ({plan.method})")
        say(0.0)
        root = system.inverse_root
        if plan.storage == "dense":
            assert isinstance(scatter, PackedScatter)
            centred = centre_scatter(scatter.full(), moments.mean, moments.n)
            solution = next(primal.solve_scatter(centred.copy(), prototypes, [system], say))
            return solution, self._gram_of(centred, solution.coef)
        if scatter is not None:
            scatter.prepare(moments.mean, moments.n, root)
        if plan.method == "cholesky":
            assert isinstance(scatter, PackedScatter)
            return self._factorise(scatter, prototypes, system, say)
        if scatter is not None:
            result = self._iterate(scatter.times, _right(scatter, prototypes, system), system, say)
            solution, images = _gathered([result], system)
        else:
            solution, images = self._by_passes(plan, moments, prototypes, system, say)
        say(1.0)
        return solution, images

    def _gram_of(self, centred: Array, coef: Array) -> Array | None:
        if not self._linear_layers_follow:
            return None
        full = np.tril(centred) + np.tril(centred, -1).T
        return np.asarray(coef.T @ (full @ coef))

    @property
    def _linear_layers_follow(self) -> bool:
        return self.settings.n_layers > 1 and self.settings.squash == "identity"

    def _factorise(
        self,
        scatter: PackedScatter,
        prototypes: Array,
        system: System,
        say: Callable[[float], None],
    ) -> tuple[Solution, Array | None]:
        shift = system.shift / system.keep
        right = _right(scatter, prototypes, system)
        try:
            scatter.factorise(shift, lambda part: say(0.9 * part))
        except NotPositiveError:
            raise InvalidInputError(
                f"the system is singular to {self.dtype}: set dtype='float64', or raise noise "
                f"({self.settings.noise[0]}), shrinkage or ridge"
            ) from None
        solution = np.empty_like(right)
        for block in column_blocks(right.shape[1]):
            solution[:, block] = scatter.solve(right[:, block].copy())
        say(1.0)
        return _finished(solution, right, None, system, self._linear_layers_follow)

    def _iterate(
        self,
        operator: Callable[[Array], Array],
        right: Array,
        system: System,
        say: Callable[[float], None],
    ) -> Any:
        options = {"tol": self.settings.tol, "max_iter": self.settings.max_iter}
        shift = system.shift / system.keep
        result = conjugate_gradients(operator, right, shift, progress=say, **options)  # type: ignore[arg-type]
        follow = self._linear_layers_follow
        image = operator(result.solution) if follow else None
        return result, right, image

    def _by_passes(
        self,
        plan: Plan,
        moments: Moments,
        prototypes: Array,
        system: System,
        say: Callable[[float], None],
    ) -> tuple[Solution, Array | None]:
        """Conjugate gradients whose products are passes over the documents."""
        root = system.inverse_root.astype(self.dtype)[:, None]
        mean = moments.mean

        def operator(vectors: Array) -> Array:
            scaled = vectors * root
            parts = [scaled[:, part] for part in self._parts(scaled.shape[1])]
            sums = [ProductSum(np.ascontiguousarray(part), mean) for part in parts]
            return self._joined(sums, root, "product")

        results = []
        for block in column_blocks(len(prototypes), plan.width):
            chosen = prototypes[block]
            parts = [chosen[part] for part in self._parts(len(chosen))]
            sums = [ColumnsSum(part, mean, self.dtype) for part in parts]
            right = self._joined(sums, root, "right-hand sides")
            results.append(self._iterate(operator, right, system, say))
        return _gathered(results, system)

    def _parts(self, width: int) -> list[slice]:
        """Columns that are one sum: all of them, or as many as are quick to send."""
        most = int(PART_BYTES // (self.request.d * self.dtype.itemsize))
        return list(column_blocks(width, max(32, most) if self.request.sparse_parts else width))

    def _joined(self, sums: list[Any], root: Array, what: str) -> Array:
        parts = self._pass(sums, what)
        whole = parts[0] if len(parts) == 1 else np.hstack(parts)
        whole *= root
        return np.asarray(whole)

    # -- further layers -------------------------------------------------------------------------

    def _deepen(self, first: Layer, moments: Moments, gram: Array | None) -> list[Layer]:
        layers, settings = [first], self.settings
        below: Below | None = None
        for index in range(1, settings.n_layers):
            if settings.squash != "identity":
                below = self._outputs(layers)
                layers[-1].mean_ = below.moments.mean
            elif below is None:
                assert gram is not None
                assert first.mean_ is not None
                mean = np.asarray(first.mean_, dtype=np.float64)
                below = Below(moments_from_scatter(moments.n, mean, gram), gram)
            else:
                below = below.after(layers[-1])
            layers.append(below.solve(settings, index))
        if settings.means and layers[-1].mean_ is None:
            origin = np.zeros(layers[-1].coef_.shape[1])
            ((size, total, _),) = self._pass([OutputsSum(layers, origin, False)], "mean output")
            layers[-1].mean_ = total / size
        return layers

    def _outputs(self, layers: list[Layer]) -> Below:
        """Moments and centred scatter of the outputs, from one pass."""
        origin = self._near(layers)
        sums = [OutputsSum(layers, origin)]
        ((size, total, scatter),) = self._pass(sums, f"outputs of layer {len(layers)}")
        scatter = centre_scatter(scatter, total / size, size)
        mean = origin.astype(self.dtype).astype(np.float64) + total / size
        return Below(moments_from_scatter(size, mean, scatter), scatter)

    def _near(self, layers: list[Layer]) -> Array:
        """A guess of the mean output: sums around it lose no digits to it."""
        block = self.blocks.first()
        ones = OutputsSum(layers, np.zeros(layers[-1].coef_.shape[1]), False)
        size, total, _ = ones.add(ones.empty(), block)
        return np.asarray(total / size)


def _right(scatter: PackedScatter | SparseScatter, targets: Array, system: System) -> Array:
    """The right-hand sides ``B^-½ C[:, P]``, from the matrix scaled on both sides."""
    root = system.inverse_root[targets]
    width = np.divide(1, root, where=root > 0, out=np.zeros(len(root)))
    right = scatter.columns(targets)
    right *= width.astype(right.dtype)
    return right


def _finished(
    solution: Array, right: Array, image: Array | None, system: System, gram: bool
) -> tuple[Solution, Array | None]:
    """From the scaled solution Y to W; ``image`` is the scaled matrix times Y, if it is at hand."""
    gain = float(np.einsum("ij,ij->", solution, right, dtype=np.float64)) / system.keep
    inner = None
    if gram:
        if image is None:  # (S + shift) Y = right tells S Y
            image = right
            image -= solution.dtype.type(system.shift / system.keep) * solution
        inner = solution.T @ image
        inner = (inner + inner.T) / (2 * solution.dtype.type(system.keep) ** 2)
    solution *= system.inverse_root.astype(solution.dtype)[:, None]
    solution /= solution.dtype.type(system.keep)
    return Solution(solution, gain), inner


def _gathered(results: list[Any], system: System) -> tuple[Solution, Array | None]:
    """One solution from those of blocks of right-hand sides."""
    rights = [right for _, right, _ in results]
    images = [image for _, _, image in results]
    whole = [result.solution for result, _, _ in results]
    single = len(results) == 1
    solution = whole[0] if single else np.hstack(whole)
    right = rights[0] if single else np.hstack(rights)
    image = None
    if images[0] is not None:
        image = images[0] if single else np.hstack(images)
    found, gram = _finished(solution, right, image, system, image is not None)
    found.n_iter = max(result.n_iter for result, _, _ in results)
    found.converged = all(result.converged for result, _, _ in results)
    return found, gram


__all__ = ["Corpus", "Plan", "Request", "Size", "Streamed", "fit_passes"]
