"""Fit documents with options, and return a frozen ``FittedDCoT``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dcot.core.centred import Centred, Matrix
from dcot.core.corruption import System
from dcot.core.layers import DocumentsInMemory, Layer, OutputMoments, stack_layers
from dcot.core.moments import MAX_LENGTH, MIN_LENGTH, Moments
from dcot.core.options import FitOptions, moments_lack
from dcot.core.plan import Plan, plan_in_memory
from dcot.core.representation import WITH_X, Representation, sample
from dcot.core.solvers import SOLVERS, direct
from dcot.errors import InvalidInputError, InvalidParameterError, OutOfMemoryError
from dcot.runtime.progress import part, parts
from dcot.runtime.resources import allowance, format_bytes

Array = NDArray[Any]

# Iterations with larger ratios of weights, in units of the squared precision, are not exact.
MAX_ROUNDING_OF_WEIGHTS = 100.0


@dataclass(frozen=True)
class FittedDCoT:
    """The result of a fit.

    Attributes
    ----------
    representation : the layers, and how features are made from their outputs
    prototypes : columns of the prototypes, in increasing order
    n_documents : number of training documents, or their total weight
    n_terms : number of columns of the documents
    plan : how the first layer was solved; None for moments, and for a loaded model
    skipped : skipped batches of a source, with the reason
    moments : moments that ``partial_fit`` adds to; None after other fits
    """

    representation: Representation
    prototypes: Array
    n_documents: float
    n_terms: int
    plan: Plan | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    moments: Moments | None = None

    @property
    def layers(self) -> Sequence[Layer]:
        return self.representation.layers

    @property
    def dtype(self) -> Any:
        """The dtype of the coefficients; documents are transformed in it."""
        return self.layers[0].coef_.dtype

    @property
    def converged(self) -> bool:
        return all(layer.converged_ for layer in self.layers)

    @property
    def n_features(self) -> int:
        """Number of columns of the features."""
        made = self.representation
        if made.components is not None:
            return int(made.components.shape[1])
        return made.input_width + made.width

    def feature_names(self, terms: Sequence[Any]) -> list[str]:
        """Return names of the features, such as ``dcot1_oil``: layer and prototype."""
        made = self.representation
        if made.components is not None:
            return [f"dcot_{index}" for index in range(self.n_features)]
        depth = len(self.layers)
        shown = [depth] if made.output == "last" else range(1, depth + 1)
        names = [str(term) for term in terms] if made.output in WITH_X else []
        names += [f"lsi{index}" for index in range(made.input_width - len(names))]
        chosen = [terms[column] for column in self.prototypes]
        return names + [f"dcot{layer}_{term}" for layer in shown for term in chosen]


def fit(X: Matrix, weights: Array | None, options: FitOptions) -> FittedDCoT:
    """Learn from documents in memory.

    Parameters
    ----------
    X : documents × terms, CSR with sorted indices or a C-contiguous array, of the dtype to
        compute in
    weights : how often each document counts, or None for once
    options : the settings
    """
    return next(fit_path(X, weights, [options]))


def fit_path(
    X: Matrix, weights: Array | None, options: Sequence[FitOptions]
) -> Iterator[FittedDCoT]:
    """Yield one result for each of several options, in order, faster than separate fits.

    The moments are computed once. Consecutive options whose first layers differ only in noise share
    the work of that layer: a Gram matrix, a scatter matrix or a Krylov space.
    """
    if weights is not None and not weights.all():
        X, weights = X[weights > 0], weights[weights > 0]
    moments = Moments.of(X, weights)
    for one in options:
        check_moments(moments, X.dtype, one)
    centred = Centred.of(X, moments.mean, weights)
    options = [
        replace(one, progress=progress)
        for one, progress in zip(
            options, parts(options[0].progress, len(options), "setting"), strict=True
        )
    ]
    for group in _sharing(moments, options):
        wanted = group[0][0]
        prototypes = wanted.choose(moments)
        check_depth(len(prototypes), X.dtype.itemsize, max(o.n_layers for o, _ in group), wanted)
        plan = plan_in_memory(centred, prototypes, [system for _, system in group], wanted)
        if plan.solver == "cg" and weights is not None:
            _warn_of_light(weights, X.dtype)
        firsts = _first_layers(plan.solver, centred, moments, prototypes, group)
        for (one, _), first in zip(group, firsts, strict=True):
            corpus = DocumentsInMemory(X, weights, allowance(one.memory_limit))
            layers = stack_layers(first, one, corpus)
            made = Representation(layers, one.output, one.normalize)
            if one.needs_sample:
                generator = one.generator()
                seen = sample(X, weights, generator)
                made = made.learned_from(*seen, moments.n, one.n_components, generator)
            yield FittedDCoT(made, prototypes, moments.n, X.shape[1], plan)


def fit_moments(moments: Moments, options: FitOptions) -> FittedDCoT:
    """Learn from the moments of a corpus alone: one layer, or any depth without squashing."""
    reasons = moments_lack(options)
    if reasons:
        raise InvalidParameterError(
            "the model cannot be learned from moments, because the documents would have to be "
            f"seen again for {'; and '.join(reasons)}. Or collect the documents and use fit"
        )
    scatter = moments.centred_scatter()
    check_moments(moments, scatter.dtype, options)
    prototypes = options.choose(moments)
    system = options.system(moments, 0)
    inputs = OutputMoments(moments, scatter)
    solution = next(direct.solve_scatter(inputs.scatter.copy(), prototypes, [system]))
    solution = solution.unless_equal(moments)
    first = Layer.solved(solution, "primal", system, moments, prototypes, options.squash)
    below = inputs.after(first) if options.n_layers > 1 else None
    layers = stack_layers(first, options, None, below)
    made = Representation(layers, options.output, options.normalize)
    return FittedDCoT(made, prototypes, moments.n, moments.n_terms, moments=moments)


# -- the first layer ----------------------------------------------------------------------------


def _sharing(
    moments: Moments, options: Sequence[FitOptions]
) -> Iterator[list[tuple[FitOptions, System]]]:
    """Yield groups of consecutive options whose first layers are solved together."""
    group: list[tuple[FitOptions, System]] = []
    for one in options:
        system = one.system(moments, 0)
        if group and not _together(group[0], (one, system)):
            yield group
            group = []
        group.append((one, system))
    if group:
        yield group


def _together(first: tuple[FitOptions, System], other: tuple[FitOptions, System]) -> bool:
    """Whether both systems have noise, and the same scale, prototypes and solver."""
    a, b = first[0], other[0]
    same = (
        np.array_equal(cast(Any, a.prototypes), cast(Any, b.prototypes))
        and a.n_prototypes == b.n_prototypes
        and (a.solver, a.tol, a.max_iter) == (b.solver, b.tol, b.max_iter)
        and a.memory_limit == b.memory_limit
    )
    noisy = first[1].shift > 0 and other[1].shift > 0
    return same and noisy and np.array_equal(first[1].scale, other[1].scale)


def _first_layers(
    solver: str,
    centred: Centred,
    moments: Moments,
    prototypes: Array,
    group: Sequence[tuple[FitOptions, System]],
) -> Iterator[Layer]:
    options, systems = group[0][0], [system for _, system in group]
    say = partial(part(options.progress, 0.0, 1 / options.n_layers), f"layer 1 ({solver})")
    say(0.0)
    solutions = SOLVERS[solver](
        centred, prototypes, systems, tol=options.tol, max_iter=options.max_iter, progress=say
    )
    for (one, system), solution in zip(group, solutions, strict=True):
        solution = solution.unless_equal(moments)
        yield Layer.solved(solution, solver, system, moments, prototypes, one.squash)


def _warn_of_light(weights: Array, dtype: Any) -> None:
    """Warn if rounding of the heaviest documents is more to iterations than the lightest ones."""
    least, most = float(weights.min()), float(weights.max())
    if least < MAX_ROUNDING_OF_WEIGHTS * np.finfo(dtype).eps ** 2 * most:
        other = " or dtype='float64'" if dtype == np.float32 else ""
        warnings.warn(
            f"sample_weight is from {least:.2g} to {most:.2g}, and solver 'cg' loses the light "
            f"documents to rounding in {dtype}: give weights that are closer together, 0 to leave "
            f"documents out, or use solver='dual'{other}",
            stacklevel=2,
        )


# -- checks -------------------------------------------------------------------------------------


def check_weights(sample_weight: Any, n: int) -> Array | None:
    """Return the weights of n documents as float64, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, np.ma.MaskedArray) and np.ma.is_masked(sample_weight):
        raise InvalidInputError(
            "sample_weight has masked values: give 0 for documents that do not count, as in "
            "sample_weight.filled(0)"
        )
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"sample_weight must be numbers, one for each of the {n} documents: {error}"
        ) from error
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise InvalidInputError(
            f"sample_weight must have one entry for each of the {n} documents, got shape "
            f"{weights.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        total = weights.sum()
    if not np.isfinite(total) or weights.min() < 0 or not weights.any():
        raise InvalidInputError(
            "sample_weight must be finite, not negative and not all zero, with a finite sum: "
            "weights say how often a document counts"
        )
    return weights


def check_moments(moments: Moments, dtype: Any, options: FitOptions) -> None:
    """Reject documents that are all empty, and values out of range for the dtype."""
    if not (moments.document_frequency > 0).any():
        raise InvalidInputError(
            f"all {moments.n:g} documents are empty (every value of X is zero): there is nothing "
            "to learn from; check the vocabulary that counted them"
        )
    dtype = np.dtype(dtype)
    lengths = np.sqrt(moments.squares[moments.document_frequency > 0])
    advice = "rescale X" + (", or use dtype='float64'" if dtype == np.float32 else "")
    if not lengths.max() <= MAX_LENGTH[dtype]:
        raise InvalidInputError(
            f"the values of X, times their sample_weight, are too large for {dtype}: the root of "
            f"the sum of squares of a column is {lengths.max():.2g}, at most "
            f"{MAX_LENGTH[dtype]:g} is possible; {advice}"
        )
    # With shrinkage or ridge, columns of tiny values count as nearly empty; otherwise they are
    # scaled up.
    alone = options.shrinkage[0] == 0 and options.ridge == 0
    shortest = lengths.min() if alone else lengths.max()
    if shortest < MIN_LENGTH[dtype]:
        raise InvalidInputError(
            f"the values of X, times their sample_weight, are too small for {dtype}: the root of "
            f"the sum of squares of a column is {shortest:.2g}, at least {MIN_LENGTH[dtype]:g} is "
            f"needed; {advice}"
        )


def check_depth(r: int, itemsize: int, n_layers: int, options: FitOptions) -> None:
    """Check that later layers fit in memory.

    They hold three r × r matrices: the map, its system and the scatter of the layer below.
    """
    needed, allowed = 3.0 * r * r * itemsize, allowance(options.memory_limit)
    if n_layers > 1 and needed > allowed:
        raise OutOfMemoryError(
            f"a layer from {r} to {r} prototypes needs about {format_bytes(needed)}, and "
            f"{format_bytes(allowed)} are allowed: use fewer n_prototypes or n_layers=1, or raise "
            "memory_limit"
        )
