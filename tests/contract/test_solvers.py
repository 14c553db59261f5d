"""The contract of a solver. A new one is tested by its line in ``dcot.core.solvers.SOLVERS``."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference import counts, explicit_layer

from dcot.core.centred import Centred
from dcot.core.corruption import marginalise
from dcot.core.fit import FitOptions
from dcot.core.moments import Moments
from dcot.core.plan import Shape, bytes_in_memory, plan_in_memory, shape_of
from dcot.core.solvers import SOLVERS, cg

SHAPES = [(40, 12, 5), (12, 40, 9), (30, 30, 30), (1, 5, 2), (5, 1, 1)]
EXACT = {"tol": 1e-13, "max_iter": 500, "progress": lambda fraction: None}


@pytest.fixture(params=sorted(SOLVERS))
def solver(request):
    return SOLVERS[request.param]


def build(shape, seed=0, dtype=np.float64, sparse=True, weights=None):
    n, d, r = shape
    rng = np.random.default_rng(seed)
    X = counts(rng, n, d)
    targets = np.sort(rng.choice(d, r, replace=False))
    stored = sp.csr_array(X.astype(dtype)) if sparse else X.astype(dtype)
    moments = Moments.of(stored, weights)
    return X, targets, moments, Centred.of(stored, moments.mean, weights)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(
    ("noise", "shrinkage", "ridge"),
    [(0.5, 0, 0), (0.9, 1.0, 0), (0.1, 0.01, 0), (0.8, 0, 1e-5), (0.0, 0, 1e-3)],
)
def test_equals_the_definition(solver, shape, sparse, noise, shrinkage, ridge):
    X, targets, moments, centred = build(shape, sparse=sparse)
    system = marginalise(moments, noise, shrinkage=shrinkage, ridge=ridge)
    solution = next(iter(solver(centred, targets, [system], **EXACT)))
    coef, intercept = explicit_layer(X, targets, noise, shrinkage=shrinkage, ridge=ridge)
    np.testing.assert_allclose(solution.coef, coef, atol=1e-8)
    b = system.intercept(solution.coef, moments.mean[targets])
    np.testing.assert_allclose(b, intercept, atol=1e-8)
    assert solution.gain == pytest.approx(_gain(X, targets, coef), abs=1e-7)


@pytest.mark.parametrize(("n", "d"), [(60, 25), (25, 60)])
def test_deflation_changes_the_way_and_not_the_solution(monkeypatch, n, d):
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 3, (n, 1)) == np.arange(3)  # three large eigenvalues
    X = counts(rng, n, d) + 8.0 * topics @ (rng.random((3, d)) < 0.4)
    moments, targets = Moments.of(X), np.arange(20)
    centred = Centred.of(X, moments.mean)
    system = marginalise(moments, 0.3, shrinkage=0.01)
    options = EXACT | {"tol": 1e-4}
    plain = next(SOLVERS["cg"](centred, targets, [system], **options))
    monkeypatch.setattr(cg, "DEFLATION_WORTH", 1)
    monkeypatch.setattr(cg, "DEFLATED", 8)
    deflated = next(SOLVERS["cg"](centred, targets, [system], **options))
    assert deflated.n_iter < plain.n_iter
    coef, _ = explicit_layer(X, targets, 0.3, shrinkage=0.01, ridge=0)
    np.testing.assert_allclose(deflated.coef, coef, atol=1e-3)
    assert deflated.gain == pytest.approx(_gain(X, targets, coef), rel=1e-4)


def _gain(X, targets, coef):
    C = (X - X.mean(0)).T @ (X - X.mean(0))
    return float((coef * C[:, targets]).sum())


@pytest.mark.parametrize("shape", SHAPES)
def test_float32_is_close(solver, shape):
    X, targets, moments, centred = build(shape, dtype=np.float32)
    system = marginalise(moments, 0.7, shrinkage=0.1)
    options = {**EXACT, "tol": 1e-6}
    solution = next(iter(solver(centred, targets, [system], **options)))
    assert solution.coef.dtype == np.float32
    coef, _ = explicit_layer(X, targets, 0.7, shrinkage=0.1)
    np.testing.assert_allclose(solution.coef, coef, atol=1e-4)


def test_weights_are_multiplicities(solver):
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 4, 25).astype(float)
    X, targets, moments, centred = build((25, 10, 4), weights=weights)
    system = marginalise(moments, 0.6, shrinkage=0.2)
    solution = next(iter(solver(centred, targets, [system], **EXACT)))
    repeated = np.repeat(X, weights.astype(int), axis=0)
    coef, _ = explicit_layer(repeated, targets, 0.6, shrinkage=0.2)
    np.testing.assert_allclose(solution.coef, coef, atol=1e-8)


@pytest.mark.parametrize("shape", [(30, 12, 5), (12, 30, 9)])
def test_many_noise_levels_together(solver, shape):
    X, targets, moments, centred = build(shape)
    noises = [0.3, 0.95, 0.6]
    systems = [marginalise(moments, noise) for noise in noises]
    solutions = list(solver(centred, targets, systems, **EXACT))
    assert len(solutions) == 3
    for noise, solution in zip(noises, solutions, strict=True):
        coef, _ = explicit_layer(X, targets, noise)
        np.testing.assert_allclose(solution.coef, coef, atol=1e-8)


@pytest.mark.parametrize("shape", [(40, 12, 5), (12, 40, 9)])
def test_no_noise_is_the_limit(solver, shape):
    _, targets, moments, centred = build(shape)
    limit = next(iter(solver(centred, targets, [marginalise(moments, 0.0)], **EXACT)))
    near = marginalise(moments, 1e-9)
    close = next(iter(SOLVERS["dual"](centred, targets, [near], **EXACT)))
    np.testing.assert_allclose(limit.coef, close.coef, atol=1e-6)


def test_unseen_terms_get_weight_zero(solver):
    rng = np.random.default_rng(0)
    X = counts(rng, 20, 8)
    X[:, [2, 5]] = 0
    stored = sp.csr_array(X)
    moments = Moments.of(stored)
    centred = Centred.of(stored, moments.mean)
    targets = np.array([0, 2, 7])
    for noise in (0.0, 0.5):
        system = marginalise(moments, noise)
        solution = next(iter(solver(centred, targets, [system], **EXACT)))
        assert np.isfinite(solution.coef).all()
        assert not solution.coef[[2, 5]].any()
        assert not solution.coef[:, 1].any()


def test_same_for_any_number_of_threads(solver):
    from threadpoolctl import threadpool_limits

    _, targets, moments, centred = build((300, 400, 100), dtype=np.float32)
    system = marginalise(moments, 0.8)
    options = {**EXACT, "tol": 1e-5}
    found = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            found.append(next(iter(solver(centred, targets, [system], **options))).coef)
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)
    np.testing.assert_array_equal(found[1], found[2])


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_memory_is_predicted_to_grow_with_the_shape(name):
    small = bytes_in_memory(name, Shape(100, 200, 10, 1000, 4))
    assert small > Shape(100, 200, 10, 1000, 4).result
    assert bytes_in_memory(name, Shape(1000, 2000, 100, 100_000, 4)) > 10 * small


def test_choice_avoids_what_does_not_fit():
    _, targets, moments, centred = build((300, 900, 20))
    shape = shape_of(centred, len(targets))
    limit = bytes_in_memory("cg", shape) * 1.01
    options = FitOptions(memory_limit=limit, max_iter=100)
    plan = plan_in_memory(centred, targets, [marginalise(moments, 0.8)], options)
    assert bytes_in_memory(plan.solver, shape) == plan.memory <= limit
