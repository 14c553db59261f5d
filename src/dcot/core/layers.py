"""One layer of the method, and a stack of them fitted to a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.centred import Centred, Matrix, centre_scatter, gram_lower, times
from dcot.core.corruption import System, marginalise
from dcot.core.moments import Moments
from dcot.core.solvers import SOLVERS, Solution, dual, primal
from dcot.core.solvers.choice import allowance, check_memory, choose, shape_of
from dcot.errors import InvalidParameterError, OutOfMemoryError
from dcot.runtime.progress import Progress, silent
from dcot.runtime.resources import format_bytes

Array = NDArray[Any]

# Outputs of a layer for so many bytes of documents are made at a time.
BLOCK_BYTES = 64_000_000
# What is centred and multiplied at a time: small enough that it is not written out to memory.
CACHE_BYTES = 4_000_000


@dataclass(frozen=True)
class Settings:
    """What a fit needs to know besides the corpus; noise and shrinkage by layer."""

    noise: tuple[float, ...]
    shrinkage: tuple[float, ...]
    ridge: float = 0.0
    squash: str = "tanh"
    means: bool = True  # the mean output of every layer is wanted
    solver: str = "auto"
    tol: float = 1e-4
    max_iter: int = 1000
    memory_limit: float | None = None
    progress: Progress = silent

    @property
    def n_layers(self) -> int:
        return len(self.noise)


@dataclass
class Layer:
    """``squash(x @ coef_ + intercept_)``, and how it was learned.

    Attributes
    ----------
    coef_ : inputs × prototypes
    intercept_ : length of the prototypes
    mean_ : mean output over the corpus, or None where it was not wanted
    loss_ : expected reconstruction error on corrupted input
    """

    coef_: Array
    intercept_: Array
    squash: str
    loss_: float
    solver_: str
    n_iter_: int = 0
    converged_: bool = True
    mean_: Array | None = None

    def linear(self, X: Matrix, out: Array | None = None) -> Array:
        """The predicted prototype values, before squashing; into ``out``, if there is one."""
        ones = np.ones(X.shape[0], dtype=self.coef_.dtype)
        return times(X, self.coef_, ones, self.intercept_, out)

    def outputs(self, X: Matrix, out: Array | None = None) -> Array:
        """What the next layer reads; into ``out``, if there is one."""
        values = self.linear(X, out)
        return np.tanh(values, out=values) if self.squash == "tanh" else values


def row_blocks(n: int, row_bytes: float, block_bytes: float = BLOCK_BYTES) -> Iterator[slice]:
    """Slices of rows that are about ``block_bytes`` together, at least 64 rows each."""
    rows = max(64, int(block_bytes // max(row_bytes, 1)))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def fit_stacks(
    X: Matrix,
    weights: Array | None,
    moments: Moments,
    prototypes: Array,
    variants: Sequence[Settings],
) -> Iterator[list[Layer]]:
    """One stack of layers per variant; variants differ in their noise only.

    Their first layers share what they can: a Gram matrix, a scatter matrix or a Krylov space.
    """
    _check_depth(X, len(prototypes), variants[0])
    firsts = _first_layers(X, weights, moments, prototypes, variants)
    for settings, (layer, system) in zip(variants, firsts, strict=True):
        yield _deepen(X, weights, moments, prototypes, layer, system, settings)


def _check_depth(X: Matrix, r: int, settings: Settings) -> None:
    """Later layers hold r × r matrices: the map, its system and the scatter of the layer below."""
    if settings.n_layers == 1:
        return
    needed = 3.0 * r * r * X.dtype.itemsize
    allowed = allowance(settings.memory_limit)
    if needed > allowed:
        raise OutOfMemoryError(
            f"a layer from {r} to {r} prototypes needs about {format_bytes(needed)}, and "
            f"{format_bytes(allowed)} are allowed: use fewer n_prototypes or n_layers=1, or raise "
            "memory_limit"
        )


def _first_layers(
    X: Matrix,
    weights: Array | None,
    moments: Moments,
    prototypes: Array,
    variants: Sequence[Settings],
) -> Iterator[tuple[Layer, System]]:
    common = variants[0]
    centred = Centred.of(X, moments.mean, weights)
    systems = [system_of(moments, variant, 0) for variant in variants]
    for group in _sharing(systems):
        solver = common.solver
        limit, tol, max_iter = common.memory_limit, common.tol, common.max_iter
        if solver == "auto":
            solver = choose(centred, prototypes, group, limit=limit, tol=tol, max_iter=max_iter)
        else:
            check_memory(solver, shape_of(centred, len(prototypes), len(group)), limit)
        say = partial(common.progress, f"layer 1 ({solver})")
        say(0.0)
        solutions = SOLVERS[solver].solve(
            centred, prototypes, group, tol=tol, max_iter=max_iter, progress=say
        )
        for system, solution in zip(group, solutions, strict=True):
            yield layer_from(solution, solver, system, moments, prototypes, common.squash), system


def system_of(moments: Moments, settings: Settings, index: int) -> System:
    noise, shrinkage = settings.noise[index], settings.shrinkage[index]
    return marginalise(moments, noise, shrinkage=shrinkage, ridge=settings.ridge)


def _sharing(systems: Sequence[System]) -> Iterator[list[System]]:
    """Runs of systems that can be solved together: of one scale, all with noise."""
    group: list[System] = []
    for system in systems:
        together = (
            group
            and system.shift > 0
            and group[0].shift > 0
            and np.array_equal(group[0].scale, system.scale)
        )
        if group and not together:
            yield group
            group = []
        group.append(system)
    if group:
        yield group


def layer_from(
    solution: Solution,
    solver: str,
    system: System,
    moments: Moments,
    targets: Array,
    squash: str,
) -> Layer:
    coef = solution.coef
    intercept = system.intercept(coef, moments.mean[targets]).astype(coef.dtype)
    variation = float(moments.variation()[targets].sum())
    loss = system.loss(moments.n, variation, solution.gain, coef)
    layer = Layer(coef, intercept, squash, loss, solver, solution.n_iter, solution.converged)
    if squash == "identity":
        layer.mean_ = system.output_mean(coef, moments.mean[targets])
    return layer


def _deepen(
    X: Matrix,
    weights: Array | None,
    moments: Moments,
    prototypes: Array,
    layer: Layer,
    system: System,
    settings: Settings,
) -> list[Layer]:
    layers = [layer]
    outputs = _Outputs(X, weights, len(prototypes), layer.coef_.dtype, settings)
    below: Below | None = None
    for index in range(1, settings.n_layers):
        say = partial(settings.progress, f"layer {index + 1}")
        say(0.0)
        if below is not None and settings.squash == "identity" and outputs.n >= outputs.width:
            below = below.after(layers[-1])
        else:
            outputs.advance(layers[-1])
            below = Below(*outputs.moments(layers[-1].mean_))
            layers[-1].mean_ = below.moments.mean
        layers.append(_next_layer(below, outputs, settings, index))
        say(1.0)
    if settings.means and layers[-1].mean_ is None:
        outputs.advance(layers[-1])
        layers[-1].mean_ = outputs.mean()
    return layers


@dataclass
class Below:
    """Moments and centred scatter (lower triangle) of a layer's outputs over the corpus."""

    moments: Moments
    scatter: Array

    def after(self, layer: Layer) -> Below:
        """Those of the outputs of a linear layer on top: no document has to be seen again."""
        assert layer.mean_ is not None
        full = np.tril(self.scatter) + np.tril(self.scatter, -1).T
        scatter = layer.coef_.T @ (full @ layer.coef_)
        mean = np.asarray(layer.mean_, dtype=np.float64)
        return Below(moments_from_scatter(self.moments.n, mean, scatter), scatter)

    def solve(self, settings: Settings, index: int) -> Layer:
        """The next layer, from every output to every output."""
        system = system_of(self.moments, settings, index)
        everything = np.arange(self.moments.n_terms)
        solution = next(primal.solve_scatter(self.scatter.copy(), everything, [system]))
        return layer_from(solution, "primal", system, self.moments, everything, settings.squash)


def _next_layer(below: Below, outputs: _Outputs, settings: Settings, index: int) -> Layer:
    moments = below.moments
    if outputs.n >= moments.n_terms or (Z := outputs.whole()) is None:
        return below.solve(settings, index)
    system = system_of(moments, settings, index)
    everything = np.arange(moments.n_terms)
    centred = Centred.of(Z, moments.mean, outputs.weights)
    solution = next(dual.solve(centred, everything, [system]))
    return layer_from(solution, "dual", system, moments, everything, settings.squash)


def fit_stack_from_moments(moments: Moments, prototypes: Array, settings: Settings) -> list[Layer]:
    """The stack from a corpus' moments alone: one layer, or any depth without squashing."""
    if settings.n_layers > 1 and settings.squash != "identity":
        raise InvalidParameterError(
            "several layers with squash='tanh' cannot be learned from moments: the documents "
            "have to be seen again; use fit, n_layers=1 or squash='identity'"
        )
    system = system_of(moments, settings, 0)
    below = Below(moments, moments.centred_scatter())
    solution = next(primal.solve_scatter(below.scatter.copy(), prototypes, [system]))
    layers = [layer_from(solution, "primal", system, moments, prototypes, settings.squash)]
    for index in range(1, settings.n_layers):
        below = below.after(layers[-1])
        layers.append(below.solve(settings, index))
    return layers


def moments_from_scatter(n: float, mean: Array, scatter: Array) -> Moments:
    squares = np.einsum("ii->i", scatter).astype(np.float64) + n * mean**2
    return Moments(n, n * mean, squares, np.zeros_like(mean))


class _Outputs:
    """What the layers so far make of the corpus, block by block; kept only if it is small."""

    def __init__(
        self, X: Matrix, weights: Array | None, width: int, dtype: Any, settings: Settings
    ) -> None:
        self.X, self.weights = X, weights
        self.n, self.width, self.dtype = X.shape[0], width, np.dtype(dtype)
        row = width * self.dtype.itemsize
        self.slices = list(row_blocks(self.n, row))
        share = 0.25 * allowance(settings.memory_limit)
        self.layers: list[Layer] = []
        self.kept: Array | None = None
        self.keep = self.n * row <= max(share, BLOCK_BYTES)

    def advance(self, layer: Layer) -> None:
        """From the outputs of one layer to those of the next."""
        if not self.keep:
            self.layers.append(layer)
            return
        if self.kept is None:
            self.kept = np.empty((self.n, self.width), dtype=self.dtype)
            for rows in self.slices:
                layer.outputs(self.X[rows], self.kept[rows])
        else:
            for rows in self.slices:
                self.kept[rows] = layer.outputs(self.kept[rows])

    def whole(self) -> Array | None:
        return self.kept

    def __iter__(self) -> Iterator[tuple[Array, Array | None]]:
        for rows in self.slices:
            weights = None if self.weights is None else self.weights[rows]
            if self.kept is not None:
                yield self.kept[rows], weights
                continue
            Z: Matrix = self.X[rows]
            for layer in self.layers:
                Z = layer.outputs(Z)
            yield Z, weights

    def mean(self) -> Array:
        """The mean output."""
        total, size = np.zeros(self.width), 0.0
        for Z, weights in self:
            total += Z.sum(axis=0, dtype=np.float64) if weights is None else weights @ Z
            size += len(Z) if weights is None else float(weights.sum())
        return total / size

    def moments(self, near: Array | None) -> tuple[Moments, Array]:
        """Moments, and the centred scatter matrix (lower triangle).

        ``near`` is a guess of the mean: sums around it lose no digits to it.
        """
        if near is None:
            near = next(iter(self))[0].mean(axis=0, dtype=np.float64)
        origin = near.astype(self.dtype)
        scatter = np.zeros((self.width, self.width), dtype=self.dtype)
        total, size = np.zeros(self.width), 0.0
        for Z, weights in self:
            for part in row_blocks(len(Z), Z.itemsize * self.width, CACHE_BYTES):
                shifted = Z[part] - origin
                w = None if weights is None else weights[part]
                size += len(shifted) if w is None else float(w.sum())
                total += shifted.sum(axis=0, dtype=np.float64) if w is None else w @ shifted
                if w is not None:
                    shifted *= np.sqrt(w).astype(self.dtype)[:, None]
                scatter = gram_lower(shifted.T, out=scatter)
        scatter = centre_scatter(scatter, total / size, size)
        mean = origin.astype(np.float64) + total / size
        return moments_from_scatter(size, mean, scatter), scatter
