"""One layer of the method, and the recursion that stacks layers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dcot.core.centred import Centred, Matrix, centre_scatter, gram_lower, times
from dcot.core.corruption import Solution, System
from dcot.core.moments import MIN_LENGTH, Moments
from dcot.core.options import FitOptions
from dcot.core.solvers import direct
from dcot.errors import InvalidInputError
from dcot.runtime.progress import part

Array = NDArray[Any]

# Outputs of a layer are computed in blocks of this size.
BLOCK_BYTES = 64_000_000
# Centred and multiplied at a time; small enough to stay in the cache.
CACHE_BYTES = 4_000_000
# Of the inputs of a layer, relative to the diagonal of its system; much larger with text.
SMALL_VARIATION = 0.005
MAX_ROUNDING = 0.03  # of the mean output, relative to the differences between documents


@dataclass(frozen=True)
class Layer:
    """The map ``squash(x @ coef_ + intercept_)``, and how it was learned.

    Attributes
    ----------
    coef_ : inputs × prototypes
    intercept_ : one value per prototype
    mean_ : mean output over the corpus, or None if it was not computed
    spread_ : mean squared length of the centred values over the corpus, before squashing
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
    spread_: float = 1.0

    @classmethod
    def solved(
        cls,
        solution: Solution,
        solver: str,
        system: System,
        moments: Moments,
        targets: Array,
        squash: str,
    ) -> Layer:
        """Build a layer from the solution of its linear system."""
        coef, mean = solution.coef, moments.mean[targets]
        bias, output = system.biases(coef, mean)
        intercept = bias.astype(coef.dtype)
        norms = np.einsum("ij,ij->i", coef, coef)
        variation = float(moments.variation()[targets].sum())
        loss = system.loss(moments.n, variation, solution.gain, norms)
        if not np.isfinite(loss) or not np.isfinite(intercept).all():
            raise InvalidInputError(
                f"the coefficients of a layer are not finite in {coef.dtype}: rescale X, raise "
                "noise or shrinkage, or use dtype='float64'"
            )
        spread = system.output_variation(solution.gain, norms) / moments.n
        # with squashing, the mean output needs another pass over the documents
        known = output if squash == "identity" else None
        n_iter, converged = solution.n_iter, solution.converged
        return cls(coef, intercept, squash, loss, solver, n_iter, converged, known, spread)

    def outputs(self, X: Matrix, out: Array | None = None) -> Array:
        """Return the outputs, which the next layer reads, in ``out`` if given."""
        ones = np.ones(X.shape[0], dtype=self.coef_.dtype)
        values = times(X, self.coef_, ones, self.intercept_, out)
        if self.squash == "tanh" and (same := self.constant) is not None:
            values[:] = same
        elif self.squash == "tanh":
            np.tanh(values, out=values)
        return values

    @property
    def constant(self) -> Array | None:
        """The output, if there is squashing and it is the same for all documents.

        Computed for each of them, its last digit would depend on the place in the matrix, and the
        mean of the outputs on how many there are. A unit length would enlarge such differences.
        """
        if self.squash == "identity" or self.spread_ != 0 or self.coef_.any():
            return None
        return np.asarray(np.tanh(self.intercept_))


def row_blocks(n: int, row_bytes: float, block_bytes: float | None = None) -> Iterator[slice]:
    """Yield slices of rows of about ``block_bytes`` each, and of at least 64 rows."""
    rows = max(64, int((block_bytes or BLOCK_BYTES) // max(row_bytes, 1)))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


@dataclass(frozen=True)
class OutputMoments:
    """Moments and centred scatter (lower triangle) of a layer's outputs over the corpus.

    ``documents`` are the centred outputs themselves. They are set only if they are in memory and
    there are fewer documents than outputs; the next layer is then solved by documents.
    """

    moments: Moments
    scatter: Array
    documents: Centred | None = None

    @classmethod
    def centred(cls, n: float, mean: Array, scatter: Array) -> OutputMoments:
        """Build from the number of documents, their mean output and the centred scatter."""
        mean = np.asarray(mean, dtype=np.float64)
        squares = np.einsum("ii->i", scatter).astype(np.float64) + n * mean**2
        # outputs that are too small to compute with count as zero
        squares = np.where(squares < MIN_LENGTH[scatter.dtype] ** 2, 0.0, squares)
        return cls(Moments(n, n * mean, squares, np.zeros_like(mean)), scatter)

    def after(self, layer: Layer) -> OutputMoments:
        """Return the moments after one more linear layer, without reading the documents again."""
        assert layer.mean_ is not None
        scatter = scatter_after(self.scatter, layer.coef_)
        return OutputMoments.centred(self.moments.n, layer.mean_, scatter)

    def next_layer(self, options: FitOptions, index: int) -> Layer:
        """Return the layer that reconstructs every output from all outputs.

        The last layer overwrites the scatter, unless it is needed once more.
        """
        system = options.system(self.moments, index)
        variation = float(np.einsum("ii->", self.scatter, dtype=np.float64))
        small = system.keep * variation < SMALL_VARIATION * system.shift * system.scale.sum()
        targets = np.arange(self.moments.n_terms)
        if self.documents is not None:
            solver, solutions = "dual", direct.solve_by_documents(self.documents, targets, [system])
        else:
            last = index == options.n_layers - 1
            scatter = self.scatter if last and not small else self.scatter.copy()
            solver, solutions = "primal", direct.solve_scatter(scatter, targets, [system])
        solution = next(solutions)
        layer = Layer.solved(solution, solver, system, self.moments, targets, options.squash)
        if small:  # from the system it is a difference of much larger numbers
            outputs = np.einsum("ii->", scatter_after(self.scatter, layer.coef_), dtype=np.float64)
            layer = replace(layer, spread_=float(outputs) / self.moments.n)
        return layer


def scatter_after(scatter: Array, coef: Array) -> Array:
    """``Wᵀ C W`` from the lower triangle of C."""
    full = np.tril(scatter) + np.tril(scatter, -1).T
    return np.asarray(coef.T @ (full @ coef))


class Corpus(Protocol):
    """What the recursion needs from documents, in memory or read in passes."""

    def outputs(self, layers: Sequence[Layer]) -> OutputMoments:
        """Moments of the outputs of the last layer."""
        ...

    def mean_output(self, layers: Sequence[Layer]) -> Array:
        """Mean output of the last layer."""
        ...


def stack_layers(
    first: Layer, options: FitOptions, corpus: Corpus | None, below: OutputMoments | None = None
) -> list[Layer]:
    """Return all layers, given the first: each learns from the outputs of the one below.

    Parameters
    ----------
    first : the first layer
    options : the settings, such as the noise of the other layers
    corpus : the documents; may be None if ``below`` is given and there is no squashing
    below : moments of the outputs of the first layer, if they are known
    """
    layers = [first]
    for index in range(1, options.n_layers):
        depth = options.n_layers
        say = partial(
            part(options.progress, index / depth, (index + 1) / depth), f"layer {index + 1}"
        )
        say(0.0)
        linear = options.squash == "identity"
        if below is not None and linear and below.documents is None:
            below = below if index == 1 else below.after(layers[-1])
        else:
            assert corpus is not None
            below = corpus.outputs(layers)
        same, mean = layers[-1].constant, below.moments.mean
        if same is not None:
            none = np.zeros_like(below.scatter)
            below, mean = OutputMoments.centred(below.moments.n, same, none), same
        layers[-1] = replace(layers[-1], mean_=mean)
        if linear:  # more precise than from the system
            spread = float(np.einsum("ii->", below.scatter, dtype=np.float64)) / below.moments.n
            layers[-1] = replace(layers[-1], spread_=spread)
        layers.append(below.next_layer(options, index))
        say(1.0)
    if options.means and layers[-1].mean_ is None:
        assert corpus is not None
        same = layers[-1].constant
        mean = corpus.mean_output(layers) if same is None else same
        layers[-1] = replace(layers[-1], mean_=mean)
    if options.squash == "identity":
        _warn_of_lost_digits(layers, options)
    return layers


def _warn_of_lost_digits(layers: Sequence[Layer], options: FitOptions) -> None:
    """Warn if the outputs of a layer differ by little more than the rounding of their mean.

    The mean is subtracted from all layers, or from the first one, of which the others are computed.
    """
    subtracted = layers if options.normalize in ("unit", "center") else layers[:1]
    used = len(layers) > 1 or options.means
    if not used or not any(map(_loses_digits, subtracted)):
        return
    dtype = layers[0].coef_.dtype
    other = ", or use dtype='float64'" if dtype == np.float32 else ""
    warnings.warn(
        "reconstructed values differ so little between documents, compared with their means, that "
        f"features are mostly rounding in {dtype}: subtract the mean of each column of X{other}",
        stacklevel=2,
    )


def _loses_digits(layer: Layer) -> bool:
    assert layer.mean_ is not None
    spread = max(layer.spread_, 0.0)  # of rounding alone, it may be negative
    rounding = float(np.finfo(layer.coef_.dtype).eps * np.linalg.norm(layer.mean_))
    return rounding > MAX_ROUNDING * np.sqrt(spread) and bool(layer.coef_.any())


class DocumentsInMemory:
    """A corpus in one matrix; the outputs of its layers are kept only if they are small."""

    def __init__(self, X: Matrix, weights: Array | None, budget: float) -> None:
        self.X, self.weights, self.budget = X, weights, budget
        self._kept: Array | None = None
        self._depth = 0  # of the outputs that are kept

    def outputs(self, layers: Sequence[Layer]) -> OutputMoments:
        """Moments of the outputs, in one pass over the documents.

        Sums are taken around an estimate of the mean, to lose no digits to cancellation.
        """
        width, dtype = layers[-1].coef_.shape[1], layers[-1].coef_.dtype
        near = layers[-1].mean_
        if near is None:
            near = next(self._blocks(layers))[0].mean(axis=0, dtype=np.float64)
        total = OutputsTotal.empty(width, dtype)
        for Z, weights in self._blocks(layers):
            total = total.plus(Z, weights, near.astype(dtype))
        found = total.moments(near.astype(dtype))
        if self._kept is None or len(self._kept) >= width:
            return found
        documents = Centred.of(self._kept, found.moments.mean, self.weights)
        return replace(found, documents=documents)

    def mean_output(self, layers: Sequence[Layer]) -> Array:
        total, size = np.zeros(layers[-1].coef_.shape[1]), 0.0
        for Z, weights in self._blocks(layers):
            total += Z.sum(axis=0, dtype=np.float64) if weights is None else weights @ Z
            size += len(Z) if weights is None else float(weights.sum())
        return total / size

    def _blocks(self, layers: Sequence[Layer]) -> Iterator[tuple[Array, Array | None]]:
        """Outputs of the last layer, block by block, with the weights of the documents."""
        n, coef = self.X.shape[0], layers[-1].coef_
        row = coef.shape[1] * coef.itemsize
        slices = list(row_blocks(n, row))
        if n * row <= max(0.25 * self.budget, BLOCK_BYTES):
            self._keep(layers, slices)
        for rows in slices:
            weights = None if self.weights is None else self.weights[rows]
            if self._kept is not None:
                yield self._kept[rows], weights
                continue
            Z: Matrix = self.X[rows]
            for layer in layers:
                Z = layer.outputs(Z)
            yield Z, weights

    def _keep(self, layers: Sequence[Layer], slices: Sequence[slice]) -> None:
        """Compute the kept outputs up to the last layer."""
        for layer in layers[self._depth :]:
            if self._kept is None:
                self._kept = np.empty((self.X.shape[0], layer.coef_.shape[1]), layer.coef_.dtype)
                for rows in slices:
                    layer.outputs(self.X[rows], self._kept[rows])
            else:
                for rows in slices:
                    self._kept[rows] = layer.outputs(self._kept[rows])
        self._depth = len(layers)


@dataclass
class OutputsTotal:
    """Total weight, Σ(z − origin) and its scatter (lower triangle) over outputs z."""

    size: float
    total: Array
    scatter: Array

    @classmethod
    def empty(cls, width: int, dtype: Any) -> OutputsTotal:
        return cls(0.0, np.zeros(width), np.zeros((width, width), dtype=dtype))

    def plus(self, Z: Array, weights: Array | None, origin: Array) -> OutputsTotal:
        """Return the total with the outputs Z of more documents added."""
        size, total, scatter = self.size, self.total, self.scatter
        for rows in row_blocks(len(Z), Z.itemsize * Z.shape[1], CACHE_BYTES):
            shifted = Z[rows] - origin
            w = None if weights is None else weights[rows]
            size += len(shifted) if w is None else float(w.sum())
            total = total + (shifted.sum(axis=0, dtype=np.float64) if w is None else w @ shifted)
            if w is not None:
                shifted *= np.sqrt(w).astype(shifted.dtype)[:, None]
            scatter = gram_lower(shifted.T, out=scatter)
        return OutputsTotal(size, total, scatter)

    def __add__(self, other: OutputsTotal) -> OutputsTotal:
        scatter = self.scatter + other.scatter
        return OutputsTotal(self.size + other.size, self.total + other.total, scatter)

    def moments(self, origin: Array) -> OutputMoments:
        """Return the moments, centred at the mean; the scatter is overwritten."""
        scatter = centre_scatter(self.scatter, self.total / self.size, self.size)
        mean = origin.astype(np.float64) + self.total / self.size
        return OutputMoments.centred(self.size, mean, scatter)
