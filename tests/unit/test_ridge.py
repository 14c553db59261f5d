"""The ridge classifier against scikit-learn's, the long way round."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from dcot.classifier import ridge as ridge_module
from dcot.classifier.ridge import (
    FACTORS,
    STRENGTHS,
    KernelRidge,
    alpha_for_all,
    held_out_rows,
    ridge_by_features,
    solve_ridge,
    solve_with_left_out,
    targets_of,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    codes = np.arange(24) % 3
    F = rng.normal(size=(24, 40)) + 2.0 * rng.normal(size=(3, 40))[codes]
    labels = np.array(["a", "b", "c"])[codes]
    return F + 5.0, labels


def long_way_round(F, Y, strength, weights):
    """Leave one document out, fit scikit-learn's ridge, predict it; all documents in turn."""
    share = weights / weights.sum()
    centred = (F - share @ F) * np.sqrt(weights)[:, None]
    alpha = strength * np.mean(np.linalg.eigvalsh(centred @ centred.T).clip(0))
    held_out = np.empty_like(Y)
    for out in range(len(F)):
        rest = np.arange(len(F)) != out
        model = Ridge(alpha=alpha).fit(F[rest], Y[rest], sample_weight=weights[rest])
        held_out[out] = model.predict(F[[out]])[0]
    return held_out, Ridge(alpha=alpha).fit(F, Y, sample_weight=weights), alpha


@pytest.mark.parametrize("strength", [0.01, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_and_decisions_equal_the_long_way_round(data, strength, weighted):
    F, labels = data
    _, Y = targets_of(labels)
    weights = np.random.default_rng(2).random(24) + 0.5 if weighted else np.ones(24)
    kernel = F @ F.T
    model = KernelRidge.fit(kernel, Y, np.array([strength]), weights)
    held_out, ridge, alpha = long_way_round(F, Y, strength, weights)
    np.testing.assert_allclose(model.held_out, held_out, atol=1e-8)
    np.testing.assert_allclose(model.losses, ((held_out - Y) ** 2).sum(1), atol=1e-8)
    new = np.random.default_rng(1).normal(size=(7, 40)) + 5
    np.testing.assert_allclose(model.decision(new @ F.T), ridge.predict(new), atol=1e-8)
    assert model.alpha == pytest.approx(alpha)
    dual, intercept = solve_ridge(kernel, Y, model.alpha, weights)
    np.testing.assert_allclose(new @ F.T @ dual + intercept, ridge.predict(new), atol=1e-8)


@pytest.mark.parametrize("kind", ["usual", "singular", "constant"])
@pytest.mark.parametrize("judged", [None, 25, 0])
@pytest.mark.parametrize("n", [60, 8], ids=["more documents than features", "fewer"])
def test_features_instead_of_inner_products(n, judged, kind):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(n, 12)) + 3
    if kind == "singular":
        F[:, 6:] = F[:, :6]
    elif kind == "constant":
        F[:] = F[0] / 3
    Y = np.sign(rng.normal(size=(n, 3)) + F[:, :3] - 3)
    judged = judged if judged is None else min(judged, n)
    expected = KernelRidge.fit(F @ F.T, Y, judged=judged)
    found = KernelRidge.from_features(F, Y, judged)
    assert found.strength == expected.strength
    assert found.alpha == pytest.approx(expected.alpha)
    for name in ("held_out", "losses", "weights"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-8)
    new = rng.normal(size=(5, 12)) + 3
    np.testing.assert_allclose(found.decision(new @ F.T), expected.decision(new @ F.T), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("way", ["together", "in blocks", "factorised"])
def test_by_features_equals_scikit_learn(monkeypatch, weighted, way):
    """Many documents: with dense and sparse parts, side by side."""
    monkeypatch.setattr(ridge_module, "MAX_TARGETS", 128 if way == "together" else 2)
    iterations = 100 if way == "factorised" else 0
    monkeypatch.setattr(ridge_module, "EXPECTED_ITERATIONS", iterations)
    iterate = None if way == "factorised" else ridge_module.cg.iterate_shifts
    monkeypatch.setattr(ridge_module.cg, "iterate_shifts", iterate)
    monkeypatch.setattr(ridge_module, "FEATURES_TOL", 1e-9)
    monkeypatch.setattr(ridge_module, "CHOICE_TOL", 1e-9)
    rng = np.random.default_rng(0)
    codes = np.arange(400) % 3
    x = sp.random_array((400, 30), density=0.2, random_state=rng, format="csr")
    dense = rng.normal(size=(400, 12)) + rng.normal(size=(3, 12))[codes]
    _, Y = targets_of(codes)
    weights = rng.random(400) + 0.5 if weighted else np.ones(400)
    held = held_out_rows(400, np.random.RandomState(0))
    found = ridge_by_features([x, dense], Y, 8.0, weights, held)
    coef, intercept, alpha, held_out = found
    assert alpha in 8.0 * np.array(FACTORS)
    F = np.hstack([x.toarray(), dense])
    expected = Ridge(alpha=alpha).fit(F, Y, sample_weight=weights)
    np.testing.assert_allclose(F @ coef + intercept, expected.predict(F), atol=1e-6)
    assert alpha == pytest.approx(alpha_for_all(F @ F.T, Y, 8.0, weights, held))
    rest = np.setdiff1d(np.arange(400), held)
    without = Ridge(alpha=alpha).fit(F[rest], Y[rest], sample_weight=weights[rest])
    np.testing.assert_allclose(held_out, without.predict(F[held]), atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_decisions_of_a_known_strength(data, weighted):
    """By one inverse, the same as learning again without each document."""
    F, labels = data
    Y = targets_of(labels)[1]
    weights = np.random.default_rng(1).random(len(F)) + 0.5 if weighted else None
    dual, intercept, held_out = solve_with_left_out(F @ F.T, Y, 0.7, weights)
    plain = solve_ridge(F @ F.T, Y, 0.7, weights)
    np.testing.assert_allclose(dual, plain[0])
    np.testing.assert_allclose(intercept, plain[1])
    for row in range(0, len(F), 3):
        rest = np.delete(np.arange(len(F)), row)
        own = None if weights is None else weights[rest]
        model = Ridge(alpha=0.7).fit(F[rest], Y[rest], sample_weight=own)
        np.testing.assert_allclose(held_out[row], model.predict(F[[row]])[0], atol=1e-8)


def test_the_least_error_chooses_the_strength(data):
    F, labels = data
    classes, Y = targets_of(labels)
    model = KernelRidge.fit(F @ F.T, Y)
    errors = [KernelRidge.fit(F @ F.T, Y, np.array([s])).error for s in STRENGTHS]
    assert model.error == min(errors)
    assert model.strength == STRENGTHS[int(np.argmin(errors))]
    assert (classes[model.decision(F @ F.T).argmax(1)] == labels).mean() > 0.9


def test_one_document_a_class_and_identical_documents_stay_finite():
    for F in (np.eye(3), np.ones((3, 4))):
        model = KernelRidge.fit(F @ F.T, targets_of(np.array([0, 1, 2]))[1])
        assert np.isfinite(model.decision(F @ F.T)).all()


@pytest.mark.parametrize("start", [0.002, 2.0, 200.0])
def test_a_strength_for_more_documents(start):
    """Chosen by held-out documents, smaller or larger, against solving each strength by hand."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    targets = np.sign(X[:, :2] + 0.1 * rng.normal(size=(60, 2)))
    kernel = X @ X.T
    held = held_out_rows(60, np.random.RandomState(3))
    found = alpha_for_all(kernel, targets, start, None, held)
    others = np.setdiff1d(np.arange(60), held)
    assert len(held) == 6
    errors = []
    for factor in FACTORS:
        model = Ridge(alpha=start * factor).fit(X[others], targets[others])
        errors.append(((model.predict(X[held]) - targets[held]) ** 2).sum())
    assert found == pytest.approx(start * FACTORS[int(np.argmin(errors))])
    assert found < 200.0 if start == 200.0 else found >= start


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("balanced", [True, False])
def test_strengths_for_more_documents_by_both_ways(monkeypatch, seed, balanced):
    """The least weighted squared error on the held-out documents, by scikit-learn's ridge."""
    monkeypatch.setattr(ridge_module, "CHOICE_TOL", 1e-11)
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(50, 12)) + 1.0
    Y = np.sign(F[:, :2] + 3.0 * rng.normal(size=(50, 2)) - (1.0 if balanced else -1.5))
    weights, held = rng.random(50) + 0.2, held_out_rows(50, np.random.RandomState(seed))
    rest = np.setdiff1d(np.arange(50), held)
    errors = []
    for factor in FACTORS:
        model = Ridge(alpha=40 * factor).fit(F[rest], Y[rest], sample_weight=weights[rest])
        errors.append(weights[held] @ ((model.predict(F[held]) - Y[held]) ** 2).sum(1))
    expected = 40 * FACTORS[int(np.argmin(errors))]
    assert alpha_for_all(F @ F.T, Y, 40.0, weights, held) == pytest.approx(expected)
    for parts in ([F], [F[:, :3], sp.csr_array(F[:, 3:7]), F[:, 7:]]):
        for at_a_time in (128, 1):  # by conjugate gradients, and by factorising
            monkeypatch.setattr(ridge_module, "MAX_TARGETS", at_a_time)
            assert ridge_by_features(parts, Y, 40.0, weights, held)[2] == pytest.approx(expected)


def test_the_least_work_that_fits_in_memory(monkeypatch):
    """The number of iterations, the memory and the number of targets that decide."""
    parts = [sp.random_array((50, 40), density=0.2, rng=0, format="csr"), np.ones((50, 30))]
    stored, n, width, targets = 400 + 1500, 50, 70, 129
    free = {}
    monkeypatch.setattr(ridge_module, "allowance", lambda limit: free["bytes"])
    for chosen, work, memory in (
        (ridge_module.kernel_is_less_work, 3 * n**3 + n * stored + 8 * n**2 * targets, 24 * n**2),
        (ridge_module._factorising_is_less_work, 4 * width**3 / 3, 16 * width**2),
    ):
        tie = work / (8 * stored * targets)
        for factor in (0.999, 1.001):
            free["bytes"] = 1.001 * memory
            monkeypatch.setattr(ridge_module, "EXPECTED_ITERATIONS", factor * tie)
            assert chosen(parts, targets) == (factor > 1)
            free["bytes"] = 0.999 * memory
            assert not chosen(parts, targets)
    free["bytes"] = np.inf
    monkeypatch.setattr(ridge_module, "EXPECTED_ITERATIONS", 1e6)
    for chosen in (ridge_module.kernel_is_less_work, ridge_module._factorising_is_less_work):
        assert chosen(parts, targets)
        assert not chosen(parts, targets - 1)  # there are few of them
    assert not ridge_module.kernel_is_less_work([np.ones((70, 70))], targets)
    free["bytes"] = 24 * n**2
    assert not ridge_module.kernel_is_less_work(parts, targets)
    free["bytes"] = 16 * width**2
    assert not ridge_module._factorising_is_less_work(parts, targets)


def test_features_that_cannot_be_factorised_are_iterated(monkeypatch):
    monkeypatch.setattr(ridge_module, "MAX_TARGETS", 1)
    rng = np.random.default_rng(0)
    F = rng.normal(size=(60, 4)).astype(np.float32)
    F = np.hstack([F, F])  # singular, with hardly any regularisation
    Y = np.sign(F[:, :2] + rng.normal(size=(60, 2)))
    held = np.arange(0, 60, 10)
    assert ridge_module._by_factorising([F], Y, 1e-12, np.ones(60), held) is None
    coef, intercept, alpha, _ = ridge_by_features([F], Y, 1e-12, np.ones(60), held)
    exact = Ridge(alpha=1e-3).fit(F, Y).predict(F)
    np.testing.assert_allclose(F @ coef + intercept, exact, atol=2e-2)
    assert np.isfinite(alpha)


def test_the_error_is_a_mean_over_documents_and_targets(data):
    F, labels = data
    _, Y = targets_of(labels)
    assert set(Y.ravel()) == {1.0, -1.0}
    weights = np.random.default_rng(2).random(24) + 0.5
    model = KernelRidge.fit(F @ F.T, Y, weights=weights)
    expected = np.average(((model.held_out - Y) ** 2).mean(1), weights=weights)
    assert model.error == pytest.approx(expected)


def test_some_documents_are_only_learned_from(data):
    F, labels = data
    F = F + 2 * np.random.default_rng(5).normal(size=F.shape)
    _, Y = targets_of(labels)
    errors = []
    for strength in STRENGTHS:
        left_out = KernelRidge.fit(F @ F.T, Y, np.array([strength])).held_out
        errors.append(((left_out - Y) ** 2).sum(1))
    for judged in (3, 10, 0):
        model = KernelRidge.fit(F @ F.T, Y, judged=judged)
        best = int(np.argmin([one[: judged or 24].sum() for one in errors]))
        assert model.strength == STRENGTHS[best]
        assert len(model.held_out) == len(model.weights) == len(model.losses) == judged
    assert np.isnan(model.error)


def test_documents_that_are_equal_up_to_rounding():
    F = np.tile(np.random.default_rng(0).normal(size=(1, 9)) / 3, (6, 1))
    for kind in (np.float32, np.float64):
        kernel = (F @ F.T).astype(kind)
        model = KernelRidge.fit(kernel, targets_of(np.arange(6) % 2)[1])
        assert model.alpha == model.strength
    counted = np.random.default_rng(0).integers(0, 3, (6, 9))
    Y, weights = targets_of(np.arange(6) % 2)[1], np.full(6, 0.01)  # eigenvalues below one
    exact = KernelRidge.fit(counted @ counted.T, Y, weights=weights)
    near = KernelRidge.fit((counted @ counted.T).astype(float), Y, weights=weights)
    np.testing.assert_allclose(exact.dual, near.dual, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strengths_that_rounding_exceeds_are_not_factorised(dtype):
    """The factors exist, and the residual is small, but the predictions are far off."""
    rng, eps = np.random.default_rng(0), float(np.finfo(dtype).eps)
    U, turn = rng.normal(size=(300, 20)), np.linalg.qr(rng.normal(size=(20, 20)))[0]
    F = (U * np.geomspace(1, eps**0.6, 20) @ turn).astype(dtype)
    Y = np.sign(U[:, -3:] + 0.3 * rng.normal(size=(300, 3)))
    solve, refused = ridge_module._factorised([F], Y, np.ones(300)), 0
    for alpha in 300 * eps * np.logspace(-3, 5, 30):
        found = solve(alpha)
        if found is None:
            refused += 1
            continue
        wide = F.astype(np.float64) - F.mean(axis=0, dtype=np.float64)
        exact = np.linalg.lstsq(
            np.vstack([wide, np.sqrt(alpha) * np.eye(20)]),
            np.vstack([Y - Y.mean(axis=0), np.zeros((20, 3))]),
        )[0]
        assert np.abs(wide @ (found[0] - exact)).max() < 0.1
    assert 5 < refused < 20


@pytest.mark.parametrize("n", [1, 7])
def test_the_largest_eigenvalue_is_found_from_a_triangle(n):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = basis * np.arange(1.0, n + 1) ** 3 @ basis.T
    found = ridge_module._largest_eigenvalue(np.tril(matrix) + np.triu(np.full((n, n), 7.0), 1))
    assert found == pytest.approx(n**3, rel=0.05)
    assert ridge_module._largest_eigenvalue(np.zeros((n, n))) == 0


def test_too_few_iterations_are_said(monkeypatch):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(300, 40)) * np.geomspace(1, 1e-3, 40)
    Y, held = np.sign(rng.normal(size=(300, 2))), np.arange(0, 300, 10)
    ridge_by_features([F], Y, 1e-3, np.ones(300), held)
    monkeypatch.setattr(ridge_module, "FEATURES_MAX_ITER", 3)
    with pytest.warns(ConvergenceWarning, match="3 iterations"):
        ridge_by_features([F], Y, 1e-3, np.ones(300), held)
