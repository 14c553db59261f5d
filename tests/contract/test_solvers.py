"""The contract of a solver. A new one is tested by its line in ``dcot.core.solvers.SOLVERS``."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference import counts, explicit_layer

from dcot.core.centred import Centred
from dcot.core.corruption import marginalise
from dcot.core.moments import Moments
from dcot.core.options import FitOptions
from dcot.core.plan import Shape, bytes_in_memory, plan_in_memory, shape_of
from dcot.core.solvers import SOLVERS, cg, direct

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
    b, _ = system.biases(solution.coef, moments.mean[targets])
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


@pytest.mark.parametrize(("n", "d"), [(90, 60), (60, 90)])
@pytest.mark.parametrize("noise", [0.0, 1e-13])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_deflation_of_fewer_directions_than_vectors(monkeypatch, n, d, noise, dtype):
    rng = np.random.default_rng(0)
    X = (rng.random((n, 5)) < 0.4).astype(float) @ (rng.random((5, d)) < 0.5)
    X = X.astype(dtype)
    moments, targets = Moments.of(X), np.arange(40)
    centred = Centred.of(X, moments.mean)
    system = marginalise(moments, noise)
    exact = next(SOLVERS["primal"](centred, targets, [system], **EXACT))
    monkeypatch.setattr(cg, "DEFLATION_WORTH", 1)
    options = {**EXACT, "tol": 1e-5}
    deflated = next(SOLVERS["cg"](centred, targets, [system], **options))
    close = 1e-3 if dtype is np.float32 else 1e-6
    np.testing.assert_allclose(centred.X @ deflated.coef, centred.X @ exact.coef, atol=close)
    assert deflated.gain == pytest.approx(exact.gain, rel=close)


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


@pytest.mark.parametrize("name", ["primal", "dual"])
@pytest.mark.parametrize("r", [5, 12])
def test_noise_below_rounding_is_never_left_to_cholesky(monkeypatch, name, r):
    """Rounding decides whether a singular matrix has a factor."""
    monkeypatch.setattr(direct, "positive_definite", None)
    _, targets, moments, centred = build((40, 12, r))
    zero, tiny = (
        next(SOLVERS[name](centred, targets, [marginalise(moments, noise)], **EXACT))
        for noise in (0.0, 1e-300)
    )
    np.testing.assert_allclose(tiny.coef, zero.coef, atol=1e-10)


@pytest.mark.parametrize("shape", [(40, 12, 5), (40, 12, 12), (12, 40, 9)])
def test_noise_lost_in_rounding_is_the_limit(solver, shape):
    """Two terms are the same, and one more or less of 1e-12 is nothing in float32."""
    X, targets, _, _ = build(shape)
    X[:, 1] = X[:, 0]
    exact = Centred.of(X, X.mean(0))
    expected = next(SOLVERS["dual"](exact, targets, [marginalise(Moments.of(X), 0.0)], **EXACT))
    X = X.astype(np.float32)
    system = marginalise(Moments.of(X), 1e-12)
    found = next(solver(Centred.of(X, X.mean(0)), targets, [system], **{**EXACT, "tol": 1e-6}))
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-3)
    assert found.gain == pytest.approx(expected.gain, rel=1e-3)


def test_terms_that_are_in_all_documents_say_nothing(solver):
    X = counts(np.random.default_rng(0), 20, 8)
    X[:, [1, 6]] = 3.0
    moments = Moments.of(X)
    for targets in (np.arange(8), np.array([0, 6])):
        coef, _ = explicit_layer(X, targets, 0.4)
        system = marginalise(moments, 0.4)
        found = next(solver(Centred.of(X, moments.mean), targets, [system], **EXACT)).coef
        np.testing.assert_allclose(found, coef, atol=1e-8)
        if solver is SOLVERS["primal"] and len(targets) == 8:
            assert not found[[1, 6]].any()
            assert not found[:, [1, 6]].any()


def test_more_targets_than_are_solved_at_once(solver):
    X, targets, moments, centred = build((40, 150, 140))
    coef, _ = explicit_layer(X, targets, 0.5)
    (found,) = solver(centred, targets, [marginalise(moments, 0.5)], **EXACT)
    np.testing.assert_allclose(found.coef, coef, atol=1e-8)
    assert found.gain == pytest.approx(_gain(X, targets, coef))


def test_progress_rises_to_one(solver):
    _, targets, moments, centred = build((12, 40, 9))
    systems, seen = [marginalise(moments, noise) for noise in (0.2, 0.5, 0.9)], []
    list(solver(centred, targets, systems, **{**EXACT, "progress": seen.append}))
    steps = 1 if solver is SOLVERS["cg"] else 3  # cg solves them together
    assert seen == pytest.approx([(n + 1) / steps for n in range(steps)])


@pytest.mark.parametrize("name", ["primal", "dual"])
@pytest.mark.parametrize("r", [5, 12])
def test_regular_systems_are_not_solved_by_their_eigenvalues(monkeypatch, name, r):
    monkeypatch.setattr(direct, "least_norm", lambda *_: pytest.fail("slow"))
    _, targets, moments, centred = build((40, 12, r))
    (found,) = SOLVERS[name](centred, targets, [marginalise(moments, 0.1)], **EXACT)
    assert found.coef.any()


def test_symmetric_systems():
    A = np.random.default_rng(0).normal(size=(6, 4))
    right = np.asfortranarray(np.random.default_rng(1).normal(size=(4, 3)))
    regular, singular = A.T @ A, 1e-3 * A[:2].T @ A[:2]
    solve = direct.positive_definite(regular.copy())
    np.testing.assert_allclose(solve(right.copy(order="F")), np.linalg.solve(regular, right))
    np.testing.assert_allclose(direct.least_norm(regular)(right), np.linalg.solve(regular, right))
    found = direct.least_norm(singular.copy())(right)
    np.testing.assert_allclose(found, np.linalg.pinv(singular, 1e-9) @ right, rtol=1e-6)
    assert direct.positive_definite(np.ones((2, 2))) is None
    assert not direct.least_norm(np.zeros((2, 2)))(np.ones((2, 1))).any()


@pytest.mark.parametrize("noise", [1e-300, 1e-3])
def test_one_inverse_leaves_a_singular_matrix_as_it_was(noise):
    """The second one is not even positive, as rounding may make it: Cholesky breaks off."""
    singular = np.array([[1.0, 1.5, 0.5], [1.5, 1.0, 0.25], [0.5, 0.25, 1.0]])
    scaled = singular.copy()
    system = marginalise(Moments.of(np.ones((3, 3))), noise)
    assert direct._solve_all(scaled, np.ones(3), np.ones(3), system) is None
    np.testing.assert_array_equal(scaled, singular)


def test_one_inverse_is_used_only_if_the_noise_is_more_than_rounding():
    moments, ones = Moments.of(np.ones((3, 3))), np.ones(3)
    assert direct._solve_all(np.eye(3), ones, ones, marginalise(moments, 1e-300)) is None
    assert direct._solve_all(np.eye(3), ones, ones, marginalise(moments, 0.5)) is not None


# -- conjugate gradients ----------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.05, 0.3, 0.9])
def test_a_few_iterations_tell_how_many_are_needed(noise):
    _, targets, moments, centred = build((120, 90, 20))
    systems, options = [marginalise(moments, noise)], {"tol": 1e-5, "max_iter": 500}
    (solved,) = cg.solve(centred, targets, systems, **options)
    expected = cg.count_iterations(centred, targets, systems, **options)
    assert 0.5 * solved.n_iter <= expected <= 2 * solved.n_iter
    assert cg.count_iterations(centred, targets, systems, tol=0.9, max_iter=500) <= 2
    assert cg.count_iterations(centred, targets, systems, tol=1e-9, max_iter=1) == 1
    assert cg.count_iterations(centred, targets, systems, tol=1e-9, max_iter=2) > 2


@pytest.mark.parametrize(("last", "rate"), [(0.99, 0.97), (0.5, 0.5), (1e-3, 0.01)])
def test_the_estimate_has_bounds(monkeypatch, last, rate):
    def run(self, tol, max_iter):
        self.residuals, self.n_iter = [2.0, 1.0, last], 3

    monkeypatch.setattr(cg._Lanczos, "run", run)
    _, targets, moments, centred = build((12, 9, 4))
    systems = [marginalise(moments, 0.5)]
    found = cg.count_iterations(centred, targets, systems, tol=1e-4, max_iter=500)
    assert found == 3 + np.ceil(np.log(1e-4 / last) / np.log(rate))


@pytest.mark.parametrize(
    ("residuals", "stuck"),
    [
        ([1.0, 0.5, 0.49, 0.48], True),
        ([1.0, 0.5, 0.48, 0.44], False),
        ([1.0, 0.5, 0.46, 0.45], True),
        ([1.0, 0.9, 0.3, 0.35, 0.34, 0.33], True),
        ([1.0, 0.5, 0.95], False),
        ([1.0, 0.99], False),
    ],
)
def test_iterations_that_do_not_get_clearly_better_end(residuals, stuck):
    lanczos = cg._Lanczos(lambda x: x, np.ones((2, 1)), np.ones(1), cg._Running(np.ones((2, 1))))
    lanczos.residuals, lanczos.n_iter = residuals, len(residuals)
    assert lanczos._stuck(2) is stuck
    assert not lanczos._stuck(None)


def test_iterations_with_a_short_memory():
    """Two vectors of the basis and the solution are enough."""
    diagonal, right = np.logspace(0, 2, 30)[:, None], np.arange(60.0).reshape(30, 2)
    found = cg.iterate(lambda x: diagonal * x, right, 0.5, tol=1e-10, max_iter=200)
    assert found.converged
    np.testing.assert_allclose(found.solution, right / (diagonal + 0.5), atol=1e-7)
    assert not cg.iterate(lambda x: diagonal * x, right, 0.5, tol=1e-10, max_iter=3).converged


@pytest.mark.parametrize("width", [1, 3])
def test_several_shifts_in_one_space(width):
    diagonal, shifts = np.logspace(0, 2, 30)[:, None], np.array([0.1, 5.0])
    right = np.random.default_rng(0).normal(size=(30, width))
    found, reached = cg.iterate_shifts(
        lambda x: diagonal * x, right, shifts, tol=1e-10, max_iter=200
    )
    assert reached
    for shift, solution in zip(shifts, found, strict=True):
        np.testing.assert_allclose(solution, right / (diagonal + shift), atol=1e-7)


@pytest.mark.parametrize(
    ("last", "tol", "expected"),
    [
        (1e-3, 1e-2, 1.0),
        (1e-2, 1e-4, 0.5),
        (1.0001e-4, 1e-4, 0.99),
        (3.0, 1e-4, 0.0),
        (2.0, 1.0, 0.0),
    ],
)
def test_the_fraction_that_is_done(last, tol, expected):
    assert cg._fraction([5.0, last], tol) == pytest.approx(expected)


def test_same_inverses_and_none_of_zero():
    np.testing.assert_allclose(cg._inverse(np.array([0.0, 0.25, 4.0])), [0.0, 4.0, 0.25])


def test_a_look_ahead_decides_between_the_solvers(monkeypatch):
    """If the choice depends on the number of iterations, they are estimated."""
    from dcot.core import plan

    _, targets, moments, centred = build((120, 90, 20))
    monkeypatch.setattr(plan, "LOOK_AHEAD_SECONDS", 0.0)
    asked = []
    real = cg.count_iterations
    monkeypatch.setattr(cg, "count_iterations", lambda *a, **k: asked.append(1) or real(*a, **k))
    options, system = FitOptions(max_iter=100), marginalise(moments, 0.5)
    shape = shape_of(centred, len(targets))
    many = int(12 * (1 + 1 / 0.5))
    assert plan._iterations(centred, targets, [system], options, shape, np.inf) == many
    assert not asked
    found = plan._iterations(centred, targets, [system], options, shape, 0.0)
    assert found == real(centred, targets, [system], tol=options.tol, max_iter=many)
    assert asked


@pytest.mark.parametrize("seconds", [0.0, 1.0])
@pytest.mark.parametrize("noise", [5e-324, 1e-310, 1e-300])
def test_noise_whose_inverse_is_infinite(noise, seconds):
    from dcot.core import plan

    _, targets, moments, centred = build((40, 30, 10))
    options, shape = FitOptions(max_iter=100), shape_of(centred, len(targets))
    system = marginalise(moments, noise)
    assert 1 <= plan._iterations(centred, targets, [system], options, shape, seconds) < 1000


def test_unseen_terms_get_weight_zero(solver):
    rng = np.random.default_rng(0)
    X = counts(rng, 20, 8)
    X[:, [2, 5]] = 0
    stored = sp.csr_array(X)
    moments = Moments.of(stored)
    centred = Centred.of(stored, moments.mean)
    for noise, targets in ((0.0, [0, 2, 7]), (0.5, [0, 2, 7]), (0.5, range(8))):
        system = marginalise(moments, noise)
        solution = next(iter(solver(centred, np.array(targets), [system], **EXACT)))
        assert np.isfinite(solution.coef).all()
        assert not solution.coef[[2, 5]].any()
        assert not solution.coef[:, targets.index(2)].any()


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


@pytest.mark.parametrize("shape", [(40, 300, 80), (300, 40, 40)])
@pytest.mark.parametrize("worth", [1, 10_000], ids=["deflated", "plain"])
def test_blocks_on_several_threads_are_those_on_one(monkeypatch, shape, worth):
    _, targets, moments, centred = build(shape)
    systems = [marginalise(moments, 0.8)]
    monkeypatch.setattr(cg, "WIDTH", 8)
    monkeypatch.setattr(cg, "DEFLATION_WORTH", worth)
    found = []
    for threads in (1, 3, 3):
        monkeypatch.setattr(cg, "n_workers", lambda *_, threads=threads: threads)
        found.append(next(SOLVERS["cg"](centred, targets, systems, **EXACT)))
    for other in found[1:]:
        np.testing.assert_array_equal(other.coef, found[0].coef)
        assert (other.gain, other.n_iter) == (found[0].gain, found[0].n_iter)


def test_buffers_of_threads_take_at_most_the_memory_of_the_result(monkeypatch):
    monkeypatch.setattr(cg, "n_threads", lambda: 4)
    assert cg.n_workers(5000, 20_000, 5000, 4) == 4
    assert cg.n_workers(5000, 20_000, 300, 4) == 1
    for n, d, r in [(5000, 20_000, 5000), (3000, 9000, 3000), (400, 400, 400)]:
        if (threads := cg.n_workers(n, d, r, 4)) > 1:
            assert threads * cg.buffer_bytes(n, d, r, 4) <= 4.0 * d * r
    monkeypatch.setattr(cg, "n_threads", lambda: 1)
    assert cg.n_workers(5000, 20_000, 5000, 4) == 1
    monkeypatch.setattr(cg, "n_threads", lambda: 2)
    monkeypatch.setattr(cg, "buffer_bytes", lambda *_: 512.0)
    assert cg.n_workers(10, 1, 256, 4) == 2  # 2 × 512 bytes are those of the result
    assert cg.n_workers(10, 1, 255, 4) == 1


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


def test_several_noise_levels_are_not_deflated_for_the_first(monkeypatch):
    X, targets, moments, centred = build((60, 40, 20))
    monkeypatch.setattr(cg, "DEFLATION_WORTH", 1)
    monkeypatch.setattr(cg, "DEFLATED", 8)
    noises = [0.9, 0.2]
    systems = [marginalise(moments, noise) for noise in noises]
    for noise, found in zip(noises, SOLVERS["cg"](centred, targets, systems, **EXACT), strict=True):
        np.testing.assert_allclose(found.coef, explicit_layer(X, targets, noise)[0], atol=1e-8)


@pytest.mark.parametrize("empty", [slice(0, 4), slice(4, 8), slice(8, 12)])
def test_all_blocks_say_whether_they_converged(monkeypatch, empty):
    rng = np.random.default_rng(0)
    X = counts(rng, 40, 12)
    X[:, empty] = 0  # nothing to solve for the terms of one block
    moments = Moments.of(X)
    centred = Centred.of(X, moments.mean)
    monkeypatch.setattr(cg, "WIDTH", 4)
    options = {**EXACT, "max_iter": 3}
    found = next(SOLVERS["cg"](centred, np.arange(12), [marginalise(moments, 0.3)], **options))
    assert not found.converged
    assert found.n_iter == 3


def test_only_the_calling_thread_reports_progress(monkeypatch):
    _, targets, moments, centred = build((60, 90, 80))
    monkeypatch.setattr(cg, "WIDTH", 2)
    monkeypatch.setattr(cg, "n_workers", lambda *_: 3)
    reporters, fractions = [], []

    def progress(fraction):
        reporters.append(threading.get_ident())
        fractions.append(fraction)
        time.sleep(0.002)  # the others go on

    system = marginalise(moments, 0.5)
    list(SOLVERS["cg"](centred, targets, [system], **{**EXACT, "progress": progress}))
    assert set(reporters) == {threading.get_ident()}
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert all(0 < fraction < 1 for fraction in fractions[:-1])


def test_a_complete_basis_ends_the_iterations():
    X = np.outer([1.0, 2.0, 0.0, 1.0, 3.0], [1.0, 0.0, 2.0, 1.0])
    moments = Moments.of(X)
    centred = Centred.of(X, moments.mean)
    system = marginalise(moments, 0.5)
    found = next(SOLVERS["cg"](centred, np.arange(4), [system], tol=0.0, max_iter=50))
    assert found.converged
    assert found.n_iter <= 3


def test_the_longer_side_of_the_documents_is_in_the_memory_of_a_block():
    for n, d in ((10, 10**6), (10**6, 10)):
        assert cg.buffer_bytes(n, d, 200, 4) > 10**6 * cg.WIDTH * 4
    vectors = (cg.EXPECTED_ITERATIONS + 3) * 100 + 700  # a basis, and two more of each side
    assert cg.buffer_bytes(100, 700, 5, 8) == cg.buffer_bytes(700, 100, 5, 8) == 5 * 8 * vectors
