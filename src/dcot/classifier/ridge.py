"""Linear ridge in the span of the labelled documents, with closed-form leave-one-out.

It takes milliseconds for a thousand labels, uses all labels for the fit, and works if a class has
one example. Only inner products of documents are needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from dcot.core.centred import (
    Matrix,
    centre_scatter,
    column_blocks,
    gram_lower,
    scale_rows,
    times,
    transposed,
)
from dcot.core.layers import row_blocks
from dcot.core.solvers import cg, direct
from dcot.runtime.resources import allowance

Array = NDArray[Any]

# Strengths to select from, in units of the mean eigenvalue of the centred kernel.
STRENGTHS = np.logspace(-3, 2, 16)
# Factors of a strength to try with more documents, and the maximum number of held-out documents.
FACTORS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
MAX_HELD_OUT = 1000
# If there are too many documents for an n × n matrix: relative residuals for the selection of the
# strength and for the solution, and iterations. Smaller residuals hardly change predictions.
CHOICE_TOL, FEATURES_TOL, FEATURES_MAX_ITER = 3e-2, 1e-2, 200
MAX_TARGETS = 128  # solved together: each step of the iteration keeps features × targets
EXPECTED_ITERATIONS = 100  # with more targets, for the comparison with factorising the scatter
CACHED_BYTES = 1e6
# A smaller strength, in units of the rounding of the scatter matrix, is lost in it.
LEAST_STRENGTH, POWER_STEPS = 10.0, 10


def targets_of(labels: Array) -> tuple[Array, Array]:
    """The classes, sorted, and a column of ±1 for each.

    >>> targets_of(np.array(["b", "a"]))[1]
    array([[-1.,  1.],
           [ 1., -1.]])
    """
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, signs(codes.ravel(), len(classes))


def signs(codes: Array, n_classes: int) -> Array:
    """Targets, documents × classes: 1 for the class of a document, given by its number, else -1."""
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


@dataclass(frozen=True)
class KernelRidge:
    """Least squares on the targets, from inner products alone.

    ``fit`` takes the inner products of the labelled documents, in any features, and
    ``targets_of(labels)``.

    Attributes
    ----------
    dual : documents × targets; decisions are ``kernel @ dual + intercept``
    intercept : one per target
    strength : the selected strength, in units of the mean eigenvalue of the centred kernel
    alpha : the same, absolute
    held_out : leave-one-out decisions for each evaluated document, documents × targets
    losses : their squared errors, summed over targets, one per document
    weights : weight of each evaluated document

    Examples
    --------
    >>> F = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.8]])
    >>> classes, targets = targets_of(np.array(["oil", "oil", "grain", "grain"]))
    >>> ridge = KernelRidge.fit(F @ F.T, targets)
    >>> classes[ridge.held_out.argmax(axis=1)].tolist()
    ['oil', 'oil', 'grain', 'grain']
    """

    dual: Array
    intercept: Array
    strength: float
    alpha: float
    held_out: Array
    losses: Array
    weights: Array

    @property
    def error(self) -> float:
        """Mean squared leave-one-out error; NaN if no document was evaluated."""
        if not len(self.weights):
            return np.nan
        return float(self.weights @ self.losses / self.weights.sum() / self.held_out.shape[1])

    @classmethod
    def fit(
        cls,
        kernel: Array,
        targets: Array,
        strengths: Array = STRENGTHS,
        weights: Array | None = None,
        judged: int | None = None,
    ) -> KernelRidge:
        """Fit with the strength that has the smallest leave-one-out error.

        Parameters
        ----------
        kernel : inner products of the labelled documents
        targets : documents × targets, ±1 for classes
        strengths : strengths to select from, in units of the mean eigenvalue of the centred kernel
        weights : weight of each document, by default 1
        judged : number of documents, from the first, that are evaluated; by default all. The
            others are only used for the fit; if this is 0, they also select the strength
        """
        n = len(kernel)
        judged = n if judged is None else judged
        weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        centring = Centring(kernel, weights)
        values, vectors = np.linalg.eigh(centring.kernel)
        values = np.where(values > max(values[-1] * 1e-12, centring.rounding), values, 0.0)
        unit = float(values.mean()) or 1.0  # zero if all documents are equal
        centre = centring.share @ targets
        rotated = vectors.T @ (centring.root[:, None] * (targets - centre))
        spread = vectors**2

        def left_out(alpha: float) -> Array:
            return _left_out(values, vectors, spread, rotated, alpha, centring)

        strength, residual = _best_strength(left_out, unit, strengths, weights[: judged or n])
        alpha = strength * unit
        dual = vectors @ (rotated / (values + alpha)[:, None])
        dual, intercept = centring.undo(dual, centre)
        return cls._judged(dual, intercept, strength, alpha, targets, residual, weights[:judged])

    @classmethod
    def from_features(
        cls, features: Array, targets: Array, judged: int | None = None
    ) -> KernelRidge:
        """As ``fit`` without weights, from features: less work if there are more documents."""
        n, width = features.shape
        judged = n if judged is None else judged
        if n <= width:
            return cls.fit(features @ features.T, targets, judged=judged)
        means = features.mean(axis=0, dtype=np.float64)
        centred = features - means
        values, axes = np.linalg.eigh(centred.T @ centred)
        # the others are zero up to rounding, as all of them are if all documents are equal
        size = float(np.vdot(features, features)) * np.finfo(features.dtype).eps
        kept = values > max(values[-1] * 1e-12, size)
        values, axes = values[kept], axes[:, kept]
        vectors = centred @ (axes / np.sqrt(values))
        unit = float(values.sum() / n) or 1.0
        centre = targets.mean(axis=0)
        rotated, spread, weights = vectors.T @ (targets - centre), vectors**2, np.ones(n)

        def residual(alpha: float) -> Array:
            fitted = vectors @ ((values / (values + alpha))[:, None] * rotated)
            return np.asarray(targets - centre - fitted)

        def left_out(alpha: float) -> Array:
            slack = 1 - spread @ (values / (values + alpha))
            return _leave_one_out(residual(alpha), slack, weights)

        strength, found = _best_strength(left_out, unit, STRENGTHS, weights[: judged or n])
        alpha = strength * unit
        dual = residual(alpha) / alpha
        intercept = centre - means @ (features.T @ dual)
        return cls._judged(dual, intercept, strength, alpha, targets, found, weights[:judged])

    @classmethod
    def _judged(
        cls,
        dual: Array,
        intercept: Array,
        strength: float,
        alpha: float,
        targets: Array,
        residual: Array,
        weights: Array,
    ) -> KernelRidge:
        """The result, with the decisions for the evaluated documents."""
        residual = residual[: len(weights)]
        losses = (residual**2).sum(axis=1)
        held_out = targets[: len(weights)] - residual
        return cls(dual, intercept, strength, alpha, held_out, losses, weights)

    def decision(self, kernel: Array) -> Array:
        """Decision values; ``kernel`` has a row per document and a column per labelled document."""
        return np.asarray(kernel @ self.dual + self.intercept)


def _best_strength(
    left_out: Callable[[float], Array], unit: float, strengths: Array, weights: Array
) -> tuple[float, Array]:
    """The strength with the least error on the first documents, and its residuals for all.

    ``left_out`` gives the leave-one-out residuals of a strength, in units of ``unit``.
    """
    fits = []
    for strength in strengths:
        residual = left_out(strength * unit)
        loss = float(weights @ (residual[: len(weights)] ** 2).sum(axis=1))
        fits.append((loss, float(strength), residual))
    _, strength, residual = min(fits, key=lambda fit: fit[0])
    return strength, residual


def solve_ridge(
    kernel: Array, targets: Array, alpha: float, weights: Array | None = None
) -> tuple[Array, Array]:
    """Dual coefficients and intercept for a given strength, by one factorisation."""
    return _solve(kernel, targets, alpha, weights)[:2]


def solve_with_left_out(
    kernel: Array, targets: Array, alpha: float, weights: Array | None = None
) -> tuple[Array, Array, Array]:
    """As ``solve_ridge``, with the leave-one-out decisions for every document."""
    dual, intercept, factor, solved = _solve(kernel, targets, alpha, weights)
    weights = np.ones(len(kernel)) if weights is None else weights
    inverse = scipy.linalg.lapack.dtrtri(factor, lower=1, overwrite_c=1)[0]
    # LAPACK does not set the other triangle
    diagonal = np.array([column[k:] @ column[k:] for k, column in enumerate(inverse.T)])
    residual = _leave_one_out(alpha * solved, alpha * diagonal, weights)
    return dual, intercept, targets - residual


def _solve(
    kernel: Array, targets: Array, alpha: float, weights: Array | None
) -> tuple[Array, Array, Array, Array]:
    """Dual coefficients, intercept, the Cholesky factor of the system and its solution."""
    weights = np.ones(len(kernel)) if weights is None else weights
    centring = Centring(kernel, weights)
    system = centring.kernel
    np.einsum("ii->i", system)[:] += alpha
    centre = centring.share @ targets
    right = centring.root[:, None] * (targets - centre)
    # the transpose is the same matrix, in the memory order that LAPACK can overwrite
    factor = scipy.linalg.cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
    solved = scipy.linalg.cho_solve(factor, right, check_finite=False)
    return *centring.undo(solved, centre), factor[0], solved


def held_out_rows(n: int, generator: Any) -> Array:
    """A tenth of n documents, to be held out for the selection of the strength."""
    return np.asarray(generator.permutation(n)[: min(n // 10, MAX_HELD_OUT)])


def alpha_for_all(
    kernel: Array, targets: Array, alpha: float, weights: Array | None, held: Array
) -> float:
    """The strength for all documents, if ``alpha`` was selected on some of them.

    With more documents a smaller one is often better. A larger one is better if the few documents
    were so different from each other that any strength gave nearly the same error. It is selected
    on the held-out documents.
    """
    n = len(kernel)
    weights = np.ones(n) if weights is None else weights
    others = np.setdiff1d(np.arange(n), held)
    inner, outer = kernel[np.ix_(others, others)], kernel[np.ix_(held, others)]

    def error(factor: float) -> float:
        dual, intercept = solve_ridge(inner, targets[others], alpha * factor, weights[others])
        return _squared_error(outer @ dual + intercept, targets[held], weights[held])

    return alpha * FACTORS[_least(error)]


def ridge_by_features(
    parts: Sequence[Matrix],
    targets: Array,
    alpha: float,
    weights: Array,
    held: Array,
) -> tuple[Array, Array, float, Array]:
    """Coefficients, intercept and strength if there are too many documents for an n × n matrix.

    Conjugate gradients in the space of the features: memory and time are linear in the number of
    documents, and one Krylov space serves all strengths. With many classes, which are solved in
    blocks, it can be less work to factorise the scatter matrix of the features. As in
    ``alpha_for_all``, the strength is selected on the held-out documents. The last result are the
    decisions for them.
    """
    if _factorising_is_less_work(parts, targets.shape[1]):
        exact = _by_factorising(parts, targets, alpha, weights, held)
        if exact is not None:
            return exact
    others = np.setdiff1d(np.arange(len(targets)), held)
    alphas = alpha * np.array(FACTORS)
    inner, outer = ([part[rows] for part in parts] for rows in (others, held))
    blocks = list(column_blocks(targets.shape[1], MAX_TARGETS))
    decisions = np.empty((len(alphas), len(held), targets.shape[1]))
    for block in blocks:
        tried, _ = _by_features(inner, targets[others, block], alphas, weights[others], CHOICE_TOL)
        for found, (coef, intercept) in zip(decisions, tried, strict=True):
            found[:, block] = _times(outer, coef) + intercept
    del inner
    best = _least(
        lambda factor: _squared_error(
            decisions[FACTORS.index(factor)], targets[held], weights[held]
        )
    )
    chosen = alphas[best : best + 1]
    solved = [
        _by_features(parts, targets[:, block], chosen, weights, FEATURES_TOL) for block in blocks
    ]
    if not all(reached for _, reached in solved):
        warnings.warn(
            f"ridge stopped after {FEATURES_MAX_ITER} iterations short of its tolerance, so "
            "decisions are not exact: the features of some documents, or their weights, are much "
            "larger than others; give weights that are closer together, or use estimator='svm'",
            ConvergenceWarning,
            stacklevel=2,
        )
    coef = np.hstack([found[0][0] for found, _ in solved])
    intercept = np.concatenate([found[0][1] for found, _ in solved])
    return coef, intercept, float(alphas[best]), decisions[best]


def _squared_error(decisions: Array, targets: Array, weights: Array) -> float:
    return float(weights @ ((targets - decisions) ** 2).sum(axis=1))


def _least(error: Callable[[float], float]) -> int:
    """The position of the factor with the least error: from 1, down or up while it falls."""
    best = FACTORS.index(1.0)
    least = error(1.0)
    for step in (-1, 1):
        start = best
        while 0 <= best + step < len(FACTORS) and (found := error(FACTORS[best + step])) < least:
            best, least = best + step, found
        if best != start:
            break
    return best


def _by_features(
    parts: Sequence[Matrix], targets: Array, alphas: Array, weights: Array, tol: float
) -> tuple[list[tuple[Array, Array]], bool]:
    """Coefficients (features × targets) and intercepts for several strengths.

    The second result is whether the residuals of all of them reached ``tol``.
    """
    centred = _CentredFeatures.of(parts, weights)
    right, centre = centred.right(targets)
    found, reached = cg.iterate_shifts(
        centred.operator, right, alphas, tol=tol, max_iter=FEATURES_MAX_ITER
    )
    return [(coef, np.asarray(centre - centred.means @ coef)) for coef in found], reached


def kernel_is_less_work(parts: Sequence[Matrix], n_targets: int) -> bool:
    """Whether to solve by inner products of many documents, if there is memory for three of them.

    With many classes this takes less time than ``ridge_by_features``, if there are fewer documents
    than features. It takes a few factorisations, and a product with the targets for each.
    """
    n, stored = float(parts[0].shape[0]), _stored(parts)
    work = 3 * n**3 + n * stored + 8 * n**2 * n_targets
    memory = 3 * n**2 * np.dtype(np.float64).itemsize
    fewer = n_targets > MAX_TARGETS and n < sum(part.shape[1] for part in parts)
    return fewer and work < _work_of_iterating(parts, n_targets) and memory < allowance(None)


def _factorising_is_less_work(parts: Sequence[Matrix], n_targets: int) -> bool:
    """Whether to factorise the scatter of the features, if there is memory for two of it.

    A few strengths are tried, each by a factorisation of ``width³ / 3`` operations.
    """
    width = float(sum(part.shape[1] for part in parts))
    less = 4 * width**3 / 3 < _work_of_iterating(parts, n_targets)
    memory = 2 * width**2 * parts[0].dtype.itemsize
    return n_targets > MAX_TARGETS and less and memory < allowance(None)


def _work_of_iterating(parts: Sequence[Matrix], n_targets: int) -> float:
    """Four operations for each stored feature, target and step; the system is solved twice."""
    return 2 * EXPECTED_ITERATIONS * 4 * _stored(parts) * n_targets


def _stored(parts: Sequence[Matrix]) -> float:
    return float(sum(part.nnz if sp.issparse(part) else part.size for part in parts))


def _by_factorising(
    parts: Sequence[Matrix], targets: Array, alpha: float, weights: Array, held: Array
) -> tuple[Array, Array, float, Array] | None:
    """As ``ridge_by_features``, by factors of the scatter; None if singular, up to rounding."""
    factor, decisions = _strength_by_factorising(parts, targets, alpha, weights, held)
    solution = _factorised(parts, targets, weights)(alpha * factor)
    if solution is None or decisions is None:
        return None
    return *solution, alpha * factor, decisions


def _strength_by_factorising(
    parts: Sequence[Matrix], targets: Array, alpha: float, weights: Array, held: Array
) -> tuple[float, Array | None]:
    """The best factor of the strength, and its decisions for the held-out documents."""
    others = np.setdiff1d(np.arange(len(targets)), held)
    outer = [part[held] for part in parts]
    solve = _factorised([part[others] for part in parts], targets[others], weights[others])
    decisions: dict[float, Array] = {}

    def error(factor: float) -> float:
        solution = solve(alpha * factor)
        if solution is None:
            return np.inf
        decisions[factor] = _times(outer, solution[0]) + solution[1]
        return _squared_error(decisions[factor], targets[held], weights[held])

    best = FACTORS[_least(error)]
    return best, decisions.get(best)


def _factorised(
    parts: Sequence[Matrix], targets: Array, weights: Array
) -> Callable[[float], tuple[Array, Array] | None]:
    """Return a function from a strength to coefficients and intercept, or None if singular.

    Cholesky factors of a nearly singular matrix leave a small residual, but directions in which the
    features hardly vary get large coefficients that are rounding. So such strengths are refused.
    """
    centred = _CentredFeatures.of(parts, weights)
    right, centre = centred.right(targets)
    scatter = centred.scatter()
    least = LEAST_STRENGTH * float(np.finfo(scatter.dtype).eps) * _largest_eigenvalue(scatter)

    def solve(alpha: float) -> tuple[Array, Array] | None:
        if not alpha > least:
            return None
        system = scatter.copy()
        np.einsum("ii->i", system)[:] += alpha
        apply = direct.positive_definite(system)
        if apply is None:
            return None
        coef = np.ascontiguousarray(apply(right.copy(order="F")))
        return coef, np.asarray(centre - centred.means @ coef)

    return solve


def _largest_eigenvalue(lower: Array) -> float:
    """Nearly the largest eigenvalue of a positive symmetric matrix, from its lower triangle."""
    symv = scipy.linalg.get_blas_funcs("symv", (lower,))
    vector = np.random.default_rng(0).standard_normal(len(lower)).astype(lower.dtype)
    length = 0.0
    for _ in range(POWER_STEPS):
        vector = symv(1.0, lower.T, vector, lower=0)  # in the memory order of LAPACK
        length = float(np.linalg.norm(vector))
        if not 0 < length < np.inf:
            break
        vector /= vector.dtype.type(length)
    return length


@dataclass(frozen=True)
class _CentredFeatures:
    """Features in blocks of columns, minus their weighted means, which are not subtracted."""

    parts: Sequence[Matrix]
    weights: Array
    means: Array

    @classmethod
    def of(cls, parts: Sequence[Matrix], weights: Array) -> _CentredFeatures:
        share = (weights / weights.sum()).astype(parts[0].dtype)
        means = np.concatenate([np.asarray(part.T @ share) for part in parts])
        return cls(parts, weights, means)

    def operator(self, coef: Array) -> Array:
        """Their weighted scatter times coefficients."""
        return self._gather(_times(self.parts, coef) - self.means @ coef)

    def right(self, targets: Array) -> tuple[Array, Array]:
        """Their weighted products with centred targets, and the mean targets."""
        centre = self.weights / self.weights.sum() @ targets
        return self._gather((targets - centre).astype(self.means.dtype)), centre

    def _gather(self, values: Array) -> Array:
        values = self.weights.astype(values.dtype)[:, None] * values
        found = np.vstack([np.asarray(part.T @ values) for part in self.parts])
        return np.ascontiguousarray(found - np.multiply.outer(self.means, values.sum(axis=0)))

    def scatter(self) -> Array:
        """Their weighted scatter matrix; only the lower triangle is valid."""
        stops = np.cumsum([0, *(part.shape[1] for part in self.parts)])
        columns = [slice(*ends) for ends in pairwise(stops.tolist())]
        root = np.sqrt(self.weights).astype(self.means.dtype)
        total = np.zeros((stops[-1], stops[-1]), dtype=root.dtype)
        squares = [np.zeros((part.shape[1],) * 2, dtype=root.dtype) for part in self.parts]
        for rows in row_blocks(len(root), root.itemsize * float(stops[-1])):
            scaled = [scale_rows(part[rows], root[rows]) for part in self.parts]
            flipped = [transposed(part) for part in scaled]
            for i, part in enumerate(scaled):
                squares[i] = gram_lower(flipped[i], part, out=squares[i])
                for j, other in enumerate(scaled[:i]):  # at most one of two is sparse
                    product = (
                        times(flipped[j], part).T
                        if sp.issparse(other)
                        else times(flipped[i], other)
                    )
                    total[columns[i], columns[j]] += product
        for own, square in zip(columns, squares, strict=True):
            total[own, own] = square
        return centre_scatter(total, self.means, float(self.weights.sum()))


def _times(parts: Sequence[Matrix], coef: Array) -> Array:
    """Features, in blocks of columns, times coefficients."""
    stops = np.cumsum([part.shape[1] for part in parts])[:-1]
    products = [part @ block for part, block in zip(parts, np.split(coef, stops), strict=True)]
    return np.asarray(sum(products))


class Centring:
    """The kernel of weighted, centred documents, so that the intercept is not penalised."""

    def __init__(self, kernel: Array, weights: Array) -> None:
        n = len(kernel)
        self.share = weights / weights.sum()
        self.root = np.sqrt(weights)
        self.means = np.empty(n)
        self.kernel = np.empty((n, n))
        # in blocks of rows that fit in the cache: each is read and written once
        blocks = list(row_blocks(n, self.kernel.itemsize * n, CACHED_BYTES))
        for rows in blocks:
            self.kernel[rows] = kernel[rows]
            self.means[rows] = self.kernel[rows] @ self.share
        total = float(self.share @ self.means)
        for rows in blocks:
            block = self.kernel[rows]
            block -= self.means
            block -= (self.means[rows] - total)[:, None]
            block *= self.root
            block *= self.root[rows, None]
        # size of rounding errors if all documents are equal
        size = float(np.abs(kernel.diagonal()) @ weights)
        self.rounding = size * np.finfo(kernel.dtype).eps if kernel.dtype.kind == "f" else 0.0

    def undo(self, dual: Array, centre: Array) -> tuple[Array, Array]:
        """Coefficients and intercept for the original kernel."""
        dual = self.root[:, None] * dual
        dual = dual - self.share[:, None] * dual.sum(axis=0)
        return dual, centre - self.means @ dual


def _left_out(
    values: Array, vectors: Array, spread: Array, rotated: Array, alpha: float, centring: Centring
) -> Array:
    """Leave-one-out residuals: target minus prediction for each document."""
    shrunk = alpha / (values + alpha)
    residual = vectors @ (shrunk[:, None] * rotated)
    return _leave_one_out(residual, spread @ shrunk, centring.root**2)


def _leave_one_out(residual: Array, slack: Array, weights: Array) -> Array:
    """Leave-one-out residuals from the residuals of the full model.

    ``residual`` is that of the weighted documents; ``slack`` is 1 − leverage, without the
    intercept, whose leverage is the share of the weight of a document.
    """
    slack = np.maximum(slack - weights / weights.sum(), 1e-12)
    return np.asarray(residual / (np.sqrt(weights) * slack)[:, None])
